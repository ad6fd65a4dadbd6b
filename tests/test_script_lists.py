"""Lists whose length depends on the inputs: what programs do to them, exported and run in ONNX Runtime with several lengths."""
# ruff: noqa: UP006, UP035 - scripts are written as users write them

from __future__ import annotations

import warnings
from typing import Any, List

import numpy as np
import pytest

import rushlight as torch
from rushlight import Tensor, jit

pytest.importorskip("onnxruntime")
torch.manual_seed(5)
randn = torch.randn


def grown(x, n) -> List[Tensor]:
    out: List[Tensor] = []
    for i in range(int(n)):
        out.append(x * (i + 1))
    return out


def popped(x, n):
    items = grown(x, n)
    last = items.pop()
    first = items.pop(0)
    items.append(x)
    items.append(x * 2)
    second = items.pop(-2)
    return torch.stack(items), last, first, second, len(items)


def inserted(x, n):
    items = grown(x, n)
    items.insert(0, x * 10)
    items.insert(2, x * 20)
    items.insert(-1, x * 30)
    items.insert(100, x * 40)
    return torch.stack(items)


def set_one(x, n):
    items = grown(x, n)
    items[1] = x * 10
    items[-1] = x * 20
    items[int(n) // 2] = x * 30
    return torch.stack(items)


def deleted(x, n):
    items = grown(x, n)
    del items[1]
    del items[-1]
    return torch.stack(items + [x])


def turned(x, n):
    items = grown(x, n)
    kept = items.copy()
    also = list(items)
    items.reverse()
    also.append(x)
    return torch.stack(items), torch.stack(kept), torch.stack(also)


def cleared(x, n):
    items = grown(x, n)
    items.clear()
    items.append(x)
    return torch.stack(items), len(items)


def extended(x, n):
    items = grown(x, n)
    more = grown(x * 2, n)
    items.extend(more)
    items += [x * 9]
    items.extend(items)
    fresh = [x]
    fresh.extend(more)
    fresh += more
    return torch.stack(items), torch.stack(fresh), torch.stack([x * 5] + fresh)


def repeated(x, n):
    items = grown(x, n)
    return torch.stack(items * 2), len(items * 2)


def summed(x, n):
    items = grown(x, n)
    return sum(items, x * 0.5)


def walked(x, n):
    items = grown(x, n)
    total = x * 0
    for at, each in enumerate(items):
        total = total + each * at
    for one, other in zip(items, items[1:]):
        total = total + one * other
    for each in reversed(items):
        total = total * 0.5 + each
    doubled = [each * 2 for each in items]
    chosen = [each for each in items if bool(each.sum() > 4)]
    return total, torch.stack(doubled), len(chosen)


def in_a_branch(x, n):
    items = grown(x, n)
    if bool(x.sum() > 0):
        items.pop()
        items.insert(0, x * 7)
        items.reverse()
    else:
        items.clear()
        items.extend([x, x * 2])
    return torch.stack(items), len(items)


def chosen_list(x, n):
    items = grown(x, n)
    if bool(x.sum() > 0):
        other = items[1:]
    else:
        other = [x] + items
    if bool(x.sum() > 0):
        items.append(x * 3)
        third = items
    else:
        third = [x]
    return torch.stack(other), len(other), torch.stack(third), torch.stack(items)


def conditional_list(x, n):
    items = [x, x * 2, x * 3]
    other = items[:1] if bool(x.sum() > 0) else items
    return torch.stack(other), len(other)


def shortened(x, n):
    items = grown(x, n)
    while len(items) > 2:
        items.pop(0)
    return torch.stack(items)


def folded(x, n):
    items = grown(x, n)
    while len(items) > 1:
        first = items.pop(0)
        second = items.pop(0)
        items.append(first + second * 0.5)
    return items[0]


def whole_numbers(x, n):
    sizes: List[int] = []
    for i in range(int(n)):
        sizes.append(i * 2 + x.size(0))
    total = 0
    for each in sizes:
        total += each
    return torch.tensor(sizes), sum(sizes), max(sizes), min(sizes), sizes[-1], len(sizes), total, x * sizes[1]


def fractions(x, n):
    factors: List[float] = [0.5]
    for i in range(int(n)):
        factors.append(i * 0.25 + float(x.sum()))
    return torch.tensor(factors), sum(factors), x * factors[-1], len(factors)


def chosen_numbers(x, n):
    at: List[int] = []
    for i in range(int(n)):
        if i % 2 == 0:
            at.append(i)
    at.append(7)
    at.reverse()
    return torch.tensor(at), at[0], len(at)


PROGRAMS = [
    popped, inserted, set_one, deleted, turned, cleared, extended, repeated, summed, walked, in_a_branch, chosen_list, conditional_list, shortened, folded, whole_numbers,
    fractions, chosen_numbers,
]  # fmt: skip


def same(got: Any, want: Any) -> None:
    got, want = (each if isinstance(each, tuple) else (each,) for each in (got, want))
    assert len(got) == len(want)
    for one, other in zip(got, want):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("program", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
@pytest.mark.parametrize("opset", [13, 17])
def test_what_programs_do_to_lists(program: Any, opset: int) -> None:
    scripted = jit.script(program)
    exported = torch.onnx.export(scripted, (torch.ones(2), torch.tensor(4)), opset_version=opset)
    for count in (2, 3, 4, 7):
        for sign in (1, -1):
            args = (randn(2).abs() * sign, torch.tensor(count))
            same(scripted(*args), program(*args))
            same(exported.run(*args), program(*args))


def test_a_list_of_numbers_that_loops_of_a_known_length_make_is_known() -> None:
    def program(x):
        sizes: List[int] = []
        for i in range(2):
            sizes.append(i + 2)
        for _ in range(2):
            sizes = sizes + [1]
        return x.view(sizes)

    exported = torch.onnx.export(jit.script(program), (randn(6),), opset_version=17)
    x = randn(6)
    same(exported.run(x), program(x))


def test_what_such_a_list_can_not_do_is_refused() -> None:
    def as_a_shape(x, n):
        sizes: List[int] = []
        for _ in range(int(n)):
            sizes.append(1)
        return x.view(sizes)

    def of_strings(x, n):
        names: List[str] = []
        for _ in range(int(n)):
            names.append("a")
        return x * len(names)

    for program, message in ((as_a_shape, "length depends on the inputs.*view"), (of_strings, "tensors or numbers alone")):
        with pytest.raises(jit.CaptureError, match=message), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(jit.script(program), (randn(1), torch.tensor(2)), opset_version=17)


def parts_by_a_number(x, n):
    items = [x, x * 2, x * 3, x * 4]
    numbers = [1, 2, 3]
    k = int(n)
    return torch.stack(items[:k]), torch.stack(items[k:] + [x]), len(items[1:k]), torch.stack(items * k), sum(numbers[:k]), (x * k).shape[0]


def test_parts_of_a_list_by_a_number() -> None:
    exported = torch.onnx.export(jit.script(parts_by_a_number), (torch.ones(2), torch.tensor(2)), opset_version=17)
    for count in (1, 2, 3):
        args = (randn(2), torch.tensor(count))
        same(exported.run(*args), parts_by_a_number(*args))


def test_items_that_are_written_to_are_refused() -> None:
    def program(x, n):
        a = x + 1
        items = [x, x * 2][: int(n)] + [a]
        a += 1
        return torch.stack(items)

    def taken_out(x, n):
        a = x + 1
        items = [a] * int(n)
        first = items[0]
        first += 1
        return torch.stack(items), a

    for each in (program, taken_out):
        with pytest.raises(jit.CaptureError, match=r"clone\(\)"):
            torch.onnx.export(jit.script(each), (randn(2), torch.tensor(2)), opset_version=17)


def test_nothing_is_decided_by_texts_that_depend_on_the_inputs(capsys: Any) -> None:
    def said(x, n):
        text = "d" * int(n)
        if bool(x.sum() > 0):
            x = x * 1
            print(text)
        print(f"n is {int(n)}", text, "abc"[: int(n)].upper())
        assert int(n) < 100, "too large: " + str(int(n))
        if int(n) > 100:
            raise ValueError(f"bad {int(n)}")
        return x * int(n)

    def measured(x, n):
        return x * len("d" * int(n))

    def compared(x, n):
        return x if f"{int(n)}" == "2" else x * 2

    def found(x, n):
        return x if "abc"[int(n)] == "c" else x * 2

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        exported = torch.onnx.export(jit.script(said), (torch.ones(2), torch.tensor(2)), opset_version=17)
    assert "n is 2 dd AB" in capsys.readouterr().out
    assert any("an assertion about values" in str(each.message) for each in noted)
    same(exported.run(torch.ones(2), torch.tensor(5)), torch.ones(2) * 5)
    for program, message in ((measured, "len"), (compared, "eq"), (found, "eq")):
        with pytest.raises(jit.CaptureError, match=rf"{message}\(\) of a text that depends on the inputs"):
            torch.onnx.export(jit.script(program), (torch.ones(2), torch.tensor(2)), opset_version=17)


def test_sizes_are_added_to_lists_and_tuples():
    @jit.script
    def viewed(x):
        first = x.size()[:-1] + (2, -1)
        return x.view(first), x.reshape(x.shape[:1] + [2, -1]), [1] + x.size(), x.size() + x.shape, x.view((1,) + x.shape[1:] + [-1])

    x = torch.ones(4, 6, 2)
    found = viewed(x)
    assert [found[at].shape for at in (0, 1, 4)] == [(4, 6, 2, 1), (4, 2, 6), (1, 6, 2, 4)]
    assert found[2] == [1, 4, 6, 2] and found[3] == [4, 6, 2, 4, 6, 2]
