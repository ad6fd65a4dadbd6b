"""``torch._subclasses.fake_tensor``: fake tensors, which have a shape, a type and a device but no elements.

A fake tensor here is an ordinary tensor over a :class:`~rushlight.core.base.Spec`; ``isinstance(x, FakeTensor)`` asks for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core.base import Spec, make, spec_of
from ...core.devices import META, as_device
from ...core.errors import OperationError
from ...core.state import state
from ...tensor import Tensor
from ..pytree import tree_map


class _FakeMeta(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and isinstance(instance._array, Spec) and instance._array.device not in (None, META)


class FakeTensor(Tensor, metaclass=_FakeMeta):
    """What a fake tensor is an instance of."""


class UnsupportedFakeTensorException(RuntimeError):
    """An operation has no meaning without elements."""


class DataDependentOutputException(UnsupportedFakeTensorException):
    """The result would depend on elements."""


class DynamicOutputShapeException(UnsupportedFakeTensorException):
    """The shape of the result would depend on elements."""


class FakeTensorMode:
    """A context in which factory functions make fake tensors; ``from_tensor`` makes one of a real tensor."""

    def __init__(
        self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: Any = None,
        static_shapes: bool | None = None, export: bool = False,
    ) -> None:  # fmt: skip
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = shape_env
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self._before: list[bool] = []

    def __enter__(self) -> FakeTensorMode:
        self._before.append(state.fake)
        state.fake = True
        return self

    def __exit__(self, *error: object) -> None:
        state.fake = self._before.pop()

    def from_tensor(
        self, tensor: Any, *, static_shapes: bool | None = None, source: Any = None, symbolic_context: Any = None, **other: Any
    ) -> Any:
        """A fake tensor like a real one, with its class of parameters and whether it requires a gradient."""
        if isinstance(tensor, FakeTensor):
            return tensor
        spec = spec_of(tensor._array)
        made = make(spec if spec.device is not None else Spec(spec.shape, spec.dtype, spec._strides, as_device("cpu")))
        made = made if type(tensor) is Tensor else made.as_subclass(type(tensor))
        return made.requires_grad_() if tensor.requires_grad and tensor.is_leaf else made


class FakeTensorConverter:
    """Makes fake tensors of real ones."""

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Any, **options: Any) -> Any:
        """A fake tensor like a real one."""
        return fake_mode.from_tensor(t)


class CrossRefFakeMode:
    """PyTorch's check of its meta rules against its kernels: refused."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise OperationError("CrossRefFakeMode is not in rushlight: meta rules are compared with kernels by its own tests")


def is_fake(x: Any) -> bool:
    """Whether a tensor, or one in a tree, is fake."""
    found: list[bool] = []
    tree_map(lambda each: found.append(isinstance(each, FakeTensor)), x)
    return any(found)


def maybe_get_fake_mode(t: Any) -> Any:
    """The mode of a fake tensor: fake tensors belong to no mode here."""
    return FakeTensorMode() if isinstance(t, FakeTensor) else None


def get_plain_tensors(subclass: Any, *, out: list[Any] | None = None) -> list[Any]:
    """The plain tensors that a tensor of a subclass is made of."""
    found = [] if out is None else out
    if hasattr(subclass, "__tensor_flatten__"):
        for name in subclass.__tensor_flatten__()[0]:
            get_plain_tensors(getattr(subclass, name), out=found)
    else:
        found.append(subclass)
    return found


@contextmanager
def unset_fake_temporarily() -> Iterator[Any]:
    """Factory functions make real tensors."""
    before, state.fake = state.fake, False
    try:
        yield FakeTensorMode() if before else None
    finally:
        state.fake = before
