"""The code of an archive as text: its classes and functions by their qualified names, and the types that it writes.

Text is parsed to syntax trees and never compiled to Python code.
"""

from __future__ import annotations

import ast
import collections
import enum
import re
from typing import Any

from ....core.errors import CaptureError
from ....nn.modules.module import Module
from ....serialization.records import ArchiveReader
from ..frontend.errors import ScriptError
from ..frontend.source import MISSING, FunctionSource
from ..frontend.types import (
    ANY,
    NONE,
    NUMBER,
    SIMPLE,
    CompoundType,
    DictType,
    EnumType,
    InterfaceType,
    ListType,
    TupleType,
    Type,
    union,
)  # fmt: skip
from .forks import inlined_forks

ROOT = "__torch__"
LARGEST_TEXT = 1 << 26  # bytes of code in one archive; what PyTorch writes of the largest models is a hundredth of it
CUSTOM = f"{ROOT}.torch.classes."  # classes that are written in C++
_TYPES: dict[str, Type] = {**SIMPLE, "None": NONE, "NoneType": NONE, "Scalar": NUMBER, "Layout": SIMPLE["int"], "ScalarType": SIMPLE["int"]}
_OPEN = frozenset("Storage Stream Capsule QScheme AnyEnumType AnyClassType AnyListType AnyTupleType RRef Function PyObject".split())
_WRAPPERS = frozenset(("Final", "Future", "Await"))


class ModuleClass(CompoundType):
    """The type of the Modules of one class of an archive."""

    __slots__ = ("described",)

    def __init__(self, described: CodeClass) -> None:
        self.described = described

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.described.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleClass) and other.described is self.described

    def __hash__(self) -> int:
        return hash(id(self.described))


class CustomType(CompoundType):
    """The type of objects of a class that is written in C++, such as packed parameters."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.path


_EMPTY = re.compile(r"^(class [^\n]*:[ ]*\n)(?![ \n])", re.M)  # a class without anything in it
_PARAMETER = re.compile(r"^(    \w+: [^=\n]+?)(,|\) -> [^\n]*:)$", re.M)
_ABSENT = "__no_default__"


def with_defaults(text: str) -> str:
    """Code in which a parameter that can be given by its name alone, without a default, follows one that has one: here it gets a mark."""
    return _PARAMETER.sub(rf"\1={_ABSENT}\2", text)


def _is_version(node: ast.stmt) -> bool:
    """Whether this is the line that says the version of the operators."""
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "op_version_set"


def _names_files(node: ast.stmt) -> bool:
    """Whether this names other files of the archive, as PyTorch before 1.4 wrote it: names are looked up when they are used, so it says nothing."""
    return isinstance(node, ast.Import) and all(each.asname is None and each.name.split(".")[0] == ROOT for each in node.names)


_OWN_TYPE = re.compile(r"(def \w+\(\w+): [\w.]+")  # the type of self, which methods are shown without
_CONSTANT = re.compile(r"\bCONSTANTS\.c(\d+)\b")


class CodeFile:
    """One file of code: its lines, and its definitions by name."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.splitlines(keepends=True)
        self.definitions: dict[str, Any] = {}
        try:
            tree = ast.parse(_EMPTY.sub(r"\1  pass\n", text))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            try:
                tree = ast.parse(with_defaults(_EMPTY.sub(r"\1  pass\n", text)))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                raise CaptureError(f"the archive's code can't be read: {path}: {error}") from None
        for each in inlined_forks(tree, text).body:
            if isinstance(each, (ast.ClassDef, ast.FunctionDef)):
                self.definitions[each.name] = each
            elif not (_is_version(each) or _names_files(each)):
                kind = "an import" if isinstance(each, (ast.Import, ast.ImportFrom)) else f"a statement ({type(each).__name__})"
                raise CaptureError(f"the archive's code has {kind} where only classes and functions may be: {path}, line {each.lineno}")


