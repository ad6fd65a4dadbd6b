"""The public ``Tensor``: its class, construction, conversion, indexing, storages, printing, interchange with other libraries.

In: the table of ops, whose methods ``methods.py`` adds to the class, and Python values or other libraries' arrays.  Out: tensors.
Read ``tensor.py`` first; each other file has one group of methods, and a function ``install`` that adds them.
"""

from __future__ import annotations

from .. import ops  # it fills the index of the table, from which the class gets its methods
from .methods import install
from .tensor import Tensor

install()

__all__ = ["Tensor", "ops"]
