"""What a program demands of its dynamic sizes, found by capturing it again at other sizes.

A capture holds for all sizes if capturing at others gives the same graph.  A size for which it does not is tied to another one, or to a
constant: where the user asked for less, the export is refused in words; where the user left it open, the size follows the program.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.symbolic import Expression, SymbolicFloat, SymbolicInt
from ..graph.node import Node, map_arg
from .dynamic_shapes import Dimension, ValueRanges, int_oo
from .errors import GuardOnDataDependentSymNode, UserError
from .size_guards import Guard, show
from .tracing import Capture

Capturing = Callable[..., Capture]  # by the formulas of dimensions, sizes to run with, and what is added to the values of tensors
_STEPS = (1, 2, 3, 5)
_GROUPS = 100  # at most so many groups of sizes are tried


def resolve(found: list[Dimension], capturing: Capturing) -> tuple[Capture, dict[str, ValueRanges], list[Guard]]:
    """The capture for the sizes that can be dynamic, their ranges, and the guards that are not ranges."""
    found = _without_ones(found)
    for _ in range(2 * len(found) + 1):
        captured = capturing({each.at: each.formula for each in found}, {})
        free = _symbols(found)
        loose = _not_general(found, free, captured, capturing)
        if not loose:
            break
        found = _tied(found, loose, captured, capturing)
    else:
        raise AssertionError("sizes that are tied to each other without end")
    if captured.tracer.unbacked:
        _check_values(found, captured, capturing)
    ranges, guards = _ranges(found, captured)
    return captured, ranges, guards


def _check_values(found: list[Dimension], captured: Capture, capturing: Capturing) -> None:
    """Refuse a program that does something else where an ``item()`` gives another number: one that counts a loop or is an index of a list, say."""
    wanted = fingerprint(captured)
    for other in (1, -1):
        try:
            again = capturing({each.at: each.formula for each in found}, {}, other)
        except Exception:
            continue  # a number that does not fit the program
        if fingerprint(again) != wanted:
            name = next(iter(captured.tracer.unbacked))
            raise GuardOnDataDependentSymNode(
                f"Could not extract specialized integer from data-dependent expression {name} (unhinted: {name}).  (Size-like symbols: none)\n\n"
                "The program is not the same where item() gives another number: it is the count of a loop, an index of a list or a plain number in a "
                "formula. Keep it a tensor, or write the program with torch.where, torch.cond or while_loop."
            )


def _symbols(found: Iterable[Dimension]) -> dict[str, Dimension]:
    """The symbols of the dimensions, each with the dimension that it is the size of."""
    result: dict[str, Dimension] = {}
    for each in found:
        assert each.formula is not None
        if each.formula.as_symbol is not None:
            result.setdefault(each.formula.as_symbol, each)
    for each in found:
        assert each.formula is not None
        for name in each.formula.symbols():
            result.setdefault(name, each)
    return result


def _value(name: str, each: Dimension) -> int:
    """The size that a symbol has in the example, given a dimension whose formula has it."""
    assert each.formula is not None
    if each.formula.as_symbol == name:
        return each.size
    return (each.size - each.spec.offset) // each.spec.factor  # type: ignore[no-any-return]


def _without_ones(found: list[Dimension]) -> list[Dimension]:
    """Sizes of 0 and 1 are special: programs broadcast them."""
    kept = []
    for each in found:
        if each.size < 2 and each.at[1] >= 0 and each.formula is not None and each.formula.as_symbol is not None:
            if not each.automatic:
                raise _specialized(each)
            continue
        kept.append(each)
    return kept


def _not_general(found: list[Dimension], free: dict[str, Dimension], captured: Capture, capturing: Capturing) -> list[str]:
    """The symbols that can't change alone: none where all can change at once."""
    if not free:
        return []
    now = {name: _value(name, each) for name, each in free.items()}
    print_ = fingerprint(captured)
    guards = captured.tracer.guards
    other = {name: value + _STEPS[at % len(_STEPS)] for at, (name, value) in enumerate(now.items())}
    if _same(found, free, now, other, guards, print_, capturing):
        return []
    return [
        name
        for name in free
        if not any(_same(found, free, now, {**now, name: value}, guards, print_, capturing) for value in _others(name, free, now))
    ]


