"""`torch._custom_op.impl`: ops that are defined first, and then given implementations, a fake and a gradient one at a time."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ...core.missing import missing
from ...core.schema import FunctionSchema, parse_schema
from ...library import Library, infer_schema
from ...library.definition import Definition, tensors_in
from ...library.registration import caller, definitions, get_ctx, is_functional
from ...ops.overloads import OpOverload, namespace
from .gradient import set_gradient

__all__ = ["CustomOp", "custom_op", "get_ctx", "infer_schema"]
__getattr__ = missing("rushlight._custom_op.impl")

SUPPORTED_DEVICE_TYPE_TO_KEY = {"cpu": "CPU", "cuda": "CUDA"}
RESERVED_NS = {"prim", "prims", "aten", "at", "torch", "pytorch"}
_RESULTS = ("int", "SymInt", "bool", "float", "Tensor", "Tensor[]")
global_registry: dict[str, CustomOp] = {}  # by qualified name


class CustomOp:
    """An op of the deprecated API, with what was registered about it and where."""

    def __init__(self, definition: Definition, library: Library | None) -> None:
        self._definition = definition
        self._lib = library
        self._schema: FunctionSchema = definition.schema
        self._qualname = definition.name
        self._cpp_ns, _, self._opname = definition.name.partition("::")
        self.__name__ = self._opname
        self._impls: dict[str, tuple[Callable[..., Any], str]] = {}  # the function, and its place in the source
        self._output_differentiability: list[bool] | None = None
        global_registry[self._qualname] = self

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._definition.overload(*args, **kwargs)

    def _destroy(self) -> None:
        """Forget the op."""
        if self._lib is not None:
            self._lib._destroy()
        global_registry.pop(self._qualname, None)

    def _register(self, kind: str, function: Callable[..., Any]) -> None:
        if kind in self._impls:
            raise RuntimeError(
                f"Attempting to register a {kind} impl for operator {self._qualname} that already has a {kind} impl registered from Python at "
                f"{self._impls[kind][1]}. This is not supported."
            )
        self._impls[kind] = (function, caller())

    def impl(self, device_types: str | Iterable[str]) -> Callable[..., Any]:
        """Implement the op for kinds of devices; a decorator."""
        types = [device_types] if isinstance(device_types, str) else list(device_types)
        for each in types:
            if each not in SUPPORTED_DEVICE_TYPE_TO_KEY:
                raise ValueError(
                    f"CustomOp.impl(device_types=[{each}, ...]): we only support device_type in {SUPPORTED_DEVICE_TYPE_TO_KEY.keys()}."
                )

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            kernels = self._definition.kernels
            for each in sorted(set(types)):
                key = SUPPORTED_DEVICE_TYPE_TO_KEY[each]
                if each not in self._impls and any(
                    one in kernels for one in (key, "CompositeExplicitAutograd", "CompositeImplicitAutograd")
                ):
                    raise RuntimeError(
                        f"impl(..., device_types={each}): the operator {self._qualname} already has an implementation for this device type via a "
                        "pre-existing torch.library or TORCH_LIBRARY registration."
                    )
                self._register(each, function)
                kernels[key] = function
            return function

        return register

    def impl_factory(self) -> Callable[..., Any]:
        """Implement an op that gets no tensors; a decorator."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._register("factory", function)
            self._definition.kernels["BackendSelect"] = function
            return function

        return register

    def impl_abstract(self) -> Callable[..., Any]:
        """Say what the op returns for fake tensors; a decorator."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            kernels = self._definition.kernels
            if "abstract" not in self._impls and "CompositeImplicitAutograd" in kernels:
                raise RuntimeError(
                    f"impl_abstract(...): the operator {self._qualname} already has an implementation for this device type via a pre-existing "
                    "registration to DispatchKey::CompositeImplicitAutograd.CompositeImplicitAutograd operators do not need an abstract impl; "
                    "instead, the operator will decompose into its constituents and those can have abstract impls defined on them."
                )
            if "abstract" not in self._impls and "Meta" in kernels:
                raise RuntimeError(
                    f"impl_abstract(...): the operator {self._qualname} already has a DispatchKey::Meta implementation via a pre-existing "
                    "torch.library or TORCH_LIBRARY registration. Please either remove that registration or don't call impl_abstract."
                )
            self._register("abstract", function)
            self._definition.fake = function
            self._definition.settle()
            return function

        return register

    def impl_save_for_backward(self) -> Callable[..., Any]:
        """Say what backward needs: ``f(inputs, output)``; a decorator."""

        def register(function: Callable[..., Any]) -> None:
            self._register_gradient("save_for_backward", function)

        return register

    def impl_backward(self, output_differentiability: Any = None) -> Callable[..., Any]:
        """Give the op a gradient, ``f(ctx, saved, *grads)``, which returns a dict by the names of arguments; a decorator."""
        given = output_differentiability
        count = len(self._schema.returns)
        if given is not None and not (isinstance(given, list) and all(isinstance(each, bool) for each in given) and len(given) == count):
            raise RuntimeError(
                "impl_backward(output_differentiability): expected output_differentiability to be a list of bools with length equal to the number "
                f"of outputs of this CustomOp got: {given}"
            )

        def register(function: Callable[..., Any]) -> None:
            self._output_differentiability = given
            self._register_gradient("backward", function)

        return register

    def _register_gradient(self, kind: str, function: Callable[..., Any]) -> None:
        self._check_can_register_backward()
        kernels = self._definition.kernels
        if "CompositeImplicitAutograd" in kernels:
            raise RuntimeError(
                f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has an implementation for this device type via a "
                "pre-existing registration to DispatchKey::CompositeImplicitAutograd.CompositeImplicitAutograd operators do not need an autograd "
                "formula; instead, the operator will decompose into its constituents and those can have autograd formulas defined on them."
            )
        for key in ("Autograd", "AutogradCPU", "AutogradCUDA"):
            if key in kernels and kernels[key] != self._without_gradient:
                raise RuntimeError(
                    f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has an Autograd kernel registered to "
                    f"DispatchKey::{key} vi a pre-existing torch.library or TORCH_LIBRARY registration. Please either remove those registrations "
                    "or don't use the torch._custom_ops APIs"
                )
        self._register(kind, function)
        if "backward" in self._impls and "save_for_backward" in self._impls:
            (save, _), (backward, place) = self._impls["save_for_backward"], self._impls["backward"]

            def fail(what: str) -> NoReturn:
                raise RuntimeError(f"In the backward function defined for {self} at {place} using the CustomOp API, {what}")

            set_gradient(self._definition, save, backward, self._output_differentiability, fail)
            kernels.pop("Autograd", None)
        else:
            kernels["Autograd"] = self._without_gradient

    def _check_can_register_backward(self) -> None:
        def fail(detail: str) -> NoReturn:
            raise RuntimeError(
                f"Cannot use torch._custom_ops APIs to register backward formula for {detail}. Got operator {self._qualname} with schema: "
                f"{self._schema}"
            )

        schema = self._schema
        if schema.is_mutable:
            fail("non-functional operator")
        if not schema.returns:
            fail("operator with no returns")
        if any(each.alias_info is not None for each in schema.returns):
            fail("operator that returns views")
        for each in schema.returns:
            if str(each.type) not in _RESULTS:
                fail(f"operator with return not in {list(_RESULTS)} (got {each.type})")

    def _without_gradient(self, *args: Any, **kwargs: Any) -> Any:
        """The op before its gradient is complete: it runs where none is asked for."""
        definition = self._definition
        found = [kind for kind in ("save_for_backward", "backward") if kind in self._impls]
        if found:
            lacking = "backward" if found[0] == "save_for_backward" else "save_for_backward"
            raise RuntimeError(
                f"We found a '{found[0]}' registration for {self} at {self._impls[found[0]][1]} but were unable to find a '{lacking}' registration. "
                "To use the CustomOp API to register a backward formula, please provide us both a backward function and a 'save for backward' "
                "function via `impl_backward` and `impl_save_for_backward` respectively."
            )
        values = definition.schema.bind(args, kwargs)
        if definition.asks_gradient(values):
            raise RuntimeError("Autograd has not been implemented for operator")
        return definition.below_autograd(values)

    def _refuse(self, key: str, values: Any) -> NoReturn:
        """Say which implementation a call lacks."""
        if not any(True for _ in tensors_in(list(values))):
            raise NotImplementedError(
                f"{self}: There were no Tensor inputs to this operator (e.g. you passed an empty list of Tensors). If your operator is a factory "
                "function (that is, it takes no Tensors and constructs a new one), then please use CustomOp.impl_factory to register an "
                "implementation for it"
            )
        device = key.lower()
        raise NotImplementedError(
            f"{self}: when running with device='{device}' tensors: there is no {device} impl registered for this CustomOp. Please register one via "
            f"CustomOp.impl(device_type='{device}')"
        )


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[..., Any]:
    """Define an op by a function's signature, or by a schema; a decorator whose function is not run."""
    warnings.warn(
        "torch._custom_op is deprecated and will be removed in PyTorch 2.6, please use the equivalent torch.library API instead.",
        DeprecationWarning,
        stacklevel=2,
    )

    def define(function: Callable[..., Any]) -> CustomOp:
        space, name = parse_qualname(qualname)
        validate_namespace(space)
        check_function(qualname, name, function)
        text = infer_schema(function, mutates_args=()) if manual_schema is None else manual_schema
        schema = parse_schema(f"{qualname}{text}")
        validate_schema(schema)
        if manual_schema is not None:
            validate_function_matches_schema(schema, function)
        made = define_custom_op(qualname, text)
        made.__name__, made.__module__, made.__doc__ = function.__name__, function.__module__, function.__doc__
        return made

    return define


