"""What random TorchScript programs found: each of these did something else than PyTorch's scripts do, or could not be saved."""
# ruff: noqa: UP006, UP007, UP035, UP045 - scripts are written as users write them

from __future__ import annotations

import io
import math
import zipfile
from enum import Enum
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

import pytest
from fuzz.run_script import archive_of, difference, run_script, shrunk
from fuzz.script_programs import script_program

import rushlight as torch
from rushlight import Tensor, jit


class Color(Enum):
    RED = 1
    GREEN = 2


def through_a_file(function: Any, **how: Any) -> Any:
    """A scripted function, saved and loaded."""
    file = io.BytesIO()
    jit.save(jit.script(function), file, **how)
    file.seek(0)
    return jit.load(file)


def forms(function: Any) -> list[Any]:
    """A function scripted, loaded, and loaded from PyTorch's format."""
    return [jit.script(function), through_a_file(function), through_a_file(function, format="torchscript")]


def mixed(n: int, x: float, items: List[float]) -> Tuple[float, float, float, float]:
    return max(0.001, 4), min(n, 7.5), sum(items), max(x, n)


def test_numbers_of_mixed_types_are_floats() -> None:
    for form in forms(mixed):
        found = form(3, 2.0, [])
        assert found == (4.0, 3.0, 0.0, 3.0)
        assert all(type(each) is float for each in found)


class Holder(torch.nn.Module):
    items: List[int]
    values: List[int]

    def __init__(self) -> None:
        super().__init__()
        self.items = [1, 2]
        self.values = [3]

    def forward(self, n: int) -> List[int]:
        made = list(self.items)
        made.append(n)
        more = list(self.values)
        more.append(n)
        return self.items + self.values + made


def test_copies_of_attributes_named_like_methods_of_dicts_stay_copies() -> None:
    for form in forms(Holder()):
        assert [form(5), form(6)] == [[1, 2, 3, 1, 2, 5], [1, 2, 3, 1, 2, 6]]


class Tally:
    def __init__(self) -> None:
        self.n = 0

    def add(self) -> int:
        self.n += 1
        return self.n


def evaluated() -> Tuple[List[Tuple[int, float]], List[Tuple[int, int]], int]:
    tally = Tally()
    pairs = list(zip([tally.add()], [1.5]))
    numbered = list(enumerate([tally.add()], tally.add()))
    return pairs, numbered, tally.n


def test_zip_and_enumerate_evaluate_their_arguments_once() -> None:
    assert jit.script(evaluated)() == ([(1, 1.5)], [(3, 2)], 3)


def paired(
    a: List[int], b: List[str], n: int
) -> Tuple[List[Tuple[int, str]], List[Tuple[int, str]], Dict[str, int], List[Tuple[int, int]]]:
    return list(zip(a, b)), list(enumerate(b)), dict(zip(b, a)), list(enumerate(a, n))


def test_lists_of_pairs_can_be_saved() -> None:
    for form in forms(paired):
        assert form([1, 2, 3], ["a", "b"], 2) == (
            [(1, "a"), (2, "b")],
            [(0, "a"), (1, "b")],
            {"a": 1, "b": 2},
            [(2, 1), (3, 2), (4, 3)],
        )


def sized(n: int) -> List[Tensor]:
    return [torch.ones(n).view(-1), torch.zeros(2), torch.arange(2).view(-1).expand(n, 2), torch.rand(n).reshape(n)]


def test_one_number_for_a_list_of_sizes_can_be_saved() -> None:
    for form in forms(sized):
        assert [list(each.shape) for each in form(3)] == [[3], [2], [3, 2], [3]]


def shown_sizes(x: Tensor) -> str:
    return str(x.shape) + f"{x.size()}" + f"{x.shape[1:]}"


def test_sizes_are_shown_as_lists() -> None:
    for form in forms(shown_sizes):
        assert form(torch.ones(2, 3)) == "[2, 3][2, 3][3]"


def own_sizes(x: Tensor) -> Tuple[List[int], List[int], List[int], List[int]]:
    first = x.shape
    second = first
    second.append(7)
    third = x.shape[1:]
    third[0] = 5
    third += [4]
    return first, third, x.size().copy(), x.shape


def test_sizes_are_lists_that_can_be_written_to() -> None:
    for form in forms(own_sizes):
        assert form(torch.ones(2, 3)) == ([2, 3, 7], [5, 4], [2, 3], [2, 3])


def of_lists(a: List[int], b: List[bool], c: List[List[int]], d: List[float]) -> List[Tensor]:
    return [torch.tensor(a), torch.tensor(b), torch.as_tensor(c), torch.tensor(d)]


def test_tensors_of_empty_lists_have_the_type_of_their_elements() -> None:
    for form in forms(of_lists):
        assert [each.dtype for each in form([], [], [], [])] == [torch.int64, torch.bool, torch.int64, torch.float32]


