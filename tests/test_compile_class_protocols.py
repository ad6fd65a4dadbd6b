"""Compiled programs and the protocols of Python's classes: what native code of a builtin would run, and what guards must not run."""

from __future__ import annotations

import collections
import enum
import functools
from typing import Any

import pytest

import rushlight as torch
from rushlight.capture.compile.record.graph_breaks import Unsupported
from rushlight.testing.compiling import CompileCounter

LOG: list[Any] = []
COUNTS: collections.Counter[int] = collections.Counter()
COMPUTED: list[int] = []


class Logged(type):
    """A metaclass that notes each instance."""

    def __call__(cls, *args: Any) -> Any:
        LOG.append(cls.__name__)
        return super().__call__(*args)


class Tripled(metaclass=Logged):
    def __init__(self, t: Any) -> None:
        LOG.append("init")
        self.t = t * 3


class Ordered:
    """Compared by sums, and iterable."""

    def __init__(self, t: Any) -> None:
        self.t = t

    def __lt__(self, other: Ordered) -> bool:
        return bool(self.t.sum() < other.t.sum())

    def __gt__(self, other: Ordered) -> bool:
        return bool(self.t.sum() > other.t.sum())

    def __iter__(self) -> Any:
        return iter([self.t])

    def __add__(self, other: Any) -> Ordered:
        return Ordered(self.t + other.t)


class Defaults(dict):  # type: ignore[type-arg]
    """A dict that notes what is not there."""

    def __missing__(self, key: str) -> float:
        LOG.append(key)
        return 1.5


class Noted(dict):  # type: ignore[type-arg]
    """A dict that notes what is set."""

    def __setitem__(self, key: Any, value: Any) -> None:
        LOG.append(key)
        super().__setitem__(key, value)


class Named(list):  # type: ignore[type-arg]
    """A list with an attribute."""

    size = 0


@functools.cache
def computed(number: int) -> int:
    COMPUTED.append(number)
    return number * 2


def calls(function: Any, *numbers: int) -> list[Any]:
    """The results of a compiled function for numbers that become dynamic, as lists."""
    compiled = torch.compile(function, backend="eager")
    return [compiled(torch.ones(2), n).tolist() for n in numbers]


def test_a_counter_keeps_its_counts_when_its_keys_become_dynamic() -> None:
    def count(x: Any, n: int) -> Any:
        COUNTS[n] += 1
        COUNTS.update([n, 1])
        return x * COUNTS[n]

    COUNTS.clear()
    assert calls(count, 5, 0, 0) == [[2, 2], [2, 2], [4, 4]]
    assert COUNTS == {5: 2, 1: 3, 0: 4}


def test_numbers_in_containers_of_users_become_plain_without_their_methods() -> None:
    def keep(x: Any, n: int) -> Any:
        noted[n] = n + 1
        named = Named([n])
        named.size = n
        kept.append(named)
        return x * n

    noted, kept = Noted(), []  # type: ignore[var-annotated]
    LOG.clear()
    calls(keep, 5, 3, 4)
    assert LOG == [5, 3, 4]
    assert noted == {5: 6, 3: 4, 4: 5} and {type(each) for pair in noted.items() for each in pair} == {int}
    assert [(each, each.size, type(each.size)) for each in kept] == [([5], 5, int), ([3], 3, int), ([4], 4, int)]


def test_the_call_of_a_metaclass_happens_once() -> None:
    LOG.clear()
    assert calls(lambda x, n: Tripled(x).t, 1, 1, 1) == [[3, 3]] * 3
    assert LOG == ["Tripled", "init"] * 3


def test_a_guard_on_an_item_does_not_ask_for_what_is_missing() -> None:
    table = Defaults(a=2.0)
    made = collections.defaultdict(lambda: LOG.append("made") or 3.0, a=2.0)
    compiled = torch.compile(lambda x, by: x * by["a"], backend="eager")
    x = torch.ones(1)
    LOG.clear()
    for by in (table, made):
        assert compiled(x, by).item() == compiled(x, by).item() == 2.0
        del by["a"]
    assert compiled(x, table).item() == 1.5 and LOG == ["a"]
    assert compiled(x, made).item() == 3.0 and LOG == ["a", "made"]


def test_several_arguments_of_min_and_max_are_compared_not_iterated_over() -> None:
    assert calls(lambda x, n: min(Ordered(x * n), Ordered(x + n)).t, 1, 3, 2) == [[1, 1], [3, 3], [2, 2]]
    assert calls(lambda x, n: max(Ordered(x * n), Ordered(x + n)).t, 1, 3, 2) == [[2, 2], [4, 4], [3, 3]]


