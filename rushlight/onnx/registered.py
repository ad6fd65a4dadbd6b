"""Arguments and results of classes that are registered as containers, such as caches of keys and values: in a file they are the tensors that they hold."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Iterator
from typing import Any

from ..nn.modules.module import Module
from ..utils import trees

_PLAIN = (tuple, list, dict)


def opened(value: Any) -> tuple[Any, trees.Structure]:
    """Nested containers with lists in the places of registered ones, and how they were nested."""
    leaves, structure = trees.flatten(value)
    return _lists(structure, iter(leaves)), structure


def _lists(structure: trees.Structure, leaves: Iterator[Any]) -> Any:
    if structure.kind is None:
        return next(leaves)
    children = [_lists(each, leaves) for each in structure.children]
    return (
        trees.Structure(structure.kind, structure.context, (trees.LEAF,) * len(children)).unflatten(children)
        if _is_plain(structure)
        else children
    )


def _is_plain(structure: trees.Structure) -> bool:
    return structure.kind is None or issubclass(structure.kind, _PLAIN)


def is_registered(structure: trees.Structure) -> bool:
    """Whether there is a container that is no tuple, list or dict."""
    return not _is_plain(structure) or any(map(is_registered, structure.children))


def adapted(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A model that takes and gives lists where its own arguments and results are registered containers, and such arguments.

    The containers are made anew in each run, so that those of the caller stay as they are.  Parameters keep their names: a Module's
    twin has the same members.
    """
    named = {name: opened(each) for name, each in kwargs.items()}
    placed = [opened(each) for each in args]
    taken = any(is_registered(structure) for _, structure in [*placed, *named.values()])
    gives = (
        trees.registered(_PLAIN)
        and isinstance(model, Module)
        and type(model).forward is not Module.forward
        and "forward" not in model.__dict__
    )
    if not taken and not gives:
        return model, args, kwargs
    twin = copy.copy(model) if isinstance(model, Module) else model
    called = twin.forward if isinstance(model, Module) else model

    @functools.wraps(called)
    def forward(*given: Any, **keywords: Any) -> Any:
        found = [closed(each, structure) for each, (_, structure) in zip(given, placed)]
        words = {name: closed(each, named[name][1]) if name in named else each for name, each in keywords.items()}
        result = called(*found, *given[len(found) :], **words)
        plain, structure = opened(result)
        return plain if is_registered(structure) else result

    if "__signature__" in vars(forward):  # that of the function of a method, with its `self`
        forward.__signature__ = inspect.signature(called)  # type: ignore[attr-defined]
    if isinstance(model, Module):
        twin.__dict__["forward"] = forward
    return (
        twin if isinstance(model, Module) else forward,
        tuple([each for each, _ in placed]),
        {name: each for name, (each, _) in named.items()},
    )


def closed(value: Any, structure: trees.Structure) -> Any:
    """An argument as the model takes it."""
    return structure.unflatten(trees.flatten(value)[0]) if is_registered(structure) else value
