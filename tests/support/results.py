"""Results of a call, and whether they are those of another one."""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch


def leaf(*values: Any, **options: Any) -> torch.Tensor:
    """A vector that requires a gradient."""
    return torch.tensor(list(values), requires_grad=True, **options)


def tensors_in(value: Any) -> list[Any]:
    """All tensors in nested tuples, lists and dicts, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [each for part in parts for each in tensors_in(part)]


def assert_same(
    found: Any,
    wanted: Any,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    *,
    scaled: bool = False,
    exact_types: bool = False,
    where: str = "the result",
) -> None:
    """Assert that results are the same, through nested tuples, lists and dicts.

    Tensors and arrays agree in shape, dtype and values; so does a number with a tensor or an array that holds it alone, but
    for the dtype.  ``scaled`` lets the absolute tolerance grow with the largest value.  ``exact_types`` holds the types of
    containers, ``requires_grad``, and that tensors are no arrays.
    """
    if exact_types:
        assert type(found) is type(wanted), f"{where}: {type(found)} instead of {type(wanted)}"
    if isinstance(wanted, dict):
        assert list(found) == list(wanted), where
        for key, value in wanted.items():
            assert_same(found[key], value, rtol, atol, scaled=scaled, exact_types=exact_types, where=f"{where}[{key!r}]")
    elif isinstance(wanted, (list, tuple)):
        assert isinstance(found, (list, tuple)) and len(found) == len(wanted), where
        for index, (one, other) in enumerate(zip(found, wanted)):
            assert_same(one, other, rtol, atol, scaled=scaled, exact_types=exact_types, where=f"{where}[{index}]")
    elif isinstance(wanted, (torch.Tensor, np.ndarray)) or isinstance(found, (torch.Tensor, np.ndarray)):
        if exact_types and isinstance(wanted, torch.Tensor):
            assert found.requires_grad == wanted.requires_grad, where
        _assert_same_arrays(found, wanted, rtol, atol, scaled, where)
    else:
        assert type(found) is type(wanted) and found == wanted, where


def _assert_same_arrays(found: Any, wanted: Any, rtol: float, atol: float, scaled: bool, where: str) -> None:
    arrays = [each.detach().numpy() if isinstance(each, torch.Tensor) else np.asarray(each) for each in (found, wanted)]
    assert arrays[0].shape == arrays[1].shape, f"{where}: shape {arrays[0].shape} instead of {arrays[1].shape}"
    if all(isinstance(each, (torch.Tensor, np.ndarray, np.generic)) for each in (found, wanted)):
        assert arrays[0].dtype == arrays[1].dtype, f"{where}: dtype {arrays[0].dtype} instead of {arrays[1].dtype}"
    if scaled:
        atol = atol * max(1.0, float(np.abs(np.nan_to_num(arrays[1])).max(initial=0)))
    np.testing.assert_allclose(*arrays, rtol=rtol, atol=atol, err_msg=where)
