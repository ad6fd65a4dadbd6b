"""The source of a function that is scripted: its syntax tree, and its lines for messages."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import operator
import re
import textwrap
import weakref
from types import CodeType, SimpleNamespace
from typing import Any

from ....core.process_safety import removal_callback
from .errors import NotSupportedError, ScriptError
from .single_exit import Exits
from .types import TYPE_NAMES

MISSING: Any = object()
_BUILTINS = vars(builtins)
_SYNTAX = ast.PyCF_ONLY_AST | ast.PyCF_TYPE_COMMENTS


class FunctionSource:
    """The definition of a function: syntax tree, file, lines, and the names it can see."""

    def __init__(self, function: Any, frames: tuple[Any, ...] = ()) -> None:
        self.function = function
        self.name = function.__name__
        self.file = function.__code__.co_filename
        if self.name == "<lambda>":
            raise ScriptError(
                f'a lambda can\'t be scripted (File "{self.file}", line {function.__code__.co_firstlineno}): write it as a function with def'
            )
        try:
            text = text_of(function)
        except (OSError, TypeError, SyntaxError) as error:
            raise self.without_source(str(error)) from None
        self.first, self.indent, self.lines = text.first, text.indent, text.lines
        self.text = text
        self._definition: ast.FunctionDef | None = None
        self.frames = frames
        self.names: dict[str, Any] = {}  # what was asked for outside the function
        self.attributes: list[tuple[Any, str, Any]] = []
        self._closure: dict[str, Any] | None = None

    def without_source(self, why: str) -> ScriptError:
        """The error for a function whose text is not known."""
        return ScriptError(
            f"the source of the function '{self.name}' is not available, and scripting reads it: write the function in a file (the "
            f"interactive prompt and exec() keep no source). {why}"
        )

    @property
    def definition(self) -> ast.FunctionDef:
        """The syntax tree of the function."""
        if self._definition is None:
            found = self.text.tree.body[0]
            if not isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.file.startswith("<"):
                raise self.without_source(
                    f"The text of {self.file} is another program's."
                )  # as that of ``python -c`` is kept since Python 3.13
            if not isinstance(found, ast.FunctionDef):
                kind = "an async function" if isinstance(found, ast.AsyncFunctionDef) else f"a {type(found).__name__}"
                raise NotSupportedError(f"'{self.name}' is {kind}, and can't be scripted: only functions defined with def can", self, found)
            self._definition = found
        return self._definition

    @property
    def statements(self) -> list[ast.stmt]:
        """What the function does, with one return at its end."""
        if self.text.statements is None:
            self.text.statements = Exits().function(self.definition)
        return self.text.statements

    @property
    def closure(self) -> dict[str, Any]:
        """The variables of enclosing functions that it uses."""
        if self._closure is None:
            found = self._closure = {}
            for name, cell in zip(self.function.__code__.co_freevars, self.function.__closure__ or ()):
                try:
                    found[name] = cell.cell_contents
                except ValueError:
                    continue  # not assigned yet
        return self._closure

    def find(self, name: str) -> Any:
        """What a name means outside the function, or :data:`MISSING`."""
        if self.frames and self.frames[-1].__class__ is SimpleNamespace and name in self.frames[-1].f_locals:  # the class it is a method of
            return self.frames[-1].f_locals[name]
        for known in (self.closure, self.function.__globals__, _BUILTINS):
            if name in known:
                return known[name]
        for frame in self.frames:
            if name in frame.f_locals:
                return frame.f_locals[name]
        return MISSING

    def lookup(self, name: str) -> Any:
        """What a name means outside the function; a KeyError where it means nothing.  That it was asked for is remembered."""
        found = self.names[name] = self.find(name)
        if found is MISSING:
            raise KeyError(name)
        return found

    def attribute(self, owner: Any, name: str, default: Any = None) -> Any:
        """An attribute of something from outside; that it was asked for is remembered."""
        found = getattr(owner, name, MISSING)
        self.attributes.append((owner, name, found))
        return default if found is MISSING else found

    def named(self, node: ast.expr) -> Any:
        """What a dotted name means outside the function; None where it means nothing, or is something else than a name."""
        if isinstance(node, ast.Name):
            try:
                return self.lookup(node.id)
            except KeyError:
                return None
        return self.attribute(self.named(node.value), node.attr) if isinstance(node, ast.Attribute) else None

    def evaluate(self, expression: ast.expr | str) -> Any:
        """The value of an annotation: an expression of names that are known when the function is scripted."""
        tree = ast.parse(expression.strip(), mode="eval").body if isinstance(expression, str) else expression
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        known = {}
        for name in names:
            try:
                known[name] = self.lookup(name)
            except KeyError:
                if name not in TYPE_NAMES:
                    raise NameError(f"name '{name}' is not defined", name=name) from None
                known[name] = TYPE_NAMES[name]
        return eval(compile(ast.fix_missing_locations(ast.Expression(tree)), self.file, "eval"), {}, known)

    def line_of(self, node: ast.AST | None) -> int:
        """The line in the file."""
        return self.first + getattr(node, "lineno", 1) - 1

    def excerpt(self, node: ast.AST | None) -> str:
        """Where something is: its line between two lines before and after it, and a caret under it."""
        node = node if node is not None and hasattr(node, "lineno") else getattr(self, "definition", None)
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1].rstrip() if line <= len(self.lines) else ""
        # Offsets are in bytes of the dedented line.
        body = text[self.indent :].encode()
        start = len(body[: getattr(node, "col_offset", 0)].decode(errors="replace"))
        end = getattr(node, "end_col_offset", None)
        stop = (
            len(body[:end].decode(errors="replace"))
            if end is not None and getattr(node, "end_lineno", line) == line
            else len(text) - self.indent
        )
        caret = " " * (self.indent + start) + "~" * max(stop - start, 1) + " <--- HERE"
        before, after = self.lines[max(line - 3, 0) : line - 1], self.lines[line : line + 2]
        shown = [*(each.rstrip() for each in before), text, caret, *(each.rstrip() for each in after)]
        return "\n".join(["", f'  File "{self.file}", line {self.first + line - 1}, in {self.name}', *shown])


class SourceText:
    """What the file says of a function: read once for all functions that one ``def`` makes."""

    def __init__(self, lines: list[str], first: int, tree: ast.Module) -> None:
        self.first = first
        self.indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        self.lines = lines
        self._tree: ast.Module | None = tree
        self.statements: list[ast.stmt] | None = None
        self.programs: list[tuple[Any, Any]] = []  # with what they were compiled with: see run/compile_cache.py

    @property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        if self._tree is None:
            self._tree = parsed(dedented(self.lines))
        return self._tree

    def forget_tree(self) -> None:
        """Release the syntax tree, which is large: once there is a program it is seldom needed again."""
        self._tree = self.statements = None


_line = operator.itemgetter(2)  # of what co_lines() gives
_texts: dict[int, tuple[Any, SourceText]] = {}  # by the identity of the code, with a reference that ends with it


def text_of(function: Any) -> SourceText:
    """The text of a function's definition."""
    code = function.__code__
    key = id(code)
    found = _texts.get(key)
    if found is None:
        found = _texts[key] = (weakref.ref(code, removal_callback(_texts, key)), SourceText(*source_lines(function)))
    return found[1]


