"""Tensors: the class, its views, printing, interchange with other libraries."""

from __future__ import annotations

from .. import ops  # which says what the table will hold, before its methods are hung on the class
from .methods import install
from .tensor import Tensor

install()

__all__ = ["Tensor", "ops"]
