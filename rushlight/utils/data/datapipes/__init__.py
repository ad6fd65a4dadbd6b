"""Data pipes: datasets that are put together from steps, as ``IterableWrapper(numbers).shuffle().map(square).batch(2)``.

What comes in: an iterable, files, or other pipes.  What goes out: datasets for a ``DataLoader``.  Read ``datapipe.py`` for what a pipe is,
``iter/`` and ``map/`` for the steps.

>>> from rushlight.utils.data.datapipes.iter import IterableWrapper
>>> list(IterableWrapper(range(5)).map(lambda x: x * x).batch(2))
[[0, 1], [4, 9], [16]]
"""

from __future__ import annotations

from ....core.missing import missing

__all__ = ["iter", "map"]

__getattr__ = missing(__name__, lazy=("iter", "map", "utils"))