def either(x: Tensor, n: int, flag: bool) -> Tuple[bool, bool, bool]:
    return (x > 1) or (n > 2), flag and x, (x > 1) and (x > 2)


def test_and_or_of_tensors_and_others_is_a_bool() -> None:
    for form in forms(either):
        assert form(torch.tensor(2.0), 1, True) == (True, True, False)


def keyed(names: List[str], n: int) -> int:
    while n < 9:
        if n > 5:
            return len([each * 2 for each in range(3)])
        lengths = {each: len(each) for each in names}
        n += lengths["ab"]
    return n


def never(n: int) -> List[int]:
    for each in range(3):
        if isinstance(n, int):
            continue
        return [each]
    return [n]


def perhaps(name: Optional[str], n: int) -> Dict[int, str]:
    if name is not None and n > 2:
        return {1: name, n: name}
    return {2: "q"}


def chosen(n: int) -> Union[int, str]:
    for each in range(3):
        if each > n:
            return "x"
    return 1


def narrowed(a: Union[int, str], n: int) -> Union[int, str]:
    if isinstance(a, int):
        for each in range(n):
            a = each
    return a


def looked_up(key: Optional[str], table: Dict[str, int]) -> int:
    if key is not None:
        if key in table:
            return table[key] + table.get(key, 0)
        table[key] = 5
        return table.pop(key)
    return 0


def asked(n: int) -> bool:
    nothing = []
    return n in nothing


def unreadable(n: int) -> float:
    if n > 3:
        return float("Hello")
    return float("inf") + n


@pytest.mark.parametrize(
    ("function", "arguments", "wanted"),
    [
        (narrowed, (5, 2), 1),
        (narrowed, ("a", 2), "a"),
        (looked_up, ("b", {"b": 4}), 8),
        (looked_up, ("c", {"b": 4}), 5),
        (looked_up, (None, {"b": 4}), 0),
        (unreadable, (1,), float("inf")),
        (asked, (1,), False),
        (keyed, (["ab"], 2), 3),
        (keyed, (["ab", "c"], 9), 9),
        (never, (4,), [4]),
        (perhaps, ("a", 3), {1: "a", 3: "a"}),
        (perhaps, (None, 3), {2: "q"}),
        (chosen, (1,), "x"),
        (chosen, (5,), 1),
    ],
)
def test_archives_have_the_types_of_what_is_filled_later_or_never(function: Any, arguments: Any, wanted: Any) -> None:
    for form in forms(function):
        assert form(*arguments) == wanted


def test_types_in_archives_are_whole() -> None:
    assert "Any" not in jit.script(keyed).code
    assert "annotate(List[int], _3)" not in jit.script(never).code  # which is of no type, as nothing sets it


def named(c: Color, maybe: Optional[Color]) -> str:
    if maybe is not None:
        return maybe.name
    return c.name if c == Color.RED else "other"


def test_members_of_an_enumeration_are_arguments_of_a_loaded_program() -> None:
    for form in forms(named):
        assert (form(Color.RED, None), form(Color.GREEN, None), form(Color.RED, Color.GREEN)) == ("RED", "other", "GREEN")
    other = Enum("Color", {"RED": 7})
    with pytest.raises(RuntimeError, match="Enum<Color>"):
        through_a_file(named, format="torchscript")(other.RED, None)


def wrong_key(n: int) -> Dict[str, int]:
    table = {"a": n}
    table[n] = n
    return table


def test_a_key_of_another_type_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"Expected a value of type 'str' for argument 'idx' but instead found type 'int'[\s\S]*table\[n\]"
    ):
        jit.script(wrong_key)


@jit.ignore
def in_python(n: int) -> int:
    return n


def calls_python(n: int) -> int:
    return in_python(n) + 1


@pytest.mark.parametrize("how", [{}, {"format": "torchscript"}])
def test_calls_of_python_are_refused_in_the_same_words_by_both_formats(how: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="Could not export Python function call 'in_python'"):
        jit.save(jit.script(calls_python), str(tmp_path / "program.pt"), **how)


@pytest.mark.parametrize("seed", [100, 102, 105, 108, 110, 111, 114, 117])
def test_random_programs_do_the_same_in_every_form(seed: int) -> None:
    source = script_program(seed)
    assert source == script_program(seed)
    assert difference(torch, source, None) == ""


def test_a_program_that_differs_is_told_and_shrunk() -> None:
    source = script_program(116)
    assert archive_of(torch, source) is not None
    found = run_script(torch, source, "scripted")

    def lies(*_: Any) -> list[str]:
        return ["9 | [[]] | {} | "] * len(found)

    assert "instead of 9" in difference(torch, source, lies)
    assert len(shrunk(source, lambda text: "form: it differs" if "return" in text else "", most=40)) < len(source)


