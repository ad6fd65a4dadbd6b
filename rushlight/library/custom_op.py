"""``custom_op``: a Python function as an op, with its schema inferred from annotations."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..autograd.function import Function
from ..core.declare import Op
from ..core.errors import NotSupported, OperationError
from ..core.schema import FunctionSchema, parse_schema
from ..ops.overloads import OpOverload
from . import registration
from .infer import infer_schema
from .registration import caller, define_op, refuse_keyword_tensors

_log = logging.getLogger("torch._library.custom_ops")
_Types = str | Sequence[str] | None


class CustomOpDef:
    """An op made of a Python function: called like the function, one node of every graph."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Any = None) -> None:
        refuse_keyword_tensors(parse_schema(f"{namespace}::{name}{schema}"), "custom_op")
        self._namespace, self._name = namespace, name
        self._init_fn = fn
        self._definition = define_op(
            f"{namespace}::{name}{schema}", caller(), strict=True, label=f"<CustomOpDef({namespace}::{name})>", replace=True
        )
        self._definition.overload.tags = [] if tags is None else list(tags) if isinstance(tags, (list, tuple, set)) else [tags]
        self._schema = str(self._definition.schema).removeprefix(f"{namespace}::")
        self.__name__ = name
        self.__doc__ = fn.__doc__

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _opoverload(self) -> OpOverload:
        return self._definition.overload

    @property
    def op(self) -> Op:
        """The op that graphs know."""
        return self._definition.op

    @property
    def schema(self) -> FunctionSchema:
        """Its arguments and results."""
        return self._definition.schema

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._definition.overload(*args, **kwargs)

    def __reduce__(self) -> Any:
        return (_by_name, (self._qualname,))

    def register_kernel(self, device_types: _Types, fn: Callable[..., Any] | None = None, /) -> Any:
        """Implement the op for kinds of devices; a decorator."""
        return registration.register_kernel(self, device_types, fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Say what the op returns for fake tensors; a decorator."""
        return registration.register_fake(self, fn)  # type: ignore[no-any-return]

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None) -> None:
        """Give the op a gradient."""
        registration.register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Say how the op runs on batches; a decorator."""
        return registration.register_vmap(self, func)

    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Callable[..., Any] | None = None, /) -> Any:
        """Say what the op does with a Tensor subclass; a decorator."""
        return registration.register_torch_dispatch(self, torch_dispatch_class, fn)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Have the op get its floating-point tensors in a dtype under autocast."""
        registration.register_autocast(self, device_type, cast_inputs)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Use the implementation for a kind of device, or the one for all devices, within a ``with`` block."""
        key, disabled = device_type.upper(), self._definition.disabled
        if key not in self._definition.kernels:
            _log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.",
                "enable" if enabled else "disable",
                device_type,
            )
        before = key in disabled
        (disabled.discard if enabled else disabled.add)(key)
        try:
            yield
        finally:
            (disabled.add if before else disabled.discard)(key)


def _by_name(qualname: str) -> Any:
    for each in made:
        if each._qualname == qualname:
            return each
    raise OperationError(f"operator {qualname} does not exist")


made: list[CustomOpDef] = []  # the latest last


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], device_types: _Types = None,
    schema: str | None = None, tags: Any = None,
) -> Any:  # fmt: skip
    """Make an op of a function: ``@custom_op("mylib::scale", mutates_args=())``.

    The schema comes from the function's annotations unless it is given.  ``device_types`` limits for which devices the function is.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, op_name = name.split("::")
        found = CustomOpDef(namespace, op_name, text, function, tags)
        if schema is not None:
            _check_written(found, function, mutates_args)
        registration.register_kernel(found, device_types, function)
        made[:] = [each for each in made if each._qualname != found._qualname] + [found]
        return found

    return make if fn is None else make(fn)


def _check_written(op: CustomOpDef, function: Callable[..., Any], mutates_args: str | Iterable[str]) -> None:
    """A schema that was given says the same about writes as ``mutates_args``."""
    if mutates_args == "unknown":
        return
    written = {each.name for each in op.schema.arguments if each.is_write}
    if written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={op._schema}. The schema suggests that the op mutates "
            f"{written} which is different from what was provided to us in `mutates_args`. Please make these consistent."
        )


def as_function(op: Any) -> Any:
    """An op of a program as a custom Function, for what knows those: ``rushlight.check``.  Its arguments are tensors and plain values."""
    definition = registration.find(op)
    formula = definition.formula
    if formula is None:
        raise OperationError(f"{definition.name} has no gradient to check: give it one with register_autograd")

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx._structure = list(inputs)
        if formula.setup is not None:
            formula.setup(ctx, inputs=inputs, output=output)

    def forward(*args: Any) -> Any:
        return definition.run(*args)

    names = [each.name for each in definition.schema.arguments]
    forward.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])  # type: ignore[attr-defined]
    body = {
        "forward": staticmethod(forward), "setup_context": staticmethod(setup_context), "backward": staticmethod(formula.backward),
        "apply": staticmethod(definition.overload.__call__), "generate_vmap_rule": True, "__module__": definition.op.call.__module__,
    }  # fmt: skip
    return type(definition.schema.name.partition("::")[2], (Function,), body)


def triton_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None) -> Any:
    """Make an op of a function that launches Triton kernels.

    Its fake is the function itself: launches on fake tensors do nothing, and the tensors that the function makes have their shapes.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        found: CustomOpDef = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        found.register_fake(function)
        return found

    return make if fn is None else make(fn)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """A Triton kernel as ``triton_op`` calls it."""
    if not hasattr(triton_kernel, "run") or not hasattr(triton_kernel, "fn"):
        raise OperationError("wrap_triton only works on functions annotated with triton.jit or triton.autotune")
    _need_triton("wrap_triton")
    return triton_kernel  # a launch of any kernel is a node of a graph


def _need_triton(name: str) -> None:
    if importlib.util.find_spec("triton") is None:
        raise NotSupported(
            f"torch.library.{name} launches kernels of Triton, which is not installed: write the op with torch.library.custom_op"
        )


__all__ = ["CustomOpDef", "as_function", "custom_op", "triton_op", "wrap_triton"]
