"""Programs that PyTorch's TorchScript accepts: methods of one Module, callables of Python, legacy constructors, named tensors of Modules."""

import cmath
import io
import types
import warnings
from collections import OrderedDict
from typing import Any

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight.compat.c_names import _get_tracing_state
from rushlight.compat.c_names.script_names import _jit_assert_is_instance
from rushlight.compat.trace_graph import _get_trace_graph
from rushlight.nn.common_types import _size_2_t
from rushlight.nn.modules.utils import _pair, _quadruple, _single, _triple


def loaded(made):
    stream = io.BytesIO()
    torch.jit.save(made, stream)
    stream.seek(0)
    return torch.jit.load(stream)


class Base(nn.Module):
    def forward(self, x: Tensor):
        return self.hidden(x) * 2


class Replaced(Base):
    def __init__(self):
        super().__init__()
        self.forward = types.MethodType(Base.forward, self)

    def hidden(self, x: Tensor):
        return x + 1

    def forward(self, x: Tensor):
        raise AssertionError("not this one")


def test_forward_of_one_module_is_the_one_that_is_scripted():
    assert int(torch.jit.script(Replaced())(torch.tensor(1))) == 4


class WithIgnored(nn.Module):
    @torch.jit.ignore
    def name(self):
        return "of the class"


def test_ignored_method_of_one_module():
    @torch.jit.ignore
    def name(self):
        return "of the object"

    module = WithIgnored()
    module.name = types.MethodType(name, module)
    assert torch.jit.script(module).name() == "of the object"


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("values", torch.ones(2))

    def forward(self):
        return self.values

    @torch.jit.export
    def __getstate__(self):
        return 5, self.training

    @torch.jit.export
    def __setstate__(self, state):
        self.values = torch.ones(2) + state[0]
        self.training = state[1]


def test_setstate_runs_when_a_file_is_read():
    scripted = torch.jit.script(Stateful().eval())
    assert scripted.values.tolist() == [1.0, 1.0]
    again = loaded(scripted)
    assert again.values.tolist() == [6.0, 6.0] and not again.training


class Walks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.ReLU()
        self.rest = nn.Sequential(nn.ReLU(), nn.Tanh())
        self.register_buffer("offset", torch.full((3,), 2.0))

    @torch.jit.export
    def method(self, x):
        names: list[str] = []
        for name, module in self.named_modules():
            names.append(name)
            x = module(x)
        for name, buffer in self.named_buffers():
            names.append(name)
            x = x + buffer[0]
        return names, x

    def forward(self, x):
        return self.rest.forward(x) + 2


def test_modules_and_buffers_by_name():
    scripted, x = torch.jit.script(Walks()), torch.ones(1)
    expected = Walks().method(x)
    for each in (scripted, loaded(scripted)):
        names, result = each.method(x)
        assert names == expected[0]
        assert torch.allclose(result, expected[1])
        assert torch.allclose(each(x), Walks()(x))


class Named:
    @torch.jit.ignore
    def __call__(self, *args) -> str:
        return type(args[0]).__name__


named = Named()


class PlainModule(nn.Module):
    def forward(self, x):
        return x * 3


plain_module = PlainModule()


def pooled(x) -> tuple[Tensor, Tensor]:
    return F.max_pool1d(x, 1, 1, return_indices=True)


def sizes(x: _size_2_t) -> int:
    return x[0] * 10 + x[1]


def ordered():
    made = OrderedDict([(1, 2), (2, 3), (1, 4)])
    return made


def legacy():
    return torch.LongTensor([3]), torch.DoubleTensor(2, 3).shape, torch.BoolTensor([2])


def sorted_down(values: list[int]):
    values.sort(True)
    return values


def logarithm(x: complex):
    return cmath.log(x)


def calls_python(x):
    return named(x), plain_module(x) + 1


def test_values():
    assert [each.tolist() for each in torch.jit.script(pooled)(torch.ones(1, 1, 2))] == [[[[1.0, 1.0]]], [[[0, 1]]]]
    assert (torch.jit.script(sizes)(4), torch.jit.script(sizes)((1, 2))) == (44, 12)
    assert torch.jit.script(ordered)() == {1: 4, 2: 3}
    made, shape, flag = torch.jit.script(legacy)()
    assert made.tolist() == [3] and shape == [2, 3] and flag.dtype == torch.bool
    assert torch.jit.script(sorted_down)([1, 3, 2]) == [3, 2, 1]
    assert torch.jit.script(logarithm)(1 + 2j) == cmath.log(1 + 2j)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own, of "is" with a literal
        unit = torch.jit.CompilationUnit("def same() -> tuple[bool, bool]:\n    return 0.5 is 0.5, 1 is not 2\n")
    assert unit.same() == (True, True)
    name, result = torch.jit.script(calls_python)(torch.ones(2))
    assert name == "Tensor" and result.tolist() == [4.0, 4.0]


class Either(nn.Module):
    def forward(self) -> Any:
        return "text" if self.training else {}


