"""``local_map``: a function of plain tensors that takes and gives DTensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ....tensor import Tensor
from ....utils.trees import flatten
from .._api import DTensor
from ..placement_types import Placement

__all__ = ["local_map"]


def local_map(
    func: Callable[..., Any] | None = None, out_placements: Any = None, in_placements: tuple[Any, ...] | None = None,
    in_grad_placements: tuple[Any, ...] | None = None, device_mesh: Any = None, *, redistribute_inputs: bool = False,
) -> Any:  # fmt: skip
    """A function that runs ``func`` on this process's parts of DTensors; ``out_placements`` say what its results are parts of.

    ``in_placements`` are those that the arguments must have, or are brought into (``redistribute_inputs``).  A list is one tensor's
    placements, and a tuple has one for each result (None for what is no tensor).
    """
    if func is None:
        return functools.partial(
            local_map, out_placements=out_placements, in_placements=in_placements, in_grad_placements=in_grad_placements,
            device_mesh=device_mesh, redistribute_inputs=redistribute_inputs,
        )  # fmt: skip

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        flat, spec = flatten(args)
        if in_placements is not None and len(in_placements) != len(flat):
            raise AssertionError(f"in_placements length {len(in_placements)} does not match the number of input args {len(flat)}!")
        mesh = device_mesh
        local = []
        seen = False
        for at, each in enumerate(flat):
            wanted = None if in_placements is None else in_placements[at]
            if not isinstance(each, DTensor):
                if wanted is not None and not isinstance(each, Tensor):  # a plain tensor is a part already
                    raise AssertionError(f"Non-Tensor input {each} expects None placements but received {wanted}!")
                local.append(each)
                continue
            seen, mesh = True, each.device_mesh if mesh is None else mesh
            local.append(_part(each, mesh, wanted, in_placements, None if in_grad_placements is None else in_grad_placements[at]))
        found = func(*spec.unflatten(local), **kwargs)
        return _wrapped(found, mesh) if seen else found

    def _part(each: DTensor, mesh: Any, wanted: Sequence[Placement] | None, given: Any, grad_placements: Any) -> Any:
        if given is not None:
            if wanted is None:
                raise AssertionError(f"DTensor input {each} expects placements but received {wanted}!")
            if tuple(wanted) != each.placements:
                if not redistribute_inputs:
                    raise ValueError(
                        f"arg {each} in local_map has a mismatched placements: arg placements is {each.placements} but the input placements is "
                        f"{tuple(wanted)}! If redistribute_inputs is wanted, set redistribute_inputs=True to local_map."
                    )
                each = each.redistribute(mesh, wanted)
        return each.to_local(grad_placements=grad_placements)

    def _wrapped(found: Any, mesh: Any) -> Any:
        flat, spec = flatten(found)
        several = out_placements if isinstance(out_placements, tuple) else (out_placements,) * len(flat)
        if len(several) != len(flat):
            raise AssertionError(
                f"local_map requires one PlacementType be provided for each output value, got {len(several)} PlacementTypes and {len(flat)} outputs!"
            )
        made = []
        for each, placed in zip(flat, several):
            if isinstance(each, Tensor) and not isinstance(each, DTensor):
                made.append(each if placed is None else DTensor.from_local(each, mesh, placed, run_check=False))
            elif placed is not None and isinstance(out_placements, tuple):
                raise AssertionError(f"Non-tensor output {each} expects None placements but received {placed}!")
            else:
                made.append(each)
        return spec.unflatten(made)

    return run
