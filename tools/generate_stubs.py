"""Writes the type stubs of the public names that are made from the op table at import.

    python tools/generate_stubs.py            (part of `make generate`)

`rushlight.softmax`, `x.softmax(...)` and `nn.functional.gelu` are created when the package is imported, so neither an editor nor mypy
finds them in the source.  The stubs say what is there: signatures and the first line of each docstring, read from the op table.  Two kinds
are written: stubs beside thin modules (`linalg.pyi`), and stub-only modules that a source file imports under ``TYPE_CHECKING``
(`tensor/op_methods.pyi` is the base class of ``Tensor`` for a type checker).
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import math
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rushlight
from rushlight.core.base import TensorBase
from rushlight.core.declare import MISSING, Op, public_names
from rushlight.core.entry import SPELLINGS
from rushlight.tensor.methods import OPERATORS, UNARY

PACKAGE = Path(rushlight.__file__).parent
HEADER = '"""{doc}\n\nWritten by tools/generate_stubs.py from the op table: run `make generate` after changing an op\'s signature.\n"""\n\n'
OTHER_SPELLING = {name: spelling for spelling, name in SPELLINGS.items()}


class Writer:
    """Collects the declarations of one stub, and the names that their annotations need."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.imports: dict[str, set[str]] = {}

    def need(self, module: str, name: str) -> str:
        """Import a name, and return how the stub spells it."""
        self.imports.setdefault(module, set()).add(name)
        return name.rpartition(" ")[2]

    def annotation(self, text: str, space: dict[str, Any]) -> str:
        """An annotation of the source in the names of the stub; ``space`` is where the source looks its names up."""
        return ast.unparse(self.renamed(ast.parse(text, mode="eval").body, space))

    def renamed(self, node: ast.AST, space: dict[str, Any]) -> Any:
        """The annotation with each name replaced by the stub's name of the same object."""
        if isinstance(node, ast.Name):
            # Builtins first: in `rushlight/__init__.py` the name `bool` is a dtype, but no annotation means that.
            found = getattr(builtins, node.id) if hasattr(builtins, node.id) else space[node.id]
            return ast.parse(self.spelled(found), mode="eval").body
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(node, field, self.renamed(value, space))
            elif isinstance(value, list):
                setattr(node, field, [self.renamed(each, space) for each in value])
        return node

    def spelled(self, found: Any) -> str:
        """How the stub spells a type."""
        if found is None or found is type(None):
            return "None"
        if isinstance(found, type) and issubclass(found, TensorBase):
            return "Tensor"
        if found == int | float | complex | bool:
            return self.need("rushlight.tensor.op_results", "Number as _Number")
        if isinstance(found, types.UnionType):
            return " | ".join(self.spelled(each) for each in found.__args__)
        name, module = found.__name__, found.__module__
        if module == "builtins":  # under an alias: `Tensor.float` and `rushlight.int` hide them
            return self.need("builtins", f"{name} as _{name}")
        if module.startswith("rushlight."):
            return self.need(module, f"{name} as _{name}")
        return self.need(module, name)

    def function(self, name: str, function: Any, indent: str = "", method: bool = False) -> None:
        """Declare a function, or a method: its first parameter is then ``self``."""
        op: Op | None = getattr(function, "op", None)
        parameters = self.op_parameters(op) if op is not None else self.plain_parameters(function)
        if method:
            parameters = ["self", *parameters[1:]]
        source = inspect.unwrap(function)
        returned = self.returned(op, source)
        doc = (inspect.getdoc(function) or "").strip().partition("\n")[0].replace("\\", "\\\\").replace('"""', "'''")
        self.lines.append(f"{indent}def {name}({', '.join(parameters)}) -> {returned}:")
        self.lines.append(f'{indent}    """{doc}"""' if doc else f"{indent}    ...")

    def returned(self, op: Op | None, source: Any) -> str:
        """The type of a result; several outputs are a named tuple."""
        if op is not None and isinstance(op.returns, tuple) and op.kernel is not None:
            name = op.public_name if op.namespace is None else op.name
            results[name] = op.returns
            return self.need("rushlight.tensor", "op_results as _results") + f".{name}"
        return self.annotation(source.__annotations__.get("return", "Any") or "None", source.__globals__ | {"Any": Any})

    def op_parameters(self, op: Op) -> list[str]:
        """The parameters of an op's public function, as :func:`rushlight.core.entry._signature` accepts them."""
        space = op.call.__wrapped__.__globals__ | {"Any": Any}  # type: ignore[attr-defined]
        found: list[str] = []
        extra: list[str] = []
        star = optional = False
        for parameter in op.parameters:
            annotation = self.annotation(parameter.annotation or "Any", space)
            alternative = OTHER_SPELLING.get(parameter.name)
            if parameter.keyword_only and not star:
                found.append("*")
                star = True
            if parameter.variadic:
                sequence = f"{self.need('collections.abc', 'Sequence')}[{annotation}]"
                found.append(f"*{parameter.name}_: {annotation} | {sequence}")
                extra.append(f"{parameter.name}: {sequence} = ...")
                star = True
                continue
            has_default = parameter.default is not MISSING or alternative is not None or (optional and not star)
            default = f" = {shown(parameter.default)}" if has_default else ""
            optional = optional or has_default
            found.append(f"{parameter.name}: {annotation}{default}")
            if alternative is not None:
                extra.append(f"{alternative}: {annotation} = ...")
        if op.has_out:
            extra.append(f"out: {'Tensor | None' if op.returns is None else 'Any'} = None")
        if extra and not star:
            found.append("*")
        return found + extra

    def plain_parameters(self, function: Any) -> list[str]:
        """The parameters of an ordinary function."""
        source = inspect.unwrap(function)
        space = {**source.__globals__, "Any": Any}
        found: list[str] = []
        star = False
        for parameter in inspect.signature(function).parameters.values():
            annotation = self.annotation(parameter.annotation if isinstance(parameter.annotation, str) else "Any", space)
            if parameter.kind is parameter.KEYWORD_ONLY and not star:
                found.append("*")
                star = True
            star = star or parameter.kind is parameter.VAR_POSITIONAL
            prefix = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
            default = "" if parameter.default is parameter.empty else f" = {shown(parameter.default)}"
            found.append(f"{prefix}{parameter.name}: {annotation}{default}")
        return found

    def text(self, doc: str, first: str = "") -> str:
        """The whole stub."""
        used = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(self.imports.items())]
        return HEADER.format(doc=doc) + "\n".join([first, *used, "", *self.lines, ""]).lstrip("\n")