class ProgramText:
    """A method or function as its archive writes it, with the archive's constants."""

    def __init__(self, definition: ast.FunctionDef, file: CodeFile, constants: Any, is_method: bool) -> None:
        self.definition, self.file, self.constants, self.is_method = definition, file, constants, is_method

    def code_with_constants(self) -> tuple[str, list[Any]]:
        """The text, as PyTorch prints it, and the tensors that it names ``CONSTANTS.c0`` and so on."""
        first, last = self.definition.lineno - 1, self.definition.end_lineno
        indent, body = self.definition.col_offset, self.definition.body[0].lineno - 1
        lines = [line if first < at < body else line[indent:] for at, line in enumerate(self.file.lines[first:last], first)]
        text = "".join(lines).rstrip("\n")
        if self.is_method and (found := _OWN_TYPE.match(text)):
            text = found[1] + text[found.end() :]
        used: dict[str, None] = dict.fromkeys(_CONSTANT.findall(text))
        numbers = {each: f"CONSTANTS.c{at}" for at, each in enumerate(used)}
        text = _CONSTANT.sub(lambda found: numbers[found[1]], text)
        return f"{text}\n", [self.constants[int(each)] for each in used]


class CodeClass:
    """A class as the code writes it."""

    def __init__(self, qualified: str, definition: ast.ClassDef, file: CodeFile) -> None:
        self.qualified = qualified
        self.name = definition.name
        self.file = file
        self.definition = definition
        base = definition.bases[0] if definition.bases else None
        self.base = base.id if isinstance(base, ast.Name) else ""
        self.annotations: dict[str, ast.expr] = {}
        self.values: dict[str, ast.expr] = {}  # of constants, and of members of an enumeration
        self.methods: dict[str, ast.FunctionDef] = {}
        self.lists: dict[str, list[str]] = {}  # __parameters__, __buffers__ and the like
        self.types: dict[str, Type] = {}
        for each in definition.body:
            if isinstance(each, ast.FunctionDef):
                self.methods[each.name] = each
            elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                self.annotations[each.target.id] = each.annotation
                if each.value is not None:
                    self.values[each.target.id] = each.value
            elif isinstance(each, ast.Assign) and len(each.targets) == 1:
                self._assignment(each.targets[0], each.value, each)
            elif not isinstance(each, ast.Pass):
                raise CaptureError(
                    f"the class '{qualified}' of the archive has something else than attributes and methods: {self.place(each)}"
                )

    def _assignment(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            self.annotations[target.slice.value] = value
        elif isinstance(target, ast.Name) and target.id.startswith("__") and isinstance(value, ast.List):
            self.lists[target.id] = [str(each.value) for each in value.elts if isinstance(each, ast.Constant)]
        elif isinstance(target, ast.Name):
            self.values[target.id] = value
        else:
            raise CaptureError(f"the class '{self.qualified}' of the archive can't be read: {self.place(node)}")

    @property
    def is_module(self) -> bool:
        """Whether its objects are Modules."""
        return self.base == "Module"

    def place(self, node: ast.AST) -> str:
        """Where in the archive something is."""
        return f"{self.file.path}, line {getattr(node, 'lineno', 1)}"


class SourceCode:
    """All code of an archive; what a name means is found when it is first asked for."""

    def __init__(self, archive: ArchiveReader) -> None:
        self.archive = archive
        self.files: dict[str, CodeFile | None] = {}
        self.classes: dict[str, CodeClass] = {}
        self.kinds: dict[str, Any] = {}  # named tuples, enumerations and the types of other classes, by their qualified names
        self.read = 0
        self.making: set[str] = set()
        self.alike: dict[str, CodeFile] = {}

    def file(self, module: str) -> CodeFile | None:
        """The file of a Python module, or None."""
        if module not in self.files:
            name = f"code/{module.replace('.', '/')}.py"
            if name not in self.archive:  # before 1.3 classes had a folder of their own
                name = f"libs/{module.replace('.', '/')}.py"
            self.files[module] = None
            if name in self.archive:
                self.files[module] = self.parsed(module, name, self.text(name))
        return self.files[module]

    def text(self, name: str) -> str:
        """A record as text."""
        self.read += self.archive.record(name).size
        if self.read > LARGEST_TEXT:
            raise CaptureError(f"the archive's code is longer than {LARGEST_TEXT >> 20} MB, which no model is")
        try:
            return self.archive.read(name).decode()
        except UnicodeDecodeError as error:
            raise CaptureError(f"the archive's code is no text: {name}: {error}") from None

    def parsed(self, module: str, path: str, text: str) -> CodeFile:
        """A file of code.  Traces have a file for each Module: those that differ in their own name alone share what is made of them."""
        general = text.replace(f"{module}.", "")
        if f"{ROOT}." in general or "CONSTANTS." in general:
            return CodeFile(path, text)
        found = self.alike.get(general)
        if found is None:
            found = self.alike[general] = CodeFile(path, text)
        return found

    def definition(self, qualified: str) -> tuple[Any, CodeFile] | None:
        """The class or function of a qualified name, with its file; None where there is none."""
        module, _, name = qualified.rpartition(".")
        file = self.file(module) if module else None
        found = None if file is None else file.definitions.get(name)
        return None if found is None or file is None else (found, file)

    def find_class(self, qualified: str) -> CodeClass | None:
        """A class by its qualified name, or None."""
        found = self.classes.get(qualified)
        if found is None:
            known = self.definition(qualified)
            if known is None or not isinstance(known[0], ast.ClassDef):
                return None
            found = self.classes[qualified] = CodeClass(qualified, *known)
        return found

    # -- types -----------------------------------------------------------------------------------------------------------

    def type_of(self, node: ast.expr, file: CodeFile, depth: int = 0) -> Type:
        """The type that an annotation means."""
        if depth > 60:
            raise CaptureError(f"a type in the archive's code is nested too deeply: {file.path}, line {getattr(node, 'lineno', 1)}")
        if isinstance(node, ast.Constant) and node.value is None:
            return NONE
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return self.type_of(ast.parse(node.value.strip(), mode="eval").body, file, depth + 1)
            except SyntaxError:
                raise CaptureError(f"the type {node.value!r} in the archive can't be read: {file.path}") from None
        if isinstance(node, ast.Name):
            if node.id in _TYPES:
                return _TYPES[node.id]
            if node.id in _OPEN:
                return ANY
        if isinstance(node, ast.Attribute):
            return self.named_type(dotted(node) or "", file, node)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            parts = [self.type_of(each, file, depth + 1) for each in inner if not (isinstance(each, ast.Tuple) and not each.elts)]
            head = node.value.id
            if head == "List" and len(parts) == 1:
                return ListType(parts[0])
            if head == "Dict" and len(parts) == 2:
                return DictType(*parts)
            if head == "Tuple":
                return TupleType(tuple(parts))
            if head == "Optional" and len(parts) == 1:
                return union([parts[0], NONE])
            if head == "Union":
                return union(parts)
            if head in _WRAPPERS and len(parts) == 1:
                return parts[0]
            if head in _OPEN:
                return ANY
        raise CaptureError(f"'{ast.unparse(node)}' is no type that archives have: {file.path}, line {getattr(node, 'lineno', 1)}")

    def named_type(self, qualified: str, file: CodeFile, node: ast.AST) -> Type:
        """The type of a class by its qualified name."""
        if qualified.startswith(CUSTOM):
            return CustomType(qualified)
        if qualified not in self.kinds:
            described = self.find_class(qualified)
            if described is None:
                raise CaptureError(
                    f"the archive names the class '{qualified}', which it does not have: {file.path}, line {getattr(node, 'lineno', 1)}"
                )
            if qualified in self.making:
                raise CaptureError(f"the class '{qualified}' of the archive has itself in it: {described.place(described.definition)}")
            self.making.add(qualified)
            try:
                self.kinds[qualified] = self.made_type(described)
            finally:
                self.making.discard(qualified)
        found: Type = self.kinds[qualified]
        return found

    def made_type(self, described: CodeClass) -> Type:
        """The type of a class, which is made once."""
        if described.is_module:
            return ModuleClass(described)
        if described.base == "NamedTuple":
            kinds = {name: self.type_of(each, described.file) for name, each in described.annotations.items()}
            defaults = [literal(each, described.file) for each in described.values.values()]
            try:
                kind = collections.namedtuple(described.name, list(kinds), defaults=defaults or None)  # type: ignore[misc]
            except ValueError as error:
                raise CaptureError(f"the archive's named tuple '{described.qualified}' can't be made: {error}") from None
            kind.__annotations__ = kinds
            kind.__module__ = described.qualified.rpartition(".")[0]
            return TupleType(tuple(kinds.values()), kind)
        if described.base == "Enum":
            members = {name: literal(each, described.file) for name, each in described.values.items()}
            try:
                return EnumType(enum.Enum(described.name, members, module=described.qualified.rpartition(".")[0]))
            except (ValueError, TypeError) as error:
                raise CaptureError(f"the archive's enumeration '{described.qualified}' can't be made: {error}") from None
        if described.base in ("Interface", "ModuleInterface"):
            place = {"__module__": described.qualified.rpartition(".")[0]}
            return InterfaceType(type(described.name, (Module,) if described.base == "ModuleInterface" else (), place), {})
        if described.base:
            raise CaptureError(
                f"the archive's class '{described.qualified}' is of an unknown kind, {described.base}: {described.place(described.definition)}"
            )
        return self.plain_class(described)

    def plain_class(self, described: CodeClass) -> Type:
        """The type of a class that is none of the known kinds."""
        raise NotImplementedError  # in ArchiveCode


def dotted(node: ast.AST) -> str | None:
    """A dotted name as text, or None where it is something else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def decoded(text: str) -> str:
    """A text of the code: what is not ASCII is written byte by byte."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


_WORDS: dict[str, Any] = {
    _ABSENT: ...,
    "inf": float("inf"),
    "nan": float("nan"),
    "infj": complex(0, float("inf")),
    "nanj": complex(0, float("nan")),
}


def literal(node: ast.expr, file: CodeFile, depth: int = 0) -> Any:
    """The value of a literal; what is none is refused."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, bytes):
        return decoded(node.value) if isinstance(node.value, str) else node.value
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if depth < 60:
        if isinstance(node, ast.Tuple):
            return tuple(literal(each, file, depth + 1) for each in node.elts)
        if isinstance(node, ast.List):
            return [literal(each, file, depth + 1) for each in node.elts]
        if isinstance(node, ast.Dict) and None not in node.keys:
            return {
                literal(key, file, depth + 1): literal(each, file, depth + 1)
                for key, each in zip(node.keys, node.values)
                if key is not None
            }
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = literal(node.operand, file, depth + 1)
            if isinstance(value, (int, float, complex)):
                return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            first, second = literal(node.left, file, depth + 1), literal(node.right, file, depth + 1)
            if isinstance(first, (int, float)) and isinstance(second, complex):
                return first + second if isinstance(node.op, ast.Add) else first - second
        if isinstance(node, ast.Call) and dotted(node.func) in ("annotate", "float") and node.args:
            value = literal(node.args[-1], file, depth + 1)
            return float(value) if dotted(node.func) == "float" else value
        if isinstance(node, ast.Call) and dotted(node.func) == "torch.device" and len(node.args) == 1:
            return DeviceName(literal(node.args[0], file, depth + 1))
    raise CaptureError(f"'{ast.unparse(node)[:80]}' is no literal: {file.path}, line {getattr(node, 'lineno', 1)}")


class DeviceName(str):
    """A device that the code names."""


class SourceFunction:
    """What the front end asks of a Python function, of one that is only text."""

    __closure__ = None
    __kwdefaults__ = None

    def __init__(self, definition: ast.FunctionDef, file: CodeFile, constants: tuple[Any, ...]) -> None:
        self.__name__ = self.__qualname__ = definition.name
        self.__annotations__: dict[str, Any] = {}
        self.__globals__: dict[str, Any] = {}
        self.__defaults__ = tuple(default(each, file, constants) for each in definition.args.defaults)


def default(node: ast.expr, file: CodeFile, constants: tuple[Any, ...]) -> Any:
    """The default of a parameter: a literal, or a constant of the archive."""
    path = dotted(node) or ""
    if not path.startswith("CONSTANTS.c"):
        return literal(node, file)
    number = path.removeprefix("CONSTANTS.c")
    if not number.isdigit() or int(number) >= len(constants):
        raise CaptureError(f"the archive has no constant '{path}': {file.path}, line {node.lineno}")
    return constants[int(number)]


class TextSource(FunctionSource):
    """The definition of a function or method in an archive."""

    def __init__(self, definition: ast.FunctionDef, file: CodeFile, names: dict[str, Any], constants: tuple[Any, ...]) -> None:
        self.function = SourceFunction(definition, file, constants)
        self.name = definition.name
        self.file = file.path
        self.first, self.indent, self.lines = 1, 0, file.lines
        self.text: Any = DefinitionSource()
        self._definition = definition
        self.frames = ()
        self.names = {}
        self.attributes = []
        self._closure = {}
        self.known = names

    def find(self, name: str) -> Any:
        """What a name means outside the function."""
        return self.known.get(name, MISSING)

    def evaluate(self, expression: Any) -> Any:
        """Annotations are read by the compiler of archives, and nothing is evaluated."""
        raise ScriptError("an annotation of the archive can't be evaluated", self, expression if isinstance(expression, ast.AST) else None)


class DefinitionSource:
    """Where the front end keeps the statements of one definition."""

    statements: Any = None
