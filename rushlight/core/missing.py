"""Module ``__getattr__``: parts that load on first use, and one clear sentence for a name that is absent."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from .declare import exports, public_names
from .errors import NotSupported
from .process_safety import load_module

PACKAGE = __name__.partition(".")[0]
_NO_NAMES: Mapping[str, str] = {}

# Full name of an attribute -> the module that provides it, or "module:name"; as in "rushlight._dynamo".  Empty unless `import torch`
# has been made to mean rushlight: `compat` then fills it with PyTorch's private names.
stand_ins: dict[str, str] = {}

renamed: dict[type, str] = {}  # classes that say PyTorch's module under the alias -> their module here

_submodules: dict[str, frozenset[str]] = {}  # module -> its parts that load on first use, for hints at names


def aliased() -> bool:
    """Whether `import torch` means rushlight."""
    return bool(stand_ins)


@functools.lru_cache(maxsize=1024)  # libraries ask for some names again and again
def nearest(name: str, module_name: str) -> str:
    """A hint at the name of a module that was probably meant, to go at the end of a message; "" where none is near."""
    module = sys.modules.get(module_name)
    names = {*(() if module is None else dir(module)), *_submodules.get(module_name, ())}
    found = importlib.import_module("difflib").get_close_matches(
        name, sorted(each for each in names if each.startswith("_") == name.startswith("_")), 1, 0.8
    )
    return f" (did you mean {found[0]!r}?)" if found else ""


def needs_pytorch_library(name: str, file: str) -> str:
    """The sentence for a compiled extension that is linked with PyTorch's own libraries."""
    return (
        f"{name} ({file}) is a compiled extension that is linked with PyTorch's C++ libraries (libtorch, libc10), which {PACKAGE}, plain "
        "Python, does not have: use the library's Python implementation of it, if it has one"
    )


def spelling(module_name: str) -> str:
    """The module's name as the user writes it: under the alias, `rushlight.nn` is spelt `torch.nn`."""
    if aliased():
        return "torch" + module_name.removeprefix(PACKAGE)
    return module_name


def home_module(value: Any) -> str:
    """The module of a class, function or object by its name here: under the alias, the package's classes name PyTorch's (`compat/class_names.py`)."""
    name = str(getattr(value, "__module__", None) or "")
    if not renamed or name.partition(".")[0] != "torch":
        return name
    return renamed.get(value if isinstance(value, type) else type(value)) or PACKAGE + name.removeprefix("torch")


def is_own(value: Any) -> bool:
    """Whether a class, function or object is the package's."""
    return home_module(value).partition(".")[0] == PACKAGE


def missing(
    module_name: str, *, lazy: Iterable[str] = (), names: Mapping[str, str] = _NO_NAMES, namespace: str | None = None
) -> Callable[[str], Any]:
    """Make a module's `__getattr__`: `__getattr__ = missing(__name__)`.

    The names in `lazy` are submodules that are imported when they are first asked for, so that they cost nothing
    at import. `names` lists what submodules declare (`{"linear": "Linear Bilinear"}`): asking for one of these imports its submodule.
    The functions that the op table declares for `namespace` come the same way, and `__all__` with them.
    Every other name raises an `AttributeError`, so `hasattr`, `copy` and `pickle` behave as usual.

        >>> from types import ModuleType
        >>> module = ModuleType("rushlight.example")
        >>> module.__getattr__ = missing("rushlight.example")
        >>> hasattr(module, "absent")
        False
    """
    submodules = _submodules[module_name] = frozenset(lazy)
    places = {name: f"{module_name}.{file}" for file, declared in names.items() for name in declared.split()}

    def __getattr__(name: str) -> Any:
        full_name = f"{module_name}.{name}"
        if name in submodules:
            part = load_module(full_name)
            if aliased() and "__getattr__" not in vars(part):
                vars(part)["__getattr__"] = missing(full_name)  # by which PyTorch's private names in it are found
            return part
        if name in places:
            found = getattr(load_module(places[name]), name)
            setattr(sys.modules[module_name], name, found)
            return found
        if namespace is not None and (namespace, name) in exports:
            found = exports[namespace, name]
            setattr(sys.modules[module_name], name, found)
            return found
        if namespace is not None and name == "__all__":
            module = sys.modules[module_name]
            modules = {*submodules, *(each for each, value in vars(module).items() if isinstance(value, ModuleType))}
            return [each for each in dir(module) if not each.startswith("_") and each not in modules]
        if full_name in stand_ins:
            place, _, attribute = stand_ins[full_name].partition(":")
            found = load_module(place)
            return getattr(found, attribute) if attribute else found
        message = f"module {spelling(module_name)!r} has no attribute {name!r}"
        if not (name.startswith("__") and name.endswith("__")):
            message += f": it is not in {PACKAGE} yet{nearest(name, module_name)}"
        raise AttributeError(message, name=name)

    return __getattr__


def absent(name: str, module_name: str, why: str) -> type:
    """A class that programs can import, mention in annotations and test with isinstance, and whose construction says why it is not there.

    A library that imports it for a case that does not arise runs; one that uses it gets the sentence.
    """

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise NotSupported(f"{spelling(module_name)}.{name} is not in {PACKAGE}: {why}")

    return type(name, (), {"__new__": refuse, "__module__": module_name, "__doc__": f"Not here: {why}"})


def absent_function(name: str, module_name: str, why: str) -> Callable[..., Any]:
    """A function that programs can import, and that says when it is called why it is not there."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupported(f"{spelling(module_name)}.{name}() is not in {PACKAGE}: {why}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module_name
    refuse.__doc__ = f"Not here: {why}"
    return refuse


def absents(namespace: dict[str, Any], why: str, *, classes: str = "", functions: str = "") -> None:
    """Put classes and functions that are not there into a module: see :func:`absent`."""
    module_name = namespace["__name__"]
    namespace.update({name: absent(name, module_name, why) for name in classes.split()})
    namespace.update({name: absent_function(name, module_name, why) for name in functions.split()})
    namespace["__getattr__"] = missing(module_name, lazy=namespace.get("_PARTS", ()))


def listing(module_name: str, namespace: str | None = None, names: Iterable[str] = ()) -> Callable[[], list[str]]:
    """Make the `__dir__` of a module whose functions come from the op table, or from submodules, as they are asked for."""
    return lambda: sorted({*vars(sys.modules[module_name]), *names, *(() if namespace is None else public_names(namespace))})


class _Complete(ModuleType):
    """A module whose dictionary has all of ``__all__``: what loads late is loaded when somebody reads the whole of it."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All names of the module."""
        names: dict[str, Any] = ModuleType.__dict__["__dict__"].__get__(self)  # type: ignore[index]  # the property hides the dictionary
        for name in names["__all__"]:
            if name not in names:
                getattr(self, name)
        return names


def complete(module_name: str) -> None:
    """Have ``vars(module)`` and ``module.__dict__`` show names that load late: libraries look there for all classes of a kind."""
    sys.modules[module_name].__class__ = _Complete