def test_the_first_value_of_reduce_is_not_iterated_over() -> None:
    def total(x: Any, n: int) -> Any:
        return functools.reduce(lambda a, b: a + b, [Ordered(x), Ordered(x)], Ordered(x * n)).t

    assert calls(total, 5, 1, 2) == [[7, 7], [3, 3], [4, 4]]


def test_the_text_of_an_error_has_the_number_of_the_call() -> None:
    def caught(x: Any, n: int) -> Any:
        try:
            raise KeyError(n)
        except KeyError as error:
            errors.append(error)
            LOG.append(f"{error!r} {error}")
        return x * n

    errors: list[KeyError] = []
    LOG.clear()
    calls(caught, 5, 3, 4)
    assert LOG == ["KeyError(5) 5", "KeyError(3) 3", "KeyError(4) 4"]
    assert [(each.args[0], type(each.args[0])) for each in errors] == [(5, int), (3, int), (4, int)]


def test_a_cached_function_is_given_plain_numbers() -> None:
    computed.cache_clear()
    COMPUTED.clear()
    assert calls(lambda x, n: x * computed(n % 2), 1, 4, 4, 5, 6) == [[2, 2], [0, 0], [0, 0], [2, 2], [0, 0]]
    assert COMPUTED == [1, 0] and {type(each) for each in COMPUTED} == {int}


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("maxsize", [None, 1])
@pytest.mark.parametrize("named", [False, True])
def test_a_cached_function_is_not_called_before_the_effects_that_come_first(typed: bool, maxsize: int | None, named: bool) -> None:
    def step(x: Any, n: int) -> Any:
        LOG.append(n)
        return x * (noted(number=n) if named else noted(n))

    @functools.lru_cache(maxsize=maxsize, typed=typed)
    def noted(number: int) -> int:
        return len(LOG)

    counter = CompileCounter()
    compiled = torch.compile(step, backend=counter)
    x = torch.ones(1)
    LOG.clear()
    assert [compiled(x, 3).item() for _ in range(3)] == [1, 1, 1] and counter.frame_count == 1
    noted.cache_clear()
    assert compiled(x, 3).item() == 4


def test_a_guard_on_a_cached_property_does_not_compute_it() -> None:
    class Sized:
        @functools.cached_property
        def size(self) -> int:
            LOG.append("computed")
            return 2

    def step(x: Any) -> Any:
        LOG.append("begun")
        return x * sized.size

    sized = Sized()
    compiled = torch.compile(step, backend="eager")
    LOG.clear()
    for _ in range(3):
        assert compiled(torch.ones(1)).item() == 2
    del sized.size
    assert compiled(torch.ones(1)).item() == 2
    assert LOG == ["begun", "computed", "begun", "begun", "begun", "computed"]


def test_a_dict_keeps_nothing_that_was_popped_under_a_number() -> None:
    def step(x: Any, n: int) -> Any:
        table[n] = n
        table.pop(n, None)
        return x * n

    table: dict[int, int] = {}
    assert calls(step, 5, 3, 4) == [[5, 5], [3, 3], [4, 4]]
    assert table == {}


def test_pow_with_a_modulus() -> None:
    assert calls(lambda x, n: x * (pow(n + 2, 2, 5) + pow(2, n, 7) + pow(n, n, 11) + pow(n + 1, 9, 13)), 1, 3, 4, 6) == [
        [sum((pow(n + 2, 2, 5), pow(2, n, 7), pow(n, n, 11), pow(n + 1, 9, 13)))] * 2 for n in (1, 3, 4, 6)
    ]


class Tagged(torch.Tensor):
    """A tensor with an attribute and a method of its class."""

    tag = 2

    def scaled(self) -> Any:
        return self * 3


def test_what_a_tensor_has_from_its_class_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = torch.compile(lambda x: (x.as_subclass(Tagged) * x.as_subclass(Tagged).tag).scaled(), backend="eager")
    given = torch.compile(lambda x: x * x.tag, backend="eager")
    x, y = torch.ones(1), torch.ones(1).as_subclass(Tagged)
    assert (compiled(x).item(), given(y).item()) == (6, 2)
    monkeypatch.setattr(Tagged, "tag", 5)
    assert (compiled(x).item(), given(y).item()) == (15, 5)
    monkeypatch.setattr(Tagged, "scaled", lambda self: self + 1)
    assert compiled(x).item() == 6


def grouped(x: Any) -> Any:
    try:
        raise ExceptionGroup("two", [ValueError(), KeyError()])
    except* ValueError:
        x = x + 1
    except* KeyError:
        x = x * 2
    return x


