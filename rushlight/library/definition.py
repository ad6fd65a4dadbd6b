"""What is registered about an op of a program: its schema, its implementations by device, its fake, gradient and batching rules.

A :class:`Definition` is the meeting point: the overload that users call, and the :class:`~rushlight.core.declare.Op` by which captures,
back-ends and the exporter know the op as one node.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

from ..amp.autocast_mode import is_autocast_enabled
from ..autograd.function import Function, begin, finish
from ..core.base import Spec, TensorBase, storage_of
from ..core.declare import MISSING, Op, Parameter, customs, table
from ..core.devices import device_of, device_type_of
from ..core.dispatch import dispatch
from ..core.errors import NotSupported, OperationError
from ..core.schema import Argument, FunctionSchema
from ..core.state import fake_mode, flags, state
from ..func.functions import VmapInfo, batched_results
from ..func.level import Level, batching
from ..ops.overloads import FUNCTIONAL, OpOverload, add_overload, remove_overload
from ..ops.python_dispatch import offer_custom
from ..passes.decompose import implementations, whole
from ..utils import trees

_ALIASED = (
    "{name} (with implementation in {place}): The output of this custom operator (1) must not also be an input to this custom operator and (2) "
    "may not alias any inputs to this custom operator or other returns. The most common way to trigger this error is if we have y = "
    "custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. return x.clone()) "
    "or refactor the custom operator to not return y."
)
_ANYWHERE = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd", "default")


class FakeContext:
    """What a fake implementation may ask for: sizes that are known only once the op has run."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """A size that depends on data: such an op runs on real tensors alone."""
        self.definition.op.data_dependent = True
        raise NotSupported(
            f"{self.definition.name}: the size of its result depends on data, and fake tensors have none: an operator with a data-dependent shape "
            "has no meta implementation"
        )

    create_unbacked_symint = new_dynamic_size


class _Running(threading.local):
    context: FakeContext | None = None
    below_autograd = 0  # how many blocks are entered in which kernels of the autograd keys, and gradients, are left out


running = _Running()  # the fake implementation that is running


class BelowAutograd:
    """A context in which ops are neither differentiated nor run by the kernels of their autograd keys."""

    def __enter__(self) -> None:
        self._enabled, state.grad_enabled = state.grad_enabled, False
        running.below_autograd += 1

    def __exit__(self, *exception: Any) -> None:
        running.below_autograd -= 1
        state.grad_enabled = self._enabled


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors in an argument or result."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)


class Definition:
    """An op that a program registered."""

    def __init__(self, schema: FunctionSchema, *, strict: bool, label: str | None = None, place: str = "") -> None:
        """``strict``: the op is opaque, as ``custom_op`` makes it; gradients come from its formula alone, and results may not alias inputs."""
        self.schema = schema
        self.strict = strict
        self.label = label or schema.qualified_name
        self.place = place  # where it was registered
        self.kernels: dict[str, Callable[..., Any]] = {}  # by dispatch key
        self.disabled: set[str] = set()
        self.fake: Callable[..., Any] | None = None
        self.fake_place = ""  # where it was registered
        self.vmap: Callable[..., Any] | None = None
        self.formula: Any = None  # the Function that has the gradient
        self.autocast: dict[str, Any] = {}  # the dtype under autocast, by kind of device
        self.dispatch_rules: dict[type, Callable[..., Any]] = {}
        self.refuse: Callable[[str, Any], Any] | None = None  # raises for a call without implementation
        self._listed = [at for at, each in enumerate(schema.arguments) if each.type.listed]
        self.written = [at for at, each in enumerate(schema.arguments) if each.is_write]
        self.overload: OpOverload = add_overload(schema, self.call)
        self.op = _declare(self, schema, self.overload, self.run)
        if self.written:
            _add_functional(self)
        if strict:
            self.set_gradient(None, None)
        self.settle()

    @property
    def name(self) -> str:
        """``mylib::scale``."""
        return self.schema.qualified_name

    def settle(self) -> None:
        """An op with a fake, a gradient or an ONNX form of its own is one node of a graph, as is one whose implementation is explicitly no part
        of autograd; of another, what its implementation calls."""
        whole = self.strict or any(each is not None for each in (self.fake, self.formula, self.op.onnx))
        whole = whole or ("CompositeExplicitAutograd" in self.kernels and "CompositeImplicitAutograd" not in self.kernels)
        self.op.kernel = self.run if whole else None

    def set_onnx(self, forms: dict[int, Callable[..., Any]]) -> None:
        """Say which ONNX nodes the op becomes, by the opset from which on."""
        self.op.onnx = forms
        self.settle()

    def set_fake(self, fake: Callable[..., Any], place: str) -> None:
        """Say what the op gives for tensors without data; sizes that it asks for there depend on the data."""
        self.fake, self.fake_place = fake, place
        names = getattr(getattr(fake, "__code__", None), "co_names", ())
        if any(name in names for name in ("new_dynamic_size", "create_unbacked_symint")):
            self.op.data_dependent = True
        self.settle()

    def remove(self) -> None:
        """Forget the op."""
        remove_overload(self.overload)
        for op in (self.op, self.functional.op) if self.written else (self.op,):
            customs.pop(op.name, None)
            batching.forget(op.name)
            whole.forget(op.name)
            implementations.pop(op, None)

    # -- calls -------------------------------------------------------------------------------------------------------

    def call(self, values: list[Any]) -> Any:
        """Run the op on one value for each argument: gradients first, then captures, then an implementation."""
        for at in self._listed:  # an implementation gets lists, whatever sequences it is called with
            if values[at] is not None and values[at].__class__ is not list:
                values[at] = list(values[at]) if isinstance(values[at], Sequence) else values[at]
        inputs = [tensor for value in values for tensor in tensors_in(value)]
        for tensor in inputs:
            if tensor._value is not None:  # batched: the innermost vmap takes it apart, and calls again
                return dispatch(self.op, tuple(values))
        if self.autocast and inputs:
            place: str = device_of(inputs[0]._array).type
            if place in self.autocast and is_autocast_enabled(place):
                values = [_cast(value, self.autocast[place]) for value in values]
        own = self.kernels.get("Autograd") or (inputs and self.kernels.get(f"Autograd{_key(inputs[0])}"))
        if own and not running.below_autograd:
            return own(*values[: self._positional], **self._keywords(values))
        if self.written:
            return self.write(values)
        if state.grad_enabled and not running.below_autograd and any(each._requires_grad for each in inputs):
            if self.formula is not None:
                return self.differentiated(values)
            return self.run(*values)  # the gradient is that of what the implementation calls
        return dispatch(self.op, tuple(values))

    def asks_gradient(self, values: list[Any]) -> bool:
        """Whether a call of the op is to be differentiated."""
        return state.grad_enabled and any(tensor._requires_grad for value in values for tensor in tensors_in(value))

    def below_autograd(self, values: list[Any]) -> Any:
        """Run the op as a kernel of an autograd key does: without such kernels and gradients."""
        with BelowAutograd():
            return self.call(values)

    @property
    def _positional(self) -> int:
        return sum(not each.kwarg_only for each in self.schema.arguments)

    def _keywords(self, values: list[Any]) -> dict[str, Any]:
        return {each.name: value for each, value in zip(self.schema.arguments, values) if each.kwarg_only}

    def differentiated(self, values: list[Any]) -> Any:
        """Run the op and record it with its gradient formula."""
        formula = self.formula
        args, context, edges, requires = begin(formula, _flat(values), {})
        needs = iter(context.needs_input_grad)
        context.needs_input_grad = tuple(_shaped(value, needs) for value in values)
        context._structure = values
        output = dispatch(self.op, tuple(values))  # a capture records the call in the program's grad mode; `run` switches gradients off
        enabled, state.grad_enabled = state.grad_enabled, False
        try:
            if formula.setup is not None:
                keywords = self._keywords(values)
                given = {"inputs": tuple(values[: self._positional]), "output": output}
                formula.setup(context, **given, **({"keyword_only_inputs": keywords} if keywords else {}))
        finally:
            state.grad_enabled = enabled
        results = _flat([output]) if isinstance(output, (list, tuple)) else (output,)
        context._returned = _shaped(list(output) if isinstance(output, tuple) else [output], repeat(None))
        context._to_save = tuple(context._to_save)
        made = finish(formula, context, args, edges, results if isinstance(output, (list, tuple)) else output, requires)
        return _rebuilt(output, iter(made)) if isinstance(output, (list, tuple)) else made

    def write(self, values: list[Any]) -> Any:
        """An op that writes to arguments: graphs have its functional form, and a copy into each of them."""
        enabled, state.grad_enabled = state.grad_enabled, False
        try:
            if state.capture is None:
                result = dispatch(self.op, tuple(values))
                for at in self.written:
                    for each in tensors_in(values[at]):
                        storage_of(each).version += 1
                return result
            made = self.functional(*values[: self._positional], **self._keywords(values))
            count = len(self.schema.returns)
            for at, new in zip(self.written, made[count:]):
                for target, source in zip(tensors_in(values[at]), tensors_in(new)):
                    table["copy_"].call(target, source)
        finally:
            state.grad_enabled = enabled
        return None if not count else made[0] if count == 1 else tuple(made[:count])

    functional: OpOverload  # of an op that writes to its arguments

    def follow(self, *values: Any) -> Any:
        """Run the Python of the op on whatever tensors: an export records what it calls."""
        kernel = next((self.kernels[key] for key in (*_ANYWHERE, "CPU") if key in self.kernels), None)
        if kernel is None:
            raise OperationError(f"{self.name} has no implementation for the CPU, which an export could follow")
        return kernel(*values[: self._positional], **self._keywords(list(values)))

    def follow_functional(self, *values: Any) -> tuple[Any, ...]:
        """The same for the functional form."""
        return self.run_functional(*values, run=self.follow)

    def run_functional(self, *values: Any, run: Callable[..., Any] | None = None) -> tuple[Any, ...]:
        """The results, then a new value for each argument that the op writes to."""
        given = list(values)
        for at in self.written:
            given[at] = [each.clone() for each in values[at]] if isinstance(values[at], (list, tuple)) else _cloned(values[at])
        result = (run or self.run)(*given)
        results = () if not self.schema.returns else (result,) if len(self.schema.returns) == 1 else tuple(result)
        return (*results, *[given[at] for at in self.written])

    # -- implementations ---------------------------------------------------------------------------------------------

    def run(self, *values: Any) -> Any:
        """Run the implementation for the device of the arguments; on fake tensors, the fake.  An op with a formula has no other gradient."""
        enabled = state.grad_enabled
        state.grad_enabled = enabled and self.formula is None
        try:
            return self.implemented(*values)
        finally:
            state.grad_enabled = enabled

    def implemented(self, *values: Any) -> Any:
        """The same in the grad mode that is on; modes and subclasses with ``__torch_dispatch__`` are asked first, unless the op is a composite."""
        if flags.special and ("CompositeImplicitAutograd" not in self.kernels or len(self.kernels) > 1):
            handled = offer_custom(self.overload, values, self.dispatch_rules)
            if handled is not NotImplemented:
                return handled
        inputs = [tensor for value in values for tensor in tensors_in(value)]
        positional, keywords = list(values[: self._positional]), self._keywords(list(values))
        if any(each._array.__class__ is Spec for each in inputs) or (state.fake and not inputs):
            return self._checked(self.run_fake(positional, keywords), inputs, fake=True)
        key = _key(inputs[0]) if inputs else _argument_key(values)
        kernel = None if key in self.disabled else self.kernels.get(key)
        for other in _ANYWHERE:
            kernel = kernel or self.kernels.get(other)
        if not inputs:
            kernel = self.kernels.get("BackendSelect") or kernel
        if kernel is None:
            if self.refuse is not None:
                self.refuse(key, values)
            known = ", ".join([*(["Meta"] if self.fake is not None else []), *self.kernels]) or "none"
            raise NotSupported(
                f"Could not run '{self.name}' with arguments from the '{key}' backend. This could be because the operator doesn't exist for "
                f"this backend. '{self.name}' is only available for these backends: [{known}]."
            )
        return self._checked(kernel(*positional, **keywords), inputs, fake=False)

    def run_fake(self, positional: list[Any], keywords: dict[str, Any]) -> Any:
        """Shapes and dtypes of the results, by the fake implementation."""
        fake = self.fake or self.kernels.get("Meta")
        if fake is None and self.written and not self.schema.returns:
            return None  # what is written to keeps its shape
        if fake is None and not self.strict:
            for key in ("CompositeImplicitAutograd", "CompositeExplicitAutograd"):
                fake = fake or self.kernels.get(key)
        if fake is None:
            if self.strict:
                raise OperationError(
                    f"There was no fake impl registered for {self.label}. This is necessary for torch.compile/export/fx tracing to work. Please "
                    f"use `{self.schema.name.partition('::')[2]}.register_fake` to add an fake impl."
                )
            raise NotSupported(
                f"{self.name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. You may "
                "have run into this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in order to use "
                "this operator with those APIs you'll need to add a fake impl."
            )
        outer, running.context = running.context, FakeContext(self)
        try:
            with fake_mode():
                return fake(*positional, **keywords)
        finally:
            running.context = outer

    def _checked(self, result: Any, inputs: list[Any], fake: bool) -> Any:
        """The result of an implementation, after a look at its types and memory."""
        kinds = self.schema.returns
        results = () if not kinds else (result,) if len(kinds) == 1 else result
        if len(kinds) > 1 and not (isinstance(result, (tuple, list)) and len(result) == len(kinds)):
            raise OperationError(f"{self.name}() has {len(kinds)} results by its schema, and its implementation returned {result!r:.200}")
        for kind, each in zip(kinds, results):
            if kind.type.base == "Tensor" and not kind.type.accepts(each) and each is not None:
                raise OperationError(f"Unable to cast {each} to {kind.type}")
        if not kinds:
            return None
        if self.strict and not fake:
            seen = [each._array for each in inputs]
            for each in tensors_in(results):
                if any(each._array is other or device_type_of(other).shares_memory(each._array, other) for other in seen):
                    raise OperationError(_ALIASED.format(name=self.schema.name.partition("::")[2], place=self.place))
                seen.append(each._array)
        return result if len(kinds) == 1 else tuple(result)

    # -- rules -------------------------------------------------------------------------------------------------------

    def set_gradient(self, backward: Callable[..., Any] | None, setup: Callable[..., Any] | None) -> None:
        """Give the op a gradient; without a backward, one that says that there is none."""
        name = str(self.overload)
        mangled = self.name.replace("::", "_").replace(".", "_")

        def gradients(ctx: Any, *grads: Any) -> Any:
            if backward is None:
                raise OperationError(
                    f"Trying to backward through {name} but no autograd formula was registered. Please use register_autograd to add one."
                )
            made = backward(ctx, *_shaped(ctx._returned, iter(grads)))
            found = tuple(made) if isinstance(made, (tuple, list)) else (made,)
            values = ctx._structure[: self._positional]  # what is given by keyword alone is no tensor, and has no gradient
            left_out = zip(self.schema.arguments[len(found) : len(values)], values[len(found) :])
            if all(each.has_default and not isinstance(value, TensorBase) and each.default_value == value for each, value in left_out):
                found += (None,) * (len(values) - len(found))  # arguments at the end that have their defaults
            if len(found) != len(values):
                raise OperationError(
                    f"Expected the return from backward to be of the same structure as the inputs: {name} has {len(values)} inputs, and its "
                    f"backward returned {len(found)} gradients"
                )
            flat: list[Any] = []
            for value, gradient in zip(values, found):
                if isinstance(value, (list, tuple)):
                    if gradient is not None and len(gradient) != len(value):
                        raise OperationError(f"{name}: the gradient of a list of {len(value)} has {len(gradient)} elements")
                    flat.extend(gradient if gradient is not None else [None] * len(value))
                else:
                    flat.append(gradient)
            return (*flat, *[None] * (len(_flat(ctx._structure)) - len(flat)))

        body = {"setup": staticmethod(setup) if setup is not None else None, "backward": staticmethod(gradients)}
        self.formula = type(f"GeneratedBackwardFor_{mangled}" + ("" if self.schema.overload_name else "_default"), (Function,), body)
        self.settle()

    def __repr__(self) -> str:
        return f"<Definition of {self.schema}>"


def _cast(value: Any, wanted: Any) -> Any:
    """A floating-point tensor, or those of a list, in another dtype."""
    if isinstance(value, (list, tuple)):
        return [_cast(each, wanted) for each in value]
    return value.to(wanted) if isinstance(value, TensorBase) and value.is_floating_point() else value


def _cloned(value: Any) -> Any:
    return value.clone() if isinstance(value, TensorBase) else value


def _key(tensor: Any) -> str:
    """The dispatch key of a tensor's device."""
    return device_of(tensor._array).type.upper()


