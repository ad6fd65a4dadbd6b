"""Arguments of graphs' calls by the names of parameters, types of arguments, and the types that scripts find for values."""

import typing

import pytest

import rushlight as torch
from rushlight import fx
from rushlight.compat import c_names
from rushlight.fx.experimental.normalize import NormalizeArgs, NormalizeOperators
from rushlight.fx.operator_schemas import (
    _torchscript_type_to_python_type,
    check_for_mutable_operation,
    create_type_hint,
    normalize_function,
    type_matches,
)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x):
        return torch.add(self.linear(x), 1) * 2 + torch.permute(x, (1, 0)).sum()


def test_calls_by_name():
    traced = fx.symbolic_trace(Net())
    x = torch.ones(2, 3)
    made = NormalizeArgs(traced).transform()
    assert torch.equal(made(x), traced(x))
    calls = {node.target: node for node in made.graph.nodes if node.op in ("call_function", "call_module")}
    assert calls["linear"].args == () and set(calls["linear"].kwargs) == {"input"}
    assert calls[torch.add].args == () and set(calls[torch.add].kwargs) >= {"input", "other", "alpha"}
    first = NormalizeArgs(traced, normalize_to_only_use_kwargs=False).transform()
    assert [len(node.args) for node in first.graph.nodes if node.target is torch.add] == [2]


def test_operators_of_python_are_functions():
    traced = fx.symbolic_trace(Net())
    made = NormalizeOperators(traced).transform()
    assert torch.mul in {node.target for node in made.graph.nodes} and torch.equal(made(torch.ones(2, 3)), traced(torch.ones(2, 3)))


def test_sizes_one_by_one_and_packets():
    found = normalize_function(torch.permute, (torch.ones(2, 3), (1, 0)), normalize_to_only_use_kwargs=True)
    assert found.kwargs["dims"] == (1, 0)
    x, y = torch.rand(1), torch.rand(4)
    for target in (torch.ops.aten.resize_as_, torch.ops.aten.resize_as_.default):
        found = normalize_function(target, (x,), {"the_template": y}, normalize_to_only_use_kwargs=True)
        assert found.kwargs["input"] is x and found.kwargs["the_template"] is y
    assert normalize_function(torch.add, (), {"nothing": 1}) is None


def test_types_match_as_overloads_are_chosen():
    ints, tensors = typing.List[int], typing.List[torch.Tensor]  # noqa: UP006
    matching = [
        (ints, int), (ints, create_type_hint((int, int))), (tensors, create_type_hint([torch.nn.Parameter, torch.Tensor])),
        (torch.Tensor, torch.nn.Parameter), (typing.Optional[ints], ints), (typing.Union[int, str], int), (int, bool),  # noqa: UP007, UP045
    ]  # fmt: skip
    assert all(type_matches(*each) for each in matching)
    assert not any(type_matches(*each) for each in [(int, float), (typing.Union[int, float], str), (tensors, ints), (float, int)])  # noqa: UP007
    assert create_type_hint([int, str]) == list[typing.Any] and create_type_hint(int) is int


def test_types_of_values():
    shown = {
        "Tuple[int, float]": (1, 2.0), "Dict[str, int]": {"a": 1}, "List[List[int]]": [[1]], "int": torch.float32, "Device": torch.device("cpu"),
        "NoneType": None, "complex": 1j,
    }  # fmt: skip
    for name, value in shown.items():
        found = c_names._jit_try_infer_type(value)
        assert found.success() and repr(found.type()) == name and found.reason() == ""
    reasons = {
        "must have consistent element type. Found int and str": [1, "a"], "List trace inputs must have elements": [],
        "Dictionary inputs must have entries": {}, "must have consistent type. Found int and str": {1: 2, "a": 3}, "value of type range": range(2),
    }  # fmt: skip
    for reason, value in reasons.items():
        found = c_names._jit_try_infer_type(value)
        assert not found.success() and reason in found.reason()
        with pytest.raises(RuntimeError):
            found.type()
    assert _torchscript_type_to_python_type(c_names._jit_try_infer_type({"a": [1]}).type()) == dict[str, list[int]]
    assert c_names.StringType.get().isSubtypeOf(c_names.StringType.get())


def test_writes_are_refused():
    with pytest.raises(RuntimeError, match="mutable operation"):
        check_for_mutable_operation(torch.ops.aten.add_.Tensor, (), {})
    check_for_mutable_operation(torch.add, (), {})


def test_limits_of_quantized_types():
    for kind, low, high, bits in ((torch.quint8, 0, 255, 8), (torch.qint8, -128, 127, 8), (torch.qint32, -(2**31), 2**31 - 1, 32)):
        limits = torch.iinfo(kind)
        assert (limits.min, limits.max, limits.bits) == (low, high, bits)
        with pytest.raises(NotImplementedError, match='"dtype" not implemented'):
            limits.dtype