def define_custom_op(qualname: str, schema: str) -> CustomOp:
    """Define an op that runs once it has implementations, and is differentiated once it has a gradient."""
    space, name = qualname.split("::")
    library = Library(space, "FRAGMENT")
    validate_schema(parse_schema(f"{qualname}{schema}"))
    library.define(f"{name}{schema}")
    made = CustomOp(definitions[qualname], library)
    made._definition.kernels["Autograd"] = made._without_gradient
    made._definition.refuse = made._refuse
    return made


def check_function(qualname: str, name: str, function: Any) -> None:
    """What an op is made of is a function of its name."""
    if not inspect.isfunction(function):
        raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(function)}")
    if function.__name__ != name:
        raise ValueError(
            f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got '{function.__name__}'. Please either "
            "change the name of `func` or the qualname that is passed to `custom_op`"
        )


def parse_qualname(qualname: str) -> tuple[str, str]:
    """Namespace and name of ``"mylib::scale"``."""
    space, found, name = qualname.partition("::")
    if not found:
        raise ValueError(f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something like ns::foo")
    if "." in name:
        raise ValueError(
            "The torch.custom_ops APIs do not handle overloads, i.e. operator names with '.' in them. Please name your operator something like "
            f"ns::foo. Got: {qualname}"
        )
    return space, name


def validate_namespace(ns: str) -> None:
    """A namespace is a name, and none of PyTorch's."""
    if "." in ns:
        raise ValueError(f'custom_op(..., ns="{ns}"): expected ns to not contain any . (and be a valid variable name)')
    if ns in RESERVED_NS:
        raise ValueError(f"custom_op(..., ns='{ns}'): '{ns}' is a reserved namespace, please choose something else. ")


def validate_schema(schema: FunctionSchema) -> None:
    """These ops write to no argument, and return no views."""
    if not is_functional(schema):
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of the inputs, and has at least "
            f"one return). Got the following non-functional schema: {schema}"
        )
    if any(each.name == "self" for each in schema.arguments):
        raise ValueError(f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {schema}")


def validate_function_matches_schema(schema: FunctionSchema, func: Callable[..., Any]) -> None:
    """A function beside a schema has its parameters, without annotations and defaults."""
    signature = inspect.signature(func)
    parameters = list(signature.parameters.values())
    start = "custom_op(..., manual_schema)(func): "
    both = f"func's signature: {signature}, manual_schema: {schema}"
    if any(each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) for each in parameters):
        raise ValueError(
            f"{start}positional-only args, varargs, and kwargs are not supported. Please rewrite `func` to not have them. Got `func` with "
            f"signature: {signature}"
        )
    annotations = [each.annotation for each in parameters] + [signature.return_annotation]
    if any(each is not inspect.Parameter.empty for each in annotations):
        raise ValueError(
            f"{start}When passing in a manual schema, we expect `func` to have no type annotations to avoid ambiguity. Got `func` with signature: "
            f"{signature}"
        )
    for only in (False, True):
        mine = [each for each in parameters if (each.kind is each.KEYWORD_ONLY) is only]
        theirs = [each for each in schema.arguments if bool(each.kwarg_only) is only]
        if [each.name for each in mine] != [each.name for each in theirs]:
            raise ValueError(
                f"{start}When passing in a manual schema, we expect `func`'s signature to match `manual_schema` (aside from type annotations). {both}"
            )
        if any(each.default is not each.empty for each in mine) or any(each.has_default for each in theirs):
            raise ValueError(f"{start}neither func nor manual_schema should have default arguments. Got {both}")


def get_op(qualname: str) -> OpOverload:
    """The overload of an op by its name."""
    space, name = parse_qualname(qualname)
    found = getattr(getattr(namespace(space), name, None), "default", None)
    if found is None:
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered the operator and (if registered from C++) "
            "loaded it via torch.ops.load_library."
        )
    return found  # type: ignore[no-any-return]


def find_custom_op(qualname: str, also_check_torch_library: bool = False) -> CustomOp:
    """The op of a name; one of `torch.library` becomes one of these."""
    if qualname in global_registry:
        return global_registry[qualname]
    if not also_check_torch_library:
        raise RuntimeError(f'Could not find custom op "{qualname}". Did you register it via the torch._custom_ops API?')
    get_op(qualname)
    return CustomOp(definitions[qualname], None)


_find_custom_op = find_custom_op