def _argument_key(values: tuple[Any, ...]) -> str:
    """The dispatch key of an op without tensors: that of a device among its arguments."""
    found = [each.type for each in values if hasattr(each, "type") and hasattr(each, "index")]
    return found[0].upper() if found else "CPU"


def _flat(values: Any) -> tuple[Any, ...]:
    """Arguments with the items of lists in their places."""
    flat: list[Any] = []
    for each in values:
        flat.extend(_flat(each) if isinstance(each, (list, tuple)) else (each,))
    return tuple(flat)


def _shaped(value: Any, items: Iterator[Any]) -> Any:
    """For each item of a nested list or tuple the next of others; a list for a list."""
    return [_shaped(each, items) for each in value] if isinstance(value, (list, tuple)) else next(items)


def _rebuilt(value: Any, items: Iterator[Any]) -> Any:
    return type(value)([_rebuilt(each, items) for each in value]) if isinstance(value, (list, tuple)) else next(items)


# -- the op that graphs know -----------------------------------------------------------------------------------------


def _parameter(argument: Argument) -> Parameter:
    kind = argument.type
    annotation = "Any"
    if kind.base == "Tensor":
        annotation = ("list[Tensor | None]" if "?" in kind.text().partition("[")[0] else "list[Tensor]") if kind.listed else "Tensor"
        annotation += " | None" if kind.optional else ""
    default = argument.default_value if argument.has_default else MISSING
    return Parameter(argument.name, annotation, tuple(default) if isinstance(default, list) else default, argument.kwarg_only, False)


