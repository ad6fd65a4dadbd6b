"""The reader of archives that PyTorch wrote: Modules of their pickles, and methods of their code."""

from __future__ import annotations

import ast
from functools import partial
from typing import Any

from ....autograd import profiler
from ....core.base import TensorBase
from ....core.declare import PACKAGE
from ....core.devices import device
from ....core.errors import CaptureError
from ....graph import Graph
from ....graph.control import loop
from ....nn.modules.container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from ....nn.modules.module import Module
from ....nn.parameter import Parameter
from ....ops import quantized
from ....serialization.loading import storage_loader
from ....serialization.locations import restorer
from ....serialization.records import ArchiveReader
from ....tensor.layout import strided
from ..frontend.errors import ScriptError
from ..frontend.types import ANY, INT, TENSOR, ClassType, InterfaceType, OptionalType, TupleType, Type
from ..hooks import TABLES, ScriptHook
from ..ir.graph_functions import DefaultTensor
from ..ir.type_numbers import number_of
from ..lower.compiler import ScriptParameter, Signature
from ..run.program import ScriptProgram
from ..script_class import ScriptClass, adopt
from ..script_function import ScriptFunction
from ..script_module import RecursiveScriptModule
from .code_text import CUSTOM, CodeClass, CodeFile, ModuleClass, ProgramText, SourceCode, literal
from .compiler import ArchiveCompiler
from .packed import Empty, packed_of
from .unpickling import ObjectUnpickler, unpickled

_CONTAINERS: dict[str, type] = {each.__name__: each for each in (ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential)}
_OWN = frozenset(Module().__dict__) - {"training", "_is_full_backward_hook"}
_MOST_STEPS, _LONGEST_LIST = 1_000_000, 1_000
_SCRIPTING = frozenset(("__constants__", "__overloads__"))  # what PyTorch before 1.4 kept of how a class was scripted
_HOOKS = {"__forward_pre_hooks__": "pre", "__forward_hooks__": "post"}


class ArchivedClass(ScriptClass):
    """A class of an archive that is no Module; its methods are compiled when they are first needed."""

    def __init__(self, reader: ProgramReader, described: CodeClass) -> None:
        super().__init__(type(described.name, (), {"__module__": PACKAGE}))
        self.reader = reader
        self.code = described
        self.kind._script_class_type = self.type  # type: ignore[attr-defined]
        self.compiling: list[str] = []

    def member(self, name: str) -> Any:
        """What the class has under a name, or None."""
        return self.code.methods.get(name)

    def is_method(self, value: Any) -> bool:
        """Whether this is a method."""
        return isinstance(value, ast.FunctionDef)

    def method(self, name: str) -> ScriptFunction:
        """A method as a function of the object and the rest."""
        found = self.methods.get(name)
        if found is None:
            definition = self.code.methods.get(name)
            if definition is None or name in self.compiling:
                raise CaptureError(f"the method '{name}' of the archive's class '{self.code.qualified}' is not there, or calls itself")
            self.compiling.append(name)
            compiler = ArchiveCompiler(self.reader, definition, self.code.file)
            compiler.examples = {definition.args.args[0].arg: self.type} if definition.args.args else {}
            found = self.methods[name] = ScriptFunction(ScriptProgram(*compiler.compile()), name)
            self.compiling.remove(name)
        return found

    @property
    def _script_signature(self) -> Signature:
        if "__init__" not in self.code.methods:
            return Signature(self.name, [], self.type)
        initial = self.method("__init__")._script_signature
        return Signature(self.name, initial.parameters[1:], self.type)

    def finish(self) -> None:
        """Give Python the methods."""
        for name in self.code.methods:
            adopt(self, name, self.method(name), False)


