"""Expressions of sparse tensors that PyTorch and rushlight evaluate alike: each gives a description of its result, which is recorded and compared.

A description has the layout, dtype, shape, whether the tensor is coalesced, its indices (of what has an order) and all elements; or, of an
error, its class.  With gradients it has the same of each input's gradient.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np

INPUTS = ("s", "c", "h", "z", "hz", "k", "i", "b", "j", "csr", "csc", "bsr", "bsc", "bat")


def inputs(torch: Any) -> dict[str, Any]:
    """Sparse tensors of every kind: uncoalesced, coalesced, hybrid, empty, of several dtypes and layouts."""
    rng = np.random.default_rng(7)

    def dense(*shape: int) -> Any:
        return torch.from_numpy(np.where(rng.uniform(size=shape) < 0.5, 0, rng.normal(size=shape)).round(2))

    coo = torch.sparse_coo_tensor
    s = coo([[0, 1, 1, 0, 2], [2, 0, 2, 2, 1]], torch.tensor([0.3, 0.4, -0.5, 0.1, 0.25], dtype=torch.float64), (3, 4))
    matrix = dense(4, 6)
    return {
        "s": s,
        "c": dense(3, 4).to_sparse(),
        "h": coo([[0, 1, 1, 0], [2, 0, 2, 2]], dense(4, 2) + 0.1, (3, 4, 2)),
        "z": coo(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, dtype=torch.float64), (3, 4)),
        "hz": coo(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, 2, dtype=torch.float64), (3, 4, 2)),
        "k": dense(3, 4).float().to_sparse(),
        "i": torch.tensor([[0, 2, 0, 1], [3, 0, 0, 4], [0, 0, 0, 1]]).to_sparse(),
        "b": torch.tensor([[True, False, True, False], [False] * 4, [True] * 4]).to_sparse(),
        "j": (dense(3, 4) + 1j * dense(3, 4)).to_sparse(),
        "csr": dense(3, 4).to_sparse_csr(),
        "csc": dense(3, 4).to_sparse_csc(),
        "bsr": matrix.to_sparse_bsr((2, 3)),
        "bsc": matrix.to_sparse_bsc((2, 2)),
        "bat": torch.stack([dense(3, 4).masked_fill(torch.eye(3, 4) == 0, 0) + torch.eye(3, 4)] * 2).to_sparse_csr(),
    }


# For every input x; D is a dense tensor of its shape, M a matrix that it can be multiplied with, V a vector.
UNARY = """
x.sin() x.tan() x.asin() x.atan() x.sinh() x.tanh() x.asinh() x.abs() x.sgn() x.sign() x.relu() x.expm1() x.log1p() x.ceil() x.floor() x.trunc() x.sqrt()
x.deg2rad() x.rad2deg() x.erf() x.isnan() x.isinf() x.signbit() x.square() x.neg() -x x*2 2*x x*2.5 x/2 x//2 x**2 x**3 x.cos() x.exp() x.float() x.double()
x.to(torch.int32) x.bool() x.half() x.clone() x.detach() x.coalesce() x.to_dense() x.to_sparse() x.to_sparse_csr() x.to_sparse_csc() x.t() x.transpose(0,1)
x.permute(1,0) x.unsqueeze(0) x.unsqueeze(1) x.unsqueeze(-1) x.sum() x.sum(0) x.sum(1) x.sum(-1) x.sum((0,1)) x.sum(0,keepdim=True) torch.sparse.sum(x)
torch.sparse.sum(x,0) torch.sparse.sum(x,[0,1]) torch.sparse.softmax(x,0) torch.sparse.softmax(x,1) torch.sparse.log_softmax(x,-1) x.any() x.norm() x.norm(1)
x[0] x[1] x[-1] x[0,2] x[None] x.select(1,2) x.index_select(0,torch.tensor([2,0,2])) x.index_select(1,torch.tensor([1])) torch.cat([x,x]) torch.cat([x,x],1)
torch.stack([x,x]) torch.zeros_like(x) x+x x-x x*x x.add(x,alpha=3) x+D D+x D-x x*D D*x x.mul(torch.tensor(3.)) x/torch.tensor(4.) x/x x@M x@V torch.mv(x,V)
D@x.t() x@x.t() torch.mm(x,M) torch.sparse.mm(x,M) torch.sparse.mm(x,x.t()) torch.addmm(torch.ones(x.shape[0],2,dtype=M.dtype),x,M,beta=2,alpha=3) torch.hspmm(x,M)
torch.smm(x,M) D.sparse_mask(x) x.sparse_mask(x) x._nnz() x.sparse_dim() x.dense_dim() x.layout x.is_sparse x.is_sparse_csr x.is_coalesced() x.indices() x.values()
x._indices() x._values() x.crow_indices() x.col_indices() x.ccol_indices() x.row_indices() x.numel() x.stride() x.is_contiguous() x.element_size() x.type()
x.clone().zero_() x.clone().mul_(2) x.clone().add_(x) D.clone().add_(x) x.clone().div_(2) x.clone().copy_(x) x.clone().neg_() x==x x.mean() x.max() x.reshape(-1)
x.view(-1) x.expand(2,3,4) len(x) x.numpy() x.tolist() x.fill_(1) x.requires_grad str(x) x.narrow_copy(1,1,2) x.unbind() torch.sparse.mm(x,M,'mean')
torch.sparse.mm(x,M,'amax') torch.sparse.sampled_addmm(x,M,M.t()) x.to_sparse_bsr((1,2)) x.conj() x.real torch.nn.functional.linear(x,M.t()) x.is_same_size(D)
x.to_sparse(1) x.clone().resize_as_(x) x.untyped_storage() x.cumsum(0) torch.isclose(x,x) x.data x.element_size() torch.equal(x,x)
""".split()  # fmt: skip

# Functions of inputs that require gradients.
GRADIENTS = """
torch.sparse.mm(x,M) x@M x@V x*D x*x x*2 x/2 x+x D+x D-x x-x x.to_dense() x.to_dense(masked_grad=False) D.to_sparse() D.to_sparse_csr() x.coalesce()
x.coalesce().values() x.values() x.sum() torch.sparse.sum(x) torch.sparse.sum(x,0) torch.sparse.softmax(x,1) torch.sparse.log_softmax(x,0) x.t() -x x.relu() x**2
x.abs() x.clone() x.float() D.sparse_mask(x) torch.addmm(torch.ones(3,2,dtype=M.dtype),x,M) torch.sparse.addmm(torch.ones(3,2,dtype=M.dtype),x,M) D@x.t() x@x.t()
torch.sparse.mm(x,x.t()) torch.sparse.sampled_addmm(x,M,M.t()) torch.sparse.mm(x,M,'sum') torch.sparse.mm(x,M,'mean') torch.sparse.mm(x,M,'amax') x.to_sparse()
(x@M).relu() (x*2+x).to_dense() torch.sparse.mm(x,M)+x@M
""".split()  # fmt: skip


def operands(torch: Any, x: Any) -> dict[str, Any]:
    """Dense operands that fit a sparse tensor."""
    kind = x.dtype if x.dtype != torch.bool else torch.int64
    count = int(np.prod(x.shape))
    matrix = torch.arange(2 * x.shape[1 if x.dim() < 4 else -2]).reshape(-1, 2)
    return {
        "D": (torch.arange(count).reshape(tuple(x.shape)) % 5).to(kind), "M": (matrix % 7).to(kind), "V": torch.ones(x.shape[1]).to(kind),
    }  # fmt: skip


def described(torch: Any, value: Any) -> Any:
    """A result as plain data."""
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [described(torch, each) for each in value]
    if not isinstance(value, torch.Tensor):
        return str(value)
    made: dict[str, Any] = {"layout": str(value.layout), "dtype": str(value.dtype), "shape": list(value.shape)}
    full = value.detach()
    if value.layout == torch.sparse_coo:
        made["coalesced"] = full.is_coalesced()
        made["nnz"] = full.coalesce()._nnz()
        made["sparse_dim"] = full.sparse_dim()
        if full.is_coalesced():
            made["indices"] = full.indices().tolist()
    elif value.layout != torch.strided:
        rows = value.layout in (torch.sparse_csr, torch.sparse_bsr)
        made["compressed"] = (full.crow_indices() if rows else full.ccol_indices()).tolist()
        made["plain"] = (full.col_indices() if rows else full.row_indices()).tolist()
        made["block"] = list(full.values().shape)
    elements = full.to_dense()
    if elements.is_complex():
        elements = torch.view_as_real(elements)
    made["elements"] = elements.to(torch.float64).reshape(-1).tolist()
    return made


def evaluated(torch: Any, expression: str, x: Any) -> Any:
    """What an expression gives, described; of an error its class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(torch, eval(expression, {"torch": torch, "x": x.clone(), "len": len, "str": str, **operands(torch, x)}))
        except Exception as error:
            return {"error": kind_of(error)}