def _declare(definition: Definition, schema: FunctionSchema, overload: OpOverload, run: Callable[..., Any]) -> Op:
    """The op of an overload; it stands beside the table, which has the ops of the package."""
    op = Op(f"{schema.name}{f'.{schema.overload_name}' if schema.overload_name else ''}")
    packet = overload._overloadpacket
    kinds = schema.returns
    op.body = lambda *args, **keywords: run(*args, *keywords.values())  # keywords come in the order of the schema
    op.kernel, op.vjp, op.family, op.meta, op.fast, op.ufunc, op.quantized = run, None, None, None, None, None, None
    op.returns = (
        None
        if len(kinds) == 1 and not kinds[0].type.listed
        else "list"
        if len(kinds) == 1
        else tuple(f"output_{i}" for i in range(len(kinds)))
    )
    op.doc = op.in_place_kernel = op.onnx = None
    op.onnx_reason = op.notes = ""
    op.aliases = ()
    op.view = op.exact = op.widen = op.has_out = op.factory = op.method = False
    op.differentiable = True
    op.nondifferentiable = frozenset()
    op.source_module = __name__
    op.namespace, op.public_name = f"ops.{packet.namespace}.{packet.__name__}", overload._overloadname
    op.node_name = f"GeneratedBackwardFor_{op.name}"
    op.random = False
    op.parameters = tuple(_parameter(each) for each in schema.arguments)
    op.call = overload
    overload.op = op
    customs[op.name] = op
    batching.set(_batch, op.name)
    whole.set(True, op.name)
    implementations[op] = definition.follow if overload._overloadname != FUNCTIONAL else definition.follow_functional
    _definitions[op.name] = definition
    return op


