"""``rushlight.check``: checks of a custom Function, reported as one table.

In: a Function and example arguments.  Out: a :class:`Report`.  Read ``checking.py`` first; ``modes.py`` compares eager with captured runs.


>>> import rushlight
>>> class Cube(rushlight.autograd.Function):
...     @staticmethod
...     def forward(ctx, x):
...         ctx.save_for_backward(x)
...         return x ** 3
...     @staticmethod
...     def backward(ctx, gradient):
...         (x,) = ctx.saved_tensors
...         return gradient * 3 * x ** 2
>>> rushlight.check(Cube, rushlight.randn(3, 4)).ok
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.missing import missing
from .report import Report, Row

if TYPE_CHECKING:
    from .checking import check
    from .subject import guess
else:
    __getattr__ = missing(__name__, lazy=("checking", "modes", "subject"), names={"checking": "check", "subject": "guess"})

__all__ = ["Report", "Row", "check", "guess"]