results: dict[str, tuple[str, ...]] = {}  # the named tuples that functions return: class -> fields


def shown(default: Any) -> str:
    """A default as a stub shows it: a literal, or ``...``."""
    literal = default is None or type(default) in (bool, int, str) or (type(default) is float and math.isfinite(default))
    return repr(default) if literal else "..."


def module_stub(name: str) -> str:
    """The stub of a module whose functions all come from the op table."""
    module = importlib.import_module(f"rushlight.{name}")
    writer = Writer()
    writer.need("rushlight.tensor.tensor", "Tensor")
    listed = list(module.__all__)
    for each in listed:
        value = getattr(module, each)
        if isinstance(value, type):
            writer.need(value.__module__, f"{value.__name__} as {each}")
        else:
            writer.function(each, value)
    writer.need("builtins", "list as _list")
    writer.need("builtins", "str as _str")
    return writer.text(f"{(module.__doc__ or '').partition('.')[0]}: stub.") + "\n__all__: _list[_str]\n"


def declared_in(class_: ast.ClassDef) -> Iterator[str]:
    """The names that the body of a class declares."""
    for node in class_.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def methods_stub() -> str:
    """The stub of what :func:`rushlight.tensor.methods.install` adds to ``Tensor``: a base class for type checkers."""
    (own,) = (
        node
        for node in ast.parse((PACKAGE / "tensor" / "tensor.py").read_text(encoding="utf8")).body
        if isinstance(node, ast.ClassDef) and node.name == "Tensor"
    )
    written = {*declared_in(own), "__doc__", "__module__", "__slots__", "__new__", "__init__"}
    writer = Writer()
    operand = writer.need("rushlight.tensor.op_results", "Operand as _Operand")
    writer.need("typing", "Any")
    writer.need("rushlight.tensor.tensor", "Tensor")
    writer.need("rushlight.core.base", "TensorBase")
    writer.lines += ["class OpMethods(TensorBase):", '    """The methods of Tensor that come from the op table."""', ""]
    writer.lines += ["    __getattr__: None  # type: ignore[assignment]  # an unknown attribute is an error, unlike on TensorBase"]
    writer.lines += ["    def __new__(cls, *args: Any, **kwargs: Any) -> Any: ...", "    def __getitem__(self, index: Any) -> Tensor: ..."]
    writer.lines += ["    def __setitem__(self, index: Any, value: Any) -> None: ...", "    def __delitem__(self, index: Any) -> None: ..."]
    written |= {"__getitem__", "__setitem__", "__delitem__"}
    for operator in OPERATORS:
        for prefix in ("", "r", "i"):
            if f"__{prefix}{operator}__" in vars(rushlight.Tensor):
                writer.lines.append(f"    def __{prefix}{operator}__(self, other: {operand}) -> Tensor: ...")
                written.add(f"__{prefix}{operator}__")
    for operator in UNARY:
        writer.lines.append(f"    def __{operator}__(self) -> Tensor: ...")
        written.add(f"__{operator}__")
    # What copyreg notes once a tensor was copied, Python once annotations were asked for, and Python 3.13 of every class.
    notes = {"__slotnames__", "__annotations__", "__static_attributes__", "__firstlineno__"}
    for name in sorted(set(vars(rushlight.Tensor)) - written - notes):
        static = inspect.getattr_static(rushlight.Tensor, name)
        if isinstance(static, property):
            writer.lines.append("    @property")
            writer.function(name, static.fget, "    ", method=True)
        elif isinstance(static, staticmethod):
            writer.lines.append("    @staticmethod")
            writer.function(name, static.__func__, "    ")
        else:
            writer.function(name, getattr(rushlight.Tensor, name), "    ", method=True)
    return writer.text(
        "The methods that the op table gives to Tensor: a stub-only module.",
        # Operators narrow those of TensorBase and of `object` (`==` gives a tensor), as in every array library.
        '# mypy: disable-error-code="override, misc"',
    )


