"""Views, indexing, writes through views, gathering, scattering and making tensors: exported, with fixed sizes and with open ones."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
import rushlight.onnx
from rushlight.onnx.errors import OnnxExporterError

OPSETS = (9, 11, 20)
PLACES, OTHERS, COLUMN = torch.tensor([0, 2, -1]), torch.tensor([2, 0, 1]), torch.tensor([[1], [3]])
ROWS = torch.tensor([True, False, True, True])
MASK = torch.arange(20).reshape(4, 5) % 3 == 0
WHOLE = torch.arange(120).reshape(4, 5, 6) % 7 < 3
ELEMENTS = torch.arange(48).reshape(4, 2, 6) % 5

# What is computed from x (4, 5, 6), and from other tensors as a, b and c.
READS = [
    ("x[1]",),
    ("x[:, 1]",),
    ("x[..., -1]",),
    ("x[1:3, ::2, -2:]",),
    ("x[None, :, None]",),
    ("x[a]", PLACES),
    ("x[:, a]", PLACES),
    ("x[a, b]", PLACES, OTHERS),
    ("x[a, :, b]", PLACES, OTHERS),
    ("x[:, a, b]", PLACES, OTHERS),
    ("x[:, a, b]", PLACES, COLUMN),
    ("x[a, b]", PLACES, COLUMN),
    ("x[1, a]", PLACES),
    ("x[a, 1:3, b]", PLACES, OTHERS),
    ("x[a, None, b]", PLACES, OTHERS),
    ("x[a]", ROWS),
    ("x[a]", MASK),
    ("x[a]", WHOLE),
    ("x[:, a[0]]", torch.tensor([[True, False, True, True, False]])),
    ("x[a, 0]", ROWS),
    ("x[a, b]", ROWS, PLACES),
    ("x[a, :, b]", ROWS, PLACES),
    ("x[a, b]", ROWS, torch.tensor([[1], [2]])),
    ("x[a, b]", ROWS, torch.tensor(2)),
    ("x[a, b, c]", PLACES, OTHERS, OTHERS),
    ("x[x > 0]",),
    ("x[(x > 0).any(-1)]",),
    ("x[torch.arange(x.shape[0]), a]", torch.tensor([1, 2, 0, 3])),
    ("x[:, [0, 2]]",),
    ("x[[0, 1], [2, 3]]",),
    ("x[torch.tensor(1)]",),
    ("x[a]", torch.tensor(2)),
    ("x[-1:]",),
    ("x[:-1]",),
    ("x[x.shape[0]-1]",),
    ("x[:x.shape[0]//2]",),
    ("x[..., :x.size(-1)//2]",),
    ("x.view(x.shape[0], -1)",),
    ("x.view(x.size(0), x.size(1)*x.size(2))",),
    ("x.view(-1, 3)",),
    ("x.reshape(x.shape[0], x.shape[1], 2, -1)",),
    ("x.flatten(1)",),
    ("x.flatten()",),
    ("x.permute(2, 0, 1).contiguous().view(x.size(2), -1)",),
    ("x.transpose(0, 1).reshape(-1)",),
    ("x.unflatten(2, (2, -1))",),
    ("torch.arange(x.size(0))",),
    ("torch.arange(x.size(0), dtype=torch.float32)*x.sum()",),
    ("torch.arange(1, x.size(0)*2, 2)",),
    ("torch.arange(x.size(0)-1, -1, -1)",),
    ("torch.ones(x.shape)",),
    ("torch.full((x.size(0), 2), 7)",),
    ("x.new_zeros(x.size(1))",),
    ("torch.zeros_like(x)",),
    ("torch.eye(x.size(0))",),
    ("torch.linspace(0, 1, x.size(0))",),
    ("x.expand(2, *x.shape)",),
    ("x[:1].expand(7, -1, -1)",),
    ("x.repeat(1, 2, 1)",),
    ("x.repeat(2, 1, 1, 1)",),
    ("torch.cat([x, x[:, :1]], 1)",),
    ("torch.cat((torch.empty(0), x))",),
    ("torch.stack([x, x*2], -1)",),
    ("x.split([1, 4], 1)",),
    ("x.chunk(3, 2)",),
    ("x.chunk(2, 0)",),
    ("x.chunk(3, 1)",),
    ("torch.tensor_split(x, 3, 1)",),
    ("torch.tril(torch.ones(x.size(1), x.size(1)))",),
    ("x.tril(-1)",),
    ("x.triu(1)",),
    ("x.masked_fill(a, -1e9)", WHOLE),
    ("x.masked_fill(x > 0, float('-inf'))",),
    ("torch.where(x > 0, x, 0.)",),
    ("torch.where(x > 0, 1, 0)",),
    ("torch.where(x > 0)",),
    ("x.nonzero()",),
    ("x.masked_select(x > 0)",),
    ("x.gather(1, a)", ELEMENTS),
    ("x.gather(1, a)", ELEMENTS[:3]),
    ("x.scatter(1, a, 1.5)", ELEMENTS),
    ("x.scatter_add(1, a, x)", torch.arange(120).reshape(4, 5, 6) % 5),
    ("x.index_select(1, a)", torch.tensor([1, 1, 0])),
    ("x.index_add(0, a, x[:2])", torch.tensor([0, 0])),
    ("F.pad(x, (1, 2))",),
    ("F.pad(x, (1, 2, 0, 1), value=2.)",),
    ("F.pad(x, (-1, 2))",),
    ("F.pad(x, (1, 2), mode='reflect')",),
    ("F.pad(x, (1, 2), mode='replicate')",),
    ("F.pad(x, (1, 2), mode='circular')",),
    ("F.pad(x, (0, x.size(0)))",),
    ("x.unfold(1, 2, 1)",),
    ("x.unfold(2, 3, 2)",),
    ("x.roll(1, 0)",),
    ("x.roll((1, -2), (0, 2))",),
    ("x.roll(3)",),
    ("x.flip(0, 2)",),
    ("torch.rot90(x, 1, (1, 2))",),
    ("torch.meshgrid(x[:, 0, 0], x[0, :, 0], indexing='ij')",),
    ("x.repeat_interleave(2, 1)",),
    ("x.repeat_interleave(a, 0)", torch.tensor([1, 0, 2, 1])),
    ("x.diagonal(0, 1, 2)",),
    ("torch.diag_embed(x)",),
    ("x[0].diagonal(1)",),
    ("torch.diag(x[0, 0])",),
    ("x[0].trace()",),
    ("x.movedim(0, -1)",),
    ("x.swapaxes(0, 2)",),
    ("x[0].t()",),
    ("x[0].T",),
    ("x.mT",),
    ("x.float()",),
    ("x.half().float()",),
    ("x.long()",),
    ("(x > 0).float()",),
    ("x.double()",),
    ("x.int().bool()",),
    ("x.type_as(a)", PLACES),
    ("x.to(torch.float64)",),
    ("x.clone().detach()",),
    ("x.squeeze()",),
    ("x[:1].squeeze(0)",),
    ("x.unsqueeze(-1).squeeze(-1)",),
    ("F.one_hot(a%3, 3)", PLACES),
    ("torch.isin(a, b)", PLACES, OTHERS),
    ("torch.bucketize(x, a)", torch.tensor([-1.0, 0.0, 1.0])),
    ("torch.unique(a, return_inverse=True, return_counts=True)", torch.tensor([3, 1, 3, 2])),
    ("x.select_scatter(x[0]*2, 0, 1)",),
    ("x.slice_scatter(x[:2]*2, 0, 1, 3)",),
    ("torch.diagonal_scatter(x[0], x[0, :, 0]*2)",),
    ("x.take(a)", PLACES),
    ("x.tile(2, 1)",),
    ("torch.block_diag(x[0], x[1])",),
    ("torch.kron(x[0], x[1])",),
    ("torch.cross(x[..., :3], x[..., 3:6], -1)",),
    ("torch.broadcast_tensors(x, x[:1])",),
    ("torch.full_like(x, 3)",),
    ("torch.clamp(x, -.5, .5)",),
    ("x.clamp(min=0)",),
    ("x.clamp(max=x.mean())",),
]

# Statements that write to x.
WRITES = [
    ("x[0] = 1",),
    ("x[:, 1] = a", torch.randn(6)),
    ("x[1:3, ::2] = 0",),
    ("x[a] = 5.", PLACES),
    ("x[a, b] = c", PLACES, OTHERS, torch.randn(3, 6)),
    ("x[:, a] = b", PLACES, torch.randn(4, 3, 6)),
    ("x[a] = 0", ROWS),
    ("x[a] = 0", MASK),
    ("x[x > 0] = -1",),
    ("x[a] = b", ROWS, torch.randn(3, 5, 6)),
    ("x[a] = b", WHOLE, torch.randn(int(WHOLE.sum()))),
    ("x[a] += 1", PLACES),
    ("x.index_put_((a, b), torch.ones(6), accumulate=True)", torch.tensor([0, 0, 1]), OTHERS),
    ("x[:, a, b] = 7", PLACES, OTHERS),
    ("x[a, :, b] = 7", PLACES, OTHERS),
    ("x[..., -1] *= 2",),
    ("x[0, 1:3].mul_(3)",),
    ("x.transpose(0, 1)[1].zero_()",),
    ("x.view(-1)[::3] = 0",),
    ("x.fill_(2)",),
    ("x.scatter_(1, a, 9)", ELEMENTS),
    ("x.masked_fill_(x > 0, 0)",),
    ("x.copy_(x*2)",),
    ("x[:, :, 0] = torch.arange(x.size(1))",),
    ("x.diagonal(0, 1, 2).fill_(0)",),
    ("x[a, 1:3] = 0", PLACES),
    ("x.unbind(0)[1].add_(1)",),
]


def close(results, wanted):
    wanted = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
    assert [each.shape for each in results] == [each.shape for each in wanted]
    assert [each.dtype for each in results] == [each.dtype for each in wanted]
    for got, want in zip(results, wanted):
        np.testing.assert_allclose(got.numpy(), want.numpy(), 1e-5, 1e-5)


def assert_exported_indexing(program, tensors, opset, grows):
    """Exported with fixed sizes, and with all of them open; where ``grows``, run with other sizes than it was exported with."""
    names = ["x", "a", "b", "c"][: len(tensors)]
    fixed = rushlight.onnx.export(program, tensors, None, opset_version=opset, input_names=names)
    close(fixed.run(*tensors), program(*tensors))
    axes = {name: list(range(each.ndim)) for name, each in zip(names, tensors)}
    open_ = rushlight.onnx.export(program, tensors, None, opset_version=opset, input_names=names, dynamic_axes=axes)
    close(open_.run(*tensors), program(*tensors))
    if grows:
        larger = torch.randn(6, 8, 12)
        close(open_.run(larger), program(larger))


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """The same random inputs in whatever order tests run: sums near 0 are rounded differently by ONNX Runtime."""
    torch.manual_seed(0)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("case", READS, ids=lambda case: case[0])
def test_expression(case, opset):
    source, *others = case
    if "unique" in source and opset < 11:
        pytest.skip("Unique is in ONNX since opset 11")
    program = eval("lambda x, a=None, b=None, c=None: " + source, {"torch": torch, "F": F})
    assert_exported_indexing(
        program, (torch.randn(4, 5, 6), *others), opset, not others and "chunk" not in source and "split([" not in source
    )


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("source", ["x.split(2)", "x.unbind(1)", "x.as_strided((3, 2), (2, 1), 1)"])
def test_parts_and_offsets_are_of_fixed_sizes(source, opset):
    program = eval("lambda x: " + source)
    x = torch.randn(4, 5, 6)
    close(rushlight.onnx.export(program, (x,), None, opset_version=opset).run(x), program(x))
    with pytest.raises(OnnxExporterError, match="for other sizes"):
        rushlight.onnx.export(program, (x,), None, opset_version=opset, input_names=["x"], dynamic_axes={"x": [0, 1, 2]})


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("case", WRITES, ids=lambda case: case[0])
def test_write(case, opset):
    source, *others = case

    def program(x, a=None, b=None, c=None):
        x = x.clone()
        exec(source, {"torch": torch, "F": F, "x": x, "a": a, "b": b, "c": c})
        return x

    assert_exported_indexing(program, (torch.randn(4, 5, 6), *others), opset, not others and "unbind" not in source)


def test_write_to_a_part_of_open_size_is_refused():
    def program(x):
        x = x.clone()
        x.chunk(2, 2)[0].zero_()
        return x

    x = torch.randn(4, 5, 6)
    close(rushlight.onnx.export(program, (x,), None).run(x), program(x))
    with pytest.raises(RuntimeError, match="a dimension of symbolic size"):
        rushlight.onnx.export(program, (x,), None, dynamic_axes={"x": [2]})


def test_few_nodes():
    """What the file says is what a reader would write."""

    def nodes(program, *tensors, **options):
        made = rushlight.onnx.export(program, tensors, None, opset_version=18, **options)
        return [each.op_type for each in made.model_proto.graph.node if each.op_type != "Constant"]

    x = torch.randn(4, 5, 6)
    every = {"dynamic_axes": {"x": [0, 1, 2]}, "input_names": ["x"]}
    assert nodes(lambda x: x.view(x.shape[0], -1), x, **every) == ["Reshape"]
    assert nodes(lambda x: x.expand(2, *x.shape), x, **every) == ["Expand"]
    assert nodes(lambda x: x.clone().contiguous().detach() * 2, x, **every) == ["Mul"]
    assert nodes(lambda x, a: x[a], x, PLACES) == ["Gather"]
    assert nodes(lambda x, a: x[a], x, ROWS) == ["Compress"]
    assert nodes(lambda x: x.chunk(3, 2), x) == ["Split"]
    assert nodes(lambda x: torch.zeros(x.shape), x, **every) == ["Shape", "ConstantOfShape"]
    assert nodes(lambda x: torch.arange(x.size(0)), x, **every) == ["Shape", "Gather", "Range"]


SLICES = {
    "to": lambda x, y: x[:y] * 2,
    "from": lambda x, y: x[y:] + 1,
    "from the end": lambda x, y: x[-y:] * 2,
    "between": lambda x, y: x[y : y + 2].sum(0),
    "two dimensions": lambda x, y: x[:, :y, 1:y] * x.shape[0],
}


@pytest.mark.parametrize("shape", [(), (1,)], ids=["number", "one element"])
@pytest.mark.parametrize("name", SLICES)
def test_slices_by_tensors(name, shape):
    program, x = SLICES[name], torch.arange(72.0).reshape(6, 3, 4)
    made = torch.onnx.export(program, (x, torch.full(shape, 2)), None, input_names=["x", "y"], dynamic_axes={"x": [0]})
    for bound in (2, 1, 3, 0, -1, -3, 6, 9):
        for rows in (6, 4, 1):
            y = torch.full(shape, bound)
            assert torch.equal(made.run(x[:rows], y)[0], program(x[:rows], y)), (bound, rows)


@torch.jit.script
def changed_rows(x, y):
    rows = []
    for i in range(x.size(0)):
        rows.append(x[i])
    rows[y] = x[y] * 2
    return torch.stack(rows)


@torch.jit.script
def chosen_rows(x, y):
    rows = [x[0], x[1], x[2]]
    rows[y] = x[0] * 2
    return torch.stack(rows), rows[y - 1], [4, 7, 9][y]


@torch.jit.script
def viewed(x, y):
    return x.reshape(x.size()[:1] + [2, -1])[:, 0] + [4, 7, 9][y]


@pytest.mark.parametrize("program", [changed_rows, chosen_rows, viewed])
def test_lists_of_scripts_by_tensors(program):
    x = torch.arange(48.0).reshape(12, 4)
    made = torch.onnx.export(program, (x, torch.tensor(1)), None, input_names=["x", "y"], dynamic_axes={"x": [0]})
    for index in (1, 2, 0, -1, -2):
        for rows in (12, 3, 5):
            wanted = program(x[:rows], torch.tensor(index))
            for got, want in zip(made.run(x[:rows], torch.tensor(index)), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
                assert torch.equal(torch.as_tensor(got), torch.as_tensor(want)), (index, rows)
