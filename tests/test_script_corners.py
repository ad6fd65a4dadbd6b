# ruff: noqa: UP006, UP007, UP035, UP045, F821  (scripts are written with the names of typing)
"""Corners of the language of scripts that programs of others have found: names of texts, messages, types of unions and of ``get``."""

from __future__ import annotations

import io
import math
import operator
import warnings
from collections import deque
from typing import Dict, List, Optional, Tuple, Union

import pytest

import rushlight as rl
from rushlight import jit


def refused(words: str, function):
    with pytest.raises(RuntimeError, match=words):
        jit.script(function)


def test_a_text_sees_the_names_of_those_who_give_it():
    def doubled(x):
        return x * 2

    class Pair:
        def __init__(self, first: int):
            self.first = first

    jit.script(Pair)
    unit = jit.CompilationUnit("def f(x, y: int):\n    return doubled(x) + Pair(y).first\n\ndef g(x):\n    return f(x, 3) + 1\n")
    assert unit.g(rl.ones(2)).tolist() == [6.0, 6.0]
    assert unit.find_function("doubled") is None


def test_sequences_are_lists():
    def total(x: List[int]) -> int:
        return sum(x)

    scripted = jit.script(total)
    assert [scripted(each) for each in (range(4), deque([1, 2]), (5,), rl.Size([2, 2]))] == [6, 3, 5, 4]
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        scripted({1: 2})


def test_unions_are_shown_in_one_order():
    def f(x: Union[int, float], y: Optional[Union[str, int]] = None) -> bool:
        return isinstance(x, int)

    scripted = jit.script(f)
    assert scripted(1) is True
    with pytest.raises(RuntimeError, match=r"Expected a member of Union\[float, int\] but instead found type str"):
        scripted("a")
    with pytest.raises(RuntimeError, match=r"Union\[int, NoneType, str\]"):
        scripted(1, [])


def test_a_value_that_may_not_be_there():
    def present(x: Dict[int, int], y: int) -> bool:
        return x.get(y) is not None

    def given(x: Dict[int, int], y: int) -> int:
        return x.get(y, 7)

    def wrong(x: Dict[int, int], y: int) -> int:
        return x.get(y)

    assert jit.script(present)({1: 2}, 1) and not jit.script(present)({1: 2}, 2)
    assert jit.script(given)({1: 2}, 3) == 7
    refused("is actually of type Optional", wrong)


def test_mistakes_are_found_when_a_program_is_compiled():
    def iterated(x: int):
        for each in x:
            print(each)

    def method(x):
        return x.unsqueeze

    def deleted(x):
        y = x
        del y
        return y

    def item(x: Tuple[int, int]):
        x[0] = 1

    def augmented(x: Tuple[int, int]):
        x[0] += 1

    def starred(x):
        (*y,) = (x, x)
        return y

    def added(x: Tuple[int, int]):
        return x + 1

    refused("'int' object is not iterable", iterated)
    refused("builtin cannot be used as a value", method)
    refused("undefined value y", deleted)
    refused("subscripted assignment", item)
    refused("does not support augmented assign", augmented)
    refused("A Starred expression may only appear on the lhs", starred)
    refused("Arguments for call are not valid", added)


def test_a_type_in_parentheses_after_the_arrow():
    unit = jit.CompilationUnit("def f(x, y):\n    # type: (int, int) -> (int)\n    return x + y\n")
    assert unit.f(2, 3) == 5


def test_types_of_graphs_are_asked_as_values():
    def f(x: List[int]) -> int:
        return x[0]

    kind = next(jit.script(f).graph.inputs()).type()
    assert (kind.annotation_str, str(kind)) == ("List[int]", "List[int]")


class Counter:
    def __init__(self, count: int):
        self.count = count

    @classmethod
    def doubled(cls, count: int):
        return cls(count * 2)


def test_class_methods():
    def f(x: int) -> int:
        made = Counter(x)
        return made.doubled(x).count + Counter.doubled(3).count

    jit.script(Counter)
    assert jit.script(f)(5) == 16


