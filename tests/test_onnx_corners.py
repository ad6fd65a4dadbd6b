"""Corners of exports that test files of others have found."""

from __future__ import annotations

import io

import onnx
import pytest
from support.onnx_files import run_onnx

import rushlight as rl
from rushlight.onnx import export, utils
from rushlight.onnx.verification import VerificationOptions, verify

pytest.importorskip("onnxruntime")


class Shaped(rl.nn.Module):
    def forward(self, x, y):
        return rl.zeros(x.size(0), 3) + y


def inputs(model, args, **options):
    stream = io.BytesIO()
    export(model, args, stream, input_names=["x", "y"], **options)
    return [each.name for each in onnx.load_from_string(stream.getvalue()).graph.input]


def test_inputs_that_nothing_is_computed_from():
    args = (rl.ones(2, 2), rl.ones(2, 3))
    assert inputs(Shaped(), args) == ["x", "y"]
    assert inputs(Shaped(), args, dynamo=False) == ["y"]
    assert inputs(rl.jit.script(Shaped()), args, dynamo=False) == ["y"]
    assert inputs(Shaped(), args, dynamo=False, dynamic_axes={"x": [0]}) == ["x", "y"]
    verify(Shaped(), args, options=VerificationOptions(remained_onnx_input_idx=[1]))
    verify(Shaped(), args)


def test_a_float_among_the_arguments_is_verified():
    class Added(rl.nn.Module):
        def forward(self, x: float, y):
            return x + y

    verify(Added(), (3.0, rl.randn(2)))
    verify(rl.jit.script(Added()), (3.0, rl.randn(2)))


def test_comparisons_of_nan_at_the_first_opsets():
    class Compared(rl.nn.Module):
        def forward(self, x):
            return x.isnan(), x == 0.5

    for opset in (7, 8, 9):
        verify(Compared(), rl.tensor([0.5, 1e-7, -0.5, float("nan"), float("inf")]), opset_version=opset)


def test_a_list_that_a_script_returns_is_verified():
    class Rows(rl.nn.Module):
        def forward(self, x):
            found = []
            for row in range(x.size(0)):
                found += [x[row] * 2]
            found.pop()
            return found

    verify(rl.jit.script(Rows()), rl.rand(4, 3), opset_version=13)


def test_dynamic_dimensions_are_checked_by_name():
    axes = {"x": [0, 2], "z": {0: "batch"}}
    with pytest.warns(UserWarning) as caught:
        utils._validate_dynamic_axes(axes, None, ["x"], ["y"])
    assert "Provided key z for dynamic axes is not a valid input/output name" in [str(each.message) for each in caught]
    assert axes["x"] == {0: "x_dynamic_axes_1", 2: "x_dynamic_axes_2"}
    assert utils._setup_trace_module_map(Shaped(), {rl.nn.Linear}) == {f"{rl.nn.Linear.__module__}.Linear"}


@pytest.mark.parametrize(
    ("program", "kinds"),
    [
        (lambda x: rl.where(x > 0, x, x.flip(0)), "bool int8 int16"),
        (lambda x: x.tril(), "bool uint8 int8 int16"),
        (lambda x: x**2, "uint8 int8 int16"),
        (lambda x: x.clamp(0, 2), "int16"),
        (lambda x: rl.maximum(x, x.flip(0)), "int16"),
        (lambda x: rl.nn.functional.pad(x, (1, 1)), "bool int16"),
        (lambda x: x.unique(), "bool uint8 int16 int32"),
    ],
)
@pytest.mark.parametrize("opset", [13, 18])
def test_types_that_the_runtime_has_no_kernel_for(program, kinds, opset):
    for kind in kinds.split():
        x = rl.tensor([[1, 0, 2, 3], [4, 1, 0, 2], [3, 3, 1, 0]]).to(getattr(rl, kind))
        (got,) = run_onnx(export(program, (x,), opset_version=opset), x)
        assert got.dtype == x.numpy().dtype
        assert rl.equal(rl.as_tensor(got), program(x))
