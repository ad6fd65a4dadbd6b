"""``jit.script`` of classes: objects with attributes of fixed types, and methods that are scripted functions.

Objects are those of the Python class, in scripts and outside; only what its methods do is a graph.
"""

from __future__ import annotations

import dataclasses
import inspect
from types import FunctionType, SimpleNamespace
from typing import Any

from ...core.declare import PACKAGE
from ...core.errors import CaptureError
from ...core.state import state
from .frontend.annotations import IGNORED, UNUSED, mark_of
from .frontend.errors import NotSupportedError, ScriptError
from .frontend.types import CLASS_MAKERS, ClassType, Type, class_type, from_annotation, parse_type
from .lower.compiler import ScriptParameter, Signature
from .run.program import ScriptProgram
from .script_function import RecursiveCompiler, ScriptFunction

OPERATED = frozenset(
    f"__{name}__"
    for name in (
        "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift radd rsub rmul rtruediv eq ne lt le gt ge neg pos invert len abs int float "
        "bool str getitem setitem contains call enter exit hash"
    ).split()
)
_FOREIGN = frozenset(("builtins", "typing", "collections", "enum", "types"))


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
        if dataclasses.is_dataclass(self.kind):
            self._signature = self.from_fields()
        elif "__init__" in vars(self.kind):
            self.growing = True
            initial = self.method("__init__").__dict__["_program"].signature
            self.growing = False
            self._signature = Signature(self.name, initial.parameters[1:], self.type)
        else:
            self._signature = Signature(self.name, [], self.type)
        for name, value in vars(self.kind).items():
            if self.is_method(value):
                self.method(name)

    def from_fields(self) -> Signature:
        """What a dataclass takes."""
        parameters = []
        for each in dataclasses.fields(self.kind):  # type: ignore[arg-type]
            if each.default_factory is not dataclasses.MISSING:
                raise NotSupportedError(
                    f"'{self.name}.{each.name}' has a default_factory, which scripts can't call: give it a plain default, or none"
                )
            self.attributes[each.name] = kind = from_annotation(each.type, self.resolve)
            parameters.append(ScriptParameter(each.name, kind, ... if each.default is dataclasses.MISSING else each.default))
        return Signature(self.name, parameters, self.type)

    def resolve(self, text: str) -> Any:
        """What a name in an annotation of a field means."""
        functions = [each for each in vars(self.kind).values() if isinstance(each, FunctionType)]
        return eval(text, functions[0].__globals__ if functions else {}, self.frames[-1].f_locals)  # as Python does with annotations

    def is_method(self, value: Any) -> bool:
        """Whether this is a method, or a property, that was written by the user."""
        function = value.fget if isinstance(value, property) else value
        if not isinstance(function, FunctionType) or mark_of(function) in (IGNORED, UNUSED):
            return False
        written = inspect.unwrap(function)  # a dataclass's own __repr__ is wrapped, from Python 3.13 on by a function of another module
        return written.__code__.co_filename != "<string>" and written.__globals__ is not vars(dataclasses)

    def member(self, name: str) -> Any:
        """What the class has under a name, or None."""
        return vars(self.kind).get(name)

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
        else:
            for name, value in zip(self.attributes, args):
                object.__setattr__(made, name, value)
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
