"""``jit.script`` of Modules, and Modules whose methods are scripted one by one."""

from __future__ import annotations

import copy
import inspect
import io
import sys
import types
import weakref
from collections import OrderedDict
from typing import Any

from ...core.missing import is_own
from ...graph import Graph
from ...graph.node import all_graphs
from ...nn.modules.container import ModuleDict, ModuleList, Sequential
from ...nn.modules.module import Module
from ...nn.parameter import is_lazy
from ..graph_module import GraphModule
from ..listing import listed
from ..trace.traced import ENABLED, TracedModule, save
from .attribute_types import checked_attribute
from .compilation_unit import functions_in
from .frontend.annotations import EXPORTED, IGNORED, METHOD, UNUSED, Attribute, mark_of
from .frontend.errors import ScriptError
from .frontend.instance_annotations import warn_of_empty
from .frontend.types import CLASS_MAKERS, ClassType, EnumType, is_open, type_of
from .hooks import has_hooks, script_hooks
from .interfaces import check_interface, interfaces_of
from .lower.attributes import declared, is_plain_class
from .overloads import overloads_of
from .run.library_modules import CALL, forward_program, is_library_forward, needs_python
from .run.program import ScriptProgram
from .script_function import RecursiveCompiler, ScriptCallable
from .transform.inline import inlined

_OWN = frozenset(Module().__dict__)


