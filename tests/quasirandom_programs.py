"""Programs over Sobol's sequences, for any package that speaks PyTorch's language: run by the test and by its recorder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def checksum(tensor: Any) -> str:
    """A number that depends on every element and its place."""
    values = tensor.reshape(-1).tolist()
    return str(sum((index % 1009 + 1) * int(value * 2**30) for index, value in enumerate(values)) % (2**61 - 1))


def _in_parts(torch: Any) -> str:
    engine = torch.quasirandom.SobolEngine(4, scramble=True, seed=2)
    parts = [engine.draw(3), engine.fast_forward(5).draw(2), engine.draw(), engine.reset().draw(2), engine.draw_base2(1)]
    return repr([each.tolist() for each in parts])


def _default_stream(torch: Any) -> str:
    torch.manual_seed(0)
    return repr([torch.quasirandom.SobolEngine(2, scramble=True).draw(2).tolist(), torch.rand(2).tolist()])


def _unbalanced(torch: Any) -> Any:
    engine = torch.quasirandom.SobolEngine(2)
    engine.draw(3)
    return engine.draw_base2(2)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "first": lambda torch: repr(torch.quasirandom.SobolEngine(5).draw(9).tolist()),
    "wide": lambda torch: checksum(torch.quasirandom.SobolEngine(21201).draw(7)),
    "state": lambda torch: checksum(torch.quasirandom.SobolEngine(500).sobolstate.double() / 2**30),
    "scrambled": lambda torch: checksum(torch.quasirandom.SobolEngine(300, scramble=True, seed=3).draw(50, dtype=torch.float64)),
    "parts": _in_parts,
    "default_stream": _default_stream,
    "skipped": lambda torch: repr(torch.quasirandom.SobolEngine(3).fast_forward(1000).draw(2).tolist()),
    "out": lambda torch: repr(torch.quasirandom.SobolEngine(2).draw(2, out=torch.empty(4, dtype=torch.float64)).tolist()),
    "repr": lambda torch: repr([torch.quasirandom.SobolEngine(2), torch.quasirandom.SobolEngine(2, scramble=True, seed=3)]),
    "too_small": lambda torch: torch.quasirandom.SobolEngine(0),
    "too_large": lambda torch: torch.quasirandom.SobolEngine(21202),
    "none": lambda torch: torch.quasirandom.SobolEngine(2).draw(0),
    "whole": lambda torch: torch.quasirandom.SobolEngine(2).draw(2, dtype=torch.int64),
    "unbalanced": _unbalanced,
}


def outcome(torch: Any, name: str) -> str:
    """What a program gives, or its error, as a text."""
    try:
        return PROGRAMS[name](torch)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
