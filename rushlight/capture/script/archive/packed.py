"""Objects of PyTorch's C++ classes that archives hold: the packed parameters of quantized layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.errors import CaptureError, NotSupported
from ....ops.quantized.packed import MAKERS
from ....ops.quantized.rnn import CellParameters
from .code_text import CUSTOM


class Empty:
    """An object of a C++ class before its state is there."""

    __slots__ = ("made", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.made: Any = None


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
    **{f"quantized.{name}": make for name, make in MAKERS.items()},
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
