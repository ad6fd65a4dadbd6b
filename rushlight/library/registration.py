"""``Library`` and the functions that register ops, implementations and rules by name."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import NotSupported, OperationError
from ..core.schema import FunctionSchema, parse_schema
from ..ops import FOLDERS
from ..ops.overloads import OpOverload, OpOverloadPacket, namespaces
from .definition import Definition, FakeContext, running

_RESERVED = frozenset(("prim",))
_DEVICES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu",
    "mtia", "privateuseone",
)  # fmt: skip
_KEYS = frozenset(
    ("", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "Autograd", "BackendSelect", "Python",
     "Functionalize", "ADInplaceOrView", "AutocastCPU", "AutocastCUDA", "AutocastXPU", "AutocastMPS", "Meta", *(each.upper() for each in _DEVICES), *(f"Autograd{each.upper()}" for each in _DEVICES))
)  # fmt: skip
definitions: dict[str, Definition] = {}  # by qualified name, "mylib::scale.Tensor"
_pending: dict[str, list[tuple[str, Callable[..., Any]]]] = {}  # implementations of ops that are not defined yet
_defined: dict[str, str] = {}  # namespaces with a DEF library, and where it was made
_warned: list[bool] = []
_REGISTERING = tuple(str(Path(__file__).parents[1] / each) for each in ("library", "compat"))


def caller() -> str:
    """File and line of a registration: the first outside of what registers."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_REGISTERING):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def parse_namespace(qualname: str) -> tuple[str, str]:
    """Namespace and name of ``"mylib::scale"``."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the torch.library APIs must '
            "consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def device_key(device_type: str | None) -> str:
    """The dispatch key of a kind of device."""
    if device_type is None or device_type == "default":
        return "default"
    if not isinstance(device_type, str) or device_type.partition(":")[0] not in _DEVICES:
        raise OperationError(f"Expected one of {', '.join(_DEVICES)} device type at start of device string: {device_type}")
    return "Meta" if device_type == "meta" else device_type.upper()


def define_op(text: str, place: str, *, strict: bool = False, label: str | None = None, replace: bool = False) -> Definition:
    """Define an op by its schema, and give it the implementations that waited for it."""
    schema = parse_schema(text)
    space = schema.name.partition("::")[0]
    if space in FOLDERS:
        raise NotSupported(f"the namespace '{space}' is taken: torch.ops.{space} is a module here, so no op can be registered in it")
    known = definitions.get(schema.qualified_name)
    if known is not None:
        if not replace:
            raise OperationError(
                f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each overload's schema should "
                f"only be registered with a single call to def(). Duplicate registration: registered at {place}. Original registration: "
                f"registered at {known.place}"
            )
        known.remove()
    made = definitions[schema.qualified_name] = Definition(schema, strict=strict, label=label, place=place)
    for key, function in _pending.pop(schema.qualified_name, ()):
        set_kernel(made, key, function)
    return made


def set_kernel(definition: Definition, key: str, function: Callable[..., Any]) -> None:
    """Set the implementation for a dispatch key."""
    if key in definition.kernels and not definition.strict and not _warned:
        _warned.append(True)
        warnings.warn(
            "Warning only once for all operators,  other operators may also be overridden.\n  Overriding a previously registered kernel for the "
            f"same operator and the same dispatch key\n  operator: {definition.schema}\n  dispatch key: {key}",
            UserWarning,
            stacklevel=4,
        )
    definition.kernels[key] = function
    definition.settle()


def find(op: Any) -> Definition:
    """The definition of an op: by its qualified name, an overload, a packet, or what ``custom_op`` made."""
    if hasattr(op, "_definition"):
        return op._definition  # type: ignore[no-any-return]
    if isinstance(op, OpOverload):
        op = op._name
    elif isinstance(op, OpOverloadPacket):
        op = op._qualified_op_name
    if not isinstance(op, str):
        raise ValueError(f"got unexpected type for op: {type(op)}")
    name = op.removesuffix(".default")
    parse_namespace(name)
    if name in definitions:
        return definitions[name]
    if name.startswith("aten::"):
        raise NotSupported(f"{name} is an op of the package: what it does can't be registered anew")
    raise OperationError(f"operator {name} does not exist")


def is_functional(schema: FunctionSchema, *, allow_valid_view: bool = False) -> bool:
    """Whether an op has results, writes to no argument and returns no view (or, if allowed, one view of its one tensor)."""
    if schema.is_mutable or not schema.returns:
        return False
    if not any(each.alias_info is not None for each in schema.returns):
        return True
    tensors = [[each for each in part if str(each.type) == "Tensor"] for part in (schema.arguments, schema.returns)]
    return allow_valid_view and all(len(each) == 1 for each in tensors)


def refuse_keyword_tensors(schema: FunctionSchema, name: str) -> None:
    """Raise for an op with tensors that are given by keyword alone."""
    if any(each.kwarg_only and each.type.base == "Tensor" for each in schema.arguments):
        raise NotImplementedError(f"{name} with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {schema}")


class Library:
    """Defines ops of a namespace (``"DEF"``, ``"FRAGMENT"``) or implements them (``"IMPL"``)."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in _defined or ns == "aten":
                raise OperationError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions in a single "
                    "TORCH_LIBRARY block.  If you were trying to specify implementations, consider using TORCH_LIBRARY_IMPL (which can be "
                    "duplicated).  If you really intended to define operators for a single namespace in a distributed way, you can use "
                    "TORCH_LIBRARY_FRAGMENT to explicitly indicate this.  Previous registration of TORCH_LIBRARY was registered at "
                    f"{_defined.get(ns, 'PyTorch')}; latest registration was registered at {caller()}"
                )
            _defined[ns] = caller()
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._op_defs: set[str] = set()
        self._op_impls: list[tuple[str, str, Callable[..., Any]]] = []
        self._end = weakref.finalize(self, _take_back, ns, kind, self._op_defs, self._op_impls)
        self._end.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an op by its schema, ``"scale(Tensor x, float by) -> Tensor"``; returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise OperationError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            name = schema.partition("(")[0]
            raise OperationError(
                f'def("{name}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All def()s should be placed in the (unique) '
                "TORCH_LIBRARY block for their namespace."
            )
        schema = schema.strip().removeprefix(f"{self.ns}::")
        name = parse_schema(schema).name
        made = define_op(f"{self.ns}::{schema}", caller())
        made.overload.tags = list(tags) if isinstance(tags, (list, tuple, set)) else [tags]
        self._op_defs.add(made.name)
        return name.partition("::")[2] or name

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False, allow_override: bool = False
    ) -> None:
        """Implement an op for a dispatch key: ``"CPU"``, ``"Meta"``, ``"CompositeImplicitAutograd"``, ``"Autograd"``, ..."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if key not in _KEYS:
            raise OperationError(f"could not parse dispatch key: {key}")
        name = op_name._name if isinstance(op_name, OpOverload) else op_name
        if not isinstance(name, str):
            raise OperationError("impl should be passed either a name or an OpOverload object as the first argument")
        name = (name if "::" in name else f"{self.ns}::{name}").removesuffix(".default")
        if not name.startswith(f"{self.ns}::"):
            raise ValueError(f"{name} is not an op of the namespace {self.ns} of this library")
        if self.ns == "aten":
            raise NotSupported(
                f"{name} is an op of the package, and its implementation can't be replaced; define an op in a namespace of your own"
            )
        if with_keyset:
            raise NotSupported("Library.impl(with_keyset=True): there are no dispatch key sets here")
        self._op_impls.append((name, key, fn))
        if fn is fallthrough_kernel:
            return
        definition = definitions.get(name)
        if definition is None:
            _pending.setdefault(name, []).append((key, fn))
        else:
            set_kernel(definition, key, fn)

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Implement all ops of a dispatch key by one function: ops of the package are not dispatched by keys."""
        raise NotSupported(
            "Library.fallback: ops are not dispatched by keys here; torch.utils._python_dispatch.TorchDispatchMode and "
            "torch.overrides.TorchFunctionMode see every call of an op"
        )

    def _register_fake(self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, *, allow_override: bool = False) -> None:
        register_fake(op_name if "::" in op_name else f"{self.ns}::{op_name}", fn)

    def _register_torch_dispatch_rule(self, op_name: str, torch_dispatch_class: type, fn: Callable[..., Any]) -> None:
        register_torch_dispatch(op_name if "::" in op_name else f"{self.ns}::{op_name}", torch_dispatch_class, fn)

    def _destroy(self) -> None:
        """Take back everything that was registered through this library, as its own end does."""
        self._end()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._destroy()


