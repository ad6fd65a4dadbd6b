"""``jit.script`` of classes: objects with attributes of fixed types, and methods that are scripted functions.

Objects are those of the Python class, in scripts and outside; only what its methods do is a graph.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from types import FunctionType, SimpleNamespace
from typing import Any

from ...core.declare import PACKAGE
from ...core.errors import CaptureError
from ...core.state import state
from .compilation_unit import functions_in
from .frontend.annotations import IGNORED, UNUSED, mark_of
from .frontend.errors import NotSupportedError, ScriptError
from .frontend.types import CLASS_MAKERS, ClassType, Type, class_type, parse_type
from .lower.compiler import Signature
from .run.program import ScriptProgram
from .script_function import RecursiveCompiler, ScriptFunction

OPERATED = frozenset(
    f"__{name}__"
    for name in (
        "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift radd rsub rmul rtruediv eq ne lt le gt ge neg pos invert len abs int float "
        "bool str getitem setitem contains call enter exit hash"
    ).split()
)
_COMPARED = {"__eq__": "==", "__lt__": "<", "__le__": "<", "__gt__": ">", "__ge__": ">"}  # of dataclasses, with what decides
_FOREIGN = frozenset(("builtins", "typing", "collections", "enum", "types"))


class DefaultFactoryError(NotSupportedError, NotImplementedError):
    """A dataclass with a field whose default is made by a function."""

    code = "RL416"


class ScriptClass:
    """A scripted class: the types of its attributes, and its methods.  Called, it makes an object."""

    def __init__(self, kind: type, frames: tuple[Any, ...] = ()) -> None:
        self.kind = kind
        self.name = self.__name__ = self.__qualname__ = kind.__name__
        self.attributes: dict[str, Type] = {}
        self.methods: dict[str, ScriptFunction] = {}
        self.type = ClassType(self)
        # Its own name has no meaning yet while a decorator runs.
        self.frames = (*frames, SimpleNamespace(f_locals={kind.__name__: kind}))
        self.growing = False  # while __init__ says which attributes there are
        self._signature: Signature | None = None

    def compile(self) -> None:
        """Compile all methods; ``__init__`` comes first, and says which attributes there are."""
        if "__init__" in vars(self.kind):
            self.growing = True
            initial = self.method("__init__").__dict__["_program"].signature
            self.growing = False
            self._signature = Signature(self.name, initial.parameters[1:], self.type)
        else:
            self._signature = Signature(self.name, [], self.type)
        for name, value in vars(self.kind).items():
            if self.is_method(value):
                self.method(name)

    @functools.cached_property
    def field_methods(self) -> dict[str, Any]:
        """What Python makes of a dataclass's fields (``__init__`` and comparisons) as functions whose source can be read."""
        if not dataclasses.is_dataclass(self.kind):
            return {}
        made = {name: self.comparison(name, op) for name, op in _COMPARED.items() if self.is_generated(name)}
        if self.is_generated("__init__"):
            made["__init__"] = self.field_init()
        return made

    def is_generated(self, name: str) -> bool:
        """Whether a method of a dataclass is Python's."""
        return inspect.isfunction(found := vars(self.kind).get(name)) and not self.is_method(found)

    def field_init(self) -> Any:
        """``__init__`` of a dataclass: it stores the fields and calls ``__post_init__``."""
        known = dataclasses.fields(self.kind)  # type: ignore[arg-type]
        for each in known:
            if each.default_factory is not dataclasses.MISSING:
                raise DefaultFactoryError(
                    "Default factory initializers are not supported in TorchScript dataclasses: "
                    f"'{self.name}.{each.name}' has one, give it a plain default, or none"
                )
        parameters = list(inspect.signature(self.kind.__init__).parameters.values())[1:]  # type: ignore[misc]
        stored = [each.name for each in known if each.init]
        lines = [f"self.{name} = {name}" for name in stored]
        if "__post_init__" in vars(self.kind):
            lines.append(f"self.__post_init__({', '.join(each.name for each in parameters if each.name not in stored)})")
        hints = {each.name: each.annotation for each in parameters}
        hints = {name: hint.type if isinstance(hint, dataclasses.InitVar) else hint for name, hint in hints.items()}
        made = self.written("__init__", hints, [*lines, "return None"])
        made.__defaults__ = tuple(each.default for each in parameters if each.default is not inspect.Parameter.empty)
        return made

    def comparison(self, name: str, op: str) -> Any:
        """A comparison of a dataclass: by the first field that differs."""
        lines = []
        for each in dataclasses.fields(self.kind):  # type: ignore[arg-type]
            if each.compare:
                lines += [f"first, second = self.{each.name}, other.{each.name}", "if first is None or second is None:"]
                lines += ["    if not (first is None and second is None):"]
                failed = "return False" if op == "==" else f"raise TypeError('one of the values of {each.name} is None')"
                lines += [
                    f"        {failed}",
                    "elif not (first == second):",
                    f"    return {f'bool(first {op} second)' if op != '==' else False}",
                ]
        return self.written(name, {"other": self.kind}, [*lines, f"return {name in ('__eq__', '__le__', '__ge__')}"])

    def written(self, name: str, hints: dict[str, Any], lines: list[str]) -> Any:
        """A method of the class from a text."""
        head = f"def {name}({', '.join(['self', *(f'{each}: ...' for each in hints)])}):"
        around = SimpleNamespace(f_globals=vars(sys.modules[self.kind.__module__]), f_locals={})
        made = functions_in("\n".join([head, *(f"    {line}" for line in lines)]) + "\n", around)[name]
        made.__annotations__ = hints
        return made

    def is_method(self, value: Any) -> bool:
        """Whether this is a method, or a property, that was written by the user."""
        function = value.fget if isinstance(value, property) else value
        if not isinstance(function, FunctionType) or mark_of(function) in (IGNORED, UNUSED):
            return False
        written = inspect.unwrap(function)  # a dataclass's own __repr__ is wrapped, from Python 3.13 on by a function of another module
        return written.__code__.co_filename != "<string>" and written.__globals__ is not vars(dataclasses)

    def member(self, name: str) -> Any:
        """What the class has under a name, or None."""
        return self.field_methods.get(name) or vars(self.kind).get(name)

    def method(self, name: str) -> ScriptFunction:
        """A method (or the getter of a property) as a scripted function of the object and the rest."""
        found = self.methods.get(name)
        if found is None:
            value = self.member(name)
            if value is None and name.startswith("_set_"):
                value = self.member(name.removeprefix("_set_")).fset
            function: Any = value.fget if isinstance(value, property) else value
            first = function.__code__.co_varnames[0] if function.__code__.co_argcount else "self"
            compiler = RecursiveCompiler(function, None, self.frames, {first: self.type})
            found = self.methods[name] = ScriptFunction(ScriptProgram(*compiler.compile()), name, function)
        return found

    def signature_of(self, name: str) -> Signature | None:
        """What a method takes besides the object, and what it returns; None where there is no such method."""
        if not self.is_method(self.member(name)):
            return None
        found = self.method(name)._script_signature
        return Signature(name, found.parameters[1:], found.result)

    @property
    def _script_signature(self) -> Signature:
        if self._signature is None:
            raise ScriptError(f"an object of the class '{self.name}' is made by its own __init__, which can't be scripted")
        return self._signature

    def __call__(self, *args: Any) -> Any:
        made = Blank(self)()
        if "__init__" in self.methods:
            self.methods["__init__"](made, *args)
        return made

    def holding(self, found: Any) -> Any:
        """An object of this class with the attributes of another, which is of a class below it."""
        made: Any = object.__new__(self.kind)
        for name in self.attributes:
            object.__setattr__(made, name, getattr(found, name))
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a scripted class ({self.name}) can't be pickled: write what uses it with jit.save()")

    def __deepcopy__(self, memo: Any) -> ScriptClass:
        return self


