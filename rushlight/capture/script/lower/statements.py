"""Lowering of statements to steps."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ....graph.control import loop
from ..frontend.errors import NotSupportedError, ScriptError
from ..frontend.name_usage import names_in
from ..frontend.single_exit import FLAGS, VALUE, Set, UnlessExited
from ..frontend.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    TENSOR,
    ClassType,
    DictType,
    InterfaceType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    UnknownAnnotation,
    assignable,
    from_annotation,
    unify,
)  # fmt: skip
from ..ir import graph_functions
from ..ir.steps import FLAT, NOWHERE, ScriptStep, StepBlock, inputs_of
from .expressions import INPLACE, OPERATORS
from .result_types import gives_tensors
from .scope import ModuleValue, ScriptBlock, ScriptValue, Undefined, Unrolled, is_size
from .simple_statements import SimpleStatements

_KNOWN: dict[type, Type] = {bool: BOOL, type(None): NONE, type(graph_functions.UNSET): NEVER}
Side = tuple[list[Any], dict[str, Type]]  # statements of a branch, and what is known of names in it

_HINTS = {
    ast.Try: ("try blocks", "exceptions can't be caught: test for the case with an if instead"),
    ast.FunctionDef: ("function definitions", "write the inner function outside, and give it what it needs as arguments"),
    ast.ClassDef: ("class definitions", "define the class outside"),
    ast.Global: ("global variables", "give the value as an argument and return the new one"),
    ast.Nonlocal: ("nonlocal variables", "give the value as an argument and return the new one"),
    ast.Import: ("import statements", "import at the top of the file"),
    ast.ImportFrom: ("import statements", "import at the top of the file"),
    ast.Match: ("match statements", "write it as if and elif"),
    ast.AsyncFor: ("async for loops", "write it without async"),
    ast.AsyncWith: ("async with statements", "write it without async"),
}


class Statements(SimpleStatements):
    """Compiles statements."""

    def statements(self, statements: list[ast.stmt], live: set[str]) -> None:
        """Statements in order; ``live`` are the names that are read after them."""
        before = self.following
        for at, each in enumerate(statements, 1):
            if self.block.dead:
                break
            self.following = (statements, at, live)
            self.here = each
            method = _STATEMENTS.get(each.__class__)
            if method is None:
                name, hint = _HINTS.get(type(each), (type(each).__name__, "write it with what scripts have"))
                raise NotSupportedError(f"{name} aren't supported:\n{hint}", self.source, each)
            method(self, each)
        self.following = before

    # -- simple statements ---------------------------------------------------------------------------------------

    def do_Pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def do_Expr(self, node: ast.Expr) -> None:
        """An expression for what it does."""
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    def do_Return(self, node: ast.Return) -> None:
        """The one return, at the end."""
        if isinstance(node.value, ast.IfExp):
            node.value.wanted = self.return_type  # type: ignore[attr-defined]
        value = self.result_value(node.value) if node.value is not None else ScriptValue(NONE, None)
        if self.return_type is not None:
            value = self.returned(value, node.value if node.value is not None else node)
        self.result_type = self.return_type or value.type
        self.output = value.arg

    def do_Assign(self, node: ast.Assign) -> None:
        """``a = b = value``."""
        value = self.expression(node.value)
        if node.type_comment:
            value = self.annotated(value, node.type_comment, node)
        if value.__class__ is ScriptValue and value.arg.__class__ not in FLAT:
            value = self.materialized(value)
        if value.__class__ is ScriptValue and not isinstance(node.targets[0], (ast.Tuple, ast.List)) and is_size(value):
            value = self.emit(list, (value.arg,), value.type)  # which the program may write to
        for target in node.targets:
            if target.__class__ is ast.Name:
                self.assign_name(target.id, value)  # type: ignore[attr-defined]
            else:
                self.assign(target, value)

    def do_Set(self, node: Set) -> None:
        """A flag, or the value that is returned."""
        if node.value is None:
            if node.name == VALUE and node.known is None and self.return_type is not None:
                self.returned(ScriptValue(NONE, None), self.here)
            self.block.set(node.name, ScriptValue(_KNOWN[node.known.__class__], node.known))
        else:
            if node.name == VALUE and isinstance(node.value, ast.IfExp):
                node.value.wanted = self.return_type  # type: ignore[attr-defined]
            value = self.result_value(node.value)
            if node.name == VALUE and self.return_type is not None:
                value = self.returned(value, node.value)
            self.assign_name(node.name, value)

    def returned(self, value: ScriptValue, node: ast.AST) -> ScriptValue:
        """A value that is returned, of the type that the function says it returns."""
        wanted = self.return_type
        assert wanted is not None
        value = self.converted(value, wanted)
        implicit = getattr(node, "implicit", False)
        if not assignable(value.type, wanted) or (implicit and wanted not in (NONE, ANY)):
            if implicit:
                raise ScriptError("Function was not annotated as having type None, but does not return along all paths", self.source, None)
            raise ScriptError(
                f"Return value was annotated as having type {wanted} but is actually of type {value.type}", self.source, self.here
            )
        return ScriptValue(wanted, value.arg)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        """``a: type = value``."""
        if node.value is None:
            return
        if isinstance(node.target, (ast.Name, ast.Attribute)) and isinstance(node.value, ast.List) and not node.value.elts:
            value = ScriptValue(self.checked_hint(self.type_from(node.annotation), node.value), [])
        elif isinstance(node.value, (ast.List, ast.ListComp, ast.Dict, ast.DictComp)):
            value = self.value(self.hinted(node.value, self.type_from(node.annotation)))
        else:
            wanted = self.type_from(node.annotation)
            node.value.wanted = wanted  # type: ignore[attr-defined]
            found = self.expression(node.value)
            if isinstance(found, ModuleValue) and isinstance(wanted, InterfaceType):  # which Module it is, is known
                self.assign(node.target, found)
                return
            value = self.plain(found, node.value) if not isinstance(found, ScriptValue) else found
            step = value.arg
            if step.__class__ is ScriptStep and step.target == "tolist" and value.type == ANY:
                value = self.emit(graph_functions.listed, (step, repr(wanted)), wanted)
        self.assign(node.target, self.materialized(self.annotated(value, node.annotation, node)))

    def annotated(self, value: Any, annotation: Any, node: ast.AST) -> Any:
        """A value of a type that the program says it has."""
        wanted = self.type_from(annotation)
        if not isinstance(value, ScriptValue) or not assignable(value.type, wanted):
            target = getattr(node, "target", None) or (getattr(node, "targets", None) or [None])[0]
            shown = f"Variable '{target.id}'" if isinstance(target, ast.Name) else "a variable"
            raise ScriptError(
                f"{shown} is annotated with type {wanted} but is being assigned to a value of type {self.type_name(value)}",
                self.source,
                node,
            )
        return ScriptValue(wanted, value.arg)

    def type_from(self, annotation: Any, node: ast.AST | None = None) -> Type:
        """The type that an annotation means."""
        try:
            return from_annotation(self.source.evaluate(annotation), self.source.evaluate)
        except (UnknownAnnotation, NameError, TypeError, SyntaxError, AttributeError) as error:
            text = annotation if isinstance(annotation, str) else ast.unparse(annotation)
            unknown = f"Unknown type name '{error.name}': " if isinstance(error, NameError) and error.name else odd_type(annotation)
            raise ScriptError(
                f"{unknown}the annotation '{text}' is no type that scripts have ({error})",
                self.source,
                node if isinstance(annotation, str) else annotation,
            ) from None

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a target a value."""
        if value.__class__ is ScriptValue and not isinstance(target, (ast.Tuple, ast.List)) and is_size(value):
            value = self.emit(list, (value.arg,), value.type)  # which the program may write to
        if target.__class__ is ast.Name:
            self.assign_name(target.id, value)  # type: ignore[attr-defined]
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, value)
        elif isinstance(target, ast.Subscript):
            base = self.value(target.value)
            if isinstance(base.type, ClassType):
                self.operated("__setitem__", base, [self.value(target.slice), value], target)
                return
            if isinstance(base.type, TupleType) or base.type == STR:
                raise ScriptError(
                    f"a value of type {base.type} does not support item assignment: subscripted assignment is for tensors, lists and dicts",
                    self.source,
                    target,
                )
            self.check_item(base, value, target)
            if isinstance(base.type, DictType):
                key = self.plain(self.expression(target.slice), target)
                self.check_key(base.type, key, target)
                index = key.arg
            else:
                index = self.index(target.slice)
            self.emit(operator.setitem, (base.arg, index, self.plain(value, target).arg), ANY, impure=True)
        elif isinstance(target, ast.Attribute):
            owner = self.expression(target.value)
            if isinstance(owner, ScriptValue) and isinstance(owner.type, ClassType):
                self.set_object_attribute(owner, target, self.plain(value, target))
                return
            if not isinstance(owner, ModuleValue):
                words = "attributes can be assigned to of self, its Modules and objects of scripted classes alone"
                raise ScriptError(words, self.source, target)
            held = self.with_modules(value) if target.attr in owner.module._modules else value
            self.set_attribute(owner, target, self.plain(held, target))
        elif isinstance(target, ast.Starred):
            raise NotSupportedError("a starred target may stand only among others on the left side", self.source, target)
        else:
            raise NotSupportedError(f"'{type(target).__name__}' can't be assigned to in scripts", self.source, target)

    def assign_name(self, name: str, value: Any) -> None:
        """Give a name a value."""
        if value.__class__ is ScriptValue and value.type is NEVER and value.arg is not graph_functions.UNSET:
            value = ScriptValue(ANY, value.arg)
        block = self.block
        if block.parent is not None and value.__class__ is ScriptValue and (value.type.__class__ is TupleType or value.type == BOOL):
            outer = block.parent.find(name)  # inside a branch or a loop a variable keeps its type, and these are converted to it
            value = self.converted(value, outer.type) if outer.__class__ is ScriptValue else value
        if value.__class__ is ScriptValue and value.arg.__class__ is ScriptStep and name[0] != "$":
            value.arg.meta = {"variable": name} if value.arg.meta is None else {"variable": name, **value.arg.meta}
        block.env[name] = value
        block.assigned.add(name)

    def unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        """``a, b = value``, also with ``*rest``."""
        elements = target.elts
        starred = [at for at, each in enumerate(elements) if isinstance(each, ast.Starred)]
        if starred and len(elements) == 1:
            words = "A Starred expression may only appear on the lhs within the presence of another non-starred expression"
            raise ScriptError(words, self.source, target)
        if isinstance(value, Unrolled):
            items = value.items
        elif isinstance(value, ScriptValue) and isinstance(value.type, TupleType):
            items = [self.item(value, at) for at in range(len(value.type.elements))]
        elif isinstance(value, ScriptValue) and starred and isinstance(value.type, ListType) and isinstance(self.fresh_list(value), list):
            items = [ScriptValue(value.type.element, each) for each in self.fresh_list(value)]
        elif isinstance(value, ScriptValue) and value.type not in (INT, BOOL, FLOAT, TENSOR) and not starred:
            element = TENSOR if gives_tensors(getattr(value.arg, "target", None)) else self.element_type(value.type)
            made = self.emit(graph_functions.unpack, (value.arg, len(elements)), TupleType((element,) * len(elements)))
            items = [self.item(made, at) for at in range(len(elements))]
        else:
            raise ScriptError(f"{self.type_name(value)} cannot be used as a tuple", self.source, target)
        if starred:
            at, after = starred[0], len(elements) - starred[0] - 1
            if len(items) < len(elements) - 1:
                raise ScriptError(f"there are {len(items)} values for {len(elements)} targets", self.source, target)
            middle = items[at : len(items) - after]
            star: Any = elements[at]
            parts = [self.plain(each, target) for each in middle]
            if isinstance(value, ScriptValue) and isinstance(value.type, ListType):
                rest = self.materialized(ScriptValue(ListType(self.common_type(parts, target)), [each.arg for each in parts]))
            else:  # of a tuple, a tuple
                rest = ScriptValue(TupleType(tuple(each.type for each in parts)), tuple(each.arg for each in parts))
            items = [*items[:at], rest, *items[len(items) - after :]]
            elements = [*elements[:at], star.value, *elements[at + 1 :]]
        if len(items) < len(elements):
            raise ScriptError(f"need {len(elements)} values to unpack but found only {len(items)}", self.source, target)
        if len(items) > len(elements):
            raise ScriptError(f"too many values to unpack: need {len(elements)} but found {len(items)}", self.source, target)
        for each, item in zip(elements, items):
            self.assign(each, item)

    def fresh_list(self, value: ScriptValue) -> Any:
        """The items of a list literal of this block and not used yet, or None."""
        step = value.arg
        if (
            not isinstance(step, ScriptStep)
            or step.target is not list
            or step not in self.block.steps
            or not isinstance(step.args[0], list)
        ):
            return None
        return None if any(step in inputs_of(each) for each in self.block.steps) else list(step.args[0])

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        """``a += b``: in place of tensors and lists."""
        target = node.target
        right = self.value(node.value)
        if isinstance(target, ast.Subscript):
            base, index = self.value(target.value), self.index(target.slice)
            if isinstance(base.type, TupleType) or base.type == STR:
                raise ScriptError(f"a value of type {base.type} does not support augmented assignment", self.source, target)
            left = self.emit(operator.getitem, (base.arg, index), self.item_type(base.type, target.slice))
            made = self.augmented(left, right, node)
            self.emit(operator.setitem, (base.arg, index, made.arg), ANY, impure=True)
            return
        self.assign(target, self.augmented(self.value(target), right, node))

    def augmented(self, left: ScriptValue, right: ScriptValue, node: ast.AugAssign) -> ScriptValue:
        """The new value of an augmented assignment."""
        function = OPERATORS.get(type(node.op))
        if function is None:
            raise NotSupportedError(f"the operator '{type(node.op).__name__}' is not supported in scripts", self.source, node)
        in_place = f"__i{function.__name__.strip('_')}__"
        if isinstance(left.type, ClassType) and left.type.described.is_method(left.type.described.member(in_place)):
            return self.call_object_method(left, in_place, [right], {}, node)
        if isinstance(left.type, ClassType) and left.type.described.member(f"__{function.__name__.strip('_')}__") is None:
            name = f"__{function.__name__.strip('_')}__"
            raise ScriptError(
                f"Cannot emit inplace op on {left.type} since it does not define an {in_place} or {name} method", self.source, node
            )
        if left.type in (TENSOR, ANY) or isinstance(left.type, (ListType, DictType)):
            kind = left.type if left.type != ANY else ANY
            return self.emit(INPLACE[function], (left.arg, right.arg), kind, impure=True)
        return self.binary(function, left, right, node)

    # -- choices -------------------------------------------------------------------------------------------------

    def do_If(self, node: ast.If) -> None:
        """``if``."""
        condition, holds, fails = self.condition(node.test)
        self.choice(self.truth(condition, node.test), (node.body, holds), (node.orelse, fails), node)

    def do_UnlessExited(self, node: UnlessExited) -> None:
        """What runs unless flags are set."""
        self.choice(self.none_of(node.flags), (node.body, {}), ([], {}), node)

    def none_of(self, flags: list[str]) -> ScriptValue:
        """Whether none of several flags is set."""
        found: ScriptValue | None = None
        for flag in flags:
            value = self.block.find(flag)
            if value.arg.__class__ is ScriptStep:
                found = value if found is None else self.emit(operator.or_, (found.arg, value.arg), BOOL)
            elif value.arg:
                return ScriptValue(BOOL, False)
        return ScriptValue(BOOL, True) if found is None else self.emit(operator.not_, (found.arg,), BOOL)

    def choice(self, condition: ScriptValue, then: Side, otherwise: Side, node: Any) -> None:
        """A step with two bodies, or one of them at once where the condition is known; each with what is known of names in it."""
        live = self.live
        if condition.constant:
            statements, refined = then if condition.arg else otherwise
            self.refine(refined)
            self.statements(statements, live)
            return
        outer, here = self.block, self.here
        blocks = []
        for statements, refined in (then, otherwise):
            block = self.block = ScriptBlock(outer)
            if refined:
                self.refine(refined)
            if statements:
                self.statements(statements, live)
            blocks.append(block)
        self.block, self.here = outer, here
        self.join(condition, blocks[0], blocks[1], live, node)
        if blocks[0].dead != blocks[1].dead:  # the way that goes on is known
            refined = otherwise[1] if blocks[0].dead else then[1]
            self.refine({name: kind for name, kind in refined.items() if name not in self.joined})

    def join(self, condition: ScriptValue, then: ScriptBlock, otherwise: ScriptBlock, live: set[str], node: ast.AST) -> None:
        """The node for two branches; names that either sets have its results as values from here on."""
        outer = self.block
        names = sorted((then.assigned | otherwise.assigned) & live)
        self.joined = set(names)
        if then.dead and otherwise.dead:
            outer.dead = True
            names = []
        outputs: tuple[list[Any], list[Any]] = ([], [])
        results: list[tuple[str, Type]] = []
        for name in names:
            first, second = self.after(then, name), self.after(otherwise, name)
            outcome = self.merged(name, first, second)
            if isinstance(outcome, Type):
                outputs[0].append(first.arg)
                outputs[1].append(second.arg)
                results.append((name, outcome))
            else:
                outer.set(name, outcome)
        made = self.branch_step(condition, (then, otherwise), outputs)
        for name, kind in results:
            outer.set(name, self.result(made, kind, name))

    def after(self, block: ScriptBlock, name: str) -> Any:
        """What a name is at the end of a branch: nothing where the branch never ends, or has left the function or the loop without it."""
        if block.dead:
            return ScriptValue(NEVER, graph_functions.UNSET)
        found = block.find(name)
        if (found is None or isinstance(found, Undefined)) and any(
            flag.startswith(FLAGS) and block.env[flag].constant and block.env[flag].arg is True for flag in block.assigned
        ):
            return ScriptValue(NEVER, graph_functions.UNSET)
        return found

    def merged(self, name: str, first: Any, second: Any) -> Any:
        """The type of a name after two branches, or what it stands for where nothing needs to be joined."""
        if (
            first.__class__ is second.__class__ is ScriptValue
            and first.type is second.type
            and (first.arg.__class__ is ScriptStep or second.arg.__class__ is ScriptStep)
        ):
            return first.type
        shown = "the returned value" if name.startswith("$") else name
        for each, where in ((first, "true"), (second, "false")):
            if each is None or isinstance(each, Undefined):
                more = f":\n{each.reason}" if isinstance(each, Undefined) else ""
                return Undefined(f"{shown} is not defined in the {where} branch{more}")
        if not isinstance(first, ScriptValue) or not isinstance(second, ScriptValue):
            if isinstance(first, ScriptValue) and first.type == NEVER:
                return second
            if isinstance(second, ScriptValue) and second.type == NEVER:
                return first
            same = type(first) is type(second) and getattr(first, "object", getattr(first, "module", first)) is getattr(
                second, "object", getattr(second, "module", second)
            )
            return first if same else Undefined(f"{shown} is something else in each branch of an if, and is no value")
        if first.constant and second.constant and first.type == second.type and type(first.arg) is type(second.arg):
            if first.arg is second.arg or repr(first.arg) == repr(second.arg):
                return first
        kind = unify(first.type, second.type)
        if kind is None:
            if name == VALUE:
                says = f"Previous return statement returned a value of type {first.type} but this return statement returns a value of type {second.type}"
                return Undefined(says)
            before = self.block.find(name)
            if isinstance(before, ScriptValue) and isinstance(before.type, (UnionType, OptionalType)):  # which a test has narrowed
                if assignable(first.type, before.type) and assignable(second.type, before.type):
                    return before.type
            odd = first if isinstance(before, ScriptValue) and unify(before.type, first.type) is None else second
            if isinstance(before, ScriptValue):
                says = f"Variable '{shown}' previously had type {before.type} but is now being assigned to a value of type {odd.type}"
                return Undefined(says)
            return Undefined(
                f"Type mismatch: {shown} is set to type {first.type} in the true branch and type {second.type} in the false branch"
            )
        return kind

    # -- loops ---------------------------------------------------------------------------------------------------

    def do_While(self, node: ast.While) -> None:
        """``while``: the test is computed before the loop, and anew at the end of its body."""
        self.refuse_else(node)
        self.loop(node, None, None, node.test)

    def refuse_else(self, node: Any) -> None:
        if node.orelse:
            raise NotSupportedError(
                f"else branches of {'for' if isinstance(node, ast.For) else 'while'} loops aren't supported: set a flag before break and test it",
                self.source,
                node.orelse[0],
            )

    def do_For(self, node: ast.For) -> None:
        """``for``: a loop by number of the iteration, or once for each item of what is known item by item."""
        self.refuse_else(node)
        iterated = self.iterable(node.iter)
        if isinstance(iterated, Unrolled):
            self.unrolled(node, iterated)
            return
        count, item = iterated
        self.loop(node, count, lambda index: self.assign(node.target, item(index)), None)

    def unrolled(self, node: ast.For, iterated: Unrolled) -> None:
        """A loop over items that are known: its body once for each."""
        live = self.live
        stop = getattr(node, "stop", [])
        again = names_in(node.body)[0].union(live, stop)
        items = list(iterated.items)

        def rest(at: int) -> None:
            if at == len(items) or self.block.dead:
                return
            self.assign(node.target, items[at])
            self.statements(node.body, again)
            if not stop or at + 1 == len(items):
                rest(at + 1)
                return
            outer, here = self.block, self.here
            condition = self.none_of(stop)
            if condition.constant:
                if condition.arg:
                    rest(at + 1)
                return
            then, otherwise = ScriptBlock(outer), ScriptBlock(outer)
            self.block = then
            rest(at + 1)
            self.block, self.here = outer, here
            self.join(condition, then, otherwise, live | set(stop), node)

        rest(0)

    def loop(self, node: Any, count: ScriptValue | None, begin: Any, test: ast.expr | None) -> None:
        """A loop: what its body sets and what was there before is carried from one iteration to the next."""
        outer, here, live = self.block, self.here, self.live
        stop = getattr(node, "stop", [])
        start = ScriptValue(BOOL, True) if test is None else self.truth(self.condition(test)[0], test)
        if start.constant and not start.arg:
            return
        reads, sets = names_in([node.target if test is None else test, *node.body])
        again = reads.union(live, stop)
        names: list[str] = []
        initial: list[ScriptValue] = []
        for name in sorted(sets & again):
            found = outer.find(name)
            if found.__class__ is ScriptValue:
                names.append(name)
                initial.append(self.materialized(found))
        types = [each.type for each in initial]
        for _ in range(4):
            inner = self.block = ScriptBlock(outer)
            index = inner.parameter("i", INT)
            for name, kind in zip(names, types):
                inner.env[name] = variable = inner.parameter(name.strip("$"), kind)
                variable.arg.meta = {"variable": name.strip("$")}
            if begin is not None:
                begin(index)
            self.statements(node.body, again)
            goes_on = ScriptValue(BOOL, True)
            if inner.dead:
                ends = [ScriptValue(NEVER, graph_functions.UNSET)] * len(names)
            else:
                if stop:
                    goes_on = self.none_of(stop)
                if test is not None:
                    goes_on = self.both(goes_on, test)
                ends = [self.carried(name, node) for name in names]
            self.block, self.here = outer, here
            if [each.type for each in ends] == types:
                break
            joined = [self.loop_type(name, kind, end.type, node) for name, kind, end in zip(names, types, ends)]
            if joined == types:
                break
            types = joined
        body = StepBlock(inner.parameters, inner.steps, (goes_on.arg, *[each.arg for each in ends]))
        carried = tuple([each.arg for each in initial])
        made = self.control(loop, (None if count is None else count.arg, start.arg, carried), {"body": body})
        for name, kind in zip(names, types):
            if name in live:
                outer.set(name, self.result(made, kind, name))
            else:
                made.results.append(NOWHERE)
                outer.set(name, Undefined("it is not read after the loop"))
        for name in sets.difference(names):
            if name[0] != "$":
                outer.set(
                    name, Undefined(f"'{name}' is defined inside a loop alone, which may run zero times: give it a value before the loop")
                )

    def carried(self, name: str, node: ast.AST) -> ScriptValue:
        """What a variable is at the end of a loop's body."""
        found = self.block.find(name)
        if found.__class__ is not ScriptValue:
            reason = found.reason if isinstance(found, Undefined) else "it is no value"
            raise ScriptError(f"'{name}' can't be carried from one iteration of a loop to the next: {reason}", self.source, node)
        return found if found.arg.__class__ is ScriptStep else self.materialized(found)

    def loop_type(self, name: str, before: Type, after: Type, node: ast.AST) -> Type:
        """The type of a variable that a loop carries."""
        kind = unify(before, after)
        if kind is None:
            shown = "the returned value" if name.startswith("$") else f"Variable '{name}'"
            raise ScriptError(
                f"{shown} previously had type {before} but is now being assigned to a value of type {after}", self.source, node
            )
        return kind


def odd_type(annotation: Any) -> str:
    """What is odd about an expression that stands for a type, if it is its form."""
    for each in ast.walk(ast.parse(annotation.strip(), mode="eval") if isinstance(annotation, str) else annotation):
        if isinstance(each, ast.BinOp) and not isinstance(each.op, ast.BitOr):
            sign = "+" if isinstance(each.op, ast.Add) else type(each.op).__name__
            return f"Expression of type {sign} cannot be used in a type expression: "
        if isinstance(each, ast.Subscript) and isinstance(each.value, ast.Subscript):
            return "Subscripted type must be a type identifier: "
        if (
            isinstance(each, ast.Subscript)
            and isinstance(each.value, ast.Name)
            and each.value.id in ("Tensor", "int", "float", "bool", "str")
        ):
            return f"Unknown type constructor {each.value.id}: "
    return ""


_STATEMENTS: dict[type, Callable[[Any, Any], None]] = {
    {"do_Set": Set, "do_UnlessExited": UnlessExited}.get(name) or getattr(ast, name[3:]): getattr(Statements, name)
    for name in dir(Statements)
    if name.startswith("do_")
}
