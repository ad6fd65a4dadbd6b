"""The steps that scripts are first run as: the same results as Python's and as the graph's, which is made of them."""

from __future__ import annotations

import gc
import weakref

import pytest
from script_inputs import kind_of

import rushlight as torch
from rushlight import jit


def long_loop(x, n: int):
    scale = x.sum()
    total = x
    for i in range(n):
        part = x * i
        for k in range(3):
            if k == 1:
                continue
            total = total + part * scale
    return total, n


def nested_breaks(x, n: int):
    found = -1
    for i in range(n):
        j = 0
        while True:
            if j > i:
                break
            if i * j == 6:
                found = i
                break
            j += 1
        if found >= 0:
            break
    return x + found, found


def early_returns(x, n: int):
    if n < 1:
        return x, 0
    elif n < 2:
        x = x + 1
    else:
        if n == 3:
            return x * 3, 3
        x = x - 1
    for i in range(n):
        if i == 5:
            return x * i, i
        x = x + i
    return x, n


def other_branch_leaves(x, n: int):
    total = x
    for i in range(n):
        if i % 3 == 0:
            if i == 6:
                continue
            total = total + 1
        else:
            if i > 7:
                break
            continue
        total = total * 2
    return total, n


def first_may_leave_second_does(x, n: int):
    if n > 2:
        if n > 4:
            return x * 4, 4
        x = x + 2
    else:
        return x - 2, 2
    x = x * 3
    return x, n


def without_gradients(x, n: int):
    y = x * 2
    with torch.no_grad():
        z = y + x
        for _ in range(n):
            z = z + y
    return z - y, n


def raises_in_between(x, n: int):
    if n > 50:
        raise ValueError("too many")
    else:
        y = x + n
    if n == 9:
        raise RuntimeError("nine")
    return y * 2, n


def used_list(x, n: int):
    items = [n, 1, 2]
    items.append(3)
    rest = [n, 4, 5]
    first, *more = rest
    return x + len(items) + first, len(more)


def nothing_returned(x, n: int):
    for i in range(n):
        if i > 1:
            break
        x += 1


PROGRAMS = [
    long_loop, nested_breaks, early_returns, other_branch_leaves, first_may_leave_second_does, without_gradients, raises_in_between, used_list,
    nothing_returned,
]  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 6, 9, 12])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda each: each.__name__)
def test_steps_and_graph_give_what_python_gives(function, n: int) -> None:
    def outcome(run):
        x = torch.arange(3.0)
        try:
            result = run(x, n)
        except Exception as error:
            return kind_of(error), str(error.__cause__ if error.__cause__ is not None else error)
        return (None if result is None else (result[0].tolist(), result[1])), x.tolist()

    scripted = jit.script(fresh(function))
    want = outcome(function)
    assert scripted._program._draft is not None
    assert outcome(scripted) == want  # the steps
    assert scripted._program._draft is not None
    assert outcome(scripted) == want  # the graph, compiled
    assert scripted._program._draft is None
    scripted.graph.lint()


def fresh(function):
    """A function of its own, which is scripted anew."""
    return type(function)(
        function.__code__.replace(co_name=function.__name__), function.__globals__, function.__name__, function.__defaults__
    )


def test_memory_is_free_at_once() -> None:
    def run(x, n: int):
        for _ in range(n):
            if n > 2:
                break
            x = x + 1
        return x

    scripted = jit.script(run)
    gc.collect()
    gc.disable()
    try:
        result = weakref.ref(scripted(torch.ones(2), 2))
        assert result() is None
    finally:
        gc.enable()


def test_an_error_in_a_compiled_body_of_the_first_call_says_where() -> None:
    @jit.script
    def run(x, n: int):
        for i in range(n):
            x = x + 1
            if i == 8:
                x = x.reshape(7)
        return x

    with pytest.raises(RuntimeError) as caught:
        run(torch.ones(2), 10)
    assert str(caught.value).count("x = x.reshape(7)") == 1


def test_bodies_take_what_they_use_as_inputs() -> None:
    @jit.script
    def run(x, n: int = 3):
        y = x + 1
        for i in range(n):
            if i > 0:
                y = y * x
        return y

    (node,) = [each for each in run.graph.nodes if each.bodies]
    (body,) = node.bodies.values()
    assert [each.target for each in body.nodes if each.op == "placeholder"] == ["i", "y", "x"]
    assert not any(each.args for each in body.nodes if each.op == "placeholder")
    run.graph.lint()
    assert run(torch.tensor([2.0])).tolist() == [12.0]
