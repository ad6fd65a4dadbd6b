"""Builtin operations that run users' methods, in Python: a capture interprets these forms in their place.

They do what CPython does, in its order; so what the methods read and change is guarded and recorded.
"""

from __future__ import annotations

from typing import Any

from ....autograd.grad_mode import no_grad


def instantiate(kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``kind(*args, **kwargs)`` of a class with an ``__init__`` of its own."""
    instance = object.__new__(kind)
    kind.__init__(instance, *args, **kwargs)
    return instance


def instantiate_anew(kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same for a class with a ``__new__`` of its own."""
    instance = kind.__new__(kind, *args, **kwargs)
    if kind in type(instance).__mro__:  # whatever a metaclass says of it
        type(instance).__init__(instance, *args, **kwargs)
    return instance


def call_forward(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call of a Module without hooks."""
    return module.forward(*args, **kwargs)


def binary(methods: tuple[Any, ...], symbol: str, a: Any, b: Any) -> Any:
    """An operator: methods are (function, whether its arguments are swapped), in the order in which they are asked."""
    for method, swapped in methods:
        result = method(b, a) if swapped else method(a, b)
        if result is not NotImplemented:
            return result
    raise TypeError(f"unsupported operand type(s) for {symbol}: {type(a).__name__!r} and {type(b).__name__!r}")


def compare(methods: tuple[Any, ...], symbol: str, a: Any, b: Any) -> Any:
    """A comparison: methods are (function, whether its arguments are swapped, whether its result is inverted)."""
    for method, swapped, inverted in methods:
        result = method(b, a) if swapped else method(a, b)
        if result is not NotImplemented:
            return not result if inverted else result
    if symbol == "==":
        return a is b
    if symbol == "!=":
        return a is not b
    raise TypeError(f"{symbol!r} not supported between instances of {type(a).__name__!r} and {type(b).__name__!r}")


def cached_property(function: Any, name: str, instance: Any) -> Any:
    """A cached property that is read for the first time."""
    value = function(instance)
    instance.__dict__[name] = value
    return value


def attribute_or(value: Any, name: str, default: Any) -> Any:
    """``getattr`` with a default."""
    try:
        return getattr(value, name)
    except AttributeError:
        return default


def attribute_by(getter: Any, fallback: Any, value: Any, name: str) -> Any:
    """An attribute of a class with a ``__getattribute__`` of its own, and perhaps a ``__getattr__``."""
    try:
        return getter(value, name)
    except AttributeError:
        if fallback is None:
            raise
        return fallback(value, name)


def call_attribute(value: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A call of an attribute that Python of the user's finds."""
    return getattr(value, name)(*args, **kwargs)


def call_without_gradient(function: Any, args: Any) -> Any:
    """A call whose gradients are not recorded."""
    with no_grad():
        return function(*args)


def has_attribute(value: Any, name: str) -> bool:
    """``hasattr``."""
    try:
        getattr(value, name)
    except AttributeError:
        return False
    return True


def iterator_of(method: Any, value: Any) -> Any:
    """``iter`` of an object whose class has an ``__iter__`` of its own."""
    found = method(value)
    if not hasattr(type(found), "__next__"):
        raise TypeError(f"iter() returned non-iterator of type {type(found).__name__!r}")
    return found


def advance(method: Any, iterator: Any) -> Any:
    """A user's iterator, as a generator that a builtin function may run."""
    while True:
        try:
            found = method(iterator)
        except StopIteration:
            return
        yield found


def iterate(value: Any) -> Any:
    """A user's iterable, as a generator that a builtin function may run."""
    for each in value:  # noqa: UP028 - so that each step is interpreted
        yield each


def iterate_items(value: Any) -> Any:
    """The same for a class that has a ``__getitem__`` and no ``__iter__``: its items from 0 on, until there are no more."""
    at = 0
    while True:
        try:
            item = value[at]
        except (IndexError, StopIteration):
            return
        yield item
        at += 1


def dict_of(kind: Any, mapping: Any, more: dict[str, Any]) -> Any:
    """``dict`` of a mapping that is no dict."""
    found = kind()
    for key in mapping.keys():  # noqa: SIM118 - a mapping need have no more than this
        found[key] = mapping[key]
    found.update(more)
    return found


def pairs_of(mapping: Any) -> Any:
    """The items of a mapping, as a generator."""
    for key in mapping.keys():  # noqa: SIM118 - a mapping need have no more than this
        yield key, mapping[key]


def missing_item(container: Any, key: Any) -> Any:
    """What a ``defaultdict`` gives for a key that it does not have."""
    if container.default_factory is None:
        raise KeyError(key)
    value = container[key] = container.default_factory()
    return value


def text_of(method: Any, value: Any, name: str, spec: tuple[Any, ...]) -> str:
    """``str``, ``repr`` or ``format`` of an object, by a method of its class."""
    found = method(value, *spec)
    if not isinstance(found, str):
        raise TypeError(f"{name} returned non-string (type {type(found).__name__})")
    return found


def number_of(method: Any, value: Any, name: str, kind: type) -> Any:
    """``int``, ``float`` or ``complex`` of an object, by a method of its class."""
    found = method(value)
    if not isinstance(found, kind) and name != "__index__":
        raise TypeError(f"{name} returned non-{kind.__name__} (type {type(found).__name__})")
    return kind(found)


def hash_of(method: Any, value: Any) -> int:
    """``hash`` of an object, by a method of its class."""
    found = method(value)
    if not isinstance(found, int):
        raise TypeError("__hash__ method should return an integer")
    return hash(found)


def attributes_of(value: Any, names: tuple[str, ...]) -> Any:
    """What ``operator.attrgetter`` gets."""
    found = []
    for name in names:
        each = value
        for part in name.split("."):
            each = getattr(each, part)
        found.append(each)
    return found[0] if len(found) == 1 else tuple(found)


def method_called(value: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``operator.methodcaller`` calls."""
    return getattr(value, name)(*args, **kwargs)


def gather(function: Any, values: Any, rest: tuple[Any, ...]) -> Any:
    """``list``, ``sorted`` or the like of a generator."""
    found = []
    for each in values:
        found.append(each)
    return function(found, *rest)


def any_of(values: Any) -> bool:
    """``any`` of a generator."""
    for each in values:  # noqa: SIM110
        if each:
            return True
    return False


def all_of(values: Any) -> bool:
    """``all`` of a generator."""
    for each in values:  # noqa: SIM110
        if not each:
            return False
    return True


def contained(method: Any, container: Any, item: Any, invert: bool = False) -> bool:
    """``item in container`` (``invert``: ``not in``) of a class with a ``__contains__`` of its own."""
    return (not invert) if method(container, item) else invert


def found_among(container: Any, item: Any, invert: bool = False) -> bool:
    """The same for a set or the keys of a dict, and an item that is equal to itself alone by its hash."""
    for each in container:
        if each is item:
            return not invert
    return invert


def found_in(container: Any, item: Any, invert: bool = False) -> bool:
    """The same for a class that can only be iterated over."""
    for each in container:
        if each is item or each == item:
            return not invert
    return invert


def truth_of(method: Any, value: Any, name: str) -> bool:
    """The truth of an object with a ``__bool__`` or ``__len__`` of its own."""
    found = method(value)
    if name == "__bool__" and found is not True and found is not False:
        raise TypeError(f"__bool__ should return bool, returned {type(found).__name__}")
    if not isinstance(found, int):
        raise TypeError(f"{type(found).__name__!r} object cannot be interpreted as an integer")
    if found < 0:
        raise ValueError("__len__() should return >= 0")
    return found != 0
