"""Calling a module with other parameters than its own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from ...core.base import TensorBase
from ...core.errors import ValueRangeError
from ..parameter import Parameter


def functional_call(
    module: Any, parameters_and_buffers: dict[str, Any], args: Any = None, kwargs: dict[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """The old name of ``rushlight.func.functional_call``."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated. Please use `torch.func.functional_call` instead, which takes the "
        "same arguments.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Any, parameters_and_buffers: dict[str, Any], args: Any = None, kwargs: dict[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with tensors in the place of the parameters and buffers that a dict names.

    With ``tie_weights`` a tensor takes the place of a parameter under all names that it has. ``strict`` wants every name, and no
    other. What the module assigns to its buffers during the call is written to the dict.
    """
    if hasattr(module, "_script_programs"):
        raise RuntimeError("The stateless API can't be used with Jitted modules")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


@contextlib.contextmanager
def _reparametrize_module(
    module: Any, parameters_and_buffers: dict[str, Any], *, tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """For the time of a ``with`` block, put tensors in the place of a module's own."""
    for value in parameters_and_buffers.values():
        if value is not None and not isinstance(value, TensorBase):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    own: dict[str, Any] = {}
    if tie_weights or strict:  # else modules that hold each other in a circle would be walked without an end
        own = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}
    replacements = parameters_and_buffers
    if tie_weights:
        _check_ties(own, parameters_and_buffers)
        replacements = _with_other_names(own, parameters_and_buffers)
    if strict:
        _check_names(module, own, replacements)
    places = {name: _find(module, name, value) for name, value in replacements.items()}
    originals: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for name, value in replacements.items():
            table, key = places[name]
            originals.append((table, key, table.get(key, _ABSENT)))
            table[key] = value
        yield
    finally:
        for name in parameters_and_buffers:
            table, key = places[name]
            if key in table:
                parameters_and_buffers[name] = table[key]
        for table, key, value in reversed(originals):
            if value is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = value


_ABSENT: Any = object()


def _find(module: Any, name: str, value: Any) -> tuple[dict[str, Any], str]:
    """Where a module keeps a tensor, or would keep a new one: the table of its parameters, of its buffers, or of its other attributes."""
    path, _, key = name.rpartition(".")
    owner = module.get_submodule(path)
    for table in (owner._parameters, owner._buffers):
        if key in table:
            return table, key
    now = getattr(owner, key, None)
    if now is not None and not isinstance(now, TensorBase):
        raise TypeError(f"attribute `{key}`: {now} is not an instance of torch.Tensor")
    return owner._parameters if now is None and isinstance(value, Parameter) else owner.__dict__, key


def _check_ties(own: dict[str, Any], given: dict[str, Any]) -> None:
    """Refuse different tensors for the names of one."""
    names: dict[int, list[str]] = {}
    for name, tensor in own.items():
        if name in given:
            names.setdefault(id(tensor), []).append(name)
    for tied in names.values():
        if any(given[name] is not given[tied[0]] for name in tied):
            raise ValueRangeError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using tie_weights=False"
            )


def _with_other_names(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """What is given, also under the other names of the same tensors."""
    names: dict[int, list[str]] = {}
    for name, value in own.items():
        names.setdefault(id(value), []).append(name)
    found = dict(given)
    for name, value in given.items():
        for other in names.get(id(own.get(name)), ()):
            found.setdefault(other, value)
    return found


def _check_names(module: Any, own: dict[str, Any], given: dict[str, Any]) -> None:
    def listed(names: set[str]) -> str:
        return ", ".join(f"'{name}'" for name in sorted(names))

    problems = []
    if given.keys() - own.keys():
        problems.append(f"Unexpected key(s): {listed(given.keys() - own.keys())}.")
    if own.keys() - given.keys():
        problems.append(f"Missing key(s): {listed(own.keys() - given.keys())}.")
    if problems:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))


__all__ = ["functional_call"]