def test_a_function_that_is_not_interpreted_is_no_pure_function() -> None:
    def noted(x: Any) -> Any:
        LOG.append("begun")
        try:
            raise ExceptionGroup("one", [ValueError()])
        except* ValueError:
            LOG.append("caught")
        return x

    def step(x: Any) -> Any:
        values = [1]
        values.append(2)  # gives None, which is no value that the program has made
        values.clear()
        return noted(x * 2) + len(values)

    compiled = torch.compile(step, backend="eager")
    LOG.clear()
    for _ in range(3):
        assert compiled(torch.ones(1)).item() == 2
    assert LOG == ["begun", "caught"] * 3


def test_a_function_that_is_not_interpreted_runs_eagerly() -> None:
    assert torch.compile(grouped)(torch.ones(1)).item() == 4
    assert torch.compile(lambda x: grouped(x) + 1)(torch.ones(1)).item() == 5
    with pytest.raises(Unsupported, match=r"except\*"):
        torch.compile(grouped, fullgraph=True)(torch.ones(1))


def test_the_type_of_a_tensor_that_was_made_one_of_a_subclass() -> None:
    def step(x: Any) -> Any:
        t = (x * 1).as_subclass(Tagged)
        LOG.append(type(t).__name__)
        return t * 2

    compiled = torch.compile(step, backend="eager")
    LOG.clear()
    for size in (2, 3, 4):
        assert compiled(torch.ones(size)).tolist() == [2] * size
    with torch.no_grad():
        assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert LOG == ["Tagged"] * 4


class Mode(enum.Enum):
    PLAIN = "plain"
    DOUBLED = "doubled"


class Size(enum.Enum):
    SMALL = 1
    MIDDLE = 2
    LARGE = 3


class Parts(enum.Flag):
    HEAD = 1
    BODY = 2


def test_a_member_of_an_enum_that_is_looked_up_by_its_value_is_the_global_one() -> None:
    def scaled(x: torch.Tensor, mode: Any) -> tuple[torch.Tensor, Mode]:
        mode = Mode(mode)
        return (x + 1 if mode == Mode.PLAIN else x * 2), mode

    compiled = torch.compile(scaled, fullgraph=True)
    for mode in ("plain", "doubled", Mode.PLAIN, "plain"):
        result, found = compiled(torch.full((2,), 3.0), mode)
        assert found is Mode(mode)
        assert result.tolist() == ([4.0, 4.0] if found is Mode.PLAIN else [6.0, 6.0])


def test_an_enum_is_given_the_number_of_the_call() -> None:
    compiled = torch.compile(lambda x, number: (x * 10 if Size(number) is Size.LARGE else x, Size(number)), fullgraph=True)
    for number in (1, 2, 3, 1, 3):
        result, size = compiled(torch.ones(1), number)
        assert size is Size(number)
        assert result.item() == (10.0 if number == 3 else 1.0)


def test_flags_are_joined_in_one_graph() -> None:
    def chosen(x: torch.Tensor, number: int) -> tuple[torch.Tensor, Parts]:
        parts = Parts(number) | Parts.BODY
        return x + (10 if Parts.HEAD in parts else 0) + (~parts).value, parts

    compiled = torch.compile(chosen, fullgraph=True)
    for number in (1, 2, 3, 2, 1):
        result, parts = compiled(torch.zeros(1), number)
        expected, same = chosen(torch.zeros(1), number)
        assert result.item() == expected.item()
        assert parts is same


class Counting(type):
    """A metaclass that counts the instances of each class."""

    made = 0

    def __call__(cls, *args: Any) -> Any:
        instance = super().__call__(*args)
        instance.number = cls.made
        cls.made += 1
        return instance


class Numbered(metaclass=Counting):
    """It has neither ``__init__`` nor ``__new__``."""

    number: int


def test_a_metaclass_is_called_once_of_classes_without_init() -> None:
    compiled = torch.compile(lambda x: x + Numbered().number, backend="eager", fullgraph=True)
    assert [compiled(torch.zeros(1)).item() for _ in range(4)] == [0.0, 1.0, 2.0, 3.0] and Numbered.made == 4


class Ending:
    """Its end is seen."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __del__(self) -> None:
        LOG.append(self.name)


def test_a_program_that_makes_objects_with_a_destructor_is_not_captured() -> None:
    """What ``__del__`` does comes when the object goes, in every call."""

    def program(x: Any) -> Any:
        ending = Ending("end")
        y = x + 1
        del ending
        LOG.append("after")
        return y

    LOG.clear()
    compiled = torch.compile(program, backend="eager")
    with pytest.warns(UserWarning, match="an instance of Ending is made, whose __del__ runs when it goes"):
        compiled(torch.ones(1))
    for _ in range(2):
        compiled(torch.ones(1))
    assert LOG == ["end", "after"] * 3
    with pytest.raises(Unsupported, match="an instance of Ending"):
        torch.compile(program, fullgraph=True)(torch.ones(1))
