"""Reductions by one associative operation: which one each op is, and what happens to an element before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.facets import Facet
from .scalar_ir import BOOL, Array, Functions


class ReductionForm(NamedTuple):
    """A reduction by one associative operation."""

    how: str  # the operation
    prepare: Callable[[Array, np.dtype[Any]], Array] = Array.astype  # an element as it enters, in the dtype that is computed in
    mean: bool = False  # whether the result is divided by the number of elements


def _without_nan(element: Array, compute: np.dtype[Any]) -> Array:
    element = element.astype(compute)
    return Functions().where(element != element, compute.type(0), element) if compute.kind == "f" else element


reduction_form: Facet[ReductionForm] = Facet("reduction", "by which associative operation compiled code reduces")
reduction_form.set(ReductionForm("add"), "sum")
reduction_form.set(ReductionForm("add", mean=True), "mean")
reduction_form.set(ReductionForm("add", _without_nan), "nansum")
reduction_form.set(ReductionForm("add", lambda element, compute: element.astype(BOOL).astype(np.dtype(np.int64))), "count_nonzero")
reduction_form.set(ReductionForm("mul"), "prod")
reduction_form.set(ReductionForm("max"), "amax")
reduction_form.set(ReductionForm("min"), "amin")
reduction_form.set(ReductionForm("and", lambda element, compute: element.astype(compute).astype(BOOL)), "all")
reduction_form.set(ReductionForm("or", lambda element, compute: element.astype(compute).astype(BOOL)), "any")

__all__ = ["ReductionForm", "reduction_form"]