def results_stub() -> str:
    """The stub of the types that the other stubs share: numbers, operands, and what ops with several outputs return."""
    lines = [
        "from typing import Any, NamedTuple, TypeAlias",
        "",
        "import numpy as np",
        "",
        "from rushlight.tensor.tensor import Tensor",
        "",
    ]
    lines += ["Number: TypeAlias = int | float | complex", "Operand: TypeAlias = Tensor | Number | np.number[Any] | np.bool_", ""]
    for name, fields in sorted(results.items()):
        lines += [f"class {name}(NamedTuple):", *(f"    {field}: Tensor" for field in fields), ""]
    return HEADER.format(
        doc="Numbers, operands, and the named tuples that ops with several outputs return: a stub-only module."
    ) + "\n".join(lines)


def package_stub() -> str:
    """The stub of ``rushlight`` itself: what its source imports and defines, and what it takes from tables."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf8"))
    writer = Writer()
    named: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            module = ".".join(filter(None, ("rushlight", node.module)))
            for alias in node.names:
                name = alias.asname or alias.name
                if not name.startswith("_"):
                    writer.need(module, f"{alias.name} as {name}")
                    named.add(name)
        elif isinstance(node, ast.FunctionDef):
            writer.function(node.name, getattr(rushlight, node.name))
            named.add(node.name)
    for name in sorted(vars(rushlight)["_SUBMODULES"]):
        writer.need("rushlight", f"{name} as {name}")
        named.add(name)
    late = {name: f"rushlight.{file}" for file, declared in rushlight._LATE.items() for name in declared.split()}  # type: ignore[attr-defined]
    for name in sorted({*dir(rushlight), *public_names("")} - named):
        value = getattr(rushlight, name)
        private = name.startswith("_") and not hasattr(value, "op") and name != "__version__"
        if private or name == "annotations" or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, types.FunctionType) and not name.startswith("__"):
            writer.function(name, value)
        elif isinstance(value, type) and type(value) is type:
            home, spelt = (late[name], name) if name in late else (value.__module__, value.__name__)
            writer.need(home, f"{spelt} as {name}")
        elif value is None:
            writer.lines.append(f"{name}: None")
        else:
            writer.lines.append(f"{name}: {writer.spelled(type(value))}")
    return writer.text((rushlight.__doc__ or "").partition("\n")[0])


MODULES = ("fft", "linalg", "nn.functional", "signal.windows", "special")


def stubs() -> dict[Path, str]:
    """The text of every stub."""
    results.clear()
    made = {PACKAGE / "__init__.pyi": package_stub(), PACKAGE / "tensor" / "op_methods.pyi": methods_stub()}
    for name in MODULES:
        made[PACKAGE / f"{name.replace('.', '/')}.pyi"] = module_stub(name)
    made[PACKAGE / "tensor" / "op_results.pyi"] = results_stub()
    return made


def main() -> None:
    """Write every stub."""
    for path, text in stubs().items():
        path.write_text(text, encoding="utf8")


if __name__ == "__main__":
    main()
