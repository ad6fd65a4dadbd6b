"""`torch._inductor.compile_fx`: the compiler of graphs, by the name under which back-ends of programs import it."""

from __future__ import annotations

from typing import Any

from ...backends.registry import find
from ...core.missing import missing

__getattr__ = missing("rushlight._inductor.compile_fx")


def compile_fx(model_: Any, example_inputs_: list[Any]) -> Any:
    """A captured graph as native code: what a back-end that changes graphs gives them to."""
    return find("native")(model_, example_inputs_)
