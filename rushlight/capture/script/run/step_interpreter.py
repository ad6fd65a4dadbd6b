"""A program run before it is worth compiling: step by step, until a body has run often enough to be compiled to Python."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from itertools import count
from typing import Any

from ....graph import Graph, Node
from ....graph.control import branch
from ..frontend.types import INT
from ..ir import c_math
from ..ir.graph_builder import Draft, name_of
from ..ir.steps import FLAT, ScriptStep, StepBlock, map_steps
from .failures import explain, warner

LARGEST = 48  # steps of a program that is walked; walking keeps all values to the end
_WALKS = 6  # of a body, before it is compiled
_numbers = count()


class GraphFunction:
    """A graph as a Python function, which gets the owner of its attributes first."""

    __slots__ = ("file", "graph", "run", "source")

    def __init__(self, graph: Graph, name: str) -> None:
        code = graph.python_code("self")
        self.graph = graph
        self.file = f"<graph of {name} {next(_numbers)}>"
        self.source = code.src
        namespace = dict(code.globals)
        if "math" in namespace:
            namespace["math"] = c_math.MODULE
        with warnings.catch_warnings():  # a branch that is never taken may index None, of which Python would warn
            warnings.simplefilter("ignore", SyntaxWarning)
            compiled = compile(in_c(code.src, graph, namespace), self.file, "exec")
        exec(compiled, namespace)
        self.run = namespace["forward"]

    def explain(self, error: BaseException) -> None:
        """Add to an exception where in the user's program it came up."""
        traceback, line = error.__traceback__, None
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.file:
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        if line is not None:
            function = ast.parse(self.source).body[0]
            node = next((node for statement, node, _ in statements(function, self.graph) if statement.lineno == line), None)
            explain(error, node.meta.get("source") if node is not None else None)


def statements(function: Any, graph: Graph) -> Iterator[tuple[ast.stmt, Node, bool]]:
    """The statements of a printed function with the nodes that they come from, and whether they are what sets the node's name."""
    nodes = [node for node in graph.nodes if node.op != "placeholder"]
    at = bodies = 0
    for statement in function.body:
        node = nodes[min(at, len(nodes) - 1)]
        if isinstance(statement, ast.FunctionDef):
            yield from statements(statement, list(node.bodies.values())[bodies])
            bodies += 1
            continue
        sets = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) and statement.targets[0].id == node.name
        yield statement, node, sets
        if sets:
            at, bodies = at + 1, 0


def run_as(target: Any, kind: Any, place: Any) -> Any:
    """The function that a call of a function runs: on numbers that of C, and a warning is the line's."""
    return warner(place) if target is warnings.warn else c_math.of_numbers(target, kind)


def in_c(source: str, graph: Graph, namespace: dict[str, Any]) -> Any:
    """A printed function in which steps run as scripts have them, where that is not as Python has them."""
    if not is_otherwise(graph):
        return source
    tree = ast.parse(source)
    for at, (statement, node, sets) in enumerate(statements(tree.body[0], graph)):
        if not sets or node.op != "call_function" or node.target in c_math.FUNCTIONS:
            continue
        function = run_as(node.target, node.type, node.meta.get("source"))
        if function is node.target:
            continue
        assert isinstance(statement, ast.Assign)
        name, value = node.name, statement.value
        if isinstance(value, ast.BinOp) and node.type is INT:  # the commonest: only what is too large is a call
            inside = f"{name} if {c_math.LEAST} <= ({name} := 0) <= {c_math.MOST} else _wrapped({name})"
            made: Any = ast.parse(inside, mode="eval").body
            made.test.comparators[0].value = value
            namespace["_wrapped"] = c_math.wrapped
        else:
            parts: Any = value
            given = (
                [parts.left, parts.right]
                if isinstance(value, ast.BinOp)
                else [parts.operand]
                if isinstance(value, ast.UnaryOp)
                else parts.args
            )
            namespace[called := f"_run_{at}"] = function
            made = ast.Call(ast.Name(called, ast.Load()), given, getattr(value, "keywords", []))
        for each in ast.walk(made):
            ast.copy_location(each, value)
        statement.value = made
    return ast.fix_missing_locations(tree)


