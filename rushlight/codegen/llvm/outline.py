"""Functions that differ in numbers alone (sizes, strides, one over a count) as one function that is given the numbers.

The layers of a network do the same for different sizes.  Written out for each, code runs a little faster and takes several times as long to
compile; so where a program has such functions, there is one, and each of them is a call of it.
"""

from __future__ import annotations

import hashlib
import re

_TOKEN = re.compile(r"[\w.%@!]+|-?\d+|\S")
_NUMBER = re.compile(r"-?\d+$|0x[0-9A-F]{16}$")
_TYPES = ("i64", "float", "double")  # of parameters
_OTHERS = ("i1", "i8", "i16", "i32", "i128", "half", "ptr")
_ANY_NUMBER = re.compile(r"(?<=[ ,])(?:-?\d+|0x[0-9A-F]{16})(?=[,) ]|$)", re.MULTILINE)
_FIXED = ("<", "alloca", "align", "!{")  # what lines have in them whose numbers must be written out
SEVERAL = 8  # functions of one outline that are remembered
PROGRAMS = 64  # for which they are
_before: dict[str, dict[str, list[str]]] = {}  # by the outlines of a program: its functions by theirs
SMALL = 32  # a loop of fewer steps is better off if LLVM knows how many


def outline(function: str) -> str:
    """What functions that differ in numbers have in common."""
    return _ANY_NUMBER.sub("#", function.replace(f"@{name_of(function)}", "@NAME"))


def name_of(function: str) -> str:
    """The name of a function, from its text."""
    return re.search(r"^define [^@]*@([\w.]+)\(", function, re.MULTILINE)[1]  # type: ignore[index]


def is_plain(function: str) -> bool:
    """Whether LLVM makes no vectors of a function's loops: there are none, or vectors are there already."""
    return ") #3 " in function


def generalised(functions: list[str]) -> tuple[str, list[str]] | None:
    """One function for several with one outline, and those as calls of it; None where numbers differ that must be written out.

    Variables of a function (numbers that its text does not name, and addresses) stay its own: it hands over what they hold.
    """
    names = [name_of(each) for each in functions]
    lines: list[str] = []
    parameters: dict[tuple[str, ...], str] = {}  # by its type and its values in each function: a number that is a parameter
    variables: list[str] = []
    limits = set() if is_plain(functions[0]) else innermost_limits(functions[0])  # which matter where LLVM makes vectors
    for at, versions in enumerate(
        zip(*[each.replace(f"@{name}", "@NAME").split("\n") for name, each in zip(names, functions)], strict=True)
    ):
        if versions[0].startswith(("@NAME.", "  %its.")) and len(set(versions)) == 1:
            variables.append(versions[0])
            continue
        made = _line(versions, parameters, at in limits)
        if made is None:
            return None
        lines.append(made)
    held = [each.split() for each in variables if each.startswith("  %its.")]  # such as: %its.number0 = load i64, ptr @NAME.number0
    inherited = "".join(f", {each[3].rstrip(',')} {each[0]}" for each in held)
    head, attributes = lines[0].rsplit(") #", 1)
    lines[0] = f"{head}{inherited}{''.join(f', {key[0]} {name}' for key, name in parameters.items())}) #{attributes}"
    common = f"{names[0].rsplit('_', 1)[0]}_{hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:16]}"
    given = head.split("(", 1)[1].replace(" noalias", "")
    calls = []
    for number, name in enumerate(names):
        numbers = "".join(f", {type} {values[number]}" for type, *values in parameters)
        own = [each.replace("@NAME", f"@{name}") for each in variables]
        before, loads = [each for each in own if each.startswith("@")], [each for each in own if each.startswith(" ")]
        text = [
            *before,
            f"define void @{name}({given}) #1 {{",
            *loads,
            f"  call void @{common}({given}{inherited}{numbers})",
            "  ret void",
            "}",
        ]
        calls.append("\n".join(text))
    return "\n".join(lines).replace("@NAME", f"@{common}"), calls


def merged(functions: list[str]) -> tuple[list[str], list[str]]:
    """Functions with one in the place of several that are alike; and those, as calls of it.

    Where all functions of a program are like those of one before, it is the same graph for other sizes: those count as well, so that from the
    third size on nothing is new.
    """
    groups: dict[str, list[str]] = {}
    for each in functions:
        groups.setdefault(outline(each), []).append(each)
    key = hashlib.sha256("\n".join(groups).encode()).hexdigest()
    before = _before.pop(key, {})
    made: list[str] = []
    calls: list[str] = []
    for form, group in groups.items():
        earlier = [each for each in before.get(form, ()) if each not in group]
        found = generalised([*group, *earlier]) if len(group) + len(earlier) > 1 and "define void" in group[0] else None
        if found is None and earlier and len(group) > 1:
            found = generalised(group)
        if found is None:
            made += group
        else:
            made.append(found[0])
            calls += found[1][: len(group)]
    _before[key] = {
        form: [*group, *[each for each in before.get(form, ()) if each not in group]][:SEVERAL] for form, group in groups.items()
    }
    while len(_before) > PROGRAMS:
        del _before[next(iter(_before))]
    return made, calls


def innermost_limits(function: str) -> set[int]:
    """The lines that say how far loops run which have no loops inside."""
    found: set[int] = set()
    label, limit = "", -1  # of the loop that was begun last
    for at, line in enumerate(function.split("\n")):
        if line.startswith("head"):
            label, limit = line.rstrip(":"), -1
        elif label and limit < 0 and " icmp " in line:
            limit = at
        elif label and line.split(",")[0] == f"  br label %{label}":  # over, and no other was begun inside
            found.add(limit)
            label = ""
    return found


def _line(versions: tuple[str, ...], parameters: dict[tuple[str, ...], str], short_matters: bool) -> str | None:
    """A line with parameters in the place of numbers that differ."""
    first = versions[0]
    if all(each == first for each in versions):
        return first
    if any(mark in first for mark in _FIXED):
        return None
    spelled = [_TOKEN.findall(each) for each in versions]
    if len({len(each) for each in spelled}) > 1:
        return None
    type, result = "", list(spelled[0])
    for at, tokens in enumerate(zip(*spelled)):
        if tokens[0] in _TYPES or tokens[0] in _OTHERS:
            type = tokens[0]
        if len(set(tokens)) == 1:
            continue
        if (
            type not in _TYPES
            or not all(_NUMBER.match(each) for each in tokens)
            or (short_matters and any(abs(int(each)) < SMALL for each in tokens))
        ):
            return None
        result[at] = parameters.setdefault((type, *tokens), f"%given{len(parameters)}")
    return "  " + " ".join(result)