def kind_of(error: Exception) -> str:
    """The class of Python's own that an error belongs to."""
    kinds = (NotImplementedError, IndexError, TypeError, ValueError, AttributeError, RuntimeError)
    return next((kind.__name__ for kind in kinds if isinstance(error, kind)), "Exception")


def gradients(torch: Any, expression: str, x: Any) -> Any:
    """The gradients of a sum of an expression's elements, each times another number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = operands(torch, x)
        leaves = {"x": x.detach().clone().requires_grad_(), **{name: each.requires_grad_() for name, each in names.items()}}
        try:
            result = eval(expression, {"torch": torch, **leaves})
            full = result.detach().to_dense()
            weights = (torch.arange(full.numel()).reshape(tuple(full.shape)) % 3 + 1).to(full.dtype)
            seed = (
                weights.sparse_mask(result.detach().coalesce() if result.layout == torch.sparse_coo else result.detach())
                if (result.layout != torch.strided)
                else weights
            )
            result.backward(seed)
        except Exception as error:
            return {"error": kind_of(error)}
        return {name: described(torch, each.grad) for name, each in leaves.items()}


def everything(torch: Any) -> dict[str, Any]:
    """All results by name."""
    found: dict[str, Any] = {}
    for name, x in inputs(torch).items():
        for expression in UNARY:
            found[f"{name}: {expression}"] = evaluated(torch, expression, x)
        if name in ("s", "c", "z", "csr"):
            for expression in GRADIENTS:
                found[f"{name}: gradient of {expression}"] = gradients(torch, expression, x)
    found.update(training(torch))
    return found


def training(torch: Any) -> dict[str, Any]:
    """Steps of optimizers by sparse gradients, of tables of embeddings."""
    found: dict[str, Any] = {}
    makers = {
        "SGD": lambda p: torch.optim.SGD(p, lr=0.1), "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.1),
        "SparseAdam": lambda p: torch.optim.SparseAdam(p, lr=0.1), "maximize": lambda p: torch.optim.SparseAdam(p, lr=0.1, maximize=True),
        "Adam": lambda p: torch.optim.Adam(p), "RMSprop": lambda p: torch.optim.RMSprop(p), "decay": lambda p: torch.optim.SGD(p, weight_decay=0.1),
    }  # fmt: skip
    for name, make in makers.items():
        table = torch.nn.Embedding(6, 3, padding_idx=1, sparse=True)
        bag = torch.nn.EmbeddingBag(6, 3, mode="mean", sparse=True)
        with torch.no_grad():
            for each in (table, bag):
                each.weight.copy_(torch.arange(18.0).reshape(6, 3) / 10)
        optimizer = make([*table.parameters(), *bag.parameters()])
        try:
            for step in range(3):
                optimizer.zero_grad()
                index = torch.tensor([[0, 1, 2 + step], [2, 2, 5]])
                loss = (table(index) ** 2).sum() + (bag(index) * torch.tensor([1.0, 2.0, 3.0])).sum() * 0.1
                loss.backward()
                found[f"{name}: gradient {step}"] = described(torch, table.weight.grad.coalesce())
                optimizer.step()
            found[name] = [described(torch, each.weight.detach()) for each in (table, bag)]
        except Exception as error:
            found[name] = {"error": kind_of(error)}
    return found


def file_of(torch: Any) -> bytes:
    """A checkpoint with every kind of sparse tensor."""
    target = io.BytesIO()
    torch.save(inputs(torch), target)
    return target.getvalue()