_libraries: list[Library] = []


def _lasting(space: str) -> Library:
    """A library for a call that was given none: what it registers stays."""
    _libraries.append(Library(space, "FRAGMENT"))
    return _libraries[-1]


def _take_back(ns: str, kind: str, op_defs: set[str], op_impls: list[tuple[str, str, Callable[..., Any]]]) -> None:
    """Take back what a library has defined and implemented."""
    for name in op_defs:
        found = definitions.pop(name, None)
        if found is not None:
            found.remove()
    for name, key, function in op_impls:
        found = definitions.get(name)
        if found is not None and found.kernels.get(key) is function:
            del found.kernels[key]
            found.settle()
    if kind == "DEF":
        _defined.pop(ns, None)
    op_defs.clear()
    op_impls.clear()


class _scoped_library:
    """A library whose registrations are taken back at the end of a ``with`` block."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.library = Library(*args, **kwargs)

    def __enter__(self) -> Library:
        return self.library

    def __exit__(self, *exception: Any) -> None:
        self.library._destroy()


def fallthrough_kernel() -> None:
    """What is passed as an implementation to say that there is none for a key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


@functools.singledispatch
def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an op: ``define("mylib::scale", "(Tensor x, float by) -> Tensor")``."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    space, name = parse_namespace(qualname)
    if not re.fullmatch(r"\(.*\) -> .*", schema):
        raise ValueError(f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got "{schema}"')
    (lib or _lasting(space)).define(name + schema, "", tags=tags)


@define.register
def _(lib: Library, schema: str, alias_analysis: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The older form: ``@define(library, "scale(Tensor x) -> Tensor")`` over an implementation."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        name = lib.define(schema, alias_analysis)
        lib.impl(name, function)
        return function

    return wrap


def impl(qualname: Any, types: Any = None, func: Callable[..., Any] | None = None, *, lib: Library | None = None, **older: Any) -> Any:
    """Implement an op for kinds of devices: ``impl("mylib::scale", "cpu", f)``, or as a decorator.

    ``impl(library, "scale", "CPU")`` is the older form, with a dispatch key.
    """
    if isinstance(qualname, Library):
        name = types if types is not None else older["name"]
        key: Any = func if func is not None else older.get("dispatch_key", "")

        def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
            qualname.impl(name, function, key)
            return function

        return wrap
    if isinstance(types, str):
        types = (types,)
    keys = [each if each in _KEYS and each else device_key(each) for each in types]  # kinds of devices, or dispatch keys

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        space, name = parse_namespace(qualname)
        used = lib or _lasting(space)
        for key in keys:
            used.impl(name, function, "CompositeExplicitAutograd" if key == "default" else key)
        return function

    return register if func is None else (register(func), None)[1]


def _decorates(register: Callable[[Any], Any], function: Any) -> Any:
    """Call a registration now, or give it as a decorator."""
    return register if function is None else register(function)


def register_kernel(
    op: Any, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Implement an op for kinds of devices (None: for all)."""
    types = (device_types,) if device_types is None or isinstance(device_types, str) else tuple(device_types)
    keys = [device_key(each) for each in types]

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        definition = find(op)
        for key in keys:
            definition.kernels[key] = function
        return function

    return _decorates(register, func)


def register_fake(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = False
) -> Any:
    """Say what an op returns for fake tensors: shapes, dtypes, strides and devices, and no data."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        definition = find(op)
        if "CompositeImplicitAutograd" in definition.kernels:
            raise OperationError(
                f"impl_abstract(...): the operator {definition.name} already has an implementation for this device type via a pre-existing "
                "registration to DispatchKey::CompositeImplicitAutograd.CompositeImplicitAutograd operators do not need an abstract impl; instead, "
                "the operator will decompose into its constituents and those can have abstract impls defined on them."
            )
        if "Meta" in definition.kernels:
            raise OperationError(
                f"impl_abstract(...): the operator {definition.name} already has a DispatchKey::Meta implementation via a pre-existing torch.library "
                "or TORCH_LIBRARY registration. Please either remove that registration or don't call impl_abstract."
            )
        definition.set_fake(function, caller())
        return function

    return _decorates(register, func)


def impl_abstract(qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Any:
    """The older name of :func:`register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Library | None = None
) -> None:
    """Give an op a gradient: ``setup_context(ctx, inputs, output)`` saves what ``backward(ctx, *grads)`` needs."""
    if isinstance(op, str) and op.removesuffix(".default") not in definitions:
        space, name = parse_namespace(op)
        raise AttributeError(f"'_OpNamespace' '{space}' object has no attribute '{name}'")
    definition = find(op)
    refuse_keyword_tensors(definition.schema, "register_autograd")
    if definition.written:
        raise OperationError(
            f"Cannot register autograd formula for non-functional operator {definition.overload} with schema {definition.schema}. Please create "
            "a functional operator and register an autograd formula for that."
        )
    if setup_context is not None:
        keyword_only = any(each.kwarg_only for each in definition.schema.arguments)
        takes = inspect.signature(setup_context).parameters
        if keyword_only and "keyword_only_inputs" not in takes and not any(each.kind is each.VAR_KEYWORD for each in takes.values()):
            setup = setup_context
            setup_context = lambda ctx, inputs, output, keyword_only_inputs: setup(ctx, inputs=inputs, output=output)  # noqa: E731
    definition.set_gradient(backward, setup_context)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Say how an op runs on batches: ``func(info, in_dims, *args)`` returns the output and its batch dimension."""

    definition = find(op)
    refuse_keyword_tensors(definition.schema, "register_vmap")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        definition.vmap = function
        return function

    return _decorates(register, func)


def register_torch_dispatch(
    op: Any, torch_dispatch_class: type, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Say what an op does with a Tensor subclass (or under a mode) of a class: ``func(cls_or_mode, op, types, args, kwargs)``."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        find(op).dispatch_rules[torch_dispatch_class] = function
        return function

    return _decorates(register, func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> None:
    """Have an op get its floating-point tensors in a dtype while autocast is on for a kind of device."""
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    find(op).autocast[device_type] = cast_inputs


def get_ctx() -> FakeContext | None:
    """Inside a fake implementation: what it may ask for."""
    return running.context


def get_kernel(op: Any, dispatch_key: Any) -> Callable[..., Any]:
    """The implementation of an op for a dispatch key."""
    definition, key = find(op), str(dispatch_key).rpartition(".")[2]
    for each in (key, "default"):
        if each in definition.kernels:
            return definition.kernels[each]
    raise OperationError(f"no kernel for {key} for {definition.name}")


__all__ = [
    "Library", "define", "definitions", "fallthrough_kernel", "find", "get_ctx", "get_kernel", "impl", "impl_abstract", "namespaces", "register_autocast",
    "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap",
]  # fmt: skip