def _others(name: str, free: dict[str, Dimension], now: dict[str, int]) -> list[int]:
    """Other sizes to try for a symbol."""
    size, each = now[name], free[name]
    tried = [size + 1, size + 2, size * 2, size * 3, size * 8, size - 1]
    if each.formula is not None and each.formula.as_symbol == name:
        allowed = [value for value in tried if max(each.low, 2) <= value <= each.high and value != size]
        return allowed or [value for value in range(each.low, min(each.high, 4) + 1) if value != size]  # 1 where there is no other
    return [value for value in tried if value > 0]


def _same(
    found: list[Dimension],
    free: dict[str, Dimension],
    now: dict[str, int],
    other: dict[str, int],
    guards: list[Guard],
    wanted: Any,
    capturing: Capturing,
) -> bool:
    """Whether the program is the same at other sizes; sizes that its own comparisons rule out, or the user, do not count."""
    for name, each in free.items():
        if (
            other[name] != now[name]
            and each.formula is not None
            and each.formula.as_symbol == name
            and not each.low <= other[name] <= each.high
        ):
            return False
    if not all(guard.holds({**dict.fromkeys(guard.symbols, 3), **other}) for guard in guards if guard.symbols <= set(other)):
        return False
    sizes = {}
    for each in found:
        assert each.formula is not None
        sizes[each.at] = each.formula.evaluate(other)
    try:
        captured = capturing({each.at: each.formula for each in found}, sizes)
    except GuardOnDataDependentSymNode:
        raise
    except Exception:
        return False  # sizes that do not fit together
    return bool(fingerprint(captured) == wanted)


def fingerprint(captured: Capture) -> Any:
    """A capture without its sizes: what must be equal for captures to be the same program."""
    places: dict[Node, int] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, Node):
            return ("node", places[value])
        if isinstance(value, SymbolicInt):
            return value.expression
        if isinstance(value, SymbolicFloat):
            return "float"
        if isinstance(value, Spec):
            return tuple([plain(size) for size in value.shape]), value.dtype
        if isinstance(value, (tuple, list)):
            return tuple([plain(each) for each in value])
        if isinstance(value, dict):
            return tuple([(key, plain(each)) for key, each in value.items()])
        return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)

    def lines(graph: Any) -> list[Any]:
        result = []
        for node in graph.nodes:
            places[node] = len(places)
            target = node.target if isinstance(node.target, str) else str(node.target)
            result.append((node.op, target, plain(node.args), plain(dict(node.kwargs)), plain(node.meta.get("val"))))
            inner = node.meta.get("graph")
            if inner is not None:
                result += lines(inner.graph)
        return result

    found = lines(captured.tracer.graph)
    return found, plain(map_arg(captured.outputs, lambda node: node))


def _tied(found: list[Dimension], loose: list[str], captured: Capture, capturing: Capturing) -> list[Dimension]:
    """The dimensions after one that is not free has been tied to another one, or fixed."""
    free = _symbols(found)
    now = {name: _value(name, each) for name, each in free.items()}
    wanted = fingerprint(captured)
    guards = [guard for guard in captured.tracer.guards if guard.how != "!="]
    name = loose[-1]
    each = free[name]
    partners = [partner for partner in free if partner != name]
    partners.sort(key=lambda partner: (partner not in loose, now[partner] != now[name]))

    def moves(group: Iterable[str]) -> bool:
        """Whether the size can change together with others."""
        others = ({**now, **{one: now[one] + step for one in (name, *group)}} for step in (1, 2, 4))
        return any(_same(found, free, now, other, guards, wanted, capturing) for other in others)

    for partner in partners:
        for step in (1, 2, 4):
            other = {**now, name: now[name] + step, partner: now[partner] + step}
            if _same(found, free, now, other, guards, wanted, capturing):
                offset = now[name] - now[partner]
                return _replaced(found, name, Expression.symbol(partner) + Expression.of(offset), each, free[partner], offset)
    equal = [partner for partner in partners if partner in loose and now[partner] == now[name]]
    several = itertools.chain.from_iterable(itertools.combinations(equal, count) for count in range(2, len(equal) + 1))
    for group in itertools.islice(several, _GROUPS):  # more than two sizes that are one
        if moves(group):
            return _replaced(found, name, Expression.symbol(group[0]), each, free[group[0]], 0)
    for partner in partners:
        for first, second in ((partner, name), (name, partner)):
            if now[first] and now[second] % now[first] == 0 and now[second] != now[first]:
                factor = now[second] // now[first]
                other = {**now, first: now[first] + 1, second: now[second] + factor}
                if _same(found, free, now, other, guards, wanted, capturing) and first == partner:
                    raise _related(each, free[partner], f"{factor}*{free[partner].name}")
    for factor in (2, 3, 4, 8, 16):
        other = {**now, name: now[name] + factor}
        if now[name] % factor == 0 and _same(found, free, now, other, guards, wanted, capturing):
            raise _divisible(each, factor)
    if not each.automatic:
        raise _specialized(each)
    return [other_each for other_each in found if other_each.formula is None or name not in other_each.formula.symbols()]


