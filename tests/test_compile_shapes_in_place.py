"""Compiled programs that change shapes in place, or write to what their gradients need: each call as eager mode has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch


def squeezed(x: Any) -> Any:
    y = x.erf()
    y.squeeze_()
    return y


def transposed(x: Any) -> Any:
    y = x.tril()
    y.t_()
    y.unsqueeze_(0)
    y.transpose_(0, 1)
    return y * 2, y


def beside_a_view(x: Any) -> Any:
    y = x * 2
    row = y[0]
    y.t_()
    return y * 3, row


def of_an_input(x: Any) -> Any:
    x.unsqueeze_(0)
    return x + 1


def strided_write(x: Any) -> Any:
    y = x + 1
    y.as_strided((2,), (1,)).fill_(7)
    return y


def diagonal(x: Any) -> Any:
    y = x + 1
    y.fill_diagonal_(7)
    return y


def composite_write(x: Any) -> Any:
    x.square_()
    return x


def composite_write_to_a_view(x: Any) -> Any:
    x.permute(1, 0).square_()
    return x * 3


def write_of_what_was_read(x: Any) -> Any:
    y = x.t()[1:] * 2
    x.mul_(y.sum())
    return x * y.sum()


def write_to_a_part(x: Any) -> Any:
    x[0].copy_(x[-1].exp())
    return x * 2


@pytest.mark.parametrize(
    "program",
    (
        squeezed, transposed, beside_a_view, of_an_input, strided_write, diagonal, composite_write, composite_write_to_a_view, write_of_what_was_read,
        write_to_a_part,
    ),
)  # fmt: skip
def test_every_call_is_as_in_eager_mode(program: Callable[[Any], Any]) -> None:
    compiled = torch.compile(program)
    for rows in (1, 1, 3):
        found = []
        for function in (program, compiled):
            leaf = torch.linspace(-1, 2, rows * 3, dtype=torch.float64).reshape(rows, 3).requires_grad_()
            given = leaf * 1
            results = function(given)
            results = results if isinstance(results, tuple) else (results,)
            total = sum((each * torch.arange(each.numel()).reshape(each.shape)).sum() for each in (*results, given))
            found.append([*results, given, *torch.autograd.grad(total, leaf)])
        for wanted, got in zip(*found):
            assert got.shape == wanted.shape
            torch.testing.assert_close(got, wanted)


def test_a_file_of_a_program_that_changes_shapes_in_place() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    import io

    class Program(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return transposed(x)

    x = torch.arange(12.0).reshape(3, 4)
    file = io.BytesIO()
    torch.onnx.export(Program(), (x,), file, dynamo=False, input_names=["x"])
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    for wanted, got in zip(transposed(x), session.run(None, {"x": x.numpy()})):
        assert (wanted.numpy() == got).all()
