"""``jit.save(..., format="torchscript")``: scripted and traced Modules as archives that PyTorch loads.

Everything is made before a file is: what an archive can't hold is refused, by name, while there is none yet.
"""

from __future__ import annotations

import enum
import inspect
import keyword
import re
import sys
from collections.abc import Callable
from typing import Any

from ....core.base import TensorBase
from ....core.declare import PACKAGE
from ....core.errors import CaptureError
from ....core.missing import is_own
from ....graph.node import all_nodes
from ....nn.modules.container import ModuleDict, ModuleList
from ....nn.modules.module import Module
from ....serialization.names import path_of
from ....serialization.records import ArchiveWriter
from ....serialization.saving import replacing
from ...graph_module import GraphModule
from ...trace.traced import TracedFunction, TracedModule, TracedPart, extra_files
from ..frontend.types import (
    ANY,
    NONE,
    OBJECT,
    TENSOR,
    ClassType,
    DictType,
    EnumType,
    InterfaceType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    UnknownAnnotation,
    from_annotation,
    parse_type,
    type_of,
)  # fmt: skip
from ..hooks import TABLES, ScriptHook
from ..interfaces import interfaces_of
from ..lower.attributes import declared
from ..lower.compiler import Signature
from ..run.library_modules import CALL, needs_python
from ..run.program import ScriptProgram, traced_program
from ..script_class import ScriptClass
from ..script_function import ScriptFunction
from ..script_module import ScriptModule, from_source
from . import node_forms as node_forms  # which fills the table of forms
from . import resizing_text as resizing_text  # which does, too
from .code_text import ROOT, CustomType
from .graph_text import GraphText
from .library_text import TEXTS, attention_text
from .object_pickler import ObjectPickler
from .text_parts import is_open, quoted

VERSION = b"10\n"  # of the operators: PyTorch changes nothing of those that it knows
_OWN = frozenset(Module().__dict__)
_PLAIN = {"dtype": "int", "object": "Any", "slice": "Any", "Never": "NoneType"}


class WrittenModule:
    """A Module that is written: its class, and what it holds with types; or the state that its own ``__setstate__`` takes."""

    def __init__(self, qualified: str) -> None:
        self.qualified = qualified
        self.values: dict[str, tuple[Any, Type]] = {}
        self.state: tuple[Any, Type] | None = None


