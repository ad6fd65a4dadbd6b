"""Small programs for the tests of scripts: each is run as Python and as a script, on several inputs.

``@program(inputs, ...)`` gives the argument tuples; ``export="one"`` says that the script exported on the first of them must hold for
all, ``"each"`` that it is exported for each of them, None that it can't be exported.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import jit

PROGRAMS: dict[str, Any] = {}
torch.manual_seed(7)
X = torch.randn(2, 3)
POSITIVE = X.abs() + 0.5
NEGATIVE = -POSITIVE
Y = torch.randn(2, 3)
V = torch.randn(5)
N = [torch.tensor(n) for n in (3, 1, 0, 6)]
SIGNS: Any = ((POSITIVE,), (NEGATIVE,), (X,))


def program(*inputs: Any, export: str | None = "one", dynamic: Any = None) -> Any:
    def add(function: Any) -> Any:
        PROGRAMS[function.__name__] = (function, inputs, export, dynamic)
        return function

    return add


def kind_of(error: BaseException) -> type[BaseException]:
    """The class of an exception in the program: a script shows what it raises as a ``jit.Error``, everything else as a RuntimeError, with the exception as cause."""
    if "failed in the TorchScript interpreter" not in str(error):
        return type(error)
    assert error.__cause__ is not None and type(error) in (jit.Error, RuntimeError, NotImplementedError)
    return type(error.__cause__)