class ScriptMethod(ScriptCallable):
    """A scripted method of a Module."""

    _scripted_method = True  # by which captures know it

    def __init__(self, owner: Any, program: ScriptProgram, name: str) -> None:
        self.owner = owner
        self._program = program
        self.name = self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._program.call(self.owner, args, kwargs)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        """What the method says of itself."""
        return getattr(inspect.getattr_static(self.owner._script_class, self.name, None), "__doc__", None)

    @property
    def graph(self) -> Graph:
        """The graph of the method."""
        return listed(self._program.graph, self._program.signature, self.owner, self.name)

    @property
    def inlined_graph(self) -> Graph:
        """The graph with those of scripted functions, methods and Modules in place of their calls."""
        return listed(inlined(self._program.graph, self.owner), self._program.signature, self.owner, self.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptMethod:
        return ScriptMethod(memo.get(id(self.owner), self.owner), self._program, self.name)

    def __repr__(self) -> str:
        return f"<scripted method {self.name} of {type(self.owner).__name__}>"


_shared: weakref.WeakKeyDictionary[type, dict[Any, ScriptProgram]] = weakref.WeakKeyDictionary()  # programs by class, method and structure


def structure(module: Any) -> Any:
    """All that the compiler sees of a Module: two that are equal in it have the same programs.  None where that can't be told."""
    own = {name: value for name, value in module.__dict__.items() if name not in _OWN and not name.startswith("_script")}
    hints, constants = declared(module) if own else ({}, set())
    attributes = []
    for name, value in own.items():
        if isinstance(value, ScriptMethod):
            continue
        kind = type_of(value)
        fixed = (
            name in constants
            or callable(value)
            or kind.name == "object"
            or isinstance(kind, EnumType)
            or "Final" in str(hints.get(name, ""))
        )
        attributes.append((name, kind if isinstance(kind, ClassType) else repr(kind), value if fixed else None))
    key = (
        getattr(module, "_script_class", type(module)), isinstance(module, ScriptModule), tuple(attributes), module.__dict__.get("return_indices"),
        repr(module.__dict__.get("_script_types")),
        tuple((name, value is None) for table in (module._parameters, module._buffers) for name, value in table.items()),
        tuple((name, None if child is None else structure(child)) for name, child in module._modules.items()),
    )  # fmt: skip
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _need(module: Any, program: ScriptProgram) -> None:
    """Make the methods that a program calls, of this Module and of those below it."""
    for graph in all_graphs(program.graph):
        for node in graph.nodes:
            if node.op != "call_module":
                continue
            *way, last = node.target.split(".")
            owner = module
            for part in way:
                owner = owner._modules[part]
            if hasattr(owner, "_script_method") and last not in owner._modules and last not in owner.__dict__ and last != "__setattr__":
                if inspect.getattr_static(owner._script_class, last, None) is None:
                    last = last.removeprefix("_get_")  # of a property
                name, _, number = last.partition("__")
                function = inspect.getattr_static(owner._script_class, name, None)
                declared = overloads_of(function, (), True) if number.isdigit() else []
                owner._script_method(*((name, None, None, (int(number), declared[int(number)])) if declared else (last,)))


class _Constructed(type):
    """Scripts the marked methods of a Module when it has been made.  To those who ask, a traced Module is a scripted one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (cls.__dict__.get("_includes_traced", False) and isinstance(instance, TracedModule))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        made._script_marked()
        made.__dict__["_script_constructed"] = True
        return made


class ScriptModule(Module, metaclass=_Constructed):
    """A Module some of whose methods are scripts: those marked with ``@jit.script_method`` (or ``@jit.export``).

    ``forward`` of this one is a script, with its loop as a loop::

        class Doubled(jit.ScriptModule):
            @jit.script_method
            def forward(self, x, times: int):
                for _ in range(times):
                    x = x + x
                return x
    """

    _includes_traced = True

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["_script_programs"] = {}
        self.__dict__["_script_compiling"] = []

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Attribute):
            self.__dict__["_script_types"] = {**self.__dict__.get("_script_types", {}), name: value.type}
            value = float(value.value) if value.type is float else value.value
        super().__setattr__(name, checked_attribute(self, name, value) if "_script_constructed" in self.__dict__ else value)

    @property
    def _script_class(self) -> type:
        return self.__dict__.get("_script_original") or type(self)

    def _script_marked(self) -> None:
        """Script what is marked."""
        if not ENABLED:
            return
        if "_script_programs" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' was made without Module.__init__(): call super().__init__() first")
        names = [
            name for base in reversed(type(self).__mro__) for name, value in vars(base).items() if mark_of(value) in (METHOD, EXPORTED)
        ]
        if names:
            script_children(self)
        for name in dict.fromkeys(names):
            self._script_method(name)

    def _script_method(self, name: str, compiler: Any = None, node: Any = None, overload: Any = None) -> ScriptMethod | None:
        """The scripted form of a method, made when it is first asked for; None for what stays Python.

        Of a method that has several signatures, ``overload`` is the number of one, and the types that it says.
        """
        programs = self.__dict__["_script_programs"]
        function = inspect.getattr_static(self._script_class, name, None)
        if isinstance(function, property):
            function, name = function.fget, f"_get_{name}"
        elif function is None and name.startswith("_set_"):
            function = getattr(inspect.getattr_static(self._script_class, name.removeprefix("_set_"), None), "fset", None)
        if overload is not None:
            name = f"{name}__{overload[0]}"
        if name not in programs:
            if not inspect.isfunction(function) or mark_of(function) in (IGNORED, UNUSED):
                return None
            running = self.__dict__["_script_compiling"]
            if name in running:
                raise ScriptError(
                    f"method '{name}' is called recursively: recursion is not supported in scripts", getattr(compiler, "source", None), node
                )
            known = _shared.setdefault(self._script_class, {})
            key = (name, structure(self))
            program = known.get(key) if key[1] is not None else None
            if program is not None:  # of another Module that is made alike
                self._script_adopt(name, program)
                _need(self, program)
                return ScriptMethod(self, program, name)
            running.append(name)
            try:
                made = RecursiveCompiler(
                    function, self, (), self._script_examples(name, function) if overload is None else overload[1].types
                )
                made.declared = None if overload is None else overload[1].result
                graph, signature = made.compile()
            finally:
                running.remove(name)
            program = ScriptProgram(graph, signature)
            if key[1] is not None:
                known[key] = program
            self._script_adopt(name, program)
        return ScriptMethod(self, programs[name], name)

    def _script_adopt(self, name: str, program: ScriptProgram) -> None:
        """Take a program as a method."""
        self.__dict__["_script_programs"][name] = program
        self.__dict__[name] = ScriptMethod(self, program, name)

    def _script_examples(self, name: str, function: Any) -> dict[str, Any] | None:
        """Types of parameters that are said elsewhere: what ``__setstate__`` takes is what ``__getstate__`` gives."""
        saved = self._script_method("__getstate__") if name == "__setstate__" else None
        if saved is None:
            return None
        return dict.fromkeys(list(inspect.signature(function).parameters)[1:2], saved._script_signature.result)

    def _script_forward(self) -> ScriptMethod:
        method = self.__dict__.get("forward")
        if not isinstance(method, ScriptMethod):
            raise ScriptError(f"the forward of {self._script_class.__name__} is no script: mark it with @jit.script_method")
        return method

    @property
    def graph(self) -> Graph:
        """The graph of ``forward``."""
        return self._script_forward().graph

    @property
    def inlined_graph(self) -> Graph:
        """The graph of ``forward`` with those of submodules, methods and functions in place of their calls."""
        return self._script_forward().inlined_graph

    @property
    def code(self) -> str:
        """``forward`` as Python."""
        return self._script_forward().code

    @property
    def code_with_constants(self) -> Any:
        """``forward`` as TorchScript, and what holds its constants."""
        return self._script_forward().code_with_constants

    @property
    def original_name(self) -> str:
        """The name of the class that was scripted."""
        return self._script_class.__name__

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that runs."""
        return self._script_forward().graph_for(*args, **kwargs)

    def define(self, src: str) -> None:
        """Script methods from a text: functions whose first parameter is ``self``."""
        found = functions_in(src, sys._getframe(1))
        self.__dict__["_script_original"] = type(self._script_class.__name__, (self._script_class,), found)
        for name in found:
            self.__dict__["_script_programs"].pop(name, None)
        for name in found:
            self._script_method(name)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None, format: str = "rushlight") -> None:
        """Write it to a file: see :func:`rushlight.jit.save`."""
        save(self, f, _extra_files, format)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:
        """The file as bytes."""
        stream = io.BytesIO()
        save(self, stream, _extra_files)
        return stream.getvalue()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError(f"a scripted Module ({self.original_name}) can't be pickled: write it with jit.save(), which needs no pickle")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        shared = {key: self.__dict__[key] for key in ("_script_programs", "_script_original") if key in self.__dict__}
        rest = {key: value for key, value in self.__dict__.items() if key not in shared}
        made.__dict__.update({key: dict(value) if isinstance(value, dict) else value for key, value in shared.items()})
        made.__dict__.update(
            {key: _rebound(value, self, made) if inspect.ismethod(value) else copy.deepcopy(value, memo) for key, value in rest.items()}
        )
        return made