class ProgramWriter:
    """Collects the code and the objects of one archive."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.files: dict[str, list[str]] = {}
        self.texts: dict[tuple[str, str], str] = {}  # qualified names by the name of a class and its text
        self.taken: set[str] = set()
        self.modules: dict[int, WrittenModule] = {}
        self.stand_ins: dict[int, Any] = {}
        self.functions: dict[Any, str] = {}
        self.constants: list[Any] = []
        self.current: list[Any] = []  # the Modules whose methods are being written, the innermost last
        self.library = False

    # -- names -------------------------------------------------------------------------------------------------------------

    def qualify(self, name: str, module: str = "") -> str:
        """A qualified name that is not taken."""
        parts = [part for part in module.split(".") if part not in ("__main__", "", ROOT, PACKAGE)]
        parts = [re.sub(r"\W", "_", part) for part in parts]
        name = re.sub(r"\W", "_", name)
        name = f"_{name}" if keyword.iskeyword(name) or name[:1].isdigit() else name
        found, count = ".".join([ROOT, *parts, name]), 0
        while found in self.taken:
            found = ".".join([ROOT, *parts, f"___torch_mangle_{count}", name])
            count += 1
        self.taken.add(found)
        return found

    def add(self, qualified: str, text: str) -> None:
        """Code of a class or function."""
        self.files.setdefault(qualified.rpartition(".")[0], []).append(text)

    def type_text(self, kind: Type, what: str) -> str:
        """A type as code has it."""
        if isinstance(kind, OptionalType):
            return f"Optional[{self.type_text(kind.inner, what)}]"
        if isinstance(kind, UnionType):
            return f"Union[{', '.join(self.type_text(each, what) for each in kind.options)}]"
        if isinstance(kind, ListType):
            return f"List[{self.type_text(kind.element, what)}]"
        if isinstance(kind, DictType) and kind.key == ANY:  # an empty one without an annotation
            return "Dict[str, Tensor]"
        if isinstance(kind, DictType):
            return f"Dict[{self.type_text(kind.key, what)}, {self.type_text(kind.value, what)}]"
        if isinstance(kind, TupleType):
            if kind.kind is not None:
                return self.tuple_name(kind.kind)
            return f"Tuple[{', '.join(self.type_text(each, what) for each in kind.elements) or '()'}]"
        if isinstance(kind, EnumType):
            return self.enum_name(kind.kind)
        if isinstance(kind, ClassType):
            return self.class_name(kind.described)
        if isinstance(kind, CustomType):
            return kind.path
        if isinstance(kind, InterfaceType):
            return self.interface_name(kind)
        if kind == ANY and self.library:
            return "Tensor"
        return _PLAIN.get(repr(kind), repr(kind))

    def named_type(self, name: str) -> str:
        """A type by its name, as ``isinstance`` asks for it."""
        kind = parse_type(name)
        if kind == ANY and name not in ("list", "tuple", "dict", "Any"):
            raise CaptureError(f"isinstance() with the class '{name}' can't be written to an archive")
        return name if kind == ANY else self.type_text(kind, "isinstance")

    def tuple_name(self, kind: Any) -> str:
        """The class of a named tuple."""
        if kind not in self.functions:
            self.functions[kind] = qualified = self.qualify(kind.__name__, kind.__module__)
            found: Any = from_annotation(kind, lambda text: Any)
            lines = [f"  {name} : {self.type_text(each, name)}" for name, each in zip(kind._fields, found.elements)]
            self.add(qualified, f"class {qualified.rpartition('.')[2]}(NamedTuple):\n" + "\n".join(lines) + "\n")
        return self.functions[kind]

    def enum_name(self, kind: Any) -> str:
        """The class of an enumeration."""
        if kind not in self.functions:
            self.functions[kind] = qualified = self.qualify(kind.__name__, kind.__module__)
            lines = []
            for each in kind:
                if type(each.value) not in (int, float, str):
                    raise CaptureError(f"the enumeration '{kind.__name__}' has the value {each.value!r}, which archives can't hold")
                lines.append(f"  {each.name} = {quoted(each.value) if isinstance(each.value, str) else repr(each.value)}")
            self.add(qualified, f"class {qualified.rpartition('.')[2]}(Enum):\n" + "\n".join(lines) + "\n")
        return self.functions[kind]

    def interface_name(self, kind: InterfaceType) -> str:
        """An interface."""
        if kind not in self.functions:
            module = inspect.isclass(kind.kind) and issubclass(kind.kind, Module)
            self.functions[kind] = qualified = self.qualify(kind.name, kind.kind.__module__)
            lines = [f"class {qualified.rpartition('.')[2]}({'Module' if module else ''}Interface):\n"]
            for name, signature in kind.methods.items():
                parameters = "".join(f", {each.name}: {self.type_text(each.type, each.name)}" for each in signature.parameters)
                lines.append(f"  def {name}(self{parameters}) -> {self.type_text(signature.result, name)}:\n    pass\n")
            self.add(qualified, "".join(lines))
        return self.functions[kind]

    def class_name(self, described: ScriptClass) -> str:
        """A scripted class."""
        if described not in self.functions:
            self.functions[described] = qualified = self.qualify(described.name, described.kind.__module__)
            code = getattr(described, "code", None)
            names = list(described.methods) if code is None else list(code.methods)
            attributes = [f"  {name} : {self.type_text(kind, name)}\n" for name, kind in described.attributes.items()]
            methods = [] if "__init__" in names else [self.initializer(described)]
            for name in names:
                program = described.method(name)._program
                text = GraphText(self, None)
                text.inner = True
                methods.append(text.function(program.graph, program.signature, name))
            self.add(qualified, f"class {qualified.rpartition('.')[2]}:\n" + "".join(attributes + methods))
        return self.functions[described]

    def initializer(self, described: ScriptClass) -> str:
        """What makes an object of a class that has no ``__init__`` of its own: a dataclass."""
        text = GraphText(self, None)
        parameters = "".join(
            f", {each.name}: {self.type_text(each.type, each.name)}" + ("" if each.default is ... else f"={text.value(each.default)}")
            for each in described._script_signature.parameters
        )
        lines = [f"    self.{each.name} = {each.name}\n" for each in described._script_signature.parameters]
        if "__post_init__" in described.methods:
            lines.append("    _0 = (self).__post_init__()\n")
        return f"  def __init__(self{parameters}) -> NoneType:\n{''.join(lines)}    return None\n"

    def function_name(self, function: ScriptFunction) -> str:
        """A scripted function."""
        if function not in self.functions:
            self.functions[function] = qualified = self.qualify(function.name, getattr(function._function, "__module__", ""))
            program = function._program
            library, self.library = self.library, False
            self.add(qualified, GraphText(self, None).function(program.graph, program.signature, qualified.rpartition(".")[2]))
            self.library = library
        return self.functions[function]

    def attention(self, size: int, heads: int, biased: bool) -> str:
        """The function that a trace calls for attention with several heads."""
        key = "attention", size, heads, biased
        if key not in self.functions:
            self.functions[key] = qualified = self.qualify("attention")
            heading = (
                f"def {qualified.rpartition('.')[2]}(query: Tensor, key: Tensor, value: Tensor, in_weight: Tensor, in_bias: Optional[Tensor], "
                "out_weight: Tensor, out_bias: Optional[Tensor], key_padding_mask: Optional[Tensor], need_weights: bool, attn_mask: Optional[Tensor], "
                "average_attn_weights: bool, dropout_p: float, training: bool) -> Tuple[Tensor, Optional[Tensor]]:"
            )
            bias = "torch.chunk(unchecked_cast(Tensor, in_bias), 3)" if biased else ""
            weights, out = "torch.chunk(in_weight, 3)", ("out_weight", "out_bias")
            self.add(qualified, attention_text(heading, size, heads, weights, bias, out, "dropout_p, training", False))
        return self.functions[key]

    def shared(self, name: str, text: Callable[..., str], *details: Any) -> str:
        """A function whose text is made of its name and some details; it is written once for each of them."""
        key = name, repr(details)
        if key not in self.functions:
            self.functions[key] = qualified = self.qualify(name)
            self.add(qualified, text(qualified.rpartition(".")[2], *details))
        return self.functions[key]

    def constant(self, value: Any) -> str:
        """A constant of the table."""
        for at, each in enumerate(self.constants):
            if each is value:
                return f"CONSTANTS.c{at}"
        self.constants.append(value)
        return f"CONSTANTS.c{len(self.constants) - 1}"

    # -- Modules -----------------------------------------------------------------------------------------------------------

    def stand_in(self, module: Any) -> Any:
        """A Module with programs: itself, or what scripting makes of a layer of the package."""
        if isinstance(module, GraphModule) or (isinstance(module, ScriptModule) and not hasattr(module, CALL)):
            return module
        if id(module) not in self.stand_ins:
            made = module
            if self.library_text(module) is None and not isinstance(module, (ModuleList, ModuleDict, TracedPart)):
                made = self.scripted_layer(module)
            self.stand_ins[id(module)] = made
        return self.stand_ins[id(module)]

    def scripted_layer(self, module: Any) -> Any:
        """A layer of the package as its source says."""
        kind = type(module)
        original = module.__dict__.get("_script_original", kind)
        try:
            plain = module
            if hasattr(module, CALL):  # a scripted one whose graph is the call of Python
                plain = original.__new__(original)
                plain.__dict__.update(
                    {name: each for name, each in module.__dict__.items() if not name.startswith("_script") and name != "forward"}
                )
            made = from_source(plain, {})
        except CaptureError as error:
            raise CaptureError(
                f"a {original.__name__} can't be written to an archive: its forward is no script ({str(error).splitlines()[0]})"
            ) from None
        if any(map(needs_python, made._script_programs.values())):
            raise CaptureError(f"a {original.__name__} can't be written to an archive: its forward needs functions of Python")
        return made

    def library_text(self, module: Any) -> Any:
        """What writes the forward of a layer, where there is such; of Modules of the package and no others."""
        kind = module.__dict__.get("_script_original", type(module))
        if isinstance(module, ScriptModule) and not hasattr(module, CALL):
            return None
        return TEXTS.get(kind)

    def called(self, target: str) -> tuple[str, str, Signature | None]:
        """What a path from the present Module leads to: the path of a Module, the method, and its signature."""
        owner = self.current[-1]
        *way, last = target.split(".")
        for part in way:
            owner = self.stand_in(owner._modules[part])
        if last in owner._modules:
            child = self.stand_in(owner._modules[last])
            return target, "forward", self.signature(child, "forward")
        if last not in self.programs(owner):
            raise CaptureError(f"'{target}' is called as Python, which archives can't hold: script it, or leave it out")
        return ".".join(way), last, self.signature(owner, last)

    def signature(self, module: Any, name: str) -> Signature | None:
        """What a method takes and gives."""
        program = getattr(module, "_script_programs", {}).get(name)
        return None if program is None else program.signature

    def programs(self, module: Any) -> dict[str, ScriptProgram]:
        """The methods of a Module."""
        if isinstance(module, GraphModule):
            found = {} if "forward" in module.__dict__ else {"forward": traced_program(module.graph, "forward")}
            if isinstance(module, TracedModule):
                found.update({name: traced_program(each.graph, name) for name, each in module.methods.items()})
            return found
        if isinstance(module, TracedPart):
            own = module.own_graph()
            return {} if own is None else {"forward": traced_program(own, "forward")}
        return dict(getattr(module, "_script_programs", {}))

    def written(self, module: Any) -> WrittenModule:
        """A Module, whose class is written if that was not done before."""
        if id(module) not in self.modules:
            self.modules[id(module)] = self.write(module)
        return self.modules[id(module)]

    def write(self, original: Any) -> WrittenModule:
        """Write the class of a Module, after those below it."""
        module = self.stand_in(original)
        values = self.attributes(module)
        children = {name: self.written(child) for name, child in module._modules.items() if child is not None}
        lines = [f"  __parameters__ = [{''.join(quoted(name) + ', ' for name in module._parameters)}]\n"]
        lines.append(f"  __buffers__ = [{''.join(quoted(name) + ', ' for name in module._buffers)}]\n")
        hooks = self.hooks(module)
        is_root = original is self.root
        if any(hooks.values()) and not is_root and not set(sum(hooks.values(), [])) <= set(self.programs(module)):
            raise CaptureError("hooks of a Module inside of another can't be written to an archive: call what they do in its forward")
        for table, names in hooks.items():
            if names and is_root:  # those of others are called by the code
                lines.append(f"  {table} = [{''.join(quoted(name) + ', ' for name in names)}]\n")
        interfaces = interfaces_of(module)
        for name, (_, kind) in values.items():
            held = interfaces.get(name) if name in children else kind
            text = children[name].qualified if held is None else self.type_text(held, name)
            lines.append(
                f"  {name} : {text}\n"
                if name.isidentifier() and not keyword.iskeyword(name)
                else f"  __annotations__[{quoted(name)}] = {text}\n"
            )
        kind = original.__dict__.get("_script_original", type(original))
        self.current.append(module)
        library, self.library = self.library, self.is_library(kind)
        template = self.library_text(original)
        if template is not None:
            lines.append(template(original))
        else:
            for name, program in {**self.programs(module), **self.hook_programs(module)}.items():
                lines.append(self.method(name, program))
        self.library = library
        self.current.pop()
        place = path_of(kind) if self.is_library(kind) else (kind.__module__, kind.__name__)
        module_name, class_name = place or ("", kind.__name__)
        if isinstance(original, TracedPart):
            module_name, class_name = "", original.original_name
        text = "".join(lines)
        qualified = self.texts.get((class_name, text))
        if qualified is None:
            module_name = "" if module_name.partition(".")[0] == PACKAGE else module_name.removeprefix(f"{ROOT}.").removeprefix(ROOT)
            module_name = ".".join(part for part in module_name.split(".") if not part.startswith("___torch_mangle_"))
            qualified = self.texts[class_name, text] = self.qualify(class_name, module_name)
            self.add(qualified, f"class {qualified.rpartition('.')[2]}(Module):\n{text}")
        made = WrittenModule(qualified)
        made.values = values
        programs = self.programs(module)
        if "__setstate__" in programs:
            if "__getstate__" not in programs:
                raise CaptureError(f"'{class_name}' has a __setstate__ and no __getstate__: an archive can't hold it")
            made.state = (programs["__getstate__"].call(module, (), {}), programs["__getstate__"].signature.result)
        return made

    def is_library(self, kind: type) -> bool:
        """Whether a class is one of the package's."""
        return is_own(kind)

    def method(self, name: str, program: ScriptProgram) -> str:
        """The text of a method."""
        try:
            return GraphText(self, "").function(program.graph, program.signature, name)
        except CaptureError as error:
            owner = self.current[-1]
            shown = getattr(owner, "original_name", None) or type(owner).__name__
            raise CaptureError(f"{error.args[0]} (in '{name}' of {shown})") from None

    def hooks(self, module: Any) -> dict[str, list[str]]:
        """The names of hooks by the lists that classes have of them."""
        lists = {"pre": "__forward_pre_hooks__", "post": "__forward_hooks__"}
        return {
            lists[when]: [each.__name__ for each in module.__dict__.get(table, {}).values() if isinstance(each, ScriptHook)]
            for when, table in TABLES.items()
        }

    def hook_programs(self, module: Any) -> dict[str, ScriptProgram]:
        """The hooks of a Module as methods."""
        found: dict[str, ScriptProgram] = {}
        for table in TABLES.values():
            for each in module.__dict__.get(table, {}).values():
                if not isinstance(each, ScriptHook):
                    raise CaptureError(
                        f"the hook '{getattr(each, '__name__', each)}' is Python, which archives can't hold: remove it, or script the Module with it"
                    )
                found[each.__name__] = each._program
        return found

    def attributes(self, module: Any) -> dict[str, tuple[Any, Type]]:
        """What a Module holds, with types."""
        values: dict[str, tuple[Any, Type]] = {}
        hints, _ = declared(module)
        used = self.read_attributes(module)
        for table in (module._parameters, module._buffers):
            for name, value in table.items():
                hint = hints.get(name)
                kind: Type = hint if isinstance(hint, Type) else NONE if value is None else TENSOR
                if value is None and kind == NONE:
                    kind = OptionalType(TENSOR)
                values[name] = (value, kind)
        values["training"] = (bool(module.training), type_of(True))
        values["_is_full_backward_hook"] = (None, OptionalType(type_of(True)))
        plain = isinstance(module, ScriptModule) and not isinstance(module, GraphModule)
        methods = module.methods.values() if isinstance(module, TracedModule) else ()
        read = {node.target for each in methods for node in all_nodes(each.graph) if node.op == "get_attr"} & module.__dict__.keys()
        for name, value in module.__dict__.items() if plain else [(name, module.__dict__[name]) for name in sorted(read)]:
            if name in _OWN or name.startswith(("_script", "_get_", "_set_")) or name in getattr(module, "_script_programs", {}):
                continue
            kind_of = self.attribute_type(name, value, hints)
            if kind_of is None:
                if name in used:
                    raise CaptureError(f"the attribute '{name}' is of type {type(value).__name__}, which archives can't hold")
                continue
            values[name] = (value, kind_of)
        for name, child in module._modules.items():
            values[name] = (child, NONE if child is None else ANY)
        return values

    def attribute_type(self, name: str, value: Any, hints: dict[str, Any]) -> Type | None:
        """The type of an attribute; None of what has none."""
        hint = hints.get(name)
        kind: Any = None
        if hint is not None:
            try:
                kind = from_annotation(hint)
            except (UnknownAnnotation, TypeError, NameError, AttributeError):
                kind = None
        kind = type_of(value) if kind is None or kind == ANY else kind
        if isinstance(kind.inner if isinstance(kind, OptionalType) else kind, ClassType):  # also of objects that can be called
            return kind
        return (
            None if kind in (OBJECT, ANY) or is_open(kind) or (callable(value) and not isinstance(value, (TensorBase, enum.Enum))) else kind
        )

    def read_attributes(self, module: Any) -> set[str]:
        """The attributes of a Module that its own programs read."""
        found: set[str] = set()
        for program in getattr(module, "_script_programs", {}).values():
            found |= {str(node.target) for node in program.graph.nodes if node.op == "get_attr"}
        return found


