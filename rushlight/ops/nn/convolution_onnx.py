"""ONNX forms of convolutions: one Conv or ConvTranspose, whose padding may differ at the two ends."""

from __future__ import annotations

from typing import Any

import numpy as np

_FLOAT64 = np.dtype(np.float64)


def _as_floats(g: Any, values: list[Any]) -> list[Any]:
    """Operands in a type that Conv takes: integers go by way of doubles."""
    if values[0].dtype.kind == "c":
        raise g.unsupported("ONNX has no complex arithmetic")
    return [each if each is None or each.dtype.kind not in "iu" else g.cast(each, _FLOAT64) for each in values]


def _numbers(value: Any, ndim: int) -> list[int]:
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    return values * ndim if len(values) == 1 else values


def _kernel(weight: Any) -> dict[str, Any]:
    """The attribute that says how large windows are, where that is fixed."""
    sizes = list(weight.shape[2:])
    return {"kernel_shape": sizes} if all(type(each) is int for each in sizes) else {}


def convolution(
    g: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """Conv or ConvTranspose."""
    ndim = weight.rank - 2
    around = _numbers(padding, ndim)
    return _node(g, input, weight, bias, stride, around + around, dilation, groups, output_padding if transposed else None)


def _node(
    g: Any,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    pads: list[int],
    dilation: Any,
    groups: int,
    extra: Any = None,
) -> Any:
    ndim = weight.rank - 2
    steps, more = _numbers(stride, ndim), _numbers(0 if extra is None else extra, ndim)
    if any(e >= s or type(e) is not int for e, s in zip(more, steps)):
        return _extended(g, input, weight, bias, steps, pads, dilation, groups, more)
    attributes = {"dilations": _numbers(dilation, ndim), "group": groups, **_kernel(weight)}
    if any(more):
        attributes["output_padding"] = more
    name = "Conv" if extra is None else "ConvTranspose"
    return g.make(name, tuple(_as_floats(g, [input, weight, bias])), {**attributes, "pads": pads, "strides": steps})


def _extended(
    g: Any,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    pads: list[int],
    dilation: Any,
    groups: int,
    more: list[int],
) -> Any:
    """Runtimes want the output padding fixed, and below the stride: what exceeds the padding is filled with zeros."""
    ndim = len(more)
    if any(type(each) is not int for each in more):
        made = _node(g, input, weight, None, stride, pads[:ndim] + [0] * ndim, dilation, groups, 0)
        made.shape = (None,) * weight.rank
        made = g.pad(made, [0] * (ndim + 4) + [e - p for e, p in zip(more, pads[ndim:])])  # what is negative is cut off
        return made if bias is None else g.Add(made, g.unsqueeze(_as_floats(g, [bias])[0], range(1, ndim + 1)))
    before, after = pads[:ndim], [p - e for p, e in zip(pads[ndim:], more)]
    kept = before + [max(each, 0) for each in after]
    made = _node(g, input, weight, None, stride, kept, dilation, groups, 0)
    made.shape = (None,) * weight.rank
    missing = [max(-each, 0) for each in after]
    if any(missing):
        made = g.pad(made, [0] * (ndim + 4) + missing)
    return made if bias is None else g.Add(made, g.unsqueeze(_as_floats(g, [bias])[0], range(1, ndim + 1)))


def weight_gradient(g: Any, input: Any, grad: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """A convolution of the input by the gradient, with batch and channels exchanged, and stride and dilation too.

    An empty batch makes that a convolution without channels, whose results ONNX Runtime leaves as the memory was.
    """
    ndim = len(kernel)
    batch, channels, *size = input.shape
    if g.is_empty(input) or g.is_empty(grad):
        return g.full((grad.shape[1], channels // groups, *kernel), 0, grad.dtype)
    rest = range(2, ndim + 2)
    if groups == 1:
        swapped = g.swap(input, 0, 1)
    else:  # the channels of a group become the batch; the batches of all groups its channels
        parts = g.reshape(input, (batch, groups, channels // groups, *size))
        swapped = g.transpose(parts, [2, 1, 0, *(at + 1 for at in rest)])
        swapped = g.reshape(swapped, (channels // groups, groups * batch, *size))
    steps, around, apart = (_numbers(each, ndim) for each in (stride, padding, dilation))
    made = _node(g, swapped, g.swap(grad, 0, 1), None, apart, around + around, steps, groups)
    found = [(n + 2 * p - s * (count - 1) - 1) // d + 1 for n, p, s, count, d in zip(size, around, steps, grad.shape[2:], apart)]
    made.shape = (channels // groups, grad.shape[1], *found)
    extra = [at for at, (n, k) in enumerate(zip(found, kernel), 2) if not g.same_size(n, k)]  # where the stride left some input unused
    if extra:
        made = g.slice(made, [0] * len(extra), [kernel[at - 2] for at in extra], extra)
    made = g.swap(made, 0, 1)
    return made if type(batch) is int else g.where(g.equal(g.sizes([batch]), g.sizes([0])), 0, made)


def _batched(g: Any, input: Any, ndim: int, convolve: Any) -> Any:
    """Of an input without a batch dimension, one is added and taken away again."""
    if input.rank == ndim + 2:
        return convolve(input)
    return g.squeeze(convolve(g.unsqueeze(input, [0])), [0])


def _same(g: Any, input: Any, weight: Any, dilation: list[int]) -> tuple[Any, list[int]]:
    """``padding="same"``: what is odd goes to the end.  For a kernel whose size is open, the input is padded."""
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    before, after = [each // 2 for each in total], [each - each // 2 for each in total]
    if _kernel(weight):
        return input, before + after
    lead = [0] * (input.rank - len(total))
    padded = g.pad(input, [*lead, *before, *lead, *after])
    padded.shape = (*input.shape[: len(lead)], *(n + each for n, each in zip(input.shape[len(lead) :], total)))
    return padded, [0] * (2 * len(total))


def forward(ndim: int) -> Any:
    """The form of ``conv1d``, ``conv2d`` or ``conv3d``."""

    def form(g: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        if padding == "same":
            input, pads = _same(g, input, weight, _numbers(dilation, ndim))
        else:
            pads = _numbers(0 if padding == "valid" else padding, ndim) * 2
        return _batched(g, input, ndim, lambda each: _node(g, each, weight, bias, stride, pads, dilation, groups))

    return form


def transposed(ndim: int) -> Any:
    """The form of ``conv_transpose1d`` and its like."""

    def form(
        g: Any,
        input: Any,
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        groups: int,
        dilation: Any,
    ) -> Any:
        pads = _numbers(padding, ndim) * 2
        return _batched(g, input, ndim, lambda each: _node(g, each, weight, bias, stride, pads, dilation, groups, output_padding))

    return form