def _replaced(found: list[Dimension], name: str, formula: Expression, each: Dimension, partner: Dimension, offset: int) -> list[Dimension]:
    """The dimensions with a formula in the place of a symbol, where the user allows it."""
    if not each.follows:
        if partner.follows and not offset:  # the one that is open follows the one that is not
            return _replaced(found, str(partner.formula), each.formula, partner, each, 0)  # type: ignore[arg-type]
        raise _equal(each, partner) if not offset else _related(each, partner, f"{partner.name} {'+' if offset > 0 else '-'} {abs(offset)}")
    other = formula.as_symbol
    if other is not None and name < other:  # of two names that which is the first as a text stays, as in PyTorch
        name, formula = other, Expression.symbol(name)
    for one in found:
        assert one.formula is not None
        known = {each: Expression.symbol(each) for each in one.formula.symbols()}
        one.formula = one.formula.substitute({**known, name: formula})
    return found


def _ranges(found: list[Dimension], captured: Capture) -> tuple[dict[str, ValueRanges], list[Guard]]:
    """The range of each symbol, narrowed by comparisons with constants; the other comparisons are guards."""
    free = _symbols(found)
    lows = {
        name: (each.low if each.at[1] >= 0 else 0 if each.size >= 0 else -int_oo)
        if each.formula is not None and each.formula.as_symbol == name
        else 0
        for name, each in free.items()
    }
    highs = {name: each.high if each.formula is not None and each.formula.as_symbol == name else int_oo for name, each in free.items()}
    for each in found:  # of dimensions that are one symbol: the narrowest
        if each.formula is not None and each.formula.as_symbol is not None and each.at[1] >= 0:
            lows[each.formula.as_symbol] = max(lows[each.formula.as_symbol], each.low)
            highs[each.formula.as_symbol] = min(highs[each.formula.as_symbol], each.high)
        elif each.formula is not None and hasattr(each.spec, "root"):
            (name,) = each.formula.symbols()
            lows[name], highs[name] = max(lows[name], each.spec.root.min), min(highs[name], each.spec.root.max)
    for name in captured.tracer.unbacked:
        lows[name], highs[name] = -int_oo, int_oo
    for name, symbol in captured.tracer.symbols.items():
        if name not in lows:
            lows[name], highs[name] = (0, int_oo) if symbol.dim is not None else (-int_oo, int_oo)
            count = _count(symbol.source)
            if count is not None:
                highs[name] = count
    asked = dict(lows), dict(highs)
    guards: list[Guard] = []
    seen: set[str] = set()
    for guard in captured.tracer.guards:
        text = guard.text({})
        if text in seen:
            continue
        seen.add(text)
        bound = _bound(guard)
        if bound is None:
            guards.append(guard)
            continue
        name, low, high = bound
        lows[name], highs[name] = max(lows[name], low), min(highs[name], high)
    for name, each in free.items():
        if each.automatic or each.formula is None or each.formula.as_symbol != name:
            continue
        low, high = lows[name], highs[name]
        if (low > max(asked[0][name], 2) and low > asked[0][name]) or high < asked[1][name]:
            raise _narrow(each, low, high, asked[0][name], asked[1][name])
    general = [guard for guard in guards if guard.symbols & set(free) and not _certain(guard, lows, highs)]
    for guard in general:
        dimension = next((free[name] for name in guard.symbols if name in free), None)
        if (
            dimension is not None
            and not dimension.automatic
            and not hasattr(dimension.spec, "root")
            and guard.how in ("==", "!=")
            and "%" not in guard.text({})
        ):
            raise _unsatisfied(dimension, guard, {name: one.source for name, one in free.items()})
    return {name: ValueRanges(lows[name], min(highs[name], int_oo) if highs[name] < int_oo else int_oo) for name in lows}, guards