def placeholder(function: Any) -> Any:
    """A Module whose forward is a function: archives hold Modules alone."""
    if isinstance(function, TracedFunction):
        return function._module
    made = type("PlaceholderModule", (ScriptModule,), {"__module__": "__main__"})()
    made._script_adopt("forward", function._program)
    return made


def write_torchscript(m: Any, f: Any, files: dict[str, Any] | None) -> None:
    """Write an archive to a path or file object."""
    if isinstance(m, (ScriptFunction, TracedFunction)):
        m = placeholder(m)
    if not isinstance(m, (ScriptModule, GraphModule)):
        raise TypeError(f"jit.save() takes a scripted or traced Module or function, not {type(m).__name__}: script or trace it first")
    writer = ProgramWriter(m)
    records: list[tuple[str, Any]] = []
    data, constants = ObjectPickler(writer), ObjectPickler(writer)
    for name, pickler, value in (("data", data, m), ("constants", constants, None)):
        pickled = pickler.finished(tuple(writer.constants) if value is None else value)
        records += [(f"{name}/{key}", pickler.table.data(key)) for key in pickler.table.storages]
        records.append((f"{name}.pkl", pickled))
    records += [(f"code/{module.replace('.', '/')}.py", "".join(parts).encode()) for module, parts in writer.files.items()]
    records += [(f"extra/{name}", text.encode("latin-1")) for name, text in extra_files(files).items()]
    records += [("byteorder", sys.byteorder.encode()), ("version", VERSION)]
    if hasattr(f, "write"):
        _write(f, "archive", records)
        return
    with replacing(f) as file:
        _write(file, "archive", records)


def _write(file: Any, root: str, records: list[tuple[str, Any]]) -> None:
    archive = ArchiveWriter(file, root)
    for name, data in records:
        archive.write(name, data)
    archive.close()
