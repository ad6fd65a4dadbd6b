"""The packed parameters of quantized layers, and their state in files: that of PyTorch's C++ classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.declare import table
from ...core.dtypes import float16, float32, int16
from ...core.errors import ArgumentError
from ..create.factories import scalar_tensor

_CLASSES = "__torch__.torch.classes.quantized."


class Packed:
    """The parameters of a quantized layer: a weight, a bias, and a convolution's strides, padding, dilation and groups.

    Of an embedding ``options`` says that it is a ``table``.
    """

    def __init__(self, weight: Any, bias: Any, **options: Any) -> None:
        self.weight = weight
        self.bias = bias
        self.options = options

    def unpack(self) -> tuple[Any, Any]:
        """The weight and the bias."""
        return self.weight, self.bias

    def __getstate__(self) -> tuple[Any, str]:
        """The state, and the C++ class that it is of."""
        if not self.options:
            return (self.weight if self.weight.is_quantized else self.weight.to(float32), self.bias), f"{_CLASSES}LinearPackedParamsBase"
        if self.options.get("table"):
            return (1, [self.weight], [], [8]), f"{_CLASSES}EmbeddingPackedParamsBase"
        numbers = table["stack"].call([scalar_tensor(each, dtype=int16) for each in convolution_numbers(self)])
        return ("2", [numbers, self.weight], [self.bias]), f"{_CLASSES}Conv{len(self.options['stride'])}dPackedParamsBase"

    def __setstate__(self, state: Any) -> None:
        parts, path = state
        make = MAKERS.get(path.removeprefix(_CLASSES))
        if make is None:
            raise ArgumentError(f"the file holds an object of {path.removeprefix('__torch__.')}, which is not read")
        self.__dict__.update(make(parts).__dict__)


def convolution_numbers(packed: Packed) -> list[int]:
    """What files hold of a convolution besides its tensors: dimensions, strides, padding, dilation, output padding, groups, and whether it is transposed."""
    how = packed.options
    dims = len(how["stride"])
    numbers = [dims, *how["stride"], *how["padding"], *how["dilation"], *how.get("output_padding", [0] * dims)]
    return [*numbers, how["groups"], int(how.get("transposed", False))]


def _linear(state: Any) -> Packed:
    weight, bias = state
    return Packed(weight if weight.is_quantized else weight.to(float16), bias)


def _convolution(state: Any) -> Packed:
    version, first, second = state if len(state) == 3 else (3, *state)
    if str(version) == "2":
        numbers, weight = first
        values, bias = [int(each) for each in numbers.tolist()], second[0]
    else:  # all numbers in one list, all tensors in another
        values, (_, weight, bias) = [int(each) for each in first], second
    dims = values[0]
    stride, padding, dilation, output_padding = (tuple(values[1 + at * dims : 1 + (at + 1) * dims]) for at in range(4))
    made = Packed(weight, bias, stride=stride, padding=padding, dilation=dilation, groups=values[1 + 4 * dims])
    if values[-1] & 1:
        made.options |= {"transposed": True, "output_padding": output_padding}
    return made


def _embedding(state: Any) -> Packed:
    return Packed(state[1][0], None, table=True)


MAKERS: dict[str, Callable[[Any], Packed]] = {
    "LinearPackedParamsBase": _linear,
    **{f"Conv{dims}dPackedParamsBase": _convolution for dims in (1, 2, 3)},
    "EmbeddingPackedParamsBase": _embedding,
}
