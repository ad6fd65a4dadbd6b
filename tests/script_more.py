"""Further programs for the tests of scripts: types by annotation, refinement, containers that travel through loops, nested control flow."""
# ruff: noqa: B007, F841, RUF100, UP006, UP007, UP035, UP037, UP045 - scripts are written as users write them

from __future__ import annotations

import enum
import math
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union

from script_inputs import NEGATIVE, POSITIVE, SIGNS, N, X, Y, program

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, jit

LIMIT: Final[int] = 3
WEIGHTS = (1.5, 2.5, -1.0)


class Kind(enum.Enum):
    SUM = 1
    MEAN = 2
    NONE = 3


class State(NamedTuple):
    value: Tensor
    steps: int = 0


def by_kind(x, kind: Kind):
    if kind == Kind.SUM:
        return x.sum()
    elif kind is Kind.MEAN:
        return x.mean()
    return x


def advanced(state: State, amount: float) -> State:
    return State(state.value * amount, state.steps + 1)


@program((X,))
def enumeration_through_functions(x):
    return by_kind(x, Kind.SUM) + by_kind(x, Kind.MEAN) + by_kind(x, Kind.NONE)


@program((X, Kind.SUM), (X, Kind.MEAN), (X, Kind.NONE), export="each")
def enumeration_as_argument(x, kind: Kind):
    return by_kind(x, kind) * kind.value


@program((X, 3), (X, "abc"), (X, Y), export=None)
def union_of_types(x, other: Union[int, str, Tensor]):
    if isinstance(other, int):
        return x + other
    elif isinstance(other, str):
        return x + len(other)
    return x + other.sum()


@program((X, 3), (X, 2.5), (X, None), export=None)
def any_value(x, other: Any):
    if isinstance(other, int):
        return x * other
    if other is None:
        return x
    return x - 1


@program(*SIGNS)
def named_tuple_in_a_loop(x):
    state = State(x)
    for amount in WEIGHTS:
        state = advanced(state, amount)
        if bool(state.value.sum() > 1):
            state = State(state.value + 1, state.steps)
    return state.value, state.steps


@program(*[(X, n) for n in N])
def loop_of_a_tensors_length(x, n: Tensor):
    total = x
    for i in range(int(n)):
        total = total * 0.5 + i
    return total


@program(*[(X, n) for n in N])
def nested_data_dependent_loops(x, n: Tensor):
    count = 0
    for i in range(int(n)):
        j = 0
        while j < i:
            x = x + j
            count += 1
            j += 2
            if j > 3:
                break
    return x, count


@program(*SIGNS)
def optional_through_branches(x):
    found: Optional[Tensor] = None
    if bool(x.sum() > 0):
        found = x * 2
    elif bool(x.mean() < -0.5):
        found = x - 1
    if found is None:
        found = torch.zeros(2, 3)
    return found + 1


@program(*SIGNS)
def optional_of_numbers(x):
    best: Optional[int] = None
    for i in range(2):
        if bool(x[i].sum() > 0) and best is None:
            best = i
    if best is not None:
        return x * (best + 2)
    return x - 1


@program((X, {"a": 1.5, "bb": -2.0}), export=None)
def dict_in_every_way(x, table: Dict[str, float]):
    total = 0.0
    for key in table:
        total += len(key)
    for key, value in table.items():
        total += value * len(key)
    for value in table.values():
        total = max(total, value)
    table["c"] = total
    if "a" in table and "z" not in table:
        total += table.pop("a")
    return x * total, len(table), table.get("z", 7.0), sorted(table.keys())


@program((X,))
def text_of_numbers(x):
    name = f"{x.shape[0]:>4}|{x.shape[1]!r:<3}|{LIMIT:02d}|{math.pi:.3f}"
    parts = name.split("|")
    assert len(parts) == 4, f"there are {len(parts)}"
    return x + len(name) + int(parts[2]) + float(parts[3])


@program(*SIGNS, (torch.zeros(2, 3),))
def several_exits(x):
    for i in range(LIMIT):
        if bool(x.sum() > 5 + i):
            return x + i
        while bool(x.sum() < -3):
            x = x + 1
            if bool(x[0, 0] > 0.3):
                return x * 2
        if i == 1:
            continue
        x = x * 1.5
    return x


