"""Objects of PyTorch's C++ classes that archives hold: the packed parameters of quantized layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.errors import CaptureError, NotSupported
from ....ops import quantized
from ....ops.quantized.rnn import CellParameters
from .code_text import CUSTOM


class Empty:
    """An object of a C++ class before its state is there."""

    __slots__ = ("made", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.made: Any = None


def _linear(state: Any) -> Any:
    weight, bias = state
    return (quantized.linear_prepack if weight.is_quantized else quantized.linear_prepack_fp16)(weight, bias)


def _convolution(state: Any) -> Any:
    version, first, second = state if len(state) == 3 else (3, *state)
    if str(version) == "2":
        numbers, weight = first
        values = [int(each) for each in numbers.tolist()]
        dims, bias = values[0], second[0]
        flags = values[-1]
    else:  # all numbers in one list, all tensors in another
        values, (_, weight, bias) = [int(each) for each in first], second
        dims, flags = values[0], values[-1]
    parts = [values[1 + at * dims : 1 + (at + 1) * dims] for at in range(4)]
    groups = values[1 + 4 * dims]
    if flags & 1:
        return quantized.conv_transpose2d_prepack(weight, bias, parts[0], parts[1], parts[3], parts[2], groups)
    return quantized.conv_prepack(weight, bias, parts[0], parts[1], parts[2], groups)


def _embedding(state: Any) -> Any:
    return quantized.embedding_bag_prepack(state[1][0])


def _cell(state: Any) -> Any:
    kind, tensors, _, numbers, parameters = state
    weights = [each.made if isinstance(each, Empty) else each for each in parameters]
    if kind == "quantized_fp16":  # the biases are packed with the weights
        return CellParameters(weights[0].weight, weights[1].weight, weights[0].bias, weights[1].bias, False)
    if kind != "quantized_dynamic":
        raise NotSupported(f"the archive holds recurrent parameters of the kind {kind!r}, which are not read")
    first, second = tensors
    return CellParameters(weights[0].weight, weights[1].weight, first, second, bool(numbers[0]))


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "quantized.LinearPackedParamsBase": _linear,
    **{f"quantized.Conv{dims}dPackedParamsBase": _convolution for dims in (1, 2, 3)},
    "quantized.EmbeddingPackedParamsBase": _embedding,
    "rnn.CellParamsBase": _cell,
}


def packed_of(path: str, state: Any) -> Any:
    """The object of a C++ class, of the state that the archive has for it."""
    name = path.removeprefix(CUSTOM)
    make = _MAKERS.get(name)
    if make is None:
        raise NotSupported(f"the archive holds an object of torch.classes.{name}, which is not read")
    try:
        return make(state)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise CaptureError(f"the archive holds an object of torch.classes.{name} whose state makes no sense ({error})") from None