def source_lines(function: Any) -> tuple[list[str], int, ast.Module]:
    """The lines of a function's definition, the number of the first, and what they say.

    Its code says where the last line begins that does something; from there on it is just a matter of where that ends.
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    start = code.co_firstlineno - 1
    if not lines or start >= len(lines):
        raise OSError("could not get source code")
    last = max(last_line(code), start + 1)
    for stop in range(last, min(last + 40, len(lines)) + 1):
        part = lines[start:stop]
        try:
            tree = parsed(dedented(part))
        except SyntaxError:
            continue
        if len(tree.body) == 1:
            return part, start + 1, tree
    part, first = inspect.getsourcelines(function)
    return part, first, parsed(textwrap.dedent("".join(part)))


def parsed(text: str) -> ast.Module:
    """The syntax tree of a text, with comments that say types; of those on lines of their own, where Python allows one alone, the first counts."""
    try:
        return compile(text, "<unknown>", "exec", _SYNTAX)  # type: ignore[return-value]
    except SyntaxError:
        lines = text.splitlines(keepends=True)
        comments = [at for at, line in enumerate(lines) if re.match(r"\s*#\s*type:", line)]
        if len(comments) < 2:
            raise
        for at in comments[1:]:
            lines[at] = lines[at].replace("type:", "type ", 1)
        return compile("".join(lines), "<unknown>", "exec", _SYNTAX)  # type: ignore[return-value]


def dedented(lines: list[str]) -> str:
    """Lines without the indentation of the first."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    if not indent:
        return "".join(lines)
    space = lines[0][:indent]
    text = "".join([(line[indent:] or "\n") if line.startswith(space) else line for line in lines])
    if all(line.startswith(space) or not line.strip() for line in lines):
        return text
    try:  # lines that are less indented may be parts of a literal
        parsed(text)
    except SyntaxError:
        return textwrap.dedent("".join(lines))
    return text


def last_line(code: Any) -> int:
    """The last line that code, or code in it, has something on."""
    last: int = max(filter(None, map(_line, code.co_lines())), default=code.co_firstlineno)  # some instructions are on no line
    inner = [last_line(each) for each in code.co_consts if each.__class__ is CodeType]
    return max(last, *inner) if inner else last
