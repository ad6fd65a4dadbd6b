"""``__torch_function__``: of objects that are no tensors, of subclasses, and of modes.  What is expected is what PyTorch 2.13 does."""

from __future__ import annotations

import gc
import inspect
import operator
from collections.abc import Mapping

import pytest

import rushlight as torch
from rushlight import overrides
from rushlight.core.declare import MISSING
from rushlight.core.overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from rushlight.core.state import flags
from rushlight.nn import functional as F

calls: list[tuple] = []


class Duck:
    """No tensor, but answers for functions."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        calls.append((overrides.resolve_name(func), types, args, kwargs))
        return -1


class Logged(torch.Tensor):
    """A subclass that notes the functions called on it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        calls.append((overrides.resolve_name(func), types, args, kwargs))
        return super().__torch_function__(func, types, args, kwargs or {})


class Note(overrides.TorchFunctionMode):
    """A mode that notes."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        calls.append((overrides.resolve_name(func) or func.__name__, types, args, kwargs))
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def fresh():
    calls.clear()


d = Duck()
x = torch.ones(2, 2)
FUNCTIONS = {
    "add": lambda: torch.add(d, x), "add, other": lambda: torch.add(x, d), "sum": lambda: torch.sum(d, dim=1),
    "method with dim": lambda: x.sum(dim=d), "view": lambda: x.view(d, -1), "zeros": lambda: torch.zeros(d),
    "zeros of several": lambda: torch.zeros(2, d), "cat": lambda: torch.cat([x, d]), "stack": lambda: torch.stack([x, d]),
    "linear": lambda: F.linear(x, d), "relu": lambda: F.relu(d), "dropout": lambda: F.dropout(d, p=0.5),
    "layer_norm": lambda: F.layer_norm(d, (2,)), "cross_entropy": lambda: F.cross_entropy(x, d), "numel": lambda: torch.numel(d),
    "out": lambda: torch.add(x, x, out=d), "einsum": lambda: torch.einsum("ij,jk", x, d), "einsum of one": lambda: torch.einsum("ii", d),
    "is_floating_point": lambda: torch.is_floating_point(d), "split": lambda: torch.split(d, 1), "full": lambda: torch.full((2,), d),
    "where": lambda: torch.where(d), "allclose": lambda: torch.allclose(x, d), "equal": lambda: torch.equal(x, d),
    "copy_": lambda: x.copy_(d), "result_type": lambda: torch.result_type(d, 1), "linalg": lambda: torch.linalg.inv(d),
    "fft": lambda: torch.fft.fft(d), "special": lambda: torch.special.erf(d), "conv2d": lambda: F.conv2d(d, x),
    "index": lambda: x[d], "index in a tuple": lambda: x[0, d], "matmul": lambda: torch.matmul(x, d), "svd": lambda: torch.linalg.svd(d),
    "type_as": lambda: x.clamp(d), "max": lambda: torch.max(d), "norm": lambda: torch.norm(d), "softmax": lambda: F.softmax(d, -1),
    "embedding": lambda: F.embedding(d, x), "attention": lambda: F.scaled_dot_product_attention(x, d, x), "add_": lambda: x.add_(d),
    "sort": lambda: torch.sort(d), "addmm": lambda: torch.addmm(x, x, d), "lerp": lambda: torch.lerp(x, x, d),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_objects_that_are_no_tensors_are_asked(name):
    assert FUNCTIONS[name]() == -1
    assert len(calls) == 1 and calls[0][1] == (Duck,)


OPERATORS = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift matmul eq ne lt le gt ge iadd isub imul itruediv".split()


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_ask_either_operand(name):
    function = getattr(operator, name)
    assert function(x.clone(), d) == -1
    assert function(d, x) == -1
    assert len(calls) == 2


def test_arguments_arrive_as_they_were_given():
    torch.sum(d, dim=1)
    torch.sum(d, 1)
    torch.sum(input=d, dim=1, keepdim=False)
    torch.add(x, d, alpha=2)
    assert [each[2:] for each in calls] == [
        ((d,), {"dim": 1}), ((d, 1), {}), ((), {"input": d, "dim": 1, "keepdim": False}), ((x, d), {"alpha": 2}),
    ]  # fmt: skip


def test_subclasses_are_asked_before_their_bases_and_the_first_before_the_second():
    order = []

    class First:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented

    class Second(First):
        pass

    class Third(First):
        pass

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.cat'; all __torch_function__ handlers"):
        torch.cat([First(), Third(), Second(), Third()])
    assert order == ["Third", "Second", "First"]


def test_results_of_a_subclass_are_of_the_subclass():
    class Plain(torch.Tensor):
        pass

    p = torch.ones(2, 2).as_subclass(Plain)
    assert type(p + 1) is Plain and type(p.sum()) is Plain and type(p[0]) is Plain and type(p.T) is Plain
    assert all(type(each) is Plain for each in torch.split(p, 1))
    assert type(torch.sort(p).values) is Plain
    assert type(F.gelu(p)) is Plain and type(p.to(torch.float64)) is Plain and type(p.float()) is Plain
    with DisableTorchFunctionSubclass():
        assert type(p + 1) is torch.Tensor
    assert type(torch.nn.Parameter(torch.ones(2)) + 1) is torch.Tensor
    assert repr(p.sum()) == "Plain(4.)"
    p = p.clone().requires_grad_()
    (p * 2).sum().backward()
    assert p.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_properties_and_methods_of_a_subclass_ask():
    s = torch.ones(2, 2).as_subclass(Logged)
    s.shape, s.dtype, s.size(), s.grad, s.T, len(s), s.numel(), s.tolist(), s.is_leaf
    assert [each[0].removeprefix("torch.Tensor.") for each in calls] == [
        "shape.__get__", "dtype.__get__", "size", "grad.__get__", "T.__get__", "__len__", "numel", "tolist", "is_leaf.__get__",
    ]  # fmt: skip
    calls.clear()
    s.requires_grad = True
    assert calls[0][0] == "torch.Tensor.requires_grad.__set__" and torch.Tensor.requires_grad.__get__(s)


def test_tensors_of_subclasses_count_only_while_they_live():
    gc.collect()
    before = flags.special, flags.overrides
    s = torch.ones(2).as_subclass(Logged)
    assert (flags.special, flags.overrides) == (before[0] + 1, before[1] + 1)
    del s
    calls.clear()
    gc.collect()
    assert (flags.special, flags.overrides) == before


def test_a_mode_sees_functions_methods_properties_and_factories():
    with Note():
        y = torch.ones(2)
        y.shape, y.to(torch.float64), torch.tensor([1.0]), y + 1, y.size(), y.sum(dim=0)
        torch.zeros(2, dtype=torch.int64), torch.nn.init.uniform_(y), F.gelu(y)
    names = [each[0].removeprefix("torch.") for each in calls]
    assert names[:8] == ["ones", "Tensor.shape.__get__", "Tensor.to", "tensor", "add", "Tensor.size", "sum", "zeros"]
    assert names[8] == "uniform_" and names[-1] == "nn.functional.gelu"
    assert calls[6][3] == {"dim": 0} and calls[7][3] == {"dtype": torch.int64}
    calls.clear()
    y + y.shape[0]
    assert not calls and torch.ones(2).shape == (2,)


def test_modes_nest_and_are_off_in_their_handlers():
    order = []

    class Named(overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            torch.ones(1)
            return func(*args, **(kwargs or {}))

    with Named("a"), Named("b"):
        torch.neg(x)
    assert order == ["b", "a", "a"]  # ``ones`` inside of b is seen by a, too
    with Named("c"), DisableTorchFunction():
        torch.neg(x)
    with Named("d"), DisableTorchFunctionSubclass():
        torch.neg(x)
    assert order[3:] == ["d"]


def test_a_compiled_function_runs_eagerly_under_a_mode():
    compiled = torch.compile(lambda a: torch.neg(a) + 1)
    compiled(x)
    with Note():
        compiled(x)
    assert [each[0] for each in calls] == ["torch.neg", "torch.add"]


def test_functions_of_ones_own():
    def area(a, b=1):
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(area, (a, b), a, b=b)
        return 3

    assert area(x) == 3 and area(d) == -1 and area(x, d) == -1
    assert calls[0][2:] == ((d,), {"b": 1})
    with Note():
        assert overrides.has_torch_function_unary(x) and overrides.has_torch_function_variadic(x, 1) and area(x) == 3
    assert not overrides.has_torch_function_unary(x) and overrides.has_torch_function_unary(d)

    @overrides.wrap_torch_function(lambda a: (a,))
    def volume(a):
        return 4

    assert volume(x) == 4 and volume(d) == -1
    with pytest.raises(TypeError, match="no implementation found"):
        overrides.handle_torch_function(area, (x,), x)


def test_functions_about_modes_are_ignored():
    ignored = overrides.get_ignored_functions()
    for name in (
        "is_inference_mode_enabled is_autocast_enabled set_autocast_dtype are_deterministic_algorithms_enabled no_grad device finfo".split()
    ):
        assert getattr(torch, name) in ignored, name
    asked = {each for functions in overrides.get_overridable_functions().values() for each in functions}
    assert not ignored & asked and torch.numel not in ignored


def test_what_overrides_lists():
    functions = overrides.get_overridable_functions()
    assert torch.add in functions[torch] and F.relu in functions[F] and torch.linalg.inv in functions[torch.linalg]
    assert torch.Tensor.size in functions[torch.Tensor] and functions[torch.Tensor.shape] == [torch.Tensor.shape.__get__]
    ignored = overrides.get_ignored_functions()
    assert torch.tensor in ignored and torch.Tensor.new_zeros in ignored and torch.add not in ignored
    assert not ignored & {each for group in functions.values() for each in group}
    testing = overrides.get_testing_overrides()
    assert testing[torch.add](x, 1, alpha=2) == -1 and len(testing) > 800
    assert overrides.resolve_name(torch.add) == "torch.add" and overrides.resolve_name(F.relu) == "torch.nn.functional.relu"
    assert overrides.resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__" and overrides.resolve_name(len) is None
    assert overrides.is_tensor_method_or_property(torch.Tensor.size) and not overrides.is_tensor_method_or_property(torch.cat)
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__) and overrides.is_tensor_like(d)
    assert not overrides.is_tensor_like(3) and torch.Tensor.grad.__get__ in overrides.get_default_nowrap_functions()


def test_a_handler_may_ask_again():
    class Again(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.exp:
                with DisableTorchFunctionSubclass(), overrides.enable_reentrant_dispatch():
                    return torch.neg(args[0])
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    torch.exp(torch.ones(1).as_subclass(Again))
    assert calls == ["neg"]


def required(function):
    """How many positional arguments a function of Python must be given; one where it has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    return sum(each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters)


