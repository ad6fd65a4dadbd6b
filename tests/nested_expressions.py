"""Expressions of ``torch.nested`` that PyTorch and rushlight evaluate alike; what they print is recorded and compared."""

from __future__ import annotations

import copy
import io
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
isinstance(j.shape[1],torch.SymInt)|j.stride()[1:]|(j.shape[1]==j.shape[1],j.shape[1]==5,2*j.shape[1]==j.shape[1]*2,j.shape[1]>=0,j.shape[1]<1)|j.shape[1]>=5|torch.Size(j.shape)==j.shape
j.sum((0,1))|j.sum((0,1),keepdim=True)|j.sum((0,1,2),keepdim=True)|j.sum(0)|j.mean((0,1))|j.all((0,1))|j.argmax(1)|j.amax(2).values()|j.prod(1)|torch.softmax(j,1).values()|torch.softmax(j,0)
j.sum(2,keepdim=True).values()|j.transpose(1,2).sum(1).values()|j.transpose(1,2).sum(2)|j.transpose(1,2)._ragged_idx|j.transpose(0,1)|j.permute(0,2,1)._ragged_idx|j.permute(1,0,2)|j.permute(0,1)
j.select(2,1).values()|j.select(1,0)|j.select(0,1)|j.narrow(2,0,2).values()|j.narrow(1,0,1)|j[...,0].values()|j[1,2]|[c.unbind() for c in j.chunk(2,0)]|[c.values() for c in j.split([1,2],-1)]|j.split(2,1)
torch.stack([j,j],-1).values().shape|torch.stack([j,j])|torch.cat([j,j],1)|j.unsqueeze(1)._ragged_idx|j.unsqueeze(0)|j.flatten(1,2)|j.unsqueeze(-1).flatten(2,3).values().shape|j.unflatten(-1,(3,1)).values().shape
torch.matmul(j.transpose(1,2),j)|torch.bmm(j,torch.ones(2,3,5)).values()|torch.matmul(j,torch.ones(2,3,2)).values()|(j+torch.arange(2.).reshape(2,1,1)).values()|(j+torch.ones(2,3,3)).values()|j+torch.ones(2,5,3)
j.masked_fill(j>2,0.).values()|torch.where(j>2,j,0.).values()|j.clone().fill_(2.).values()[0]|j.clone().zero_().values()[0]|(lambda k:k.add_(1) is k)(j.clone())|torch.is_same_size(j,j*2)|j.view(6,3)|j.view([])
narrowed().unbind()|(narrowed().lengths(),narrowed().offsets(),narrowed().is_contiguous(),narrowed().numel(),narrowed().contiguous().values())|N.masked_select(a,a>1).unbind()
N.as_nested_tensor(a[0],layout=torch.jagged)|N.nested_tensor([],layout=torch.jagged)|N.nested_tensor([a,b.t()],layout=torch.jagged)._ragged_idx|N.nested_tensor([a,b.double()],layout=torch.jagged)
(lambda c:(lambda n:(n._is_view(),n._base is c,n.values().shape))(N.as_nested_tensor(c,layout=torch.jagged)))(torch.ones(2,3,4))|backward()|derived()|j.transpose(1,2).to_padded_tensor(1.)
F.layer_norm(j,(j.shape[1],3)).values()[0]|F.layer_norm(j,(2,j.shape[1],3))|copy.deepcopy(j).values()[0]|saved().values()|s._nested_tensor_size()|s._nested_tensor_strides()|s.select(2,1).unbind()|[c.unbind() for c in s.chunk(3,-1)]
s[1,0]|s[...,0].unbind()|torch.bmm(s,s.transpose(1,2)).unbind()[1]|s.transpose(1,2).is_contiguous()|s.reshape(2,-1,3,1).unbind()[0].shape|torch.nested.nested_tensor([]).dim()|j.mT._ragged_idx|(j.is_leaf,r.is_leaf,(r*2).is_leaf)
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

    def backward() -> Any:
        nested = N.nested_tensor([a, b], layout=torch.jagged, requires_grad=True)
        (nested * 2).backward(torch.ones_like(nested) * 3)
        return nested.grad.values()

    def derived() -> Any:
        nested = N.nested_tensor([a, b], layout=torch.jagged, requires_grad=True)
        return torch.autograd.grad((nested * nested).sum(), nested)[0].values()

    def narrowed() -> Any:
        return N.narrow(torch.arange(20.0).reshape(2, 5, 2), 1, torch.tensor([0, 1]), torch.tensor([3, 2]), layout=torch.jagged)

    def saved() -> Any:
        file = io.BytesIO()
        torch.save(N.nested_tensor([a, b], layout=torch.jagged), file)
        file.seek(0)
        return torch.load(file, weights_only=False)

    names = {
        "torch": torch, "N": N, "F": F, "a": a, "b": b, "W": torch.ones(4, 3), "j": N.nested_tensor([a, b], layout=torch.jagged), "s": N.nested_tensor([a, b]),
        "gradient": gradient, "leaf": leaf, "attention": attention, "backward": backward, "derived": derived, "narrowed": narrowed, "saved": saved, "copy": copy,
        "r": N.nested_tensor([a, b], layout=torch.jagged, requires_grad=True),
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