def _count(source: Node) -> int | None:
    """At most how many elements an operator picks out of its input: as many as that has."""
    packet = getattr(source.target, "_overloadpacket", None)
    if packet is None or packet.__name__ not in ("nonzero", "masked_select"):
        return None
    shapes = [each.meta["val"].shape for each in source.args if isinstance(each, Node)]
    if any(isinstance(size, SymbolicInt) for shape in shapes for size in shape):
        return None
    return math.prod(np.broadcast_shapes(*shapes))


def _certain(guard: Guard, lows: dict[str, int], highs: dict[str, int]) -> bool:
    """Whether a comparison holds at all sizes within the ranges; those that rule out 0 or 1 are not asked about."""
    difference = guard.left - guard.right
    name = difference.as_symbol
    if guard.how == "!=" and len(difference.symbols()) == 1:
        values = range(max(2, min(lows[each] for each in difference.symbols())), 40)
        return all(difference.evaluate(dict.fromkeys(difference.symbols(), value)) != 0 for value in values)
    return name is not None and guard.how in (">", ">=") and lows[name] > 0


def _bound(guard: Guard) -> tuple[str, int, int] | None:
    """A comparison of one symbol with a constant, as bounds."""
    difference = guard.left - guard.right
    names = list(difference.symbols())
    if len(names) != 1 or guard.how in ("==", "!="):
        return None
    name = names[0]
    offset = difference.terms.get((), 0)
    factor = difference.terms.get((name,), 0)
    if set(difference.terms) - {(), (name,)} or factor not in (1, -1):
        return None
    # factor * name + offset HOW 0
    how = guard.how if factor == 1 else {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[guard.how]
    edge = -offset * factor
    return {
        "<": (name, -int_oo, edge - 1), "<=": (name, -int_oo, edge), ">": (name, edge + 1, int_oo), ">=": (name, edge, int_oo)
    }[how]  # fmt: skip


# -- what is said to the user ----------------------------------------------------------------------------------------


def _violation(each: Dimension, sentence: str, fix: str | None) -> UserError:
    fixes = f"\nSuggested fixes:\n  {fix}" if fix is not None and isinstance(each.spec.__class__, type) and each.name != each.source else ""
    return UserError(
        f'Constraints violated ({each.name})! For more information, run with TORCH_LOGS="+dynamic".\n  - {sentence}{fixes}\n\n'
        "The error above occurred when calling torch.export.export. If you would like to view some more information about this error, and get a list of all "
        "other errors that may occur in your export call, you can replace your `export()` call with `draft_export()`."
    )


def _specialized(each: Dimension) -> UserError:
    return _violation(
        each,
        f"You marked {each.name} as dynamic but your code specialized it to be a constant ({each.size}). If you're using mark_dynamic, either remove it or use "
        "maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO.",
        f"{each.name} = {each.size}",
    )


def _shown(each: Dimension) -> str:
    return each.source if each.name == each.source else f"{each.name} = {each.source}"


def _equal(each: Dimension, partner: Dimension) -> UserError:
    return _violation(each, f"The values of {_shown(each)} and {_shown(partner)} must always be equal.", f"{each.name} = {partner.name}")


def _related(each: Dimension, partner: Dimension, formula: str) -> UserError:
    return _violation(
        each,
        f"The values of {_shown(each)} must always be related to the values of {_shown(partner)} by {each.name} = {formula}.",
        f"{each.name} = {formula}",
    )


def _divisible(each: Dimension, factor: int) -> UserError:
    return _violation(
        each,
        f"Not all values of {_shown(each)} in the specified range satisfy the generated guard ({each.source} % {factor}) == 0.",
        f"_{each.name} = Dim('_{each.name}', min=1, max=oo)\n  {each.name} = {factor}*_{each.name}",
    )


def _narrow(each: Dimension, low: int, high: int, asked_low: int, asked_high: int) -> UserError:
    upper = "IntInfinity()" if high >= int_oo else high
    low = max(low, 2)
    parts = ([f"min={low}"] if low > max(asked_low, 2) else []) + ([f"max={high}"] if high < int_oo else [])
    return _violation(
        each,
        f"Not all values of {_shown(each)} in the specified range satisfy the generated guard {low} <= {each.source} and {each.source} <= {upper}",
        f"{each.name} = Dim('{each.name}', {', '.join(parts)})",
    )


def _unsatisfied(each: Dimension, guard: Guard, names: dict[str, str]) -> UserError:
    return _violation(
        each, f"Not all values of {_shown(each)} in the specified range satisfy the generated guard {guard.text(names)}.", None
    )


__all__ = ["resolve", "show"]
