"""Programs on lists, tuples, strings, numbers and tensors, for the tests of scripts."""
# ruff: noqa: B007, F841, RUF100, UP006, UP031, UP032, UP035, UP037, UP045 - scripts are written as users write them

from __future__ import annotations

import enum
import math
from typing import Dict, List, NamedTuple, Optional, Tuple

from script_inputs import SIGNS, V, X, Y, program

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, jit

# -- lists, tuples, dicts, strings ----------------------------------------------------------------------------------


@program((X, [3, 1, 2]), export="each")
def list_methods(x, numbers: List[int]):
    items = [1, 2]
    items.append(5)
    items.extend(numbers)
    items.insert(0, 9)
    last = items.pop()
    items.remove(1)
    items.sort()
    items.reverse()
    return x * items[0] + last + items.index(5) + items.count(2), len(items)


@program((X,))
def list_slices(x):
    items = [1, 2, 3, 4, 5]
    part = items[1:4]
    items[0] = 10
    return x + part[0] + part[-1] + items[0] + len(items[::2])


@program((X,))
def list_of_tensors(x):
    parts = [x, x + 1]
    parts.append(x * 2)
    parts[0] = x - 1
    return torch.cat(parts, 1)


@program((X,))
def comprehension(x):
    numbers = [i * i for i in range(5)]
    return x + sum(numbers)


@program((X,))
def comprehension_with_condition(x):
    numbers = [i for i in range(10) if i % 3 == 0]
    return x * len(numbers) + numbers[-1]


@program((X,))
def nested_comprehension(x):
    numbers = [i * j for i in range(3) for j in range(2)]
    return x + sum(numbers)


@program((X,))
def tensor_comprehension(x):
    return torch.stack([row * 2 for row in x])


@program((X,), export=None)
def dict_of_numbers(x):
    table = {"a": 1, "b": 2}
    table["c"] = 3
    total = 0
    for key in table:
        total += table[key]
    for key, value in table.items():
        if key == "b":
            total += value * 10
    return x + total + len(table)


@program((X,), export=None)
def dict_methods(x):
    table: Dict[str, int] = {}
    table["one"] = 1
    table.update({"two": 2})
    found = table.get("three", 30)
    popped = table.pop("one")
    keys = table.keys()
    return x + found + popped + len(keys) + table.setdefault("five", 5) + sum(table.values())


@program((X,), export=None)
def dict_of_tensors(x):
    table = {"x": x}
    table["y"] = x + 1
    if "y" in table:
        table["x"] = table["y"] * 2
    return table["x"], list(table.keys())


@program((X,), export=None)
def dict_comprehension(x):
    squares = {i: i * i for i in range(4)}
    del squares[0]
    return x + squares[3] + len(squares)


@program((X, "hello world"), (X, "abc"), export=None)
def string_methods(x, text: str):
    parts = text.split(" ")
    n = len(parts) + text.count("l") + text.find("w")
    if text.upper().startswith("HELLO") and not text.endswith("x"):
        n += 100
    return x + n, text.replace("l", "L"), "-".join(parts), text[1:3], text.strip().title()


@program((X, 3, 2.5), export=None)
def formatted_strings(x, n: int, k: float):
    return f"{n} and {k:.3f} of {x.size(0)}", "{} {}".format(n, k), "%d items" % n, str(n) + "!", f"{n!r:>5}"


@program((X,))
def tuples(x):
    pair = (x, 2)
    first, second = pair
    triple = pair + (3.0,)
    return first * second + triple[2] + len(triple), pair[0]


@program((X,))
def nested_tuples(x):
    (a, b), c = (x, x + 1), 3
    return a * c + b


@program((X,))
def starred(x):
    first, *rest = [1, 2, 3, 4]
    return x * first + len(rest)