_definitions: dict[str, Definition] = {}


def _add_functional(definition: Definition) -> None:
    """The functional form of an op that writes to its arguments."""
    schema = definition.schema
    arguments = [Argument(a.name, a.type, a.default_value, a.kwarg_only) if a.has_default else Argument(a.name, a.type, kwarg_only=a.kwarg_only) for a in schema.arguments]  # fmt: skip
    returns = [Argument("", each.type) for each in (*schema.returns, *(schema.arguments[at] for at in definition.written))]
    made = FunctionSchema(schema.name, FUNCTIONAL, arguments, returns)
    run = definition.run_functional
    overload = definition.functional = add_overload(made, lambda values: dispatch(overload.op, tuple(values)))
    op = _declare(definition, made, overload, run)
    if len(returns) == 1:
        op.returns = ("output_0",)  # a tuple of one


def _batch(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """The op on whole batches: by the rule of its author, else for one example after the other."""
    definition = _definitions[op.name]
    here = [each for value in args for each in tensors_in(value) if level.holds(each)]
    in_dims = tuple(
        [0 if level.holds(i) else None for i in each] if isinstance(each, (list, tuple)) else 0 if level.holds(each) else None
        for each in args
    )
    peel = lambda value: [level.peel(each) for each in value] if isinstance(value, (list, tuple)) else level.peel(value)  # noqa: E731
    if definition.vmap is not None and here:
        count = definition._positional
        peeled = [peel(each) for each in args]
        made = definition.vmap(VmapInfo(level.size, level.randomness), in_dims[:count], *peeled[:count], **definition._keywords(peeled))
        if not isinstance(made, tuple) or len(made) != 2:
            raise OperationError(
                f"Expected the vmap function of {definition.name} to have two returns, an output and out_dims with pytree structure compatible "
                f"with the output. Got a {type(made)} instead"
            )
        return batched_results(level, *made)
    results = []
    for index in range(level.size):
        pick = lambda value: level.peel(value).select(0, index) if level.holds(value) else value  # noqa: E731, B023
        values = [[pick(each) for each in value] if isinstance(value, (list, tuple)) else pick(value) for value in args]
        results.append(op.call(*values[: definition._positional], **definition._keywords(values)))
    leaves = [trees.flatten(each)[0] for each in results]
    structure = trees.flatten(results[0])[1]
    stacked = [table["stack"].call(list(column)) if isinstance(column[0], TensorBase) else column[0] for column in zip(*leaves)]
    return structure.unflatten([level.wrap(each) if isinstance(each, TensorBase) else each for each in stacked])