def _rebound(value: Any, before: Any, after: Any) -> Any:
    return types.MethodType(value.__func__, after) if value.__self__ is before else value


class RecursiveScriptModule(ScriptModule):
    """A Module that ``jit.script`` made of another: the same parameters and buffers, with methods that are scripts."""

    def _script_marked(self) -> None:
        pass  # the marks are those of the original's class

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """There is none, unless the Module that was scripted has one."""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'forward'")

    def __repr__(self) -> str:
        return _described(self)

    def __getattr__(self, name: str) -> Any:
        getter = self.__dict__.get(f"_get_{name}")
        return super().__getattr__(name) if getter is None else getter()

    def __delattr__(self, name: str) -> None:
        if any(name in table for table in (self._modules, self._parameters, self._buffers)):
            raise RuntimeError("cannot delete methods or parameters of a script module")
        super().__delattr__(name)

    def __copy__(self) -> Any:
        made = type(self).__new__(type(self))
        made.__dict__.update({key: dict(value) if isinstance(value, dict) else value for key, value in self.__dict__.items()})
        for name, program in made.__dict__["_script_programs"].items():
            made.__dict__[name] = ScriptMethod(made, program, name)
        return made

    def __len__(self) -> int:
        if "__len__" in self.__dict__["_script_programs"]:
            return self.__dict__["__len__"]()  # type: ignore[no-any-return]
        if not issubclass(self._script_class, (ModuleList, ModuleDict, Sequential)):
            raise TypeError(f"a scripted {self.original_name} has no length")
        return len(self._modules)

    def __iter__(self) -> Any:
        if not issubclass(self._script_class, (ModuleList, ModuleDict, Sequential)):
            raise TypeError(f"a scripted {self.original_name} can't be iterated over")
        return iter(self._modules if issubclass(self._script_class, ModuleDict) else self._modules.values())

    def __getitem__(self, key: Any) -> Any:
        if "__getitem__" in self.__dict__["_script_programs"]:
            return self.__dict__["__getitem__"](key)
        return list(self._modules.values())[key] if isinstance(key, (int, slice)) else self._modules[key]


