"""``opcheck``: whether what is registered about an op holds together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler import compile
from ..core.base import TensorBase, runtime
from ..core.errors import OperationError
from ..core.state import state
from ..testing import assert_close
from ..utils import trees
from .definition import Definition, tensors_in
from .registration import find

DEFAULT_TEST_UTILS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """A check of an op that failed."""


def _copied(value: Any) -> Any:
    def one(leaf: Any) -> Any:
        return leaf.detach().clone().requires_grad_(leaf._requires_grad) if isinstance(leaf, TensorBase) else leaf

    return trees.transform(one, value)


def _without_gradients(call: Callable[[], Any]) -> Any:
    enabled, state.grad_enabled = state.grad_enabled, False
    try:
        return call()
    finally:
        state.grad_enabled = enabled


def _check_schema(definition: Definition, args: Any, kwargs: Any) -> None:
    """What the schema says about writes and memory is what the implementation does."""
    args, kwargs = _copied(args), _copied(kwargs)
    values = definition.schema.bind(args, kwargs)
    before = _copied(values)
    result = _without_gradients(lambda: definition.run(*values))
    for argument, old, new in zip(definition.schema.arguments, before, values):
        for a, b in zip(tensors_in(old), tensors_in(new)):
            same = a._array.shape == b._array.shape and bool((a._array == b._array).all() or ((a != a) == (b != b)).all() and a.equal(b))
            if not same and not argument.is_write:
                raise OpCheckError(f"Argument {argument.name} is not defined as mutable but was mutated")
    mine = [each for value in values for each in tensors_in(value)]
    for each in tensors_in(result):
        if any(each is other or each._array is other._array for other in mine) and not definition.schema.is_mutable:
            raise OpCheckError(f"{definition.name} returns one of its inputs, which its schema does not say")


def _check_registration(definition: Definition, args: Any, kwargs: Any) -> None:
    """An op on tensors that require gradients has a formula, or none of its results requires one."""
    inputs = [each for value in definition.schema.bind(args, kwargs) for each in tensors_in(value)]
    if not any(each._requires_grad for each in inputs):
        return
    if definition.formula is None and not any(key.startswith(("Autograd", "CompositeImplicit")) for key in definition.kernels):
        raise OpCheckError(
            f"{definition.name}: autograd_registration_check: the op has neither an autograd formula nor a CompositeImplicitAutograd "
            "implementation, and some inputs require gradients: use torch.library.register_autograd"
        )


def _check_fake(definition: Definition, args: Any, kwargs: Any) -> None:
    """The fake gives the shapes, dtypes, strides and devices of the implementation."""
    values = definition.schema.bind(_copied(args), _copied(kwargs))
    fakes = trees.transform(lambda leaf: leaf.detach().to("meta") if isinstance(leaf, TensorBase) else leaf, values)
    real = _without_gradients(lambda: definition.run(*values))
    fake = _without_gradients(lambda: definition.run(*fakes))
    for at, (a, b) in enumerate(zip(tensors_in([real]), tensors_in([fake]))):
        for what in ("shape", "dtype"):
            if getattr(a, what) != getattr(b, what):
                raise OpCheckError(
                    f"{definition.name}: output {at} has {what} {getattr(a, what)}, and the fake impl gives {getattr(b, what)}"
                )
        if a.numel() > 1 and a.stride() != b.stride():
            raise OpCheckError(f"{definition.name}: output {at} has strides {a.stride()}, and the fake impl gives {b.stride()}")


def _check_compiled(dynamic: bool) -> Callable[[Definition, Any, Any], None]:
    """Results and gradients of the op in a compiled function are those of eager mode."""

    def check(definition: Definition, args: Any, kwargs: Any) -> None:
        def program(*args: Any, **kwargs: Any) -> Any:
            return definition.overload(*args, **kwargs)

        found = []
        for function in (program, compile(program, dynamic=dynamic, fullgraph=True)):
            given, named = _copied(args), _copied(kwargs)
            result = function(*given, **named)
            outputs = [each for each in tensors_in([result]) if each._requires_grad]
            inputs = [each for each in tensors_in([list(given), list(named.values())]) if each._requires_grad]
            gradients: Any = ()
            if outputs and inputs:
                total = sum((each.sum() for each in outputs[1:]), outputs[0].sum())
                gradients = runtime.differentiate(total, inputs, allow_unused=True)
            found.append((result, list(tensors_in([list(given), list(named.values())])), list(gradients)))
        for a, b in zip(*(trees.flatten(each)[0] for each in found)):
            if isinstance(a, TensorBase):
                assert_close(b.detach(), a.detach(), equal_nan=True)

    return check


_TESTS: dict[str, Callable[[Definition, Any, Any], None]] = {
    "test_schema": _check_schema, "test_autograd_registration": _check_registration, "test_faketensor": _check_fake,
    "test_aot_dispatch_static": _check_compiled(False), "test_aot_dispatch_dynamic": _check_compiled(True),
}  # fmt: skip


def opcheck(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, test_utils: str | Sequence[str] = DEFAULT_TEST_UTILS,
    raise_exception: bool = True, atol: float | None = None, rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Check on sample inputs that schema, gradient, fake and compiled form of an op agree with its implementation.

    Returns ``"SUCCESS"`` or the error of each test; raises the first error unless ``raise_exception=False``.
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = set(names) - _TESTS.keys()
    if unknown:
        raise ValueError(f"opcheck: test_utils should be a subset of {list(_TESTS)}, got {sorted(unknown)}")
    definition = find(op)
    results: dict[str, Any] = {}
    for name in names:
        try:
            _TESTS[name](definition, args, kwargs or {})
            results[name] = "SUCCESS"
        except (OpCheckError, OperationError, AssertionError, RuntimeError, NotImplementedError) as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            results[name] = error
    return results


__all__ = ["DEFAULT_TEST_UTILS", "OpCheckError", "opcheck"]
