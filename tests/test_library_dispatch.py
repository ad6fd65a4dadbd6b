"""Ops of programs under ``__torch_dispatch__``: modes and tensor subclasses see them as one operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight.compat.python_dispatch import TorchDispatchMode, is_in_torch_dispatch_mode, return_and_correct_aliasing
from rushlight.core.overrides import disabled
from rushlight.multiprocessing.reductions import StorageWeakRef
from rushlight.utils import trees


class Log(TorchDispatchMode):
    """Writes down the operators that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, int, dict[str, Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append((str(func), len(args), kwargs))
        return func(*args, **kwargs)


class Wrapper(torch.Tensor):
    """A tensor around another one."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapper:
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)  # type: ignore[no-any-return]

    def __init__(self, inner: torch.Tensor) -> None:
        self.inner = inner

    seen: list[str] = []

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(str(func))
        args, kwargs = trees.transform(lambda each: each.inner if isinstance(each, Wrapper) else each, (args, kwargs or {}))
        result = func(*args, **kwargs)
        return trees.transform(lambda each: cls(each) if isinstance(each, torch.Tensor) else each, result)


@pytest.fixture
def scaled() -> Iterator[Any]:
    """An op with a gradient that no other op has."""

    @torch.library.custom_op("testdispatch::scaled", mutates_args=())
    def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
        return x.sin() * by

    scaled.register_fake(lambda x, by=2.0: torch.empty_like(x))
    scaled.register_autograd(lambda ctx, grad: (grad * 3, None))
    Wrapper.seen.clear()
    yield scaled


def test_a_mode_sees_an_op_of_a_program_and_not_what_it_calls(scaled: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    with Log() as log:
        result = scaled(x)
    assert log.seen == [("testdispatch.scaled.default", 1, {})]
    with Log() as log:
        torch.ops.testdispatch.scaled(x, by=5.0)
    assert log.seen == [("testdispatch.scaled.default", 2, {})]
    result.sum().backward()
    assert torch.equal(x.grad, torch.full((2,), 3.0))


def test_nested_modes_see_it_from_the_inside_out(scaled: Any) -> None:
    with Log() as outer, Log() as inner:
        scaled(torch.ones(2).detach())
    assert inner.seen[-1][0] == outer.seen[-1][0] == "testdispatch.scaled.default"


def test_a_subclass_gets_the_op_with_its_own_tensors(scaled: Any) -> None:
    result = scaled(Wrapper(torch.ones(2)))
    assert Wrapper.seen == ["testdispatch.scaled.default"]
    assert type(result) is Wrapper
    assert torch.equal(result.inner, torch.ones(2).sin() * 2)
    source = Wrapper(torch.ones(2)).requires_grad_()
    made = scaled(source, 5.0)
    assert made.requires_grad
    made.sum().backward()
    assert torch.equal(source.grad.inner, torch.full((2,), 3.0))


def test_composites_are_taken_apart_and_other_implementations_are_not() -> None:
    with torch.library._scoped_library("testdispatch", "FRAGMENT") as library:
        library.define("implicit(Tensor x) -> Tensor")
        library.impl("implicit", lambda x: x.sin() + 1, "CompositeImplicitAutograd")
        library.define("explicit(Tensor x) -> Tensor")
        library.impl("explicit", lambda x: x.sin() + 1, "CompositeExplicitAutograd")
        Wrapper.seen.clear()
        torch.ops.testdispatch.implicit(Wrapper(torch.ones(2)))
        assert Wrapper.seen == ["aten.sin.default", "aten.add.Tensor"]
        Wrapper.seen.clear()
        torch.ops.testdispatch.explicit(Wrapper(torch.ones(2)))
        assert Wrapper.seen == ["testdispatch.explicit.default"]


def test_ops_that_write_and_ops_with_several_results() -> None:
    @torch.library.custom_op("testdispatch::accumulate", mutates_args={"x"})
    def accumulate(x: torch.Tensor, others: list[torch.Tensor]) -> None:
        x.add_(others[0])

    @torch.library.custom_op("testdispatch::two", mutates_args=())
    def two(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + 1, x + 2

    wrapped = Wrapper(torch.ones(2))
    accumulate(wrapped, [wrapped])
    assert torch.equal(wrapped.inner, torch.full((2,), 2.0))
    first, second = two(wrapped)
    assert type(first) is type(second) is Wrapper
    assert torch.equal(second.inner - first.inner, torch.ones(2))
    target = torch.ones(2)
    with Log() as log:
        accumulate(target, [target.detach()])
    assert log.seen[-1][0] == "testdispatch.accumulate.default"
    assert torch.equal(target, torch.full((2,), 2.0))


def test_rules_take_the_place_of_a_handler_of_a_subclass_or_mode(scaled: Any) -> None:
    asked: list[Any] = []

    def rule(handler: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        asked.append((handler, types))
        return torch.zeros(1)

    torch.library.register_torch_dispatch(scaled, Wrapper, rule)
    result = scaled(Wrapper(torch.ones(2)))
    assert type(result) is torch.Tensor
    assert asked == [(Wrapper, (Wrapper,))]
    torch.library.register_torch_dispatch("testdispatch::scaled", Log, rule)
    with Log() as log:
        assert scaled(torch.ones(2).detach()).shape == (1,)
    assert asked[1] == (log, ())
    assert "testdispatch.scaled.default" not in [name for name, *_ in log.seen]


def test_what_a_handler_returns_keeps_its_class() -> None:
    class Plain(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return torch.ones(3)

    class Child(Plain):
        pass

    class Own(Plain):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super(Plain, cls).__torch_function__(func, types, args, kwargs)

    for kind in (Plain, Child):
        tensor = torch.Tensor._make_wrapper_subclass(kind, (2,))
        assert type(tensor + 1) is type(torch.sin(tensor)) is type(torch.ops.aten.sin(tensor)) is torch.Tensor
        assert kind.__torch_function__ is disabled
    assert type(torch.Tensor._make_wrapper_subclass(Own, (2,)) + 1) is Own


def test_reentrant_dispatch_records_what_a_handler_does() -> None:
    class Reentrant(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            with torch.overrides.enable_reentrant_dispatch():
                return super().__torch_dispatch__(func, types, args, kwargs)

    inner = torch.ones(2, requires_grad=True)
    result = Reentrant(inner) * 3
    assert not result.requires_grad
    assert result.inner.requires_grad
    result.inner.sum().backward()
    assert torch.equal(inner.grad, torch.full((2,), 3.0))


def test_modes_are_asked_by_plain_methods_and_told_from_those_of_the_system() -> None:
    class ByClass(TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args)

    class Infra(TorchDispatchMode):
        @classmethod
        def is_infra_mode(cls) -> bool:
            return True

    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"), ByClass():
        x + x
    with Infra():
        assert is_in_torch_dispatch_mode()
        assert not is_in_torch_dispatch_mode(include_infra_modes=False)
        with Log():
            assert is_in_torch_dispatch_mode(include_infra_modes=False)
    assert not is_in_torch_dispatch_mode()


class Aliased(Wrapper):
    """A wrapper whose results alias what those of the operator alias."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_dispatch__(func, types, args, kwargs)
        return return_and_correct_aliasing(func, args, kwargs, result)


def test_views_of_wrappers_share_their_storage() -> None:
    source = Aliased(torch.arange(6.0).reshape(2, 3))

    def shares(tensor: Any) -> bool:
        return StorageWeakRef(tensor.untyped_storage()) == StorageWeakRef(source.untyped_storage())

    views = [source.view(-1), source.t(), source[0], source.unsqueeze(0).expand(4, 2, 3), source.detach(), *source.split(1)]
    assert all(map(shares, views))
    assert not shares(source * 2)
    assert source.mul_(2) is source
    views[0].mul_(10)
    assert source.inner.sum().item() == 15 * 20


def test_handlers_see_operators_that_write_into_out() -> None:
    source, target = Aliased(torch.ones(2)), Aliased(torch.zeros(2))
    assert torch.add(source, source, out=target) is target
    assert target.inner.tolist() == [2.0, 2.0]
    plain = torch.zeros(2)
    with Log() as log:
        torch.mul(plain + 3, 2, out=plain)
    assert log.seen[-1][0] == "aten.mul.out"
    assert plain.tolist() == [6.0, 6.0]


def test_weak_references_to_storages() -> None:
    tensor, other = torch.ones(3), torch.ones(3)
    reference = StorageWeakRef(tensor.untyped_storage())
    assert reference == StorageWeakRef(tensor[1:].untyped_storage()) != StorageWeakRef(other.untyped_storage())
    assert len({reference, StorageWeakRef(tensor.storage())}) == 1
    assert not reference.expired()
    del tensor
    assert reference.expired()