def test_every_overridable_function_asks_an_object_in_its_first_place():
    missing = []
    for group, functions in overrides.get_overridable_functions().items():
        if group is torch.Tensor or isinstance(group, property):
            continue
        for function in functions:
            calls.clear()
            op = getattr(function, "op", None)
            count = sum(p.default is MISSING and not p.keyword_only and not p.variadic for p in op.parameters) if op else required(function)
            if op and op.tensor_positions == ():
                continue
            given = [d] * max(count, 1)
            kinds = dict(op.tensor_positions) if op else {}
            given = [[d] if kinds.get(i) == "tensors" else each for i, each in enumerate(given)]
            if op and any(p.variadic and p.kind == "value" for p in op.parameters):
                given.append(0)
            if op and op.name == "einsum":
                given = ["i", d]
            named = {p.name: 1 for p in op.parameters if p.keyword_only and p.default is MISSING} if op else {}
            try:
                if function(*given, **named) != -1 or len(calls) != 1:
                    missing.append(overrides.resolve_name(function))
            except Exception as error:
                missing.append(f"{overrides.resolve_name(function)}: {error!r:.80}")
    assert not missing


def test_a_leaf_as_a_subclass_is_no_leaf_of_its_own() -> None:
    class Other(torch.Tensor):
        pass

    x = torch.ones(3, requires_grad=True)
    made = x.as_subclass(Other)
    assert type(made) is Other and not made.is_leaf and made.requires_grad
    (gradient,) = torch.autograd.grad((made * 2).as_subclass(torch.Tensor).sum(), x)
    assert gradient.tolist() == [2, 2, 2]
    jacobian = torch.autograd.functional.jacobian(lambda p: p.as_subclass(Other) * 3, torch.ones(2))
    assert jacobian.tolist() == [[3, 0], [0, 3]]


