"""NumPy inside of one graph: arrays over tensors and arrays that are inputs, NumPy's own results and types, memory that is shared, and what ends the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "ufuncs": lambda a: np.sin(a) + np.maximum(a, 1) * 2 - np.float64(3),
    "operators": lambda a: (-a + 2.5) ** 2 // 3 % 5 / (a + 1),
    "comparisons": lambda a: (a > 1) & (a <= 3) | (a == 0),
    "reflected": lambda a: (1 / (a + 1), 3 - a, 2**a),
    "reductions": lambda a: (a.sum(axis=0), np.mean(a, axis=-1, keepdims=True), a.argmax(axis=1), np.std(a, axis=0, ddof=1)),
    "types": lambda a: (a.astype(np.int16).sum(axis=0), a.astype("float16") + 1, np.sqrt(a.astype(int))),
    "shapes": lambda a: (a.reshape(-1)[::-1] + 0, a.T @ a, np.expand_dims(a, 0) * 1, np.stack([a, a * 2]).shape, len(a), a.ndim, a.dtype),
    "several arrays": lambda a: (np.concatenate([a, a + 1], axis=1), np.where(a > 2, a, -1), np.einsum("ij,kj->ik", a, a)),
    "several results": lambda a: ([each * 2 for each in np.split(a, 2, axis=1)], np.divmod(a, 2), np.modf(a)[1]),
    "items": lambda a: (a[0] + 1, a[:, 1:] * 2, a[[0, 0]], a[a > 1] + 1, a[..., None].shape),
    "linear algebra": lambda a: (np.linalg.norm(a, axis=1), np.dot(a, a.T), np.linalg.inv(a @ a.T + np.eye(len(a)))),
    "lists": lambda a: np.add(a, [[1], [2], [3]]),
}


def same(found: Any, expected: Any) -> None:
    """Compare values, classes and types."""
    assert type(found) is type(expected)
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            same(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, rl.Tensor):
        assert found.dtype is expected.dtype and rl.equal(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize("backend", ["eager", None])
@pytest.mark.parametrize("name", PROGRAMS)
def test_arrays_over_tensors_and_as_inputs(name: str, backend: Any) -> None:
    program = PROGRAMS[name]
    options = {} if backend is None else {"backend": backend}
    of_arrays: Any = rl.compile(lambda a: program(a), fullgraph=name != "items", **options)
    of_tensors: Any = rl.compile(lambda x: program((x * 2).numpy()), fullgraph=name != "items", **options)
    for seed in range(9):
        given = np.random.RandomState(seed).uniform(0, 2, (3, 4))
        same(of_arrays(given.copy() * 2), program(given * 2))
        same(of_tensors(rl.tensor(given)), program(given * 2))


@pytest.mark.parametrize("dynamic", [False, True])
def test_sizes_that_change(dynamic: bool) -> None:
    def program(x: rl.Tensor) -> Any:
        a = (x + 1).numpy()
        return rl.from_numpy(np.cos(a)) * 2, a.shape, rl.tensor(a.sum(axis=0)), rl.as_tensor(a[1:] + 1)

    compiled = rl.compile(program, fullgraph=True, dynamic=dynamic, backend="eager")
    for size in (2, 3, 4, 3, 2):
        x = rl.arange(size * 2.0).view(size, 2)
        same(compiled(x), program(x))


def test_memory_stays_shared() -> None:
    def program(x: rl.Tensor, given: Any) -> Any:
        a = x.numpy()
        return a, a[1:], a.reshape(2, 2), rl.from_numpy(a), given, given[:1], np.asarray(given)

    compiled: Any = rl.compile(program, fullgraph=True, backend="eager")
    for _ in range(3):
        x, given = rl.arange(4.0), np.arange(3.0)
        a, rest, square, tensor, *others = compiled(x, given)
        x[1] = 7.0
        given[0] = 5.0
        assert a[1] == rest[0] == square[0, 1] == tensor[1].item() == 7
        assert others[0] is given and others[2] is given and others[1][0] == 5


def test_what_ends_the_graph_is_right() -> None:
    def scalars(x: rl.Tensor) -> Any:
        a = x.numpy()
        rest = a[1:]
        total = rest.sum()
        return rest * total, float(a[0]), type(total), [float(each) for each in rest], f"{a}"

    def writes(x: rl.Tensor) -> Any:
        a, b = x.numpy(), (x * 2).numpy()
        view = b[1:]
        x.add_(1)
        view[0] = 9
        b += a
        np.copyto(b[:1], 4)
        return a, b, view, x

    def choices(x: rl.Tensor) -> Any:
        a = x.numpy()
        return a * 2 if a.max() > 3 else -a

    def callbacks(x: rl.Tensor) -> Any:
        seen: list[float] = []

        def twice(row: Any) -> Any:
            seen.append(row[0])
            return row * 2

        return np.apply_along_axis(twice, 0, x.numpy()), seen

    def into(x: rl.Tensor) -> Any:
        a = x.numpy() * 1
        np.sin(a, out=a)
        return a, np.add.reduce(a), rl.add(x, rl.from_numpy(a)), a.tolist(), max(a), 3.0 in a

    for program in (scalars, writes, choices, callbacks, into):
        compiled: Any = rl.compile(program, backend="eager")
        for factor in (1.0, 2.0, 0.5, 1.0, 3.0):
            same(compiled(rl.arange(4.0) * factor), program(rl.arange(4.0) * factor))


def test_arrays_of_other_kinds() -> None:
    def program(given: Any) -> Any:
        return given * 2

    compiled: Any = rl.compile(program, backend="eager")
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    for each in (
        np.arange(3),
        np.arange(3.0)[::2],
        fixed,
        np.array([1, "a"], object),
        np.arange(3.0),
        np.ma.array([1.0, 2.0]).data,
        np.float32(2),
        np.arange(100.0),
        np.array(3.0),
    ):
        for _ in range(2):
            same(compiled(each), program(each))


def test_arrays_of_attributes_and_globals() -> None:
    class Holder:
        table = np.arange(3.0)

    holder = Holder()

    def program(x: rl.Tensor) -> Any:
        return np.exp(x.numpy()) * holder.table

    compiled: Any = rl.compile(program, backend="eager", fullgraph=True)
    for n in range(4):
        holder.table = holder.table + n
        holder.table[0] = n
        same(compiled(rl.ones(3)), program(rl.ones(3)))


def test_strides_are_guarded() -> None:
    compiled: Any = rl.compile(lambda x, a: (x.numpy().strides, a.strides, a + 1), backend="eager", fullgraph=True)
    x, a = rl.ones(2, 3), np.ones((2, 3))
    for one, other in ((x, a), (x.t().contiguous().t(), a), (x, a.T.copy().T), (x, a)):
        assert compiled(one, other)[:2] == (one.numpy().strides, other.strides)


def test_few_elements_of_inputs_are_guarded_where_they_are_needed() -> None:
    def program(x: rl.Tensor, a: Any) -> Any:
        return (
            x[a],
            x.reshape(tuple(a - a + 2)),
            x * int(a[0]),
            x * (a * 2).max().item(),
            [x + int(each) for each in a + 1],
            bool((a == 0).any()),
        )

    compiled: Any = rl.compile(program, backend="eager", fullgraph=True)
    given = np.array([0, 2])
    for values in ([0, 2], [1, 3], [0, 2], [3, 0]):
        given[:] = values
        same(compiled(rl.arange(4.0), given), program(rl.arange(4.0), given))


def test_writes_to_inputs() -> None:
    def program(a: Any) -> Any:
        part = a[:2]
        np.copyto(part, 4)
        np.put(a, [2], a[0] + 1)
        part += 1
        a[3:] = 9
        return part * 2

    compiled: Any = rl.compile(program, backend="eager")
    for n in range(4):
        ours, theirs = np.arange(4.0) + n, np.arange(4.0) + n
        same(compiled(ours), program(theirs))
        same(ours, theirs)


def test_tensors_over_views_share_their_memory() -> None:
    def program(x: rl.Tensor, a: Any) -> Any:
        computed = (x + 1).numpy() * 2
        for each in (a.T, computed[1:], computed):
            rl.from_numpy(each).mul_(2)
        return a, computed

    compiled: Any = rl.compile(program)
    for n in range(4):
        same(compiled(rl.arange(3.0) + n, np.arange(3.0)), program(rl.arange(3.0) + n, np.arange(3.0)))


def test_negative_strides() -> None:
    for program in (lambda x, a: rl.tensor(x.numpy()[::-1]), lambda x, a: rl.from_numpy(a)):
        compiled: Any = rl.compile(program, backend="eager")
        for _ in range(2):
            with pytest.raises(ValueError, match="negative"):
                compiled(rl.arange(3.0), np.arange(3.0)[::-1])
    reflected: Any = rl.compile(lambda a: a + a[::-1], backend="eager")
    for n in range(3):
        given = np.arange(3.0)[::-1] * n
        same(reflected(given), given + given[::-1])


def test_errors_of_numpy() -> None:
    compiled: Any = rl.compile(lambda x, i: np.take(x.numpy(), i.numpy()), backend="eager")
    for index in (1, 5, 2, 5):
        if index < 3:
            assert compiled(rl.arange(3.0), rl.tensor([index])).tolist() == [index]
        else:
            with pytest.raises(IndexError):
                compiled(rl.arange(3.0), rl.tensor([index]))


def test_inputs_are_no_constants() -> None:
    captures: list[Any] = []

    def backend(module: Any, inputs: Any) -> Any:
        captures.append(inputs)
        return module.forward

    def program(a: Any, x: rl.Tensor) -> Any:
        return np.exp(a)[1:] + len(a), rl.from_numpy(a * 2) + x

    compiled: Any = rl.compile(program, backend=backend, fullgraph=True)
    for n in range(12):
        given = np.arange(3.0) + n
        same(compiled(given, rl.ones(3)), program(given, rl.ones(3)))
        given[0] = 50 + n
        same(compiled(given, rl.ones(3)), program(given, rl.ones(3)))
    assert len(captures) == 1


def test_elements_of_an_input_that_changes() -> None:
    def program(a: Any, x: rl.Tensor) -> Any:
        return x * (2 if a[0] > 1 else 3), float(a[1]), 1.0 in a, bool((a == a).all()), [int(each) for each in a], str(a), a.tolist()

    compiled: Any = rl.compile(program, backend="eager")
    given = np.arange(3.0)
    for n in (0, 2, 1, 5, 0):
        given[:] = n, n + 1, n + 2
        same(compiled(given, rl.ones(1)), program(given, rl.ones(1)))
        same(compiled(given + 1, rl.ones(1)), program(given + 1, rl.ones(1)))
    single: Any = rl.compile(lambda a, x: x * float(a) if a else -x, backend="eager")
    value = np.array(1.0)
    for number in (1.0, 2.0, 0.0, 3.0):
        value[()] = number
        assert single(value, rl.ones(1)).item() == (number or -1.0)
