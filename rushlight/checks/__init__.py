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

MODES = ("traced", "scripted", "compiled", "exported")
# The names of all checks, in order: `skip` takes them.
CHECKS = (
    "forward", "in-place marks", "saved tensors", "backward", "gradients", "second gradients", "float32", "inputs one by one",
    "outputs one by one", "memory", *MODES,
)  # fmt: skip

if TYPE_CHECKING:
    from .checking import check
    from .report import Report, Row
    from .subject import guess
else:
    __getattr__ = missing(
        __name__, lazy=("checking", "modes", "report", "subject"), names={"checking": "check", "report": "Report Row", "subject": "guess"}
    )

__all__ = ["CHECKS", "Report", "Row", "check", "guess"]
