"""Small programs for the tests of scripts: each is run as Python and as a script, on several inputs.

``@program(inputs, ...)`` gives the argument tuples; ``export="one"`` says that the script exported on the first of them must hold for
all, ``"each"`` that it is exported for each of them, None that it can't be exported.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch

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