def test_items_of_sizes_of_one_of_several_results():
    def sizes(x):
        return x.sort()[0].shape[0], x.max(dim=0)[1].shape[-1]

    assert torch.jit.script(sizes)(torch.ones(2, 3)) == (2, 3)


def no_words(n: int) -> Tuple[int, bool, List[str]]:
    lengths = {word: len(word) for word in "".split().copy()}
    same = "".splitlines() == "".split()[::1]
    words = "".split()
    words.append("one")
    return len(lengths) + n, same, words


def test_empty_lists_of_constant_texts_have_a_type() -> None:
    """They are computed when the script is compiled; PyTorch takes an empty list without a type for one of tensors."""
    for form in forms(no_words):
        assert form(3) == (3, True, ["one"])
        assert form(3) == (3, True, ["one"])
    file = io.BytesIO()
    jit.save(jit.script(no_words), file, format="torchscript")
    with zipfile.ZipFile(file) as archive:
        code = next(archive.read(name).decode() for name in archive.namelist() if name.endswith("__torch__.py"))
    assert code.count("annotate(List[str], [])") == 4


def powers(x: float, y: float, n: int) -> Tuple[float, float, float, float, List[float]]:
    return x**y, pow(x, y), 10.0 ** (400 + n), n**n, [(-1.25) ** 0.5, 1.0]


def test_powers_of_numbers_are_those_of_c() -> None:
    """A root of a negative number is nan (Python's is complex), a power that is too large inf; one of ints is a float."""
    for form in forms(powers):
        found = form(-1.25, 0.5, 3)
        assert all(type(each) is float for each in found[:4])
        assert str(found) == "(nan, nan, inf, 27.0, [nan, 1.0])"
        assert form(2.0, 2.0, 2)[:2] == (4.0, 4.0)
        assert form(-2.0, 3.0, 2)[:2] == (-8.0, -8.0)
        with pytest.raises(RuntimeError, match="0.0 cannot be raised to a negative power"):
            form(0.0, -1.0, 2)
    graph = jit.freeze(jit.script(Powered()).eval())
    assert graph(torch.ones(2), 3).tolist() == [9.0, 9.0]
    file = io.BytesIO()
    torch.onnx.export(jit.script(Powered()), (torch.ones(2), 3), file, dynamo=False)


class Powered(torch.nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        return x * n**2 * x.shape[0] ** 0


def mathematics(x: float, n: int) -> List[float]:
    found: List[float] = []
    for _ in range(n):
        found = [
            math.sqrt(x),
            math.log(x),
            math.exp(-1000 * x),
            math.pow(x, 0.5),
            math.fmod(x, 0.0),
            math.gamma(x),
            math.log(0.0),
            math.sqrt(-1.0),
        ]
    return found


def test_functions_of_math_are_those_of_c() -> None:
    """Where Python's raise they give nan or inf: step by step, compiled to Python, and computed ahead."""
    for form in forms(mathematics):
        for turns in (1, 20, 20):
            assert str(form(-1.0, turns)) == "[nan, nan, inf, nan, nan, nan, -inf, nan]"
    assert jit.script(mathematics)(4.0, 1)[:2] == [2.0, math.log(4.0)]


def quotients(a: float, b: float, n: int, m: int) -> Tuple[float, float, float, float, float, float]:
    return a / b, a // b, a % b, n / m, n / b, 1.0 / 0.0


def test_quotients_by_zero_are_those_of_c() -> None:
    for form in forms(quotients):
        for _ in range(3):
            assert str(form(1.0, 0.0, 1, 0)) == "(inf, inf, nan, inf, inf, inf)"
            assert str(form(-1.0, 0.0, 0, 0)) == "(-inf, -inf, nan, nan, nan, inf)"
            assert str(form(7.5, -2.0, 7, 2)) == "(-3.75, -4.0, -0.5, 3.5, -3.5, inf)"


def hashes(n: int, y: float) -> Tuple[int, int, int, int, List[int], int]:
    h = 1
    for i in range(n):
        h = h * 6364136223846793005 + 1442695040888963407
        if i > 2:
            h -= i
    kept = [h]
    kept[0] *= h
    return h, int(y), h << 5, -(1 << (60 + n - n + 3)), kept, 9223372036854775807 + n


def test_integers_have_64_bits() -> None:
    for form in forms(hashes):
        for _ in range(3):
            assert form(10, 1e30) == (
                -889501709399482911, -9223372036854775808, 8429433446635650080, -9223372036854775808, [-7041029560879235135], -9223372036854775799,
            )  # fmt: skip
            assert form(0, 2.7)[:2] == (1, 2)
        with pytest.raises(RuntimeError, match="division|modulo"):
            jit.script(whole_quotient)(1, 0)


def whole_quotient(n: int, m: int) -> int:
    return n // m