@program((torch.randn(4, 6),))
def unpacked_shape(x):
    rows, columns = x.shape
    return x.reshape(rows * columns // 3, 3) + rows


class Point(NamedTuple):
    x: Tensor
    scale: float


@program((X,))
def named_tuple(x):
    point = Point(x, 2.0)
    other = Point(x=point.x + 1, scale=0.5)
    return point.x * point.scale + other.x * other[1]


@program((X,))
def returned_named_tuple(x):
    return Point(x * 2, 1.0).x


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


@program((X, Colour.RED), (X, Colour.GREEN), export="each")
def enumeration(x, colour: Colour):
    if colour == Colour.RED:
        return x + 1
    return x * colour.value


@program((X, [1.0, 2.0]), export="each")
def aggregates(x, numbers: List[float]):
    return x * max(numbers) + min(numbers) + sum(numbers) + len(numbers) + abs(-3) + round(2.6) + max(2, 7)


@program((X,), export=None)
def sorted_and_any(x):
    items = sorted([3, 1, 2])
    return x + items[0], any([False, True]), all([True, False]), items


@program((X, 7, 3), (X, -7, 3), export="each")
def integer_arithmetic(x, a: int, b: int):
    return x + a // b + a % b + a**2 + (a << 1) + (a & 6) + (a | 1) + (a ^ 5) - -a, a / b, divmod(a, b)[0]


@program((X, 2.5), (X, -0.7), export="each")
def float_arithmetic(x, k: float):
    return x * math.floor(k) + math.ceil(k) + math.sqrt(abs(k)) + int(k) + k**2 + math.pi, k // 1.0, k % 2.0


@program((X,))
def math_functions(x):
    return x * math.exp(0.5) + math.log(3.0) + math.cos(1.0) + math.pow(2.0, 3.0) + math.inf * 0 if False else x * math.exp(0.5)


@program((X, 3, 0), export=None)
def booleans(x, a: int, b: int):
    return a and b, a or b, not a, bool(b), a == 3 and b == 0, a is not None


@program((torch.tensor(3),), (torch.tensor(-2),))
def tensor_to_number(n):
    k = int(n) + 2
    return torch.zeros(5) + k * 2


@program((torch.tensor(2.5),), (torch.tensor(0.5),))
def item_to_number(n):
    k = n.item()
    return torch.ones(3) * k


@program((X, torch.tensor(1)), (X, torch.tensor(0)))
def index_by_tensor(x, n):
    return x[int(n)] * 2


# -- tensors ----------------------------------------------------------------------------------------------------


@program((torch.randn(4, 5),))
def indexing(x):
    a = x[1]
    b = x[:, 2]
    c = x[1:3, ::2]
    d = x[..., -1]
    e = x[None].squeeze(0)[:, [0, 2]]
    return a.sum() + b.sum() + d.sum(), c, e


@program((torch.randn(4, 5),))
def assignment_to_items(x):
    y = x.clone()
    y[0] = 1.0
    y[:, 1] = y[:, 2] * 2
    y[2, 3] += 5
    return y


@program((X,))
def in_place_ops(x):
    y = x.clone()
    y += 1
    y *= 2
    y.add_(3)
    y -= x
    return y


@program((X, Y))
def operators_of_tensors(x, y):
    return x + y, x - y, x * y, x / (y.abs() + 1), x**2, -x, x @ y.t(), x > y, (x > 0) & (y > 0), ~(x > 0)


@program((X,))
def keyword_arguments(x):
    return torch.sum(x, dim=1, keepdim=True) + x.mean(dim=0, keepdim=True)


@program((X,))
def functional(x):
    return F.softmax(F.relu(x) + F.gelu(x), dim=-1) + F.layer_norm(x, [3])


@program((torch.randn(2, 6),))
def reshaping(x):
    n = x.size(0)
    return x.view(n, 2, 3).transpose(1, 2).reshape(n, -1).unsqueeze(1).squeeze(1).permute(1, 0).contiguous()


@program((X,))
def several_outputs(x):
    values, indices = torch.max(x, dim=1)
    a, b = x.split([1, 2], dim=1)
    return values, indices, a * 2, b + 1


@program((X,))
def named_outputs(x):
    found = torch.topk(x, 2)
    return found.values + found.indices


@program((X,))
def attributes(x):
    y = x.T + x.shape[1] + x.ndim + x.dim() + x.numel()
    return y.to(x.dtype)


@program((X,), export=None)
def tensor_facts(x):
    return x.dtype, x.device, x.shape, x.is_floating_point(), x.requires_grad, x.size()


@program((X,))
def types_of_tensors(x):
    return x.to(torch.float64).float() + x.double().to(dtype=torch.float32) + torch.ones(3, dtype=x.dtype)


@program((X,))
def constants(x):
    return x + torch.tensor([1.0, 2.0, 3.0]) * torch.arange(3) + torch.full([3], 2.0)


@program((X,))
def without_gradient(x):
    with torch.no_grad():
        y = x * 2
    return x + y


@program((X,))
def detached(x):
    return x * x.detach() + x.sin()


@program((X,))
def unused_values(x):
    y = x - x
    z = y * 2
    return x + x


@program((X,))
def overwritten(x):
    y = x
    y = y + 1
    y = y.sum()
    return y


@program((X, 2), export="each")
def isinstance_number(x, k: int):
    if isinstance(k, int):
        return x * k
    return x


@program((X, None), (X, Y), export="each")
def isinstance_optional(x, y: Optional[Tensor]):
    if isinstance(y, Tensor):
        return x + y
    return x


@program((X, None), (X, Y), export="each")
def asserted(x, y: Optional[Tensor]):
    z = y if y is not None else x
    assert z is not None, "never"
    return z * 2


# -- exceptions ---------------------------------------------------------------------------------------------------


@program((X, 1), (X, -1), export=None)
def raises(x, n: int):
    if n < 0:
        raise ValueError(f"{n} is negative")
    return x * n


@program((X, 1), (X, -1), export=None)
def asserts(x, n: int):
    assert n > 0, "must be positive"
    return x * n


@program((X, torch.randn(4, 5)), (X, Y), export=None)
def shapes_that_do_not_fit(x, y):
    return x + y


@program((X, 0), (X, 2), export=None)
def division_by_zero(x, n: int):
    return x + 1 // n


@program((X, 5), (X, 1), export=None)
def index_out_of_range(x, n: int):
    items = [1, 2, 3]
    return x[0, 0] + items[n]


@program((X, "b"), (X, "a"), export=None)
def missing_key(x, key: str):
    table = {"a": 1}
    return x + table[key]


@program((X, 3), (X, 0), export=None)
def raise_in_loop(x, n: int):
    for i in range(n):
        if i == 2:
            raise RuntimeError("too far")
        x = x + i
    return x


@program((X, 5), (X, 1), export=None)
def dimension_out_of_range(x, dim: int):
    return x.sum(dim)


@program((X, [1, 2, 3]), (X, [1, 2]), export=None)
def wrong_length(x, numbers: List[int]):
    a, b = numbers
    return x * a + b


# -- functions calling functions --------------------------------------------------------------------------------------


def helper(x, k: int = 2):
    if k > 1:
        return x * k
    return x


def pair_of(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:
    return x + y, x - y


SCALE = 3
OFFSETS = (1, 2)


@program((X,))
def calls_helper(x):
    return helper(x) + helper(x, 1) + helper(x, k=3)


@program((X, Y))
def calls_pair(x, y):
    a, b = pair_of(x, y)
    c, _ = pair_of(x=a, y=b)
    return c * a


@program((X,))
def global_constants(x):
    return x * SCALE + OFFSETS[1]


@program(*SIGNS)
def calls_in_branch(x):
    if x.sum() > 0:
        return helper(x, 5)
    return pair_of(x, x)[0]


@program((X,))
def annotated_variables(x):
    total: float = 0.0
    items: List[int] = []
    for i in range(3):
        total += 0.5
        items.append(i)
    best: Optional[int] = None
    for i in items:
        if i == 1:
            best = i
    if best is None:
        return x
    return x * total + best


@program((X,))
def jit_annotate(x):
    items = jit.annotate(List[int], [])
    items.append(4)
    return x + items[0]


@program((X, 2), export="each")
def typed_by_comment(x, n):
    # type: (Tensor, int) -> Tensor
    k = 0
    for i in range(n):
        k += i
    return x + k


@program((X,))
def modern_annotations(x: Tensor, items: "tuple[int, int]" = (1, 2), k: int | None = None) -> tuple[Tensor, int]:
    n = 0
    for item in items:
        n += item
    return x * n, n if k is None else k


@program((X,))
def walrus(x):
    if (n := x.size(0)) > 1:
        return x * n
    return x


@program((X,))
def deep_chain(x):
    a = x.sin()
    b = a.cos() * a
    c = (b + a).tanh()
    d = torch.sigmoid(c) * b
    return d.exp().log1p() + a


@program((X, Y))
def two_regions(x, y):
    a = (x * y).sin()
    n = int(a.shape[0])
    b = (a + y).cos() * n
    c = b.t()
    return c.exp().sum() + a


@program(([X, Y], 1), export="each")
def tensors_in_list(xs: List[Tensor], dim: int):
    return torch.sin(torch.cat(xs, dim=dim)) * 2


@program((X, 4), (X, 1), export="each")
def complicated_exits(x, n: int):
    found = -1
    for i in range(n):
        if i == 0:
            continue
        j = 0
        while j < i:
            j += 1
            if j == 2:
                found = i * 10 + j
                break
        if found > 0:
            break
    if found < 0:
        return x
    return x + found


@program((X, 3), (X, 0), export="each")
def gauss(x, n: int):
    total = 0
    i = n
    while i > 0 and total < 100:
        total += i
        i -= 1
    return x + total


@program((X,))
def collatz(x):
    n = 27
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return x + steps


@program((V,), (torch.randn(7),), dynamic=[{0: "n"}])
def cumulative(x):
    rows = []
    total = torch.zeros([])
    for i in range(x.size(0)):
        total = total + x[i]
        rows.append(total)
    return torch.stack(rows)


@program((torch.randn(3, 4), torch.randn(4)), (torch.randn(5, 4), torch.randn(4)), dynamic=[{0: "time"}, None])
def recurrent(x, h):
    outputs = []
    for t in range(x.size(0)):
        h = torch.tanh(x[t] + h * 0.5)
        outputs.append(h)
    return torch.stack(outputs), h