class ArchiveCode(SourceCode):
    """The code of an archive, whose classes are scripted classes."""

    def __init__(self, archive: ArchiveReader, reader: ProgramReader) -> None:
        super().__init__(archive)
        self.reader = reader
        self.made: list[ArchivedClass] = []

    def named_type(self, qualified: str, file: CodeFile, node: ast.AST) -> Type:
        """The type of a class; one that has itself in it is known by then."""
        return super().named_type(qualified, file, node)

    def plain_class(self, described: CodeClass) -> Type:
        """The type of a class that is no Module."""
        made = ArchivedClass(self.reader, described)
        self.made.append(made)
        self.kinds[described.qualified] = made.type  # its attributes may be of it
        made.attributes = {
            name: self.type_of(each, described.file) for name, each in described.annotations.items() if not name.startswith("_script")
        }
        if not made.attributes and "__init__" in described.methods:  # before 1.5 it alone says which attributes there are
            made.growing = True
            made.method("__init__")
            made.growing = False
        return made.type

    def made_type(self, described: CodeClass) -> Type:
        """The type of a class; an interface has the signatures of its methods."""
        made = super().made_type(described)
        if isinstance(made, InterfaceType):
            self.kinds[described.qualified] = made
            for name, definition in described.methods.items():
                arguments = definition.args.args[1:]
                kinds = [TENSOR if each.annotation is None else self.type_of(each.annotation, described.file) for each in arguments]
                result = ANY if definition.returns is None else self.type_of(definition.returns, described.file)
                made.methods[name] = Signature(name, [ScriptParameter(each.arg, kind) for each, kind in zip(arguments, kinds)], result)
        return made