def _described(module: Any) -> str:
    """A scripted Module, and those below it, by the names of the classes that were scripted."""
    name = getattr(module, "original_name", None) or type(module).__name__
    if not module._modules:
        return f"RecursiveScriptModule(original_name={name})"
    lines = [f"({key}): " + _described(each).replace("\n", "\n  ") for key, each in module._modules.items() if each is not None]
    return "\n  ".join([f"RecursiveScriptModule(\n  original_name={name}", *lines]) + "\n)"


def _forwarded(name: str) -> Any:
    def run(self: Any, *args: Any) -> Any:
        if name not in self.__dict__["_script_programs"]:
            raise NotImplementedError(f"a scripted {self.original_name} has no {name}()")
        return self.__dict__[name](*args)

    return run


for _name in "contains add sub mul truediv mod pow neg lt gt le ge and or xor int float complex".split():
    setattr(RecursiveScriptModule, f"__{_name}__", _forwarded(f"__{_name}__"))


def is_library(module: Any) -> bool:
    """Whether a Module is one of the package's own (or was traced): scripts call it as it is."""
    return isinstance(module, GraphModule) or is_own(type(module))


def script_children(module: Module, memo: dict[int, Any] | None = None) -> None:
    """Script the Modules below a Module."""
    memo = {} if memo is None else memo
    for name, child in module._modules.items():
        if child is not None:
            module._modules[name] = scripted(child, memo)


def scripted(module: Any, memo: dict[int, Any], root: bool = False) -> Any:
    """The scripted form of a Module: of the package's own, the Module itself."""
    if (isinstance(module, ScriptModule) and not isinstance(module, GraphModule)) or id(module) in memo:
        return memo.get(id(module), module)
    if any(map(is_lazy, (*module._parameters.values(), *module._buffers.values()))):
        raise RuntimeError(f"{type(module).__name__} has uninitialized parameters: run it once before it is scripted")
    if "parametrizations" in module._modules:
        return _parametrized(module)
    if is_library(module) and not root and not has_hooks(module):
        made = _container(module, memo)
        memo[id(module)] = made
        return made
    if isinstance(module, GraphModule):
        return module
    if not is_library_forward(type(module)):
        warn_of_empty(type(module))
        return from_source(module, memo)
    before = dict(memo)
    try:
        made = from_source(module, memo)
        if not any(map(needs_python, made._script_programs.values())):
            return made
    except ScriptError:
        if any(not is_library(part) for part in module._modules.values() if part is not None):
            raise  # it may be the user's Module below it that is wrong
    memo.clear()
    memo.update(before)
    made = memo[id(module)] = script_class(type(module))
    take(made, module)
    made._modules.update(module._modules)
    made._script_adopt("forward", forward_program(module, type(module)))
    script_hooks(made, module, type(module).__name__)
    return made


def _parametrized(module: Any) -> Any:
    """A Module whose parameters are computed when they are read, which scripts can't: it says so when it is called."""
    made = RecursiveScriptModule()
    made.__dict__["_script_original"] = type(module)
    names = ", ".join(list(inspect.signature(module.forward).parameters))
    made.define(f"def forward(self, {names}):\n    raise RuntimeError('Parametrization is not working with scripting.')\n")
    return made


