"""What the layers share: sizes given as one number or several, and new parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from ...ops.create.factories import empty
from ..parameter import Parameter


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) and not isinstance(x, str) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """The elements from last to first, each ``n`` times: how ``pad`` wants the paddings of a convolution."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """A size in which None stands for the input's."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size) :])]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip a prefix from the keys of a ``state_dict`` that have it, in place.

    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if key == prefix.replace(".", "") or key == prefix:
            metadata[""] = metadata.pop(key)  # type: ignore[index, union-attr]
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)  # type: ignore[index, union-attr]


def new_parameter(shape: Any, device: Any = None, dtype: Any = None) -> Any:
    """A parameter whose memory was not written to yet."""
    return Parameter(empty(tuple(shape), device=device, dtype=dtype))


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments ``device``, ``dtype`` and ``memory_format`` for factory functions, from those of a layer.

    >>> factory_kwargs({"dtype": None, "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': None}
    """
    if kwargs is None:
        return {}
    names = ("device", "dtype", "memory_format")
    unexpected = kwargs.keys() - {*names, "factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in names:
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            found[name] = kwargs[name]
    return found