@program(*SIGNS)
def choice_in_a_choice_in_a_loop(x):
    total = x * 0
    for row in x:
        if bool(row.sum() > 0):
            total = total + row if bool(row[0] > 0) else total - row
        else:
            total = total * 2 if bool(row[1] < 0) else total
    return total


@program((X, Y), (POSITIVE, NEGATIVE))
def functions_in_branches(x, y):
    f = F.relu if LIMIT > 2 else F.gelu
    return f(x) if bool(x.sum() > y.sum()) else f(y)


@program((X, [1, 2, 3]), (X, [4]), (X, []), export="each")
def list_of_numbers(x, numbers: list[int]):
    squares = [n * n for n in numbers if n != 2]
    pairs = [(n, -n) for n in numbers]
    for a, b in pairs:
        x = x + a * 2 + b
    return x * (sum(squares) + 1), len(pairs), max(squares) if len(squares) > 0 else -1


@program((X, (1, 2.5, "abc")), export="each")
def tuple_as_argument(x, given: tuple[int, float, str]):
    first, second, third = given
    return x * first + second + len(third) + len(given)


@program((X, 2), (X, 0), (X, -3), export="each")
def python_arithmetic(x, n: int):
    return x + n // 2 + n % 3 + (n**2) + (n << 1) + (n & 3) + abs(n) + round(n / 3, 2) + int(-n / 2) + divmod(n, 2)[1] + (n if n else 5)


@program((X, 0), (X, 2), (X, 9), export=None)
def exceptions_of_python(x, n: int):
    items = [1.0, 2.0, 3.0]
    if n == 0:
        raise RuntimeError("nothing to do", n)
    return x * items[min(n, 2)]


@program((X, 5), (X, 1), export=None)
def exceptions_in_the_middle(x, n: int):
    items: List[int] = []
    for i in range(n):
        if i == 3:
            raise ValueError(f"stopped at {i} with {items}")
        items.append(i)
    return x + sum(items)


@program((X,), (POSITIVE,))
def writes_in_loops(x):
    out = torch.zeros(3, 2)
    for i in range(x.size(0)):
        for j in range(x.size(1)):
            out[j, i] = x[i, j] * (i + j)
    out[:, 0] += 1
    return out


@program(*SIGNS)
def no_gradient_inside(x):
    with torch.no_grad():
        scale = x.abs().mean()
        if bool(scale > 1):
            scale = scale * 2
    return x * scale, scale


@program((X, None), (X, Y), export="each")
def either_tensor(x, other: "Tensor | None" = None):
    used = x if other is None else other
    assert used is not None
    return used * 2 + (0 if other is None else 1)


@program((X,))
def annotated_containers(x):
    rows = jit.annotate(List[Tensor], [])
    for i in range(x.size(0)):
        rows.append(x[i])
    pair: Tuple[Tensor, int] = (rows[0], len(rows))
    return pair[0] * pair[1], torch.stack(rows)


@program((X, True), (X, False), export="each")
def scripting_or_not(x, flag: bool):
    y = x * 2 if jit.is_scripting() or flag or not flag else x
    return y if flag and bool(x.numel() > 3) else y + 1


@program((torch.arange(6).reshape(2, 3), 2), (torch.arange(6).reshape(2, 3), -1), export="each")
def whole_number_tensors(x, n: int):
    found = x * n
    found += n
    return found // 2, found % 4, (found > 3).sum(), found.to(torch.float32) / 2


@program((X, 3), (X, 0), export=None)
def ranges_as_lists(x, n: int):
    numbers = list(range(n))
    steps = range(1, n + 4, 2)
    return x + sum(numbers), numbers, [each * 2 for each in steps], len(steps)


@program((X,), (-X,), export="each")
def parts_of_one_element(x):
    y = x.clone()
    y[:1] += 2
    y[..., -1:] *= 3
    return y


@program((X, 4), (X, 1), export=None)
def comprehensions_in_loops(x, n: int):
    items = [x]
    for i in range(n):
        items = [each * 0.5 for each in items if i >= 0]
        while len(items) < 3:
            items = items + [each + i for each in items]
    return torch.stack(items[:2])
