"""Expressions of ``torch.masked`` that PyTorch and rushlight evaluate alike; what they print is recorded and compared."""

from __future__ import annotations

import warnings
from typing import Any

REDUCTIONS = [
    f"M.{name}({each}, {dim}, mask=m)"
    for name in ("sum", "prod", "amax", "amin", "mean")
    for each in ("x", "xi")
    for dim in (None, 0, 1, (0, 1), -1)
]
REDUCTIONS += [f"M.{name}(x, 1, keepdim=True, mask=m)" for name in ("sum", "prod", "amax", "amin", "mean")]
REDUCTIONS += [f"M.{name}(xi, 1, dtype=torch.float64, mask=m)" for name in ("sum", "prod", "amax", "amin", "mean")]
REDUCTIONS += [f"M.{name}(x, {dim}, mask=m)" for name in ("argmax", "argmin") for dim in (0, 1)]
REDUCTIONS += [
    f"M.{name}(x, {dim}{mask})" for name in ("cumsum", "cumprod", "softmax", "log_softmax", "softmin", "logsumexp", "median") for dim in (0, 1)
    for mask in (", mask=m", "")
]  # fmt: skip
REDUCTIONS += [
    f"M.{name}(x, {dim}, unbiased={flag}, mask=m)" for name in ("var", "std") for dim in (0, 1, (0, 1)) for flag in (True, False)
]
REDUCTIONS += [f"M.norm(x, {ord}, 1, mask=m)" for ord in ("2.0", "1.0", "float('inf')", "float('-inf')", "0.0")]
REDUCTIONS += [
    "M.normalize(x, 2.0, 1, mask=m)", "M.normalize(x, 1.0, 1, mask=m)", "M.logaddexp(x, x * 2, input_mask=m, other_mask=~m)", "M.median(xi, 1, mask=m)",
    "M.sum(x, 1, mask=torch.tensor([True, False, True]))", "M.sum(x, 1, mask=torch.ones(2, 2, 3, dtype=torch.bool))",
]  # fmt: skip
TENSORS = """
a|b|a+b|a*b|a+c|a+1|a*2|a+x|a/b|a-b|a**2|-a|abs(a)|a>0|a==b|a.sin()|torch.exp(a)|a.log()|a.sqrt()|a.sum()|a.sum(1)|a.mean(0)|a.amax(1)|torch.amin(a,1)|a.prod(1)
a.get_data()|a.get_mask()|a.to_tensor(0)|(a.shape,a.dtype,a.layout)|(M.is_masked_tensor(a),M.is_masked_tensor(x))|a.t()|a.view(-1)|a.reshape(3,2)|a[0]|a[:,1]|a.clone()
a.double()|torch.where(x>0,a,b)|M.masked_tensor(x,x)|M.masked_tensor(x,m[0])|torch.softmax(a,1)|a.sum().item()|M.as_masked_tensor(x,m)|a.detach()|torch.ones_like(a)
M.masked_tensor(x[:1],m[:1]).expand(2,3)|torch.cat([a,b])|str(a)|a.unsqueeze(0)|a.clone().add_(b)|M.masked_tensor(x>0,m).all()|len(a)|M.masked_tensor(xi,m)|M.masked_tensor(x>0,m)
M.masked_tensor(torch.tensor([1.,2,3]),torch.tensor([True,False,True]))|M.masked_tensor(torch.tensor(1.),torch.tensor(True))|a.cumsum(1)|a@a.t()|a.max()
M.masked_tensor(torch.arange(8.).reshape(2,2,2),torch.arange(8).reshape(2,2,2)%3==0)|gradient()
""".strip().replace("\n", "|").split("|")  # fmt: skip


def everything(torch: Any) -> dict[str, str]:
    """What each expression prints, or the class of its error."""
    M = torch.masked
    x = torch.tensor([[-3.0, -2, -1], [0, 1, 2]])
    m = torch.tensor([[True, False, True], [False, False, False]])

    def gradient() -> Any:
        t = M.masked_tensor(x.clone(), m, requires_grad=True)
        (t * t * 3).sum().backward()
        return t.grad, t.requires_grad

    names = {
        "torch": torch, "M": M, "x": x, "xi": x.long(), "m": m, "gradient": gradient, "a": M.masked_tensor(x, m), "b": M.masked_tensor(x * 2, m),
        "c": M.masked_tensor(x, ~m),
    }  # fmt: skip
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression in (*REDUCTIONS, *TENSORS):
            try:
                found[expression] = repr(eval(expression, names))
            except Exception as error:
                kinds = (NotImplementedError, IndexError, TypeError, ValueError, RuntimeError)
                found[expression] = next(kind.__name__ for kind in kinds if isinstance(error, kind))
    return found
