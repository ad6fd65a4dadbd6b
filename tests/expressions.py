"""Expressions whose results are recorded from PyTorch and compared; they stand in tests/data/expressions, one a line.

``describe`` turns a result into plain data: of a tensor its type, shape, strides, values,
and whether it requires gradients;
of an array the same; of an exception its class.
"""

from __future__ import annotations

import array
import copy
import json
import math
import pathlib
import pickle
import warnings
from typing import Any

import numpy as np


class Sequence:
    """What is no list but has a length and elements."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> float:
        if index >= 2:
            raise IndexError
        return index + 0.5


class Index:
    def __index__(self) -> int:
        return 3


def names(torch: Any) -> dict[str, Any]:
    """What the expressions may use."""
    read_only = np.arange(3)
    read_only.flags.writeable = False
    return {
        "torch": torch,
        "np": np,
        "array": array,
        "copy": copy,
        "pickle": pickle,
        "Sequence": Sequence,
        "Index": Index,
        "read_only": read_only,
        "x": torch.ones(2),
        "g": torch.ones(2, requires_grad=True),
        "y": torch.arange(6.0).reshape(2, 3),
        "z": torch.arange(120.0).reshape(2, 3, 4, 5),
        "reload": lambda value: pickle.loads(pickle.dumps(value)),
        "nan": math.nan,
        "inf": math.inf,
    }


def number(value: Any) -> Any:
    """A number as JSON can hold it, and the same from both packages."""
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def listed_numbers(array: np.ndarray) -> list[Any]:
    return [number(each) for each in array.ravel().tolist()]


def describe(value: Any, torch: Any) -> Any:
    if isinstance(value, torch.Tensor):
        found: dict[str, Any] = {"dtype": str(value.dtype), "shape": list(value.shape), "class": type(value).__name__}
        if value.numel():
            found["stride"] = [step for step, size in zip(value.stride(), value.shape) if size > 1]
        if value.requires_grad:
            found["requires_grad"] = True
            found["grad_fn"] = None if value.grad_fn is None else value.grad_fn.name()
        if value.device.type == "meta":
            found["meta"] = True
        else:
            plain = value.detach()
            if value.dtype in (torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn):
                plain = plain.to(torch.float32)
            found["values"] = listed_numbers(plain.numpy())
        return found
    if isinstance(value, np.ndarray):
        return {"array": str(value.dtype), "shape": list(value.shape), "values": listed_numbers(value)}
    if isinstance(value, (list, tuple)):
        return [describe(each, torch) for each in value]
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return number(value)
    return {"repr": repr(value)}


def evaluate(expression: str, torch: Any) -> Any:
    """The description of an expression's result, or of the exception that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.manual_seed(3)
            return describe(eval(expression, names(torch)), torch)
        except Exception as error:
            return {"error": [kind.__name__ for kind in type(error).__mro__]}


def close(found: Any, wanted: Any) -> bool:
    """Whether descriptions are equal, numbers up to rounding; an error has to be of the wanted class or a subclass."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        if "error" in wanted:
            return "error" in found and wanted["error"][0] in found["error"]
        return found.keys() == wanted.keys() and all(close(found[key], wanted[key]) for key in wanted)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    if isinstance(found, float) and isinstance(wanted, (int, float)):
        return math.isclose(found, wanted, rel_tol=1e-6, abs_tol=1e-7)
    return bool(found == wanted)


FOLDER = pathlib.Path(__file__).resolve().parent / "data" / "expressions"


def written(topic: str) -> list[str]:
    """The expressions of a topic, as they are written down."""
    return list(dict.fromkeys((FOLDER / f"{topic}.txt").read_text().splitlines()))


def recorded(topic: str) -> dict[str, Any]:
    """What PyTorch makes of each."""
    return json.loads((FOLDER / f"{topic}.json").read_text())  # type: ignore[no-any-return]