class ProgramReader:
    """Reads one archive."""

    def __init__(self, archive: ArchiveReader, map_location: Any, version: int) -> None:
        self.archive = archive
        self.map_location = map_location
        self.version = version
        self.code = ArchiveCode(archive, self)
        self.constants: tuple[Any, ...] = ()
        self.constant_values: dict[int, DefaultTensor] = {}
        self.functions: dict[str, ScriptFunction | None] = {}
        self.programs: dict[Any, ScriptProgram] = {}
        self.compiling: list[Any] = []
        self.inlined = 0  # calls that are copies of what is called
        self.modules: list[Any] = []
        self.counts: dict[Graph, int] = {}  # of the steps of graphs that run while the archive is read
        self.known: dict[Any, Any] = {}  # parameters and buffers by where their elements are
        self.restore = restorer(map_location)

    # -- objects -----------------------------------------------------------------------------------------------------------

    def pickled(self, name: str) -> Any:
        """What a pickle of the archive holds."""
        load_storage = storage_loader(self.archive, self.map_location, self.restore, name)
        return unpickled(f"{name}.pkl", ObjectUnpickler(self.archive.read(f"{name}.pkl"), load_storage, self))

    def read(self) -> Any:
        """The Module that the archive holds."""
        if "constants.pkl" in self.archive:
            constants = self.pickled("constants")
            if not isinstance(constants, tuple):
                raise CaptureError("the archive's constants.pkl holds no tuple")
            self.constants = constants
        made = self.pickled("data")
        if not isinstance(made, Module):
            raise CaptureError(f"the archive's data.pkl holds no Module, but {type(made).__name__}")
        self.archive.finish()
        self.finish_all()
        return made

    def finish_all(self) -> None:
        """Give Modules and classes their methods."""
        for module in self.modules:
            self.finish(module)
        for each in self.code.made:  # which grows
            each.finish()

    def created(self, qualified: str) -> Any:
        """An object of a class, without its state."""
        if qualified.startswith(CUSTOM):
            return Empty(qualified)
        described = self.code.find_class(qualified)
        if described is None:
            raise CaptureError(f"the archive holds an object of the class '{qualified}', whose code it does not have")
        if described.is_module:
            return self.module(described)
        kind = self.code.named_type(qualified, described.file, described.definition)
        if not isinstance(kind, ClassType):
            raise CaptureError(f"the archive holds an object of '{qualified}', which is made of nothing")
        return object.__new__(kind.described.kind)

    def constructed(self, qualified: str, arguments: Any) -> Any:
        """A named tuple or a member of an enumeration."""
        described = self.code.find_class(qualified)
        if described is None:
            raise CaptureError(f"the archive holds an object of the class '{qualified}', whose code it does not have")
        kind: Any = self.code.named_type(qualified, described.file, described.definition)
        try:
            if described.base == "NamedTuple":
                return tuple.__new__(kind.kind, kind.kind(*arguments))
            if described.base == "Enum":
                return kind.kind(*arguments)
        except (TypeError, ValueError) as error:
            raise CaptureError(f"the archive holds a '{qualified}' that can't be made: {error}") from None
        raise CaptureError(f"the archive makes an object of '{qualified}' by a call, which is no named tuple and no enumeration")

    def module(self, described: CodeClass) -> Any:
        """A Module of a class, without what it holds."""
        made = RecursiveScriptModule()
        base = _CONTAINERS.get(described.name, Module)
        own: Any = described.__dict__.get("python")
        if own is None:
            own = described.__dict__["python"] = type(described.name, (base,), {"__module__": described.qualified.rpartition(".")[0]})
        made.__dict__["_script_original"] = own
        made.__dict__["_script_archive"] = described
        self.modules.append(made)
        return made

    def filled(self, target: Any, state: Any) -> bool:
        """Give an object of the archive's classes its state; False of everything else."""
        if isinstance(target, Empty):
            target.made = packed_of(target.path, state)
            return True
        if isinstance(target, RecursiveScriptModule):
            self.fill_module(target, state)
            return True
        kind = vars(type(target)).get("_script_class_type")
        if kind is None or not isinstance(kind.described, ArchivedClass):
            return False
        if "__setstate__" in kind.described.code.methods:
            self.check_bounded(kind.described.method("__setstate__")._program, "__setstate__")
            kind.described.method("__setstate__")(target, state)
            return True
        if not isinstance(state, dict) or not kind.described.attributes.keys() <= state.keys():
            raise CaptureError(f"the archive holds an object of '{kind}' without all of its attributes")
        for name in kind.described.attributes:
            object.__setattr__(target, name, _settled(state[name]))
        return True

    def fill_module(self, module: Any, state: Any) -> None:
        """Give a Module its parameters, buffers, Modules and other attributes."""
        described = module.__dict__["_script_archive"]
        kinds = module.__dict__["_script_types"] = self.attribute_types(described)
        for name in described.values:
            module.__dict__[name] = self.constant_attribute(described, name)
        if "__setstate__" in described.methods:
            for name in kinds:
                if name not in described.values and name != "training":
                    module.__dict__.setdefault(name, None)
            program = self.method(module, "__setstate__", None, described.definition)
            assert program is not None
            self.check_bounded(program, f"{described.name}.__setstate__", module)
            for name, each in self.methods_of(module).items():
                module._script_adopt(name, each)
            program.call(module, (state,), {})
            return
        if not isinstance(state, dict):
            raise CaptureError(f"the archive holds a Module of '{described.qualified}' whose state is {type(state).__name__}, not a dict")
        parameters, buffers = described.lists.get("__parameters__", ()), described.lists.get("__buffers__")
        for name, value in state.items():
            if name in _SCRIPTING:
                continue
            if not isinstance(name, str) or name in _OWN or name.startswith(("__", "_script")):
                raise CaptureError(f"the archive's Module of '{described.qualified}' has an attribute {name!r}, which a Module can't have")
            value = _settled(value)
            if isinstance(value, Module):
                module._modules[name] = value
            elif name in parameters and (value is None or isinstance(value, TensorBase)):
                module._parameters[name] = None if value is None else self.parameter(value)
            elif isinstance(value, TensorBase) and (name in buffers if buffers is not None else repr(kinds.get(name)) == "Tensor"):
                module._buffers[name] = self.known.setdefault(_place(value), value)
            else:
                module.__dict__[name] = value

    def parameter(self, value: Any) -> Any:
        """A tensor as a parameter: the same one wherever it is in the archive."""
        place = _place(value)
        found = self.known.get(place)
        if not isinstance(found, Parameter):
            found = self.known[place] = Parameter(value.detach(), requires_grad=bool(value.requires_grad))
        return found

    def shared(self, value: Any) -> Any:
        """An attribute with the parameters and buffers in it that Modules have: a list of weights holds the weights themselves."""
        if isinstance(value, TensorBase):
            return self.known.get(_place(value), value) if value.numel() else value
        if type(value) in (list, tuple):
            return type(value)(self.shared(each) for each in value)
        return {key: self.shared(each) for key, each in value.items()} if type(value) is dict else value

    def check_bounded(self, program: ScriptProgram, name: str, module: Any = None) -> None:
        """Refuse to run what sets a state where it may not end soon: loops without a count, and too many steps."""
        if self.steps(program.graph, module, name) > _MOST_STEPS:
            raise CaptureError(f"the archive's {name}, which runs while it is read, would take too many steps")

    def steps(self, graph: Graph, module: Any, name: str) -> int:
        """How many steps a graph takes, with what it calls: a bound."""
        known = self.counts.get(graph)
        if known is not None:
            return known
        total = 0
        for node in graph.nodes:
            inner = sum(self.steps(each, module, name) for each in (node.bodies or {}).values())
            if node.target is loop:
                count = node.args[0]
                if not isinstance(count, int) and getattr(count, "target", None) is not len:
                    raise CaptureError(f"the archive's {name}, which runs while it is read, has a loop that may not end")
                inner *= count if isinstance(count, int) else _LONGEST_LIST
            for called, owner in self.callees(node, module):
                inner += self.steps(called.graph, owner, name)
            total += 1 + inner
            if total > _MOST_STEPS:
                break
        self.counts[graph] = total
        return total

    def callees(self, node: Any, module: Any) -> list[tuple[ScriptProgram, Any]]:
        """The programs that a node runs, with the Modules that they are methods of."""
        if isinstance(node.target, ScriptFunction):
            return [(node.target._program, None)]
        if isinstance(node.target, ArchivedClass):
            return [(node.target.method("__init__")._program, None)] if "__init__" in node.target.code.methods else []
        if node.op != "call_module" or module is None:
            return []
        *way, last = node.target.split(".")
        owner = module
        for part in way:
            owner = owner._modules[part]
        owner, last = (owner._modules[last], "forward") if last in owner._modules else (owner, last)
        found = self.method(owner, last, None, ast.Pass())
        return [] if found is None else [(found, owner)]

    def finish(self, module: Any) -> None:
        """Give a Module its methods."""
        described = module.__dict__["_script_archive"]
        if "_script_types" not in module.__dict__:
            raise CaptureError(f"the archive holds a Module of '{described.qualified}' without a state")
        for name in described.annotations:
            if name in module.__dict__:
                module.__dict__[name] = self.shared(module.__dict__[name])
        for name, program in self.methods_of(module).items():
            module._script_adopt(name, program)
        for listed, when in _HOOKS.items():
            for name in described.lists.get(listed, ()):
                program = module.__dict__["_script_programs"].get(name)
                if program is None:
                    raise CaptureError(f"the archive's Module of '{described.qualified}' names the hook '{name}', which it does not have")
                table = module.__dict__[TABLES[when]]
                table[len(table)] = ScriptHook(program, name)

    # -- code --------------------------------------------------------------------------------------------------------------

    def class_of(self, module: Any) -> CodeClass | None:
        """The class of the archive that a Module is of."""
        found: CodeClass | None = module.__dict__.get("_script_archive")
        return found

    def attribute_types(self, described: CodeClass) -> dict[str, Type]:
        """The types of a class's attributes."""
        if not described.types:
            for name in _SCRIPTING & described.annotations.keys():
                del described.annotations[name]
            for name in described.annotations:
                if name in _OWN or name.startswith(("__", "_script")):
                    raise CaptureError(f"the archive's class '{described.qualified}' has an attribute {name!r}, which a Module can't have")
            described.types = {name: self.code.type_of(each, described.file) for name, each in described.annotations.items()}
        return described.types

    def attribute_type(self, described: CodeClass, name: str) -> Type | None:
        """The type of an attribute; None where there is none."""
        return self.attribute_types(described).get(name)

    def constant_attribute(self, described: CodeClass, name: str) -> Any:
        """The value of an attribute that the class says."""
        return literal(described.values[name], described.file)

    def has_hooks(self, module: Any) -> bool:
        """Whether a Module has hooks, which the code calls by itself."""
        described = self.class_of(module)
        return described is not None and any(described.lists.get(each) for each in _HOOKS)

    def methods_of(self, module: Any) -> dict[str, ScriptProgram]:
        """All methods of a Module, without those that take Modules: they are part of what calls them."""
        described = module.__dict__["_script_archive"]
        found = {
            name: self.method(module, name, None, definition)
            for name, definition in described.methods.items()
            if not self.takes_modules(definition, described.file)
        }
        return {name: each for name, each in found.items() if each is not None}

    def takes_modules(self, definition: ast.FunctionDef, file: CodeFile) -> bool:
        """Whether a method has a Module among its arguments, beside its own."""
        return any(
            each.annotation is not None and isinstance(self.code.type_of(each.annotation, file), ModuleClass)
            for each in definition.args.args[1:]
        )

    def method(self, module: Any, name: str, compiler: Any, node: ast.AST) -> ScriptProgram | None:
        """The program of a method, which all Modules of a class have; None where there is none."""
        described = self.class_of(module)
        if described is None or name not in described.methods:
            return None
        shared = not any(isinstance(each, InterfaceType) for each in self.attribute_types(described).values())
        key = (id(described.methods[name]), None if shared else id(module))
        if key not in self.programs:
            if key in self.compiling:
                raise ScriptError(
                    f"the archive's method '{described.qualified}.{name}' calls itself", getattr(compiler, "source", None), node
                )
            self.compiling.append(key)
            made = ArchiveCompiler(self, described.methods[name], described.file, module)
            self.programs[key] = numbered(ScriptProgram(*made.compile()))
            self.programs[key].text = ProgramText(described.methods[name], described.file, self.constants, True)
            self.compiling.remove(key)
        return self.programs[key]

    def function(self, qualified: str, compiler: Any, node: ast.AST) -> ScriptFunction | None:
        """A function by its qualified name; None where there is none."""
        if qualified not in self.functions:
            found = self.code.definition(qualified)
            if found is None or not isinstance(found[0], ast.FunctionDef):
                self.functions[qualified] = None
                return None
            if qualified in self.compiling:
                raise ScriptError(f"the archive's function '{qualified}' calls itself", compiler.source, node)
            self.compiling.append(qualified)
            made = ScriptProgram(*ArchiveCompiler(self, *found).compile())
            made.text = ProgramText(*found, self.constants, False)
            self.functions[qualified] = ScriptFunction(made, found[0].name)
            self.compiling.remove(qualified)
        return self.functions[qualified]

    def constant(self, number: int) -> DefaultTensor:
        """A constant as a function that gives it: the same one wherever it is used."""
        if number not in self.constant_values:
            self.constant_values[number] = DefaultTensor(_settled(self.constants[number]))
        return self.constant_values[number]

    def library(self, place: str, name: str) -> Any:
        """A function of a namespace of operators that is none of aten; None where there is none."""
        if place == "profiler":
            return profiler.RANGES.get(name)
        return None if place != "quantized" or name.startswith("_") else getattr(quantized, name, None)

    def library_type(self, place: str, name: str) -> Type:
        """The type of its result."""
        if place == "profiler" or "pack" in name and "unpack" not in name:
            return ANY
        if name == "quantized_lstm_cell_dynamic":
            return TupleType((TENSOR, TENSOR))
        return TupleType((TENSOR, OptionalType(TENSOR))) if "unpack" in name and "embedding" not in name else TENSOR

    def placed(self, named: device) -> device:
        """Where ``map_location`` puts what is on a device that the code names."""
        if isinstance(self.map_location, dict):
            return device(self.map_location.get(str(named), str(named)))
        return device(self.map_location) if isinstance(self.map_location, (str, device)) else named


def _place(tensor: Any) -> Any:
    """Where the elements of a tensor are, and of which form it is."""
    alone = not tensor.numel() or tensor.is_meta or tensor.layout is not strided
    return id(tensor) if alone else (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)


def numbered(program: ScriptProgram) -> ScriptProgram:
    """A program whose parameters that are ints also take dtypes, layouts and memory formats: by their numbers, as the code has them."""
    for at, parameter, check in list(program.checks):
        inner = parameter.type.inner if isinstance(parameter.type, OptionalType) else parameter.type
        if inner == INT and check is not None:
            program.checks[at] = (at, parameter, partial(_passes, check))
            program.conversions.append((at, _number))
    return program


def _passes(check: Any, value: Any) -> bool:
    return bool(check(number_of(value)))


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else number_of(value)


def _settled(value: Any) -> Any:
    """A value without what stood for an object of a C++ class while it was read."""
    if isinstance(value, Empty):
        if value.made is None:
            raise CaptureError(f"the archive holds an object of {value.path} without a state")
        return value.made
    if type(value) in (list, tuple) and any(isinstance(each, (Empty, list, tuple, dict)) for each in value):
        return type(value)(_settled(each) for each in value)
    return {key: _settled(each) for key, each in value.items()} if type(value) is dict else value