class Blank:
    """Makes objects of a scripted class that have no state yet: where code has an ``__init__`` written out, its statements give it one."""

    def __init__(self, described: ScriptClass) -> None:
        self.described = described
        self.__name__ = self.__qualname__ = f"new_{described.name}"

    def __call__(self) -> Any:
        made: Any = object.__new__(self.described.kind)
        if state.capture is not None:
            object.__setattr__(made, "_script_capture", state.capture)
        return made

    def __deepcopy__(self, memo: Any) -> Blank:
        return self


def script_class(kind: type, frames: tuple[Any, ...] = ()) -> ClassType:
    """The type of the objects of a class, which is scripted if that was not done before."""
    found = class_type(kind)
    if found is not None:
        return found
    if len(kind.__mro__) > 2:
        raise ScriptError(
            f"TorchScript classes does not support inheritance yet. Please directly inherit from 'object'. The class '{kind.__name__}' can't be scripted: scripted classes have no base classes (it has {kind.__mro__[1].__name__}); use a Module, "
            "a NamedTuple, or write the methods into it"
        )
    if kind.__module__ in _FOREIGN:
        raise NotSupportedError(f"objects of the class '{kind.__name__}' can't be used in a script")
    made = ScriptClass(kind, frames)
    kind._script_class_type = made.type  # type: ignore[attr-defined]
    try:
        made.compile()
    except BaseException:
        del kind._script_class_type  # type: ignore[attr-defined]
        raise
    return made.type


def read_class(row: dict[str, Any]) -> ScriptClass:
    """A class of a file, without its methods; objects of it have the attributes that the file names."""
    if not str(row["class"]).isidentifier():
        raise CaptureError(f"the file has a class '{row['class']}', which is no name of a class")
    kind = type(row["class"], (), {"__module__": PACKAGE})
    made = ScriptClass(kind)
    made.attributes = {
        name: parse_type(text) for name, text in row["attributes"].items() if name.isidentifier() and not name.startswith("_script")
    }
    kind._script_class_type = made.type  # type: ignore[attr-defined]
    return made


def adopt(described: ScriptClass, name: str, method: Any, is_property: bool) -> None:
    """Give a class of a file a method."""
    described.methods[name] = method
    if name == "__init__" or not (name in OPERATED or (name.isidentifier() and not name.startswith("_"))):
        return

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, *args, **kwargs)

    setattr(described.kind, name, property(run) if is_property else run)


CLASS_MAKERS.append(script_class)