def test_ternary_of_any():
    scripted = torch.jit.script(Either())
    assert scripted() == "text" and scripted.eval()() == {}


def wrong_variance(x: list[int]):
    y: list[int | None] = x
    return y


def wrong_literal():
    b: int = [2, 3]
    return b


def wrong_range():
    for _ in range():
        pass


def deleted(x):
    a = x * 2
    del a
    return a  # noqa: F821


def exception_value():
    a = Exception()
    print(a)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            wrong_variance,
            r"Variable 'y' is annotated with type List\[Optional\[int\]\] but is being assigned to a value of type List\[int\]",
        ),
        (wrong_literal, "Expected an annotation of type List but got int"),
        (wrong_range, "range expected at least 1 arguments, got 0"),
        (deleted, "undefined value a"),
        (exception_value, "cannot be used as a value"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_refused(function, message):
    with pytest.raises(RuntimeError, match=message):
        torch.jit.script(function)


def test_isinstance_with_empty_containers_warns():
    with pytest.warns(UserWarning, match="inner type of a container is lost"):
        assert torch.jit.isinstance([], list[int])
    with pytest.raises(RuntimeError, match="must be a type or a tuple of types"):
        torch.jit.isinstance(2, [int])


class Halves(nn.Module):
    def forward(self, x: tuple[int]) -> tuple[int]:
        return x


class CallsHooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Halves()

    def forward(self, x: int):
        return self.inner((x,)) + 1


def test_hooks_change_the_type_of_a_call():
    def doubled(self, input: tuple[tuple[int]], output: tuple[int]) -> int:
        return output[0] * 2

    module = CallsHooked()
    module.inner.register_forward_hook(doubled)
    assert torch.jit.script(module)(4) == module(4) == 9


def test_hooks_of_one_name_are_refused():
    def first(self, input: tuple[tuple[int]]) -> None:
        pass

    def second(self, input: tuple[tuple[int]]) -> None:
        pass

    second.__name__ = "first"
    module = Halves()
    module.register_forward_pre_hook(first)
    module.register_forward_pre_hook(second)
    with pytest.raises(RuntimeError, match="has at least two different python definitions"):
        torch.jit.script(module)


def test_writes_are_seen_by_a_recorded_program():
    def program(x):
        x.add_(1)
        x[0] = 5
        return x * 2

    x = torch.zeros(2)
    _, result = _get_trace_graph(program, (x,))
    assert result.tolist() == [10.0, 2.0] and x.tolist() == [5.0, 1.0]


def warned(x):
    if bool(x < 2):
        warnings.warn("less than two")  # noqa: B028
    return x


def test_warnings_are_given_when_a_script_runs():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scripted = torch.jit.script(warned)
        assert not seen
        scripted(torch.tensor(3))
        assert not seen
        scripted(torch.tensor(1))
        scripted(torch.tensor(1))
    assert [str(each.message) for each in seen] == ["less than two"] * 2


class Appends(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = [1, 2]
        self.table = {"a": [1]}

    def forward(self) -> int:
        self.items.append(3)
        self.table["a"].append(4)
        return len(self.items) + len(self.table["a"])


def test_lists_of_a_scripted_module_are_its_own():
    module = Appends()
    scripted = torch.jit.script(module)
    assert (scripted(), scripted()) == (5, 7)
    assert module.items == [1, 2] and module.table == {"a": [1]}
    module.items.append(9)
    assert scripted.items == [1, 2, 3, 3]


def test_a_traced_module_of_others_is_refused():
    traced = torch.jit.trace(PlainModule(), torch.ones(2))

    def calls(x):
        return traced(x)

    with pytest.raises(RuntimeError, match="Cannot call a ScriptModule that is not a submodule of the caller"):
        torch.jit.script(calls)


def test_numbers_for_each_dimension():
    def sizes(k: int):
        return _single(k), _pair(k), _triple([k, k, 1]), _quadruple(k)

    assert torch.jit.script(sizes)(4) == ([4], [4, 4], [4, 4, 1], [4, 4, 4, 4])


def test_a_script_is_not_traced():
    def traced(x):
        if _get_tracing_state():
            return x + 1
        return x

    assert torch.jit.script(traced)(torch.ones(1)).item() == 1


def test_annotate_of_a_tensor_as_a_number():
    def as_float(x):
        return torch.jit.annotate(float, x)

    result = torch.jit.script(as_float)(torch.tensor(1.5))
    assert result == 1.5 and isinstance(result, float)


def test_comments_of_types_in_a_body_after_that_of_the_signature():
    def added(a, b):
        # type: (int, int) -> int
        # type: int
        return a + b

    assert str(torch.jit.script(added).schema) == "added(int a, int b) -> int"


def test_a_value_is_of_the_type_of_a_value_in_a_graph():
    def twice(x):
        return 2 * x

    kind = list(torch.jit.trace(twice, torch.ones(2)).graph.outputs())[0].type()
    _jit_assert_is_instance(torch.ones(3), kind)
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        _jit_assert_is_instance(3, kind)
