"""Sparse tensors against what PyTorch gives (recorded: tests/record/sparse.py), their gradients, files, and what a graph makes of them."""

from __future__ import annotations

import copy
import gzip
import io
import json
import math
import pathlib
import pickle
from typing import Any

import pytest
import sparse_programs as programs

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck

DATA = pathlib.Path(__file__).parent / "data"
RECORDED: dict[str, Any] = json.loads(gzip.decompress((DATA / "sparse.json.gz").read_bytes()))
PRINTED = RECORDED.pop("printed")
INPUTS = programs.inputs(torch)


def same(wanted: Any, found: Any) -> bool:
    """Equal up to rounding.  What PyTorch leaves uncoalesced may be coalesced; an error may be of a narrower or wider kind."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        if "error" in wanted:
            kinds = {"RuntimeError": "NotImplementedError", "NotImplementedError": "RuntimeError"}
            return "error" not in found or found["error"] in (wanted["error"], kinds.get(wanted["error"]))
        if wanted.get("coalesced") is False and found.get("coalesced"):
            found = {key: value for key, value in found.items() if key != "indices"} | {"coalesced": False}
        return wanted.keys() == found.keys() and all(same(wanted[key], found[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and all(map(same, wanted, found))
    if isinstance(wanted, float) and isinstance(found, float):
        return wanted == found or (math.isnan(wanted) and math.isnan(found)) or abs(wanted - found) <= 1e-5 * max(1.0, abs(wanted))
    return wanted == found or (isinstance(wanted, dict) and "error" in wanted)


# What differs, and why.
DIFFERENT = {
    "gradient of torch.sparse.mm(x,x.t())": "PyTorch keeps a zero that the product does not have",
    "csr: x@x.t()": "the columns of a row are sorted here",
    "csr: torch.sparse.mm(x,x.t())": "the columns of a row are sorted here",
    "csc: x.clone().resize_as_(x)": "PyTorch reads the columns as rows",
}


@pytest.mark.parametrize("name", programs.INPUTS)
def test_ops_give_what_pytorch_gives(name: str) -> None:
    wrong = []
    for expression in programs.UNARY:
        key = f"{name}: {expression}"
        found = json.loads(json.dumps(programs.evaluated(torch, expression, INPUTS[name])))
        if not same(RECORDED[key], found) and key not in DIFFERENT:
            wrong.append(f"{key}\n  wanted {RECORDED[key]}\n  found  {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["s", "c", "z", "csr"])
def test_gradients_are_those_of_pytorch(name: str) -> None:
    wrong = []
    for expression in programs.GRADIENTS:
        key = f"{name}: gradient of {expression}"
        found = json.loads(json.dumps(programs.gradients(torch, expression, INPUTS[name])))
        if not same(RECORDED[key], found) and f"gradient of {expression}" not in DIFFERENT:
            wrong.append(f"{key}\n  wanted {RECORDED[key]}\n  found  {found}")
    assert not wrong, "\n".join(wrong)


def test_optimizers_step_by_sparse_gradients() -> None:
    for key, found in json.loads(json.dumps(programs.training(torch))).items():
        assert same(RECORDED[key], found), key


def test_tensors_print_as_in_pytorch() -> None:
    for name, text in PRINTED.items():
        assert str(INPUTS[name]) == text


def test_files_of_pytorch_are_read() -> None:
    found = torch.load(DATA / "checkpoints" / "sparse_tensors.pt", weights_only=True)
    for name, each in INPUTS.items():
        assert found[name].layout is each.layout
        torch.testing.assert_close(found[name].to_dense(), each.to_dense())


@pytest.mark.parametrize("name", programs.INPUTS)
def test_save_pickle_and_copy(name: str) -> None:
    x = INPUTS[name]
    file = io.BytesIO()
    torch.save({"x": x}, file)
    loaded = torch.load(io.BytesIO(file.getvalue()))["x"]
    for each in (loaded, pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert each.layout is x.layout and each.dtype is x.dtype and str(each) == str(x)
    twin = copy.deepcopy(x)
    twin._array.values[...] = 0
    assert str(twin) != str(x) or not x._nnz()


def test_a_damaged_file_is_refused() -> None:
    file = io.BytesIO()
    bad = torch.sparse_coo_tensor([[5], [0]], [1.0], (2, 2))
    torch.save(bad, file)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        torch.load(io.BytesIO(file.getvalue()))


# -- gradients ---------------------------------------------------------------------------------------------------


def wide(layout: Any = torch.sparse_coo) -> Any:
    torch.manual_seed(3)
    x = torch.randn(3, 4, dtype=torch.float64)
    return x.masked_fill(x < -0.3, 0).to_sparse(layout=layout).requires_grad_()


MASKED = [
    lambda a: torch.sparse.softmax(a, 1), lambda a: torch.sparse.log_softmax(a, 0), lambda a: torch.sparse.sum(a, 0), torch.sparse.sum, torch.sin,
    lambda a: a.t(), lambda a: a.index_select(1, torch.tensor([2, 0, 2])), lambda a: torch.cat([a, a]), lambda a: torch.cat([a, a], 1),
    lambda a: a.unsqueeze(1), lambda a: a * a, lambda a: a.coalesce().values(), lambda a: a.to_sparse_csr(), lambda a: a.sum(0), lambda a: a[1],
    lambda a: a.norm(), lambda a: a.to_dense(), lambda a: torch.stack([a, a], 1), lambda a: a.narrow_copy(1, 1, 2),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MASKED)))
def test_gradients_of_kept_elements(number: int) -> None:
    assert gradcheck(MASKED[number], (wide(),), masked=True)
    assert gradgradcheck(MASKED[number], (wide(),), masked=True)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_gradients_of_products(layout: Any) -> None:
    m = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(torch.sparse.mm, (wide(layout), m), masked=True)
    assert gradgradcheck(torch.sparse.mm, (wide(layout), m), masked=True)
    assert gradcheck(lambda a, b: a @ b, (wide(layout), m), masked=False)
    if layout is torch.sparse_csr:
        for reduce in ("sum", "mean", "amax", "amin"):
            assert gradcheck(lambda a, b, how=reduce: torch.sparse.mm(a, b, how), (wide(layout), m), masked=True)
        left, right = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 5), (5, 4)))
        assert gradcheck(torch.sparse.sampled_addmm, (wide(layout), left, right), masked=True)


def test_a_batch_of_sparse_matrices() -> None:
    a, b = (
        torch.stack([wide().detach(), wide().detach() * 2]).requires_grad_(),
        torch.randn(2, 4, 2, dtype=torch.float64, requires_grad=True),
    )
    torch.testing.assert_close(torch.bmm(a, b), torch.bmm(a.to_dense(), b))
    assert gradcheck(torch.bmm, (a, b), masked=False)


def test_sparse_and_dense_gradients_of_one_leaf_are_added() -> None:
    weight = torch.ones(4, 2, requires_grad=True)
    index = torch.tensor([1, 1, 3])
    sparse = torch.nn.functional.embedding(index, weight, sparse=True).sum()
    sparse.backward(retain_graph=True)
    assert weight.grad.is_sparse
    (sparse + weight.sum()).backward()
    assert weight.grad.layout is torch.strided
    assert weight.grad.tolist() == [[1.0, 1.0], [5.0, 5.0], [1.0, 1.0], [3.0, 3.0]]


def test_wrong_gradient_is_found() -> None:
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(lambda a: a.to_dense(), (wide(),), masked=False)  # the gradient of elements that are not kept is dropped


# -- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call, message", [
    (lambda s: s.cos(), "Could not run 'aten::cos' with arguments from the 'SparseCPU' backend"),
    (lambda s: s + 1, r"add\(sparse, dense\) is not supported. Use add\(dense, sparse\) instead."),
    (lambda s: torch.sparse_coo_tensor([[0, 1], [0, 0]], [1.0, 2.0, 3.0], (2, 2)), "indices and values must have same nnz, but got nnz from indices: 2"),
    (lambda s: torch.sparse_coo_tensor([[0, 5], [0, 0]], [1.0, 2.0], (2, 2), check_invariants=True), "for dim 0, size is 2 but found index 5"),
    (lambda s: torch.sparse_csr_tensor([0, 1, 2], [0, 5], [1.0, 2.0], (2, 2), check_invariants=True), "`0 <= col_indices < ncols` is not satisfied."),
    (lambda s: s.values(), "Cannot get values on an uncoalesced tensor, please call .coalesce"),
    (lambda s: torch.ones(3, 3).to_sparse_bsr((2, 2)), r"tensor sparse size \(3,3\) must be divisible by given blocksize \(2,2\)"),
    (lambda s: torch.sparse.spsolve(s, s), "cuDSS"),
    (lambda s: torch.sparse.to_sparse_semi_structured(s), "tensor cores"),
    (lambda s: torch.sparse_coo_tensor([[0], [7]], [1.0], (2, 2)).to_dense(), "for dim 1, size is 2 but found index 7"),
    (lambda s: torch.optim.SparseAdam([torch.ones(2, requires_grad=True).to_sparse().detach().requires_grad_()]), "SparseAdam requires dense parameter"),
])  # fmt: skip
def test_errors(call: Any, message: str) -> None:
    s = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    with pytest.raises((RuntimeError, ValueError), match=message):
        call(s)


def test_invariants_are_checked_where_it_is_asked_for() -> None:
    check = torch.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
        with pytest.raises(RuntimeError, match="found index 5"):
            torch.sparse_coo_tensor([[5]], [1.0], (2,))
    assert not check.is_enabled()
    torch.sparse_coo_tensor([[5]], [1.0], (2,))


# -- graphs ------------------------------------------------------------------------------------------------------


def test_compile_leaves_sparse_tensors_to_eager_mode() -> None:
    dense = wide().detach().to_dense()

    def program(x: Any, m: Any) -> Any:
        y = (m * 2).relu()
        s = x.to_sparse()
        return (s @ y).tanh() + 1, s.to_dense().sum(), torch.sparse.mm(s, y)

    m = torch.randn(4, 2, dtype=torch.float64)
    compiled = torch.compile(program)
    for _ in range(3):
        for wanted, found in zip(program(dense, m), compiled(dense, m)):
            torch.testing.assert_close(found, wanted)
    with pytest.raises(RuntimeError, match="sparse"):
        torch.compile(program, fullgraph=True)(dense, m)
    with pytest.raises(RuntimeError, match="sparse"):
        torch.jit.trace(lambda a: a.to_sparse().to_dense() * 2, (dense,))


def test_a_compiled_module_with_a_sparse_buffer() -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("adjacency", torch.eye(3).to_sparse_csr())
            self.linear = torch.nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            return torch.sparse.mm(self.adjacency, self.linear(x).relu()).tanh()

    layer = Layer()
    x = torch.randn(3, 4)
    compiled = torch.compile(layer)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), layer(x))
    compiled(x).sum().backward()
    assert layer.linear.weight.grad is not None and layer.double().adjacency.dtype is torch.float64


def test_writes_are_seen_through_detached_tensors() -> None:
    x = torch.eye(2).to_sparse()
    y = x.detach()
    x.mul_(3)
    assert y.to_dense().tolist() == [[3.0, 0.0], [0.0, 3.0]]
    x.values().fill_(7)
    assert y.to_dense()[0, 0] == 7


def test_zeros_like_in_another_layout():
    def made(tensor, layout):
        zeros = torch.zeros_like(tensor, layout=getattr(torch, layout))
        return str(zeros.layout).removeprefix("torch."), tuple(zeros.shape), zeros._nnz(), zeros.to_dense().abs().sum().item()

    rows, blocks, places = torch.ones(2, 4).to_sparse_csr(), torch.eye(4).to_sparse_bsr((2, 2)), torch.eye(4).to_sparse()
    for tensor, layouts in ((rows, "sparse_csc sparse_coo"), (blocks, "sparse_bsc sparse_coo"), (places, "sparse_csr sparse_csc")):
        for layout in layouts.split():
            assert made(tensor, layout) == (layout, tuple(tensor.shape), 0, 0.0)
    for tensor, layout in ((rows, "sparse_bsr"), (blocks, "sparse_csr"), (places, "sparse_bsc")):
        with pytest.raises(RuntimeError, match="different sparse layout"):
            made(tensor, layout)


def test_tensor_that_is_said_to_be_coalesced_and_is_not():
    with pytest.raises(RuntimeError, match="uncoalesced"):
        torch.sparse_coo_tensor(torch.tensor([[0, 0]]), torch.ones(2), (2,), is_coalesced=True, check_invariants=True)
