"""Programs with choices and loops, for the tests of scripts."""
# ruff: noqa: B007, F841, RUF100, UP006, UP031, UP032, UP035, UP037, UP045 - scripts are written as users write them

from __future__ import annotations

from typing import List, Optional

from script_inputs import SIGNS, N, V, X, Y, program

import rushlight as torch
from rushlight import Tensor

# -- choices ----------------------------------------------------------------------------------------------------


@program(*SIGNS)
def choose_by_sum(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    return y * 2


@program(*SIGNS)
def choose_without_else(x):
    if bool(x.sum() > 0):
        x = torch.neg(x)
    return x


@program(*SIGNS)
def elif_chain(x):
    s = x.sum()
    if s > 10:
        return x * 10
    elif s > 0:
        return x + 1
    elif s > -1:
        return x - 1
    return x * 0


@program(*SIGNS)
def early_return(x):
    if x.mean() > 0:
        return x.sin()
    y = x.cos()
    z = y * 2
    return z + y


@program(*SIGNS)
def nested_choices(x):
    if x.sum() > 0:
        if x.max() > 1.0:
            y = x * 2
        else:
            y = x * 3
    else:
        if x.min() < -1.0:
            y = -x
        else:
            y = x
    return y.relu()


@program(*SIGNS)
def partial_return(x):
    y = x
    if x.sum() > 0:
        if x.max() > 100:
            return x
        y = x + 5
    return y * 2


@program(*SIGNS)
def ternary(x):
    return x * 2 if x.sum() > 0 else x * 3


@program(*SIGNS)
def ternary_number(x):
    k = 2 if x.sum() > 0 else 5
    return x * k


@program(*SIGNS)
def number_from_branches(x):
    if x.sum() > 0:
        k = 0.5
    else:
        k = 1.5
    return x * k


@program(*SIGNS)
def and_or(x):
    if x.sum() > 0 and x.max() < 100:
        return x + 1
    if x.sum() < -2 or x.min() < -3:
        return x + 2
    return x + 3


@program(*SIGNS)
def negated(x):
    if not (x.sum() > 0):
        return x * 7
    return x


@program(*SIGNS)
def flag_variable(x):
    positive = bool(x.sum() > 0)
    if positive:
        x = x + 1
    if not positive:
        x = x - 1
    return x


@program((X,), (torch.randn(4, 3),), (torch.randn(7, 3),), dynamic=[{0: "n"}])
def choose_by_size(x):
    if x.size(0) > 5:
        return x * 2
    elif x.size(0) > 3:
        return x * 3
    return x * 4


@program((X,), (torch.randn(4, 3),), dynamic=[{0: "n"}])
def shape_arithmetic(x):
    n = x.shape[0] * 2 + 1
    return x.sum() * n + x.size(1)


@program((X,), (torch.randn(4, 3),), dynamic=[{0: "n"}])
def division_of_sizes(x):
    return x + x.size(0) / 2


@program((X, True), (X, False), export="each")
def python_flag(x, flag: bool):
    if flag:
        return x + 1
    else:
        return x - 1


@program((X, None), (X, Y), export="each")
def optional_argument(x, y: Optional[Tensor] = None):
    if y is not None:
        x = x + y
    return x * 2


@program((X, None), (X, 3), export="each")
def optional_number(x, k: Optional[int] = None):
    if k is None:
        k = 1
    return x * k


@program((X,), (X, 2), (X, 2, 3.0), export="each")
def default_arguments(x, a: int = 1, b: float = 0.5):
    return x * a + b


@program((X, 1), (X, 2), (X, 3), (X, 9), export="each")
def match_numbers(x, mode: int):
    if mode == 1:
        return x.sum()
    elif mode == 2:
        return x.mean()
    elif mode == 3:
        return x.max()
    return x.min()


@program((X, "sum"), (X, "mean"), (X, "other"), export="each")
def match_strings(x, mode: str):
    if mode == "sum":
        return x.sum()
    elif mode in ("mean", "average"):
        return x.mean()
    return x


@program(*SIGNS)
def shadowed_variable(x):
    y = x
    if x.sum() > 0:
        y = y + 1
        z = y * 2
    else:
        z = y
    return y + z


@program(*SIGNS)
def several_results(x):
    if x.sum() > 0:
        a, b = x, x + 1
    else:
        a, b = x * 2, x
    return a, b, a + b


@program((X, 2.5), (X, 0.5), export="each")
def conditional_chain(x, k: float):
    return x if k > 2 else x * 2 if k > 1 else x * 3


@program((X, 5), (X, 15), (X, 25), export="each")
def chained_comparison(x, n: int):
    if 10 < n <= 20:
        return x + 1
    return x


# -- loops ------------------------------------------------------------------------------------------------------


@program((X,))
def counted_loop(x):
    for i in range(5):
        x = x + i
    return x


@program((X,))
def nested_loops(x):
    for _ in range(3):
        for i in range(2):
            x = x * 2 + i
    return x


@program(*((X, n) for n in N))
def loop_by_tensor(x, n):
    for i in range(int(n)):
        x = x + i
    return x


@program(*((X, n) for n in N))
def loop_with_start_and_step(x, n):
    for i in range(1, int(n) + 3, 2):
        x = x * i
    return x


@program((X, N[0]), (X, N[3]))
def loop_downwards(x, n):
    for i in range(int(n), 0, -1):
        x = x + i * 0.5
    return x


@program((X,), (torch.randn(5, 3),), dynamic=[{0: "n"}])
def loop_over_size(x):
    total = torch.zeros(3)
    for i in range(x.size(0)):
        total = total + x[i] * i
    return total


@program((X,), (torch.randn(4, 3),), dynamic=[{0: "n"}])
def loop_over_tensor(x):
    total = torch.zeros(3)
    for row in x:
        total = total + row.abs()
    return total


@program((X,), (X * 100,), (X * 0,))
def while_on_tensor(x):
    y = x.abs().sum()
    k = 0
    while y < 50:
        y = y * 2 + 1
        k += 1
    return y, k


@program((X, 3), (X, 0), (X, 10), export="each")
def while_on_number(x, n: int):
    i = 0
    while i < n:
        x = x + i
        i = i + 2
    return x


@program((X, 3), (X, 0), (X, 10), export="each")
def loop_with_break(x, n: int):
    for i in range(n):
        if i == 4:
            break
        x = x + i
    return x


@program((X, 3), (X, 0), (X, 7), export="each")
def loop_with_continue(x, n: int):
    for i in range(n):
        if i % 2 == 1:
            continue
        x = x + i
    return x


@program((X,), (X * 10,), (X * 0.01,))
def break_on_tensor(x):
    y = x
    for i in range(10):
        y = y * 1.5
        if y.abs().sum() > 50:
            break
        y = y + 0.1
    return y


@program((X,), (X * 10,), (X * 0.01,))
def return_from_loop(x):
    y = x.abs()
    for i in range(6):
        y = y * 2
        if y.sum() > 100:
            return y + i
    return y - 1


@program((X, 5), (X, 2), export="each")
def return_from_nested_loop(x, n: int):
    for i in range(n):
        for j in range(n):
            if i * j > 5:
                return x + i * j
    return x


@program((X, 4), export="each")
def while_true(x, n: int):
    i = 0
    while True:
        i += 1
        x = x + i
        if i >= n:
            break
    return x


@program((X, 4), (X, 40), export="each")
def while_true_return(x, n: int):
    i = 0
    while True:
        i += 1
        if i * i > n:
            return x * i


@program((X, 6), export="each")
def break_and_continue(x, n: int):
    total = 0
    for i in range(n):
        if i == 1:
            continue
        if i == 4:
            break
        total += i
    return x + total


@program((X,))
def fibonacci(x):
    a, b = 0, 1
    for _ in range(10):
        a, b = b, a + b
    return x * a


@program((X,), (torch.randn(3, 3),), dynamic=[{0: "n"}])
def growing_tensor(x):
    y = x
    for i in range(3):
        y = torch.cat([y, x], 0)
    return y


@program(*((X, n) for n in N[:3]))
def growing_by_tensor(x, n):
    y = x
    for i in range(int(n)):
        y = torch.cat([y, x + i], 0)
    return y


@program((X,), (torch.randn(5, 3),), dynamic=[{0: "n"}])
def list_of_rows(x):
    rows = []
    for i in range(x.size(0)):
        rows.append(x[i] * i)
    return torch.stack(rows)


@program((X,), (torch.randn(5, 3),), dynamic=[{0: "n"}])
def cat_of_rows(x):
    rows = []
    for i in range(x.size(0)):
        rows.append(x[i] + 1)
    return torch.cat(rows, 0)


@program((X,))
def loop_with_branch(x):
    for i in range(4):
        if i % 2 == 0:
            x = x + 1
        else:
            x = x * 2
    return x


@program(*SIGNS)
def branch_with_loop(x):
    if x.sum() > 0:
        for i in range(3):
            x = x + i
    else:
        for i in range(2):
            x = x - i
    return x


@program(*SIGNS)
def loop_with_tensor_branch(x):
    for i in range(4):
        if x.sum() > 0:
            x = x - 1
        else:
            x = x + 0.3 * i
    return x


@program((X,))
def accumulate_in_place(x):
    y = torch.zeros(2, 3)
    for i in range(3):
        y += x * i
    return y


@program((torch.rand(3, 4, 2),), (torch.rand(3, 6, 2),), dynamic=[{1: "n"}])
def sliced_in_loop(x):
    total = x[0].clone()
    for i in range(x.size(1)):
        total = total + torch.sum(x[0:i], dim=0)
    return total


@program((V,), (torch.randn(8),), dynamic=[{0: "n"}])
def running_sum(x):
    total = torch.zeros(1)
    for i in range(x.size(0)):
        total = total + x[i]
        if bool(total > 2.0):
            total = total * 0.5
    return total


@program((X, [1, 2, 3]), (X, []), export="each")
def loop_over_numbers(x, numbers: List[int]):
    for n in numbers:
        x = x + n
    return x


@program(([X, Y],), ([X],), export="each")
def loop_over_tensors(xs: List[Tensor]):
    out = torch.zeros(2, 3)
    for x in xs:
        out = out + x
    return out


@program((X,))
def enumerate_list(x):
    for i, k in enumerate([3, 5, 7]):
        x = x * i + k
    return x


@program((X,))
def enumerate_from(x):
    for i, k in enumerate([3.0, 5.0], 2):
        x = x * i + k
    return x


@program((X,))
def zip_lists(x):
    for a, b in zip([1, 2, 3], [4, 5]):
        x = x * a + b
    return x


@program((X,))
def reversed_list(x):
    for a in reversed([1, 2, 3]):
        x = x * 0.5 + a
    return x


@program((X,))
def loop_over_tuple(x):
    for k in (1, 2.5, 3):
        x = x * k
    return x


@program((X,))
def loop_over_tuple_with_break(x):
    for k in (1, 2, 3, 4):
        if k == 3:
            break
        x = x + k
    return x


@program((X, Y))
def loop_over_tensor_tuple(x, y):
    out = x
    for t in (x, y, x):
        out = out * t
    return out