def script_class(kind: type) -> Any:
    """An empty scripted Module of a class of the package (or one derived from it): its graph calls the class's own ``forward``."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return kind.forward(self, *args, **kwargs)  # type: ignore[attr-defined]

    derived: Any = type(kind.__name__, (RecursiveScriptModule, kind), {CALL: call, "__module__": __name__})
    made = derived.__new__(derived)
    Module.__init__(made)
    made.__dict__.update(_script_programs={}, _script_compiling=[], _script_original=kind)
    return made


def from_source(module: Any, memo: dict[int, Any]) -> Any:
    """A Module with its methods compiled from their source."""
    made = RecursiveScriptModule()
    memo[id(module)] = made
    own = {name: each.__func__ for name, each in module.__dict__.items() if inspect.ismethod(each) and each.__self__ is module}
    kind: Any = type(module)
    if own:  # methods of this one Module, in the place of those of its class
        kind = type(kind.__name__, (kind,), {**own, "__module__": kind.__module__, "__qualname__": kind.__qualname__})
    made.__dict__["_script_original"] = kind
    take(made, module)
    for name in own:
        made.__dict__.pop(name, None)
    for name, child in module._modules.items():
        made._modules[name] = None if child is None else scripted(child, memo)
    _methods(made, kind)
    script_hooks(made, module, type(module).__name__)
    for name, wanted in interfaces_of(made).items():
        if name in made._modules:
            check_interface(wanted, made._modules[name], name)
    made.__dict__["_script_structure"] = structure(made)  # of now: attributes that it is given later change no type
    return made


def take(made: Any, module: Any) -> None:
    """Give a scripted Module what another one holds, but for the Modules below it."""
    made._parameters.update(module._parameters)
    made._buffers.update(module._buffers)
    made.__dict__["_non_persistent_buffers_set"] = set(module._non_persistent_buffers_set)
    made.training = module.training
    for name in ("_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs"):
        if module.__dict__.get(name):
            made.__dict__[name] = type(module.__dict__[name])(module.__dict__[name])
    for name, value in module.__dict__.items():
        if isinstance(value, Attribute):
            made.__dict__[name] = value.value
            made.__dict__["_script_types"] = {**made.__dict__.get("_script_types", {}), name: value.type}
        elif name not in _OWN:
            made.__dict__[name] = (
                own_containers(value) if isinstance(value, (list, dict)) and is_known(made, name, value) else as_declared(made, name, value)
            )


def as_declared(made: Any, name: str, value: Any) -> Any:
    """An attribute as an object of the class that its annotation names, where its own class is one below that."""
    hint = declared(made)[0].get(name)
    if isinstance(hint, str):  # annotations of the class are not evaluated
        hint = next((each for each in type(value).__mro__ if each.__name__ == hint.rpartition(".")[2]), None)
    if not isinstance(hint, type) or type(value) is hint or not isinstance(value, hint) or not is_plain_class(hint):
        return value
    return CLASS_MAKERS[0](hint).described.holding(value)


def is_known(made: Any, name: str, value: Any) -> bool:
    """Whether scripts have a type for a container: then it is the scripted Module's own, and what Python does with the original is not seen."""
    return not is_open(type_of(value)) or (not value and name in declared(made)[0])


def own_containers(value: Any) -> Any:
    """Lists and dicts again, with the same tensors and objects in them."""
    if value.__class__ is list:
        return [own_containers(each) for each in value]
    if value.__class__ in (dict, OrderedDict):
        return type(value)((key, own_containers(each)) for key, each in value.items())
    return value


def _container(module: Any, memo: dict[int, Any]) -> Any:
    """A container with scripted Modules in it; a Module of the package with none of the user's below it stays what it is."""
    if not isinstance(module, (ModuleList, ModuleDict, Sequential)) or isinstance(module, GraphModule):
        return module
    children = OrderedDict((name, child if child is None else scripted(child, memo)) for name, child in module._modules.items())
    if all(children[name] is child for name, child in module._modules.items()):
        return module
    made = type(module)(children) if not isinstance(module, ModuleList) else type(module)(list(children.values()))
    made.training = module.training
    return made


def _methods(made: RecursiveScriptModule, kind: type) -> None:
    """Script ``forward`` and what is exported; what is ignored stays Python, with the scripted Module as ``self``."""
    wanted = []
    for base in reversed(kind.__mro__):
        if base in Module.__mro__:
            continue
        for name, value in vars(base).items():
            if mark_of(value) in (IGNORED, UNUSED) and inspect.isfunction(value):
                made.__dict__[name] = types.MethodType(value, made)
            elif mark_of(value) in (EXPORTED, METHOD):
                wanted.append(name)
    forward = inspect.getattr_static(kind, "forward", None)
    if inspect.isfunction(forward) and forward is not Module.forward and mark_of(forward) is None:
        wanted.insert(0, "forward")
    for name in dict.fromkeys(wanted):
        made._script_method(name)
