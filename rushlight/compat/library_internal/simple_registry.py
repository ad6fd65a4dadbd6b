"""`torch._library.simple_registry`: the fakes and dispatch rules of ops by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.missing import missing
from ...library.definition import Definition
from ...library.registration import definitions

__all__ = ["find_torch_dispatch_rule", "singleton"]
__getattr__ = missing("rushlight._library.simple_registry")


class Kernel(NamedTuple):
    """A function, and the place in the source where it was registered."""

    func: Callable[..., Any]
    source: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


class FakeImpl:
    """The fake of an op: ``kernel`` is None where it has none."""

    def __init__(self, qualname: str, definition: Definition | None) -> None:
        self.qualname = qualname
        fake = None if definition is None else definition.fake
        self.kernel = None if definition is None or fake is None else Kernel(fake, definition.fake_place)


class DispatchRules:
    """The rules of an op for classes with ``__torch_dispatch__``."""

    def __init__(self, definition: Definition | None) -> None:
        self._rules = {} if definition is None else definition.dispatch_rules

    def find(self, torch_dispatch_class: type) -> Callable[..., Any] | None:
        """The rule for a class, or None."""
        return self._rules.get(torch_dispatch_class)


class Entry:
    """What is registered about an op."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        definition = definitions.get(qualname.removesuffix(".default"))
        self.fake_impl = FakeImpl(qualname, definition)
        self.torch_dispatch_rules = DispatchRules(definition)

    @property
    def abstract_impl(self) -> FakeImpl:
        """The older name of ``fake_impl``."""
        return self.fake_impl


class Registry:
    """Finds entries by the names of ops."""

    def find(self, qualname: str) -> Entry:
        """The entry of an op: one without anything for a name that nobody registered."""
        return Entry(qualname)


singleton = Registry()


def find_torch_dispatch_rule(op: Any, torch_dispatch_class: type) -> Callable[..., Any] | None:
    """The rule of an overload for a class with ``__torch_dispatch__``, or None."""
    return singleton.find(op._name).torch_dispatch_rules.find(torch_dispatch_class)
