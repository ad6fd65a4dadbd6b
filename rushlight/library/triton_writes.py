"""Which arguments of a Triton kernel are written to: read from the syntax tree of the kernel and of the functions it calls.

A pointer reaches a store through arithmetic, block pointers, descriptors and helper functions, so every name is tracked with the parameters that
its value may point into.  What can't be followed (a call of an unknown function, inline assembly, a pointer made of a number) counts as a write.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from types import FunctionType
from typing import Any

Names = frozenset[str]
_NONE: Names = frozenset()
# Of triton.language: functions, and methods of its tensors and descriptors, that write through their first argument, or through the object.
_WRITERS = frozenset(("store", "store_tensor_descriptor", "scatter", "tensormap_create", "atomic_store"))
_UNKNOWN = frozenset(("inline_asm_elementwise", "call_extern", "extern_elementwise"))
_READERS = frozenset(("load", "load_tensor_descriptor", "gather", "atomic_load"))  # what they give is data, and points nowhere
_ABOUT = frozenset(("dtype", "type", "shape", "value"))  # attributes that say something about a pointer, and are none


def base_function(kernel: Any) -> Any:
    """The Python function of a kernel, beneath ``jit``, ``autotune`` and ``heuristics``."""
    while not isinstance(kernel, FunctionType) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


def is_constexpr(annotation: Any) -> bool:
    """Whether the annotation of a parameter says ``tl.constexpr``."""
    return "constexpr" in (annotation if isinstance(annotation, str) else getattr(annotation, "__name__", ""))


def written_parameters(kernel: Any) -> Names | None:
    """The names of the parameters that a kernel may write through; None where its source is not to be had: then it may be any of them."""
    return _Analysis({}).function(base_function(kernel))[0]


class _Analysis:
    """The summaries of functions that were looked at: parameters written to, parameters that the result may point into."""

    def __init__(self, known: dict[Any, tuple[Names | None, Names]]) -> None:
        self.known = known

    def function(self, function: Any) -> tuple[Names | None, Names]:
        """The summary of a Python function; parameters of None are unknown."""
        if function in self.known:
            return self.known[function]
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
            scope = inspect.getclosurevars(function)
        except (OSError, TypeError, SyntaxError, IndexError, ValueError):
            return None, _NONE
        if not isinstance(tree, ast.FunctionDef):
            return None, _NONE
        self.known[function] = _NONE, _NONE  # of a recursive call: the loop below ends at the fixed point
        while True:
            found = _Body(self, tree, {**vars(builtins), **function.__globals__, **scope.nonlocals}).summary()
            if found == self.known[function]:
                return found
            self.known[function] = found


class _Body(ast.NodeVisitor):
    """One function: the parameters behind each of its names, and which are written through."""

    def __init__(self, analysis: _Analysis, tree: ast.FunctionDef, scope: dict[str, Any]) -> None:
        self.analysis, self.tree, self.scope = analysis, tree, scope
        arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
        self.parameters = [each.arg for each in arguments]
        self.behind: dict[str, Names] = {each.arg: frozenset((each.arg,)) for each in arguments if not _is_number(each.annotation)}
        self.written: Names = _NONE
        self.result: Names = _NONE

    def summary(self) -> tuple[Names, Names]:
        """What the function writes to and what its result may point into: the statements are read until nothing is added."""
        while True:
            before = dict(self.behind), self.written, self.result
            for statement in self.tree.body:
                self.visit(statement)
            if before == (self.behind, self.written, self.result):
                return self.written, self.result

    # -- statements ----------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        found = self.points(node.value)
        for target in node.targets:
            self.assign(target, found)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.points(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.assign(node.target, self.points(node.value))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.assign(node.target, self.points(node.value))

    def visit_For(self, node: ast.For) -> None:
        self.assign(node.target, self.points(node.iter))
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            found = self.points(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, found)
        for statement in node.body:
            self.visit(statement)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.result |= self.points(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self.points(node)

    def assign(self, target: ast.expr, found: Names) -> None:
        """Names that are assigned to may point where the value points, and where they did on another path."""
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                self.behind[each.id] = self.behind.get(each.id, _NONE) | found

    # -- expressions ---------------------------------------------------------------------------------------------------

    def points(self, node: ast.AST) -> Names:
        """The parameters that the value of an expression may point into."""
        if isinstance(node, ast.Name):
            return self.behind.get(node.id, _NONE)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Attribute) and node.attr in _ABOUT:
            return _NONE
        if isinstance(node, ast.NamedExpr):
            found = self.points(node.value)
            self.assign(node.target, found)
            return found
        if isinstance(node, ast.Compare):
            for each in ast.iter_child_nodes(node):
                self.points(each)  # which may call something
            return _NONE
        return frozenset().union(*[self.points(each) for each in ast.iter_child_nodes(node)])

    def call(self, node: ast.Call) -> Names:
        """The same of a call, with what it writes to."""
        positional = [self.points(each) for each in node.args]
        named = {each.arg: self.points(each.value) for each in node.keywords}
        everything: Names = frozenset().union(*positional, *named.values())
        called = self.resolve(node.func)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        if called is None and isinstance(node.func, ast.Attribute):  # a method of a value
            owner = self.points(node.func.value)
            if name in _WRITERS or name.startswith("atomic_") and name != "atomic_load":
                self.written |= owner
            if name in _READERS:
                return _NONE
            return owner | everything
        if str(getattr(called, "__module__", "")).startswith("triton.language") and not hasattr(called, "fn"):
            return self.builtin(name, positional, named, everything)
        inner = base_function(called)
        if isinstance(inner, FunctionType):
            return self.helper(inner, positional, named, everything)
        if called in (tuple, list, zip, reversed, enumerate, getattr):
            return everything
        if called in (int, float, bool, len, min, max, abs, range, print, isinstance, str):
            return _NONE
        self.written |= everything
        return everything

    def builtin(self, name: str, positional: list[Names], named: dict[str | None, Names], everything: Names) -> Names:
        """A call of Triton's own language."""
        first = positional[0] if positional else named.get("pointer", named.get("desc", everything))
        if name in _WRITERS or name.startswith("atomic_") and name != "atomic_load":
            self.written |= first
            return _NONE
        if name in _UNKNOWN or name == "pointer_type":
            self.written |= everything
        return _NONE if name in _READERS else everything

    def helper(self, function: Any, positional: list[Names], named: dict[str | None, Names], everything: Names) -> Names:
        """A call of another function: its parameters stand for the arguments."""
        if str(function.__module__).startswith("triton.language"):  # its standard library computes, and writes nothing
            return everything
        written, result = self.analysis.function(function)
        if written is None:
            self.written |= everything
            return everything
        try:
            bound = inspect.signature(function).bind_partial(*positional, **{name: each for name, each in named.items() if name}).arguments
        except TypeError:
            bound = {}
        given: dict[str, Any] = {name: each for name, each in bound.items() if isinstance(each, frozenset)}
        if len(given) < len(positional) + len(named):  # stars
            given = dict.fromkeys(inspect.signature(function).parameters, everything)
        self.written |= frozenset().union(*[given.get(each, _NONE) for each in written])
        return frozenset().union(*[given.get(each, _NONE) for each in result])

    def resolve(self, node: ast.expr) -> Any:
        """The object that a name or dotted name outside of the function stands for, or None."""
        if isinstance(node, ast.Name):
            return None if node.id in self.behind else self.scope.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return None if owner is None else getattr(owner, node.attr, None)
        return None


def _is_number(annotation: ast.expr | None) -> bool:
    """Whether a parameter is annotated as something that is no pointer, or as one that is not written through."""
    text = "" if annotation is None else ast.unparse(annotation)
    return "constexpr" in text or text.endswith(".const") or text in ("'const'", "const")
