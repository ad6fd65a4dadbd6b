"""Lists of tensors of different shapes, which loops let grow: exported as sequences, and run in ONNX Runtime with several trip counts."""

from __future__ import annotations

import warnings
from typing import List  # noqa: UP035

import numpy as np
import pytest
from support.onnx_files import onnx_session

import rushlight as torch
from rushlight import Tensor, jit

pytest.importorskip("onnxruntime")


def starts(x):
    out: List[Tensor] = []  # noqa: UP006
    for i in range(x.size(0)):
        out.append(x[: i + 1] * i)
    return out


def while_it_lasts(x):
    out: List[Tensor] = []  # noqa: UP006
    i = 0
    while bool(x.sum() > i):
        out.append(x[: i + 1])
        i += 1
    return out, len(out)


def joined(x):
    out: List[Tensor] = []  # noqa: UP006
    i = 0
    while bool(x.sum() > i):
        out.append(x[: i + 1] * i)
        i += 1
    return torch.cat(out, 0)


def columns(x):
    out = [x.reshape(1, -1)]
    for i in range(x.size(0)):
        out.append(x.reshape(1, -1)[:, i:])
    return out


def looked_at(x):
    out: List[Tensor] = []  # noqa: UP006
    for i in range(x.size(0)):
        out.append(x[i:])
    return out[1] + 1, out[-1], out[x.size(0) // 2]


def appended_after(x):
    out: List[Tensor] = []  # noqa: UP006
    for i in range(x.size(0)):
        out.append(x[: i + 1])
    out.append(x * 10)
    return out, len(out)


def walked(x):
    out: List[Tensor] = []  # noqa: UP006
    for i in range(x.size(0)):
        out.append(x[: i + 1])
    total = torch.zeros(1)
    for each in out:
        total = total + each.sum()
    return total


def two_lists(x):
    first: List[Tensor] = []  # noqa: UP006
    second: List[Tensor] = []  # noqa: UP006
    for i in range(x.size(0)):
        first.append(x[: i + 1])
        second.append(x + i)
    return first, torch.stack(second)


def by_value(x):
    out: List[Tensor] = []  # noqa: UP006
    for i in range(x.size(0)):
        out.append(torch.nonzero(x > i)[:, 0])
    return out


def session_of(function, example, opset):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.onnx.export(jit.script(function), (example,), input_names=["x"], dynamic_axes={"x": [0]}, opset_version=opset)
    return onnx_session(made)


def arrays_in(values):
    return [leaf for each in values for leaf in (arrays_in(each) if isinstance(each, (tuple, list)) else [np.asarray(each)])]


@pytest.mark.parametrize("opset", [13, 17])
@pytest.mark.parametrize(
    "function",
    [starts, while_it_lasts, joined, columns, looked_at, appended_after, walked, two_lists, by_value],
    ids=lambda each: each.__name__,
)
def test_trip_counts(function, opset):
    session = session_of(function, torch.tensor([1.0, 2.0, 0.5]), opset)
    for given in ([1.0, 2.0, 0.5], [2.0, 3.0], [0.5, 1.0, 1.5, 0.0, 2.0, 1.0]):
        want = function(torch.tensor(given))
        got = arrays_in(session.run(None, {"x": np.array(given, np.float32)}))
        want = arrays_in(want if isinstance(want, tuple) else [want])
        assert len(got) == len(want)
        for one, other in zip(got, want):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-5)


def stacks(x):
    out: List[Tensor] = []  # noqa: UP006
    for i in range(x.size(0)):
        out.append(x[: i + 1])
    return torch.stack(out)


def both_dimensions(x):
    out: List[Tensor] = []  # noqa: UP006
    for i in range(x.size(0)):
        out.append(x[: i + 1].reshape(-1, 1) * x[i:])
    return out


def in_a_branch(x):
    out: List[Tensor] = []  # noqa: UP006
    for i in range(x.size(0)):
        if bool(x[i] > 1):
            out.append(x[: i + 1])
    return out


@pytest.mark.parametrize(
    ("function", "says"),
    [(stacks, "of different shapes"), (both_dimensions, "more than one dimension")],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_cannot_be_captured(function, says):
    with pytest.raises(jit.CaptureError, match=says):
        session_of(function, torch.tensor([1.0, 2.0, 0.5]), 17)