class Redispatching(torch.Tensor):
    """A tensor that lists the functions it is asked for, and runs them."""

    log: list[str] = []

    @classmethod
    def __torch_function__(cls, func, types, args, kwargs=None):  # type: ignore[no-untyped-def]
        cls.log.append(func.__name__)
        return torch.overrides.redispatch_function(func, types, args, kwargs)


def scaled_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if torch.overrides.has_torch_function((a, b)):
        return torch.overrides.handle_torch_function(scaled_product, (a, b), a, b)
    return a * b + 1


def test_redispatch_function_skips_one_level() -> None:
    Redispatching.log.clear()
    x, y = torch.tensor([3.0]).as_subclass(Redispatching), torch.tensor([4.0]).as_subclass(Redispatching)
    assert type(scaled_product(x, y)) is torch.Tensor
    assert Redispatching.log == ["scaled_product", "mul"]
    Redispatching.log.clear()
    x.requires_grad_()
    assert Redispatching.log == ["requires_grad_"]
    assert not torch.overrides.redispatch.pending


def test_redispatch_function_within_a_mode() -> None:
    class Mode(torch.overrides.TorchFunctionMode):
        def __init__(self) -> None:
            self.log: list[str] = []

        def __torch_function__(self, func, types, args, kwargs=None):  # type: ignore[no-untyped-def]
            self.log.append(func.__name__)
            with self:
                return torch.overrides.redispatch_function(func, types, args, kwargs)

    x = torch.ones(1)
    with Mode() as mode:
        result = scaled_product(x, x)
    assert result.item() == 2
    assert mode.log == ["scaled_product", "mul", "add"]


