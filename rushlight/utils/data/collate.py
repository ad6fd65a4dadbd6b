"""Collating: a batch of tensors from a list of samples, whatever containers the samples are made of."""

from __future__ import annotations

import collections.abc
import contextlib
import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ...core.base import TensorBase
from ...core.declare import table
from ...core.dtypes import BY_NUMPY, float64
from ...tensor.construct import as_tensor, from_numpy, tensor

np_str_obj_array_pattern = re.compile("[SaUO]")  # kinds of arrays that are not collated; programs look for it here
default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
CollateMap = dict[Any, Callable[..., Any]]


def _is_named(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def default_convert(data: Any) -> Any:
    """NumPy arrays, in whatever containers, as tensors; all else as it is."""
    kind = type(data)
    if isinstance(data, TensorBase):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return as_tensor(data) if data.dtype in BY_NUMPY else data
    if isinstance(data, Mapping):
        return _rebuilt(data, {key: default_convert(value) for key, value in data.items()})
    if _is_named(data):
        return kind(*(default_convert(each) for each in data))
    if isinstance(data, tuple):
        return [default_convert(each) for each in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _relisted(data, [default_convert(each) for each in data])
    return data


def _rebuilt(like: Any, items: dict[Any, Any]) -> Any:
    """A mapping of the same class where it can be made, else a dict."""
    with contextlib.suppress(TypeError):
        if isinstance(like, MutableMapping):  # a copy keeps what the class holds beside the items
            result = copy.copy(like)
            result.update(items)
            return result
        return type(like)(items)  # type: ignore[call-arg]
    return items


def _relisted(like: Any, values: list[Any]) -> Any:
    """A sequence of the same class where it can be made, else a list."""
    with contextlib.suppress(TypeError):
        if isinstance(like, MutableSequence):
            result = copy.copy(like)
            for index, value in enumerate(values):
                result[index] = value
            return result
        return type(like)(values)  # type: ignore[call-arg]
    return values


# -- leaves ------------------------------------------------------------------------------------------------------


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Tensors stacked along a new first dimension."""
    return table["stack"].call(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Arrays stacked to a tensor."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_wrong(batch[0].dtype))
    return collate([as_tensor(each) for each in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """NumPy numbers as a tensor."""
    return from_numpy(np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Floats as a tensor of float64."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Ints as a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Strings as they are."""
    return batch


default_collate_fn_map: CollateMap = {
    TensorBase: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _wrong(found: Any) -> str:
    return default_collate_err_msg_format.format(found)


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """One sample of batches from a batch of samples; the map says what to do with the leaves of each type."""
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(first, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        items = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        return _rebuilt(first, items)
    if _is_named(first):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(first, tuple) else _relisted(first, columns)
    raise TypeError(_wrong(kind))


def default_collate(batch: Any) -> Any:
    """A batch of samples as one sample of batches: tensors are stacked, numbers become tensors, containers stay containers.

    >>> default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
