"""Inputs on the command line: ``1x3x224x224``, ``x=float32:Nx3xHxW``, ``ids=int64[0:1000]:NxT``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..capture.trace.capture import bind_arguments
from ..core.base import TensorBase
from ..core.dtypes import BY_NAME
from ..onnx.comparison import arguments
from ..onnx.random_inputs import DimSizes, InputSpec, draw, first_sizes, numpy_type
from .grammar import INPUT
from .output import Failure

_SHORT = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "byte": "uint8", "f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32"}  # fmt: skip
_SPEC = re.compile(r"(?:(?P<name>[^=\[\]:]+)=)?(?:(?P<type>\w+)(?:\[(?P<low>-?\d+):(?P<high>-?\d+)\])?:)?(?P<shape>[^=:\[\]]*)")


def parse(text: str) -> InputSpec:
    """One input."""
    found = _SPEC.fullmatch(text.strip())
    if found is None:
        raise Failure(f"the input '{text}' can't be read: write {INPUT}")
    kind = _SHORT.get(found["type"] or "float32", found["type"] or "float32")
    if kind not in BY_NAME:
        raise Failure(
            f"the input '{text}' is of a type '{found['type']}' that there is not; types are float32, float64, float16, int64, int32, bool, ..."
        )
    spec = InputSpec(found["name"], np.dtype(numpy_type(kind)), shape(found["shape"], text))
    if found["low"] is not None:
        spec.low, spec.high = int(found["low"]), int(found["high"])
        if spec.high <= spec.low:
            raise Failure(f"the range of the input '{text}' is empty: [LOW:HIGH] goes up to HIGH - 1")
    return spec


def shape(text: str, whole: str) -> tuple[int | str, ...]:
    """The sizes: numbers, and words for open ones."""
    if text == "scalar":
        return ()
    sizes: list[int | str] = []
    for part in re.split("," if "," in text else "[x×]", text):
        part = part.strip()
        if part.isdigit():
            sizes.append(int(part))
        elif part.isidentifier():
            sizes.append(part)
        else:
            raise Failure(f"the input '{whole}' has a size '{part}' that is neither a number nor a word: write {INPUT}")
    return tuple(sizes)


def pairs(texts: Sequence[str], option: str) -> dict[str, int]:
    """NAME=NUMBER options."""
    found = {}
    for text in texts:
        name, equals, size = text.partition("=")
        if not equals or not name.isidentifier() or not size.isdigit():
            raise Failure(f"{option} {text}: write a name and a number, as in N=4")
        found[name] = int(size)
    return found


class Inputs:
    """The inputs of a program: described, given names, with sizes for the first run."""

    def __init__(self, model: Any, specs: list[InputSpec], sizes: dict[str, int]) -> None:
        self.model = model
        self.specs = specs
        self.given = sizes
        self.sizes: DimSizes = first_sizes(specs, sizes)

    def example(self, seed: int = 0) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Random tensors of the first sizes, as the program takes them."""
        tensors = draw(self.specs, self.sizes, np.random.default_rng(seed))
        return arguments(self.model, self.specs, tensors)

    def settle(self, dynamic: Sequence[str] = ()) -> None:
        """Give every input its name, and open the sizes that --dynamic names."""
        self.name()
        self.open(dynamic)
        unknown = set(self.given) - set(self.sizes.values)
        if unknown:
            raise Failure(
                f"--size names '{sorted(unknown)[0]}', which is no open size of an input ({', '.join(self.sizes.values) or 'there are none'})"
            )

    def name(self) -> None:
        """Give inputs without a name that of the parameter that takes them, and put all in the order of the parameters."""
        args, kwargs = self.example()
        by_tensor = {id(tensor): spec for spec, tensor in self._paired(args, kwargs)}
        ordered = []
        for parameter, value in bind_arguments(self.model, args, kwargs):
            if isinstance(value, TensorBase) and id(value) in by_tensor:
                spec = by_tensor[id(value)]
                spec.name = spec.name or parameter
                ordered.append(spec)
        self.specs = ordered

    def _paired(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[InputSpec, Any]]:
        rest = iter(args)
        return [(spec, kwargs[spec.name] if spec.name in kwargs else next(rest)) for spec in self.specs]

    def open(self, texts: Sequence[str]) -> None:
        """Sizes that --dynamic opens: ``x:0=N``, ``x:0`` or ``x:0=N,2=H``."""
        for text in texts:
            name, colon, axes = text.rpartition(":")
            spec = next((each for each in self.specs if each.name == name), None)
            if not colon or spec is None:
                raise Failure(
                    f"--dynamic {text}: write NAME:DIMENSION=WORD, as in x:0=N; the inputs are {', '.join(str(each.name) for each in self.specs)}"
                )
            for axis in axes.split(","):
                dim, _, word = axis.partition("=")
                if not dim.isdigit() or int(dim) >= len(spec.dims) or not (word or "word").isidentifier():
                    raise Failure(
                        f"--dynamic {text}: '{axis}' is no dimension of '{name}', which has {len(spec.dims)} (0 to {len(spec.dims) - 1}), with a word"
                    )
                at = int(dim)
                size, symbol = spec.dims[at], word or f"{name}_{at}"
                if isinstance(size, int):
                    self.sizes.values.setdefault(symbol, self.given.get(symbol, size))
                    spec.dims = (*spec.dims[:at], symbol, *spec.dims[at + 1 :])

    def axes(self) -> dict[str, dict[int, str]]:
        """The open sizes as ``onnx.export`` takes them."""
        return {str(spec.name): spec.symbols() for spec in self.specs if spec.symbols()}