def is_otherwise(graph: Graph) -> bool:
    """Whether a graph, or one in it, has a step that Python has otherwise than scripts."""
    return any(
        (node.op == "call_function" and node.target not in c_math.FUNCTIONS and run_as(node.target, node.type, None) is not node.target)
        or any(map(is_otherwise, node.bodies.values()))
        for node in graph.nodes
    )


class Walk:
    """One run of a draft.  Values are kept by step, those of inner blocks among them; bodies of loops are compiled after a few iterations."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.values: dict[Any, Any] = {}
        self.bodies: dict[ScriptStep, dict[str, WalkedBody]] = {}
        self.explained = False

    def result(self, args: tuple[Any, ...]) -> Any:
        """What the program gives on complete arguments."""
        self.values.update(zip(self.draft.code.parameters, args))
        try:
            return self.run(self.draft.code)
        finally:
            self.bodies.clear()  # which know the walk

    def run(self, code: StepBlock) -> Any:
        """The result of a finished block whose parameters have values."""
        values = self.values
        get = values.get
        step: Any = None
        try:
            for step in code.steps:
                given = step.args
                count = step.direct
                if count == 2:  # a plain constant stands for itself
                    first, second = given
                    values[step] = step.target(get(first, first), get(second, second))
                elif count == 1:
                    first = given[0]
                    values[step] = step.target(get(first, first))
                elif count:
                    values[step] = step.target(*map(get, given, given))
                elif step.target is branch:
                    body = step.bodies["then" if get(given[0], given[0]) else "otherwise"]
                    values.update(zip(step.results, self.run(body)))
                elif step.bodies is not None:
                    bodies = self.bodies.get(step) or self.bodies_of(step)
                    values.update(zip(step.results, step.target(*filled(given, get), bodies=bodies)))
                else:
                    values[step] = self.call(step, filled(given, get), filled(step.kwargs or {}, get))
            output = code.output
            return tuple(map(get, output, output)) if code.direct else filled(output, get)
        except Exception as error:
            if not self.explained:
                self.explained = True
                explain(error, self.draft.place(step.line))
            raise

    def call(self, step: ScriptStep, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A step that is more than a function of plain arguments."""
        if step.op == "call_function":
            return run_as(step.target, step.type, self.draft.place(step.line))(*args, **kwargs)
        assert step.op == "call_method", "a function has no attributes to read"
        return getattr(args[0], step.target)(*args[1:], **kwargs)

    def bodies_of(self, step: ScriptStep) -> dict[str, WalkedBody]:
        """What runs the blocks of a step."""
        found = self.bodies[step] = {name: WalkedBody(self, code) for name, code in (step.bodies or {}).items()}
        return found


def filled(argument: Any, get: Any) -> Any:
    """An argument with values in the place of steps."""
    if argument.__class__ is not tuple:
        return map_steps(argument, get)
    if FLAT.issuperset(map(type, argument)):
        return tuple(map(get, argument, argument))
    return tuple([filled(each, get) for each in argument])


class WalkedBody:
    """The body of a loop, or of a ``with``, as a function."""

    __slots__ = ("code", "compiled", "inputs", "walk", "walks")

    def __init__(self, walk: Walk, code: StepBlock) -> None:
        self.walk = walk
        self.code = code
        self.walks = 0
        self.compiled: GraphFunction | None = None
        self.inputs: list[ScriptStep] = []

    def __call__(self, *args: Any) -> Any:
        walk = self.walk
        compiled = self.compiled
        if compiled is None:
            if self.walks < _WALKS:
                self.walks += 1
                walk.values.update(zip(self.code.parameters, args))
                return walk.run(self.code)
            self.inputs = list(self.code.inputs())
            graph = walk.draft.graph(self.code, [(each, name_of(each)) for each in self.inputs])
            compiled = self.compiled = GraphFunction(graph, walk.draft.name)
        try:
            return compiled.run(None, *args, *[walk.values[each] for each in self.inputs])
        except Exception as error:
            if not walk.explained:
                walk.explained = True
                compiled.explain(error)
            raise
