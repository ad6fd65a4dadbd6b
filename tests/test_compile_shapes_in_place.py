"""Compiled programs that change shapes in place, or write to what their gradients need: each call as eager mode has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight.compiler import explain


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


def write_to_a_view_of_what_was_written(x: Any) -> Any:
    row = x.narrow(0, 0, 1)
    x.clamp_(-0.5, 0.5)
    row.relu_()
    return row


@pytest.mark.parametrize(
    "program",
    (
        squeezed, transposed, beside_a_view, of_an_input, strided_write, diagonal, composite_write, composite_write_to_a_view, write_of_what_was_read,
        write_to_a_part, write_to_a_view_of_what_was_written,
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


def through_a_reshape(x: Any) -> Any:
    y = x + 1
    y.reshape(-1).add_(1)
    return y


def through_a_reshape_of_a_view(x: Any) -> Any:
    y = x + 1
    y.t().reshape(-1).add_(1)
    return y


def through_contiguous(x: Any) -> Any:
    y = x + 1
    y.contiguous().add_(1)
    return y


def through_strides(x: Any) -> Any:
    y = torch.where(x > 0, 0.5, x)
    return y.as_strided((2,), (1,)) * 2, y + y.stride()[0]


@pytest.mark.parametrize("program", (through_a_reshape, through_a_reshape_of_a_view, through_contiguous, through_strides))
def test_writes_and_reads_that_depend_on_the_layout_of_a_computed_value(program: Callable[[Any], Any]) -> None:
    """Whether reshape copies depends on the layout that a value has in eager mode."""
    compiled = torch.compile(program, dynamic=True)
    for rows in (3, 2, 3):
        x = torch.linspace(-1, 2, rows * 4).reshape(rows, 4)
        for given in (x, x.t().contiguous().t()):
            wanted, got = program(given), compiled(given)
            for one, other in zip(wanted, got) if isinstance(wanted, tuple) else [(wanted, got)]:
                torch.testing.assert_close(other, one)


def squeezed_size(x: Any) -> Any:
    return torch.arange((x + 1).squeeze().shape[0])


def size_after_transposing(x: Any) -> Any:
    x.transpose_(0, -1)
    return torch.arange(x.shape[0])


def largest_of_a_part(x: Any) -> Any:
    return x[2:].amax(0)


@pytest.mark.parametrize("dynamic", (None, True))
@pytest.mark.parametrize("program", (squeezed_size, size_after_transposing, largest_of_a_part))
def test_sizes_of_0_and_1_among_dynamic_ones(program: Callable[[Any], Any], dynamic: bool | None) -> None:
    compiled = torch.compile(program, dynamic=dynamic)
    for shape in ((4, 1, 4), (1, 1, 4), (2, 1, 4), (3, 1, 2)):
        found = []
        for function in (program, compiled):
            try:
                found.append(function(torch.ones(shape)))
            except (RuntimeError, IndexError) as error:
                found.append(isinstance(error, IndexError))
        assert type(found[0]) is type(found[1]) and (found[0] is found[1] or found[0].equal(found[1]))


class Strides(torch.autograd.Function):
    """Its backward returns no gradients."""

    @staticmethod
    def forward(ctx, x):
        return x + x

    @staticmethod
    def backward(ctx, g):
        return g.stride()


def test_a_backward_that_reads_strides_and_returns_no_tensors_is_a_break() -> None:
    x = torch.randn(2, 2, requires_grad=True)
    found = str(explain(lambda x: Strides.apply(x), x))
    assert "1 break" in found and "it returns a int where a gradient is due" in found