class Shown(torch.Tensor):
    """A wrapper that shows what it wraps."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor, requires_grad: bool = False) -> Shown:
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, requires_grad=requires_grad)

    def __init__(self, inner: torch.Tensor, requires_grad: bool = False) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        return super().__repr__(tensor_contents=f"inner={self.inner}")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*[each.inner if isinstance(each, cls) else each for each in args], **(kwargs or {}))
        return cls(result)


def test_what_a_subclass_shows_of_itself() -> None:
    assert repr(Shown(torch.ones(2))) == "Shown(inner=tensor([1., 1.]))"
    assert repr(Shown(torch.ones(1, dtype=torch.float64))) == "Shown(inner=tensor([1.], dtype=torch.float64), dtype=torch.float64)"
    assert repr(torch.nn.Parameter(Shown(torch.ones(2)))) == "Parameter(Shown(inner=tensor([1., 1.]), requires_grad=True))"
    assert torch.ones(2).__repr__(tensor_contents="contents") == "tensor(contents)"
    assert torch.ones(2, device="meta").__repr__(tensor_contents="contents") == "tensor(contents, device='meta', size=(2,))"


def test_the_variables_of_every_frame_of_a_traceback_can_be_read():
    # Debuggers and pytest do so. The function behind cdouble() has a closure, which CPython reads without a look where the code does not copy it.
    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise LookupError(func.__name__)

    with pytest.raises(LookupError) as caught:
        torch.ones(2).as_subclass(Refusing).cdouble()
    frames = [each.frame.raw for each in caught.traceback]
    assert any(each.f_code.co_freevars for each in frames)
    assert all(isinstance(each.f_locals, Mapping) and set(each.f_code.co_freevars) <= set(each.f_locals) for each in frames)
