"""Runs a random Python program (:mod:`fuzz.python_programs`) in a form: eager, captured, compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import rushlight

FORMS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda function: function,
    "captured": lambda function: rushlight.compile(function, backend="eager"),
    "compiled": rushlight.compile,
    "dynamic": lambda function: rushlight.compile(function, dynamic=True),
}


def run_python(torch: Any, source: str, form: Callable[[Any], Any]) -> list[str]:
    """What a program says of its calls: results, errors, and what they leave behind."""
    results: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(
            compile(source, "<program>", "exec", dont_inherit=True),
            {"torch": torch, "form": form, "results": results, "__name__": "program"},
        )
    return results