def test_schemas():
    def f(x, y: List[int], z: Optional[Dict[str, int]] = None) -> Tuple[rl.Tensor, int]:
        return x, y[0]

    assert str(jit.script(f).schema) == "f(Tensor x, int[] y, Dict(str, int)? z=None) -> ((Tensor, int))"


def test_what_a_module_says_is_scripted_in_its_place():
    class Plain(rl.nn.Module):
        def forward(self, x):
            return x + 1

    class Clever(rl.nn.Module):
        def forward(self, x, *rest, **more):
            return x + len(rest)

        def __prepare_scriptable__(self):
            return Plain()

    class Outer(rl.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Clever()

        def forward(self, x):
            return self.inner(x) * 2

    assert jit.script(Clever())(rl.ones(1)).tolist() == [2.0]
    outer = Outer()
    assert jit.script(outer)(rl.ones(1)).tolist() == [4.0] and isinstance(outer.inner, Clever)


def test_hooks_take_what_the_hook_before_returns():
    class Model(rl.nn.Module):
        def forward(self, x: int) -> Tuple[int]:
            return (x,)

    def opened(self, input: Tuple[int], output: Tuple[int]) -> int:
        return output[0] + 1

    def doubled(self, input: Tuple[int], output: int) -> int:
        return output * 2

    model = Model()
    model.register_forward_hook(opened)
    model.register_forward_hook(doubled)
    assert jit.script(model)(3) == 8


def test_lists_of_bools_take_ints_and_round_gives_a_float():
    def f(x: List[bool]) -> bool:
        return all(x)

    def g(x: int) -> float:
        return round(x)

    assert jit.script(f)([True, 1]) is True and jit.script(f)([0]) is False
    assert isinstance(jit.script(g)(2), float)


def test_declarations_of_overloads_have_no_body():
    with pytest.raises(RuntimeError, match="Only `pass` statement or `...` can be the body of overload declaration"):

        @jit._overload
        def declared(x: int) -> int:
            return x

    @jit._overload
    def documented(x: int) -> int:
        """Says what it does."""

    with pytest.warns(FutureWarning, match="TorchScript will now drop the function call"):

        @jit.ignore(drop_on_export=True)
        def dropped(x):
            return x


def test_one_element_stands_for_a_list_of_known_length():
    from rushlight.jit.annotations import BroadcastingList2, BroadcastingList3

    def total(x: BroadcastingList2[int], y: BroadcastingList3[float] = 1.0) -> float:
        return x[0] + x[1] + sum(y)

    def calls(x: int) -> float:
        return total(x) + total([x, 1], 0.0)

    scripted = jit.script(total)
    assert (scripted(4), scripted([1, 2], [1.0, 2.0, 3.0])) == (11.0, 9.0)
    assert jit.script(calls)(2) == 10.0
    assert str(scripted.schema).startswith("total(int[2] x, float[3] y=")


def test_names_of_branches_that_did_not_return():
    def f(x: int) -> int:
        if x:
            if x == 2:
                return 1
            else:
                if x == 3:
                    return 2
                else:
                    a = 2
        else:
            a = 4
        return a

    scripted = jit.script(f)
    assert [scripted(each) for each in range(5)] == [4, 2, 1, 2, 2]


def test_literals_with_less_indentation():
    def f() -> str:
        return """
less"""

    assert jit.script(f)() == "\nless"


def test_a_tuple_is_the_default_of_a_list():
    def f(x, dim: List[int] = (-2, -1)):
        return x.sum(dim)

    assert jit.script(f)(rl.ones(2, 3, 4)).tolist() == [12.0, 12.0]


def _several(x):
    return x + 1, x * 2, x


def test_traced_functions_have_the_types_that_their_graphs_give():
    traced = jit.trace(_several, rl.ones(2))

    class Holds(rl.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = jit.trace(rl.nn.Identity(), rl.ones(2))

        def forward(self, x):
            first, *rest = traced(x)
            return first + rest[0] + self.inner(x)

    assert rl.equal(jit.script(Holds())(rl.ones(2)), rl.full((2,), 5.0))

    def too_many(x):
        return traced(x, x, x)

    with pytest.raises(RuntimeError, match="Expected at most 1 arguments but found 3"):
        jit.script(too_many)


def test_what_pytorch_refuses_to_compile():
    def unpacks_a_tensor(a):
        c, d = a + a
        return c + d

    def returns_nothing() -> int | None:
        pass

    for function, says in ((unpacks_a_tensor, "Tensor cannot be used as a tuple"), (returns_nothing, "does not return along all paths")):
        with pytest.raises(RuntimeError, match=says):
            jit.script(function)


@jit.script
class Tally:
    def __init__(self):
        self.n = 1

    def __iadd__(self, k: int):
        self.n += k
        return self


def test_augmented_assignment_of_objects_and_results_by_type_comment():
    def counted(k: int) -> int:
        tally = Tally()
        tally += k
        return tally.n

    assert jit.script(counted)(4) == 5

    @jit.ignore
    def told(x):
        # type: (int) -> str
        return f"<{x}>"

    def asks(x: int) -> str:
        """Asks Python."""
        return told(x) + "!"

    assert jit.script(asks)(3) == "<3>!"

    class Documented(rl.nn.Module):
        def forward(self, x):
            """Twice."""
            return 2 * x

    assert jit.script(Documented()).forward.__doc__ == "Twice."


@jit.interface
class Transforms(rl.nn.Module):
    def forward(self, x: rl.Tensor) -> rl.Tensor:
        pass


class AddsOne(rl.nn.Module):
    def forward(self, x: rl.Tensor) -> rl.Tensor:
        return x + 1


def test_a_module_that_is_a_container_indexes_itself_by_a_computed_key():
    class Table(rl.nn.ModuleDict):
        def forward(self, x: rl.Tensor, key: str) -> rl.Tensor:
            chosen: Transforms = self[key]
            return chosen.forward(x)

    scripted = jit.script(Table({"one": AddsOne()}))
    stream = io.BytesIO()
    jit.save(scripted, stream)
    stream.seek(0)
    for each in (scripted, jit.load(stream)):
        assert rl.equal(each(rl.ones(2), "one"), rl.full((2,), 2.0))


def test_a_schema_has_arguments_and_results() -> None:
    @jit.script
    def f(
        x: rl.Tensor, d: Optional[Dict[str, List[Tuple[int, rl.Tensor]]]] = None, s: str = "ab", n: Union[int, rl.Tensor, None] = None
    ) -> Tuple[rl.Tensor, int]:
        return x, 1

    schema = f.schema
    assert (
        str(schema) == 'f(Tensor x, Dict(str, (int, Tensor)[])? d=None, str s="ab", Union(Tensor, int, NoneType) n=None) -> ((Tensor, int))'
    )
    assert schema.name == "f" and [each.name for each in schema.arguments] == ["x", "d", "s", "n"]
    assert [str(each.type) for each in schema.arguments] == [
        "Tensor",
        "Optional[Dict[str, List[Tuple[int, Tensor]]]]",
        "str",
        "Union[Tensor, int, NoneType]",
    ]
    assert [each.default_value for each in schema.arguments if each.has_default_value()] == [None, "ab", None]
    assert [str(each.type) for each in schema.returns] == ["Tuple[Tensor, int]"]
    assert schema.arguments[1].type.kind() == "OptionalType" and schema.arguments[1].type.getElementType().kind() == "DictType"


def test_an_object_says_what_is_scripted_in_its_place():
    class Adds:
        def __call__(self, *numbers):
            return sum(numbers)

        def __prepare_scriptable__(self):
            def added(a: int, b: int) -> int:
                return a + b

            return added

    assert jit.script(Adds())(1, 2) == 3

    def plain(a: int) -> int:
        return a + 1

    def decorated(*numbers):
        return plain(*numbers)

    decorated.__prepare_scriptable__ = lambda: plain

    def calls(a: int) -> int:
        return 2 * decorated(a)

    assert jit.script(decorated)(1) == 2 and jit.script(calls)(1) == 4


def test_the_kind_of_a_number_is_that_of_its_value():
    def kind(x):
        number = x.item()
        if isinstance(number, int):
            return 1
        return 2 if isinstance(number, float) else 3

    def doubled(x):
        number = x.item()
        return number * 2 if isinstance(number, (int, float)) else number

    scripted = jit.script(kind)
    assert [scripted(rl.ones((), dtype=each)) for each in (rl.int32, rl.float32, rl.complex64)] == [1, 2, 3]
    assert [jit.script(doubled)(rl.ones((), dtype=each)) for each in (rl.int32, rl.float32)] == [2, 2.0]


def test_truth_values_are_numbers_where_a_tensor_is_made_of_them():
    """As PyTorch's scripts have it; in Python the tensors are of the type bool."""

    def filled(x, b: bool):
        return (
            rl.full([1], True),
            rl.full([1], fill_value=b),
            rl.where(x, True, False),
            rl.where(x, True, x),
            rl.full([1], b, dtype=rl.bool),
        )

    made = jit.script(filled)(rl.zeros(1, dtype=rl.bool), True)
    assert [(each.dtype, each.tolist()) for each in made] == [
        (rl.int64, [1]), (rl.int64, [1]), (rl.int64, [0]), (rl.int64, [0]), (rl.bool, [True]),
    ]  # fmt: skip


def warns(x, n: int):
    warnings.warn("first")  # noqa: B028
    for i in range(n):
        warnings.warn("turn " + str(i))  # noqa: B028
    return x


def test_a_line_warns_once_in_a_call_and_says_where_it_is():
    scripted = jit.script(warns)

    def calls(x):
        return scripted(x, 3)

    first = warns.__code__.co_firstlineno
    for form in (lambda: scripted(rl.ones(1), 12), lambda: jit.script(calls)(rl.ones(1))):
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                form()
            assert [(str(each.message), each.filename, each.lineno - first) for each in caught] == [
                ("first", __file__, 1), ("turn 0", __file__, 3),
            ]  # fmt: skip
            assert {each.category for each in caught} == {UserWarning}


def test_an_index_is_the_number_itself():
    def picked(n: int, items: List[str]):
        return operator.index(n), items[operator.index(n)]

    file = io.BytesIO()
    jit.save(jit.script(picked), file, format="torchscript")
    file.seek(0)
    for form in (jit.script(picked), jit.load(file)):
        assert form(1, ["a", "b"]) == (1, "b")


def test_methods_and_functions_of_other_types_are_refused_when_the_program_is_compiled():
    def of_tuples(t: Tuple[int, int]):
        return t.upper()  # type: ignore[attr-defined]

    def of_numbers(s: str):
        return math.isnan(s)  # type: ignore[arg-type]

    def of_no_lists(s: List[int]):
        return math.sqrt(s)  # type: ignore[arg-type]

    def of_dicts(d: Dict[str, int], x):
        return d + x

    refused("an operator on values of types Dict\\[str, int\\] and Tensor", of_dicts)
    refused("'Tuple\\[int, int\\]' object has no attribute or method 'upper'", of_tuples)
    refused("Arguments for call are not valid", of_numbers)
    refused("Arguments for call are not valid", of_no_lists)


def test_functions_of_math_on_tensors_are_those_of_tensors():
    def computed(x, n: int):
        return math.sqrt(x), math.floor(x), math.pow(x, 2), math.isfinite(x), math.pow(n, math.floor(x)), math.sqrt(n)

    x = rl.tensor([4.0, 2.25], requires_grad=True)
    found = jit.script(computed)(x, 4)
    assert [each.tolist() for each in found[:5]] == [[2.0, 1.5], [4.0, 2.0], [16.0, 5.0625], [True, True], [256.0, 16.0]]
    assert found[5] == 2.0
    found[0].sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0.25, pytest.approx(1 / 3)]
