"""Expressions of ``torch.nested`` that PyTorch and rushlight evaluate alike; what they print is recorded and compared."""

from __future__ import annotations

import warnings
from typing import Any

EXPRESSIONS = """
s|j.offsets()|j.values()|j.unbind()|s.unbind()|(j.is_nested,s.is_nested,a.is_nested)|(j.layout,s.layout)|(j.dim(),s.dim())|(j.size(0),s.size(0))|(j.size(2),s.size(2))|s.size(1)
len(j.shape)|(j.numel(),s.numel())|N.to_padded_tensor(j,-1.)|N.to_padded_tensor(s,0.)|N.to_padded_tensor(s,0.,(2,4,4))|j.to_padded_tensor(0.)|(j*2).values()|(j+j).values()
j.sin().values()|F.relu(j).values()|(s*2).unbind()[1]|(s+s).unbind()[0]|F.linear(j,W).values()|F.linear(s,W).unbind()[0]|F.layer_norm(j,(3,)).values()|torch.softmax(j,-1).values()
(j@W.t()).values()|j.sum(-1).values()|j.sum(1)|j.mean(1)|N.nested_tensor_from_jagged(torch.arange(5.),torch.tensor([0,2,5])).unbind()|(j.dtype,j.double().dtype)
N.as_nested_tensor([a,b],layout=torch.jagged).values()|j.to(torch.float16).values().dtype|j[0]|j[1]|len(j)|j.unsqueeze(-1).values().shape|j.transpose(1,2).unbind()[0]|j.clone().values()
j.detach().values()|torch.ones_like(j).values()|j+N.nested_tensor([a,a],layout=torch.jagged)|N.nested_tensor([a,b.reshape(9)],layout=torch.jagged)|N.nested_tensor([])|[x.shape for x in j]
j.is_contiguous()|(j._get_max_seqlen(),j._get_min_seqlen())|F.gelu(j).values()[0]|torch.cat([j,j],-1).values().shape|(j/j.sum(-1,keepdim=True)).values()[0]
(j*torch.tensor([1.,0,2])).values()[1]|torch.nn.Linear(3,2,bias=False)(j).values().shape|torch.nn.LayerNorm(3)(j).values()[0].detach()|F.silu(j).values()[1]|F.dropout(j,0.5,False).values()
torch.nn.Embedding(20,2)(N.nested_tensor([torch.tensor([1,2]),torch.tensor([3])],layout=torch.jagged)).values().shape|gradient()|leaf()|attention()
""".strip().replace("\n", "|").split("|")  # fmt: skip


def everything(torch: Any) -> dict[str, str]:
    """What each expression prints, or the class of its error."""
    N, F = torch.nested, torch.nn.functional
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(9.0).reshape(3, 3) + 10

    def gradient() -> Any:
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        nested = N.as_nested_tensor([x, y], layout=torch.jagged)
        (F.linear(nested.sin(), torch.ones(2, 3)).values() ** 2).sum().backward()
        return x.grad, y.grad

    def leaf() -> Any:
        nested = N.nested_tensor([a, b], layout=torch.jagged, requires_grad=True)
        (nested * 3).values().sum().backward()
        return nested.grad.values()

    def attention() -> Any:
        torch.manual_seed(0)
        x = N.nested_tensor([torch.randn(count, 2, 4) for count in (3, 5)], layout=torch.jagged).transpose(1, 2)
        return [round(each.sum().item(), 3) for each in F.scaled_dot_product_attention(x, x, x).transpose(1, 2).unbind()]

    names = {
        "torch": torch, "N": N, "F": F, "a": a, "b": b, "W": torch.ones(4, 3), "j": N.nested_tensor([a, b], layout=torch.jagged), "s": N.nested_tensor([a, b]),
        "gradient": gradient, "leaf": leaf, "attention": attention,
    }  # fmt: skip
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression in EXPRESSIONS:
            try:
                found[expression] = repr(eval(expression, names))
            except Exception as error:
                kinds = (NotImplementedError, IndexError, TypeError, ValueError, RuntimeError)
                found[expression] = next(kind.__name__ for kind in kinds if isinstance(error, kind))
    return found
