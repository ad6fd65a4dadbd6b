"""Scripts against plain Python: results, gradients, exceptions, and the exported file in ONNX Runtime."""

from __future__ import annotations

import copy
import io
import warnings
from typing import Any

import numpy as np
import pytest
from script_inputs import kind_of
from script_programs import PROGRAMS
from support.onnx_files import onnx_session

import rushlight as torch
from rushlight import jit
from rushlight.graph import verify

CASES = sorted(PROGRAMS)


def fresh(value: Any, grad: bool = False) -> Any:
    """Arguments of their own; floating tensors require a gradient if asked."""
    if isinstance(value, torch.Tensor):
        made = value.detach().clone()
        return made.requires_grad_() if grad and made.is_floating_point() else made
    if isinstance(value, (tuple, list)):
        return type(value)(fresh(each, grad) for each in value)
    return copy.deepcopy(value)


def same(got: Any, want: Any) -> None:
    if isinstance(want, torch.Tensor):
        assert isinstance(got, torch.Tensor)
        assert got.dtype == want.dtype and got.shape == want.shape
        assert got.requires_grad == want.requires_grad
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-6, atol=1e-7)
    elif isinstance(want, (tuple, list)):
        assert (type(got) is type(want) or (type(got), type(want)) == (list, torch.Size)) and len(got) == len(
            want
        )  # sizes are lists in scripts
        for one, other in zip(got, want):
            same(one, other)
    else:
        assert type(got) is type(want) and got == want


def tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for part in value for each in tensors(part)] if isinstance(value, (tuple, list)) else []


def is_sequence(value: Any) -> bool:
    """Whether a value is one input of a file: a list of tensors of one shape."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, torch.Tensor) for each in value)
        and len({each.shape for each in value}) == 1
    )


def outcome(function: Any, args: Any) -> tuple[Any, Any]:
    try:
        return function(*args), None
    except Exception as error:
        return None, error


@pytest.mark.parametrize("name", CASES)
def test_results_and_exceptions(name: str) -> None:
    function, inputs, _, _ = PROGRAMS[name]
    scripted = jit.script(function)
    verify(scripted.graph)
    for args in inputs:
        want, expected = outcome(function, fresh(args))
        got, error = outcome(scripted, fresh(args))
        if expected is not None:
            assert kind_of(error) is type(expected), error
            assert str(error.__cause__.args) == str(expected.args)
        else:
            assert error is None, error
            same(got, want)


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    function, inputs, _, _ = PROGRAMS[name]
    scripted = jit.script(function)
    for args in inputs:
        runs = []
        for run in (function, scripted):
            given = fresh(args, grad=True)
            result, error = outcome(run, given)
            if error is not None:
                runs.append(kind_of(error))
                continue
            outputs = [each for each in tensors(result) if each.requires_grad]
            if outputs:
                sum((each * each).sum() for each in outputs).backward()
            runs.append([None if each.grad is None else each.grad.numpy() for each in tensors(given)])
            same_flags = [each.requires_grad for each in tensors(result)]
            runs.append(same_flags)
        half = len(runs) // 2
        if isinstance(runs[0], type):
            assert runs[0] is runs[1]
            continue
        assert runs[1] == runs[half + 1]
        for want, got in zip(runs[0], runs[half]):
            assert (want is None) == (got is None)
            if want is not None:
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


kinds = {int: np.int64, float: np.float64, bool: np.bool_}


def parts_of(args: Any) -> list[Any]:
    """What the inputs of an exported program are: tensors, sequences of them, and numbers."""
    return [part for each in args for part in ([each] if is_sequence(each) or type(each) in kinds else tensors(each))]


@pytest.mark.parametrize("name", [name for name in CASES if PROGRAMS[name][2] is not None])
def test_export(name: str) -> None:
    function, inputs, export, dynamic = PROGRAMS[name]
    scripted = jit.script(function)
    for group in [inputs] if export == "one" else [(args,) for args in inputs]:
        first = fresh(group[0])
        names = [f"input_{at}" for at in range(len(parts_of(first)))]
        axes = {each: axis for each, axis in zip(names, dynamic) if axis} if dynamic else None
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("error", jit.TracerWarning)
            warnings.filterwarnings("ignore", "the argument .* is an input of the file, but the graph holds for this value alone")
            torch.onnx.export(scripted, first, buffer, opset_version=17, input_names=names, dynamic_axes=axes)
        session = onnx_session(buffer.getvalue())
        taken = {each.name for each in session.get_inputs()}
        for args in group:
            want = function(*fresh(args))
            flat = [each for each in (want if isinstance(want, tuple) else (want,)) if not isinstance(each, str)]
            feeds = {
                key: [part.numpy() for part in each]
                if isinstance(each, list)
                else np.asarray(each, None if hasattr(each, "numpy") else kinds[type(each)])
                for key, each in zip(names, parts_of(fresh(args)))
                if key in taken
            }
            got = [part for each in session.run(None, feeds) for part in (each if isinstance(each, list) else [each])]
            assert len(got) == len(flat)
            for one, other in zip(got, flat):
                expected = other.numpy() if isinstance(other, torch.Tensor) else np.asarray(other)
                assert one.shape == expected.shape
                np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-5)
