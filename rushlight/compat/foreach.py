"""``torch._foreach_*`` and ``torch._fused_*``: one call for a list of tensors, as optimizers and clipping of gradients in libraries use them.

Each is the op of the same name for every tensor of the list; gradients flow, and captures see the ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..autograd import no_grad
from ..core.base import TensorBase
from ..core.declare import exports, table
from ..core.errors import ArgumentError, OperationError, ShapeError

PREFIX = "_foreach_"
UNARY = [
    name.removeprefix(PREFIX)
    for name in (
        "_foreach_abs _foreach_acos _foreach_asin _foreach_atan _foreach_ceil _foreach_cos _foreach_cosh _foreach_erf _foreach_erfc _foreach_exp "
        "_foreach_expm1 _foreach_floor _foreach_frac _foreach_lgamma _foreach_log _foreach_log10 _foreach_log1p _foreach_log2 _foreach_neg "
        "_foreach_reciprocal _foreach_round _foreach_rsqrt _foreach_sigmoid _foreach_sign _foreach_sin _foreach_sinh _foreach_sqrt "
        "_foreach_tan _foreach_tanh _foreach_trunc"
    ).split()
]
WITH_TENSOR = [name.removeprefix(PREFIX) for name in ("_foreach_add", "_foreach_mul", "_foreach_div")]  # take one 0-d tensor for all
BINARY = [
    *WITH_TENSOR,
    *(
        name.removeprefix(PREFIX)
        for name in "_foreach_sub _foreach_clamp_min _foreach_clamp_max _foreach_maximum _foreach_minimum _foreach_pow".split()
    ),
]
TERNARY = [name.removeprefix(PREFIX) for name in ("_foreach_addcmul", "_foreach_addcdiv")]


def _checked(tensors: Any, name: str) -> Sequence[Any]:
    if not isinstance(tensors, (list, tuple)):
        raise ArgumentError(f"_foreach_{name}(): argument 'self' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise OperationError("Tensor list must have at least one tensor.")
    for index, each in enumerate(tensors):
        if not isinstance(each, TensorBase):
            raise ArgumentError(f"_foreach_{name}(): expected Tensor as element {index} in argument 0, but got {type(each).__name__}")
    return tensors


def _spread(tensors: Sequence[Any], other: Any, name: str) -> Iterator[Any]:
    """One operand for each tensor: of a list its elements, else the same for all."""
    if isinstance(other, (list, tuple)):
        if len(other) != len(tensors):
            if other and isinstance(other[0], TensorBase):
                raise ShapeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}")
            raise ShapeError("Tensor list must have same number of elements as scalar list.")
        return iter(other)
    if isinstance(other, TensorBase):
        if name not in (*WITH_TENSOR, "lerp"):
            raise ArgumentError(f"_foreach_{name}(): argument 'other' must be a list of Tensors, a Number or a list of Numbers, not Tensor")
        if other.dim() != 0:
            raise ShapeError(
                f"scalar tensor expected to be 0 dim but it has {other.dim()} dimensions and {other.numel()} elements."
            )  # fmt: skip
    return iter([other] * len(tensors))


def _method(name: str, in_place: bool) -> Callable[..., Any]:
    """The op for one tensor: with a number where the public function takes tensors only."""
    if name in ("maximum", "minimum"):
        clamp = table["clamp_min" if name == "maximum" else "clamp_max"]
        function = table[name].call

        def run(self: Any, other: Any) -> Any:
            if not in_place:
                return function(self, other) if isinstance(other, TensorBase) else clamp.call(self, other)
            return self.copy_(function(self, other)) if isinstance(other, TensorBase) else self.clamp_(
                **{"min" if name == "maximum" else "max": other}
            )  # fmt: skip

        return run
    return table[f"{name}_" if in_place and f"{name}_" in table else name].call


def _unary(name: str) -> tuple[Any, Any]:
    def function(self: Any) -> Any:
        call = exports["", name]
        return tuple(call(each) for each in _checked(self, name))

    def in_place(self: Any) -> Any:
        for each in _checked(self, name):
            getattr(each, f"{name}_")()
        return self

    return function, in_place


def _binary(name: str) -> tuple[Any, Any]:
    def function(self: Any, other: Any = None, *, alpha: Any = 1, scalar: Any = None, scalars: Any = None, exponent: Any = None) -> Any:
        given = next((each for each in (other, scalar, scalars, exponent) if each is not None), None)
        if name == "pow" and not isinstance(self, (list, tuple)):
            return tuple(exports["", "pow"](self, each) for each in _checked(given, name))
        call, keywords = _method(name, False), {} if alpha == 1 else {"alpha": alpha}
        return tuple(call(each, value, **keywords) for each, value in zip(_checked(self, name), _spread(self, given, name)))

    def in_place(self: Any, other: Any = None, *, alpha: Any = 1, scalar: Any = None, scalars: Any = None, exponent: Any = None) -> Any:
        given = next((each for each in (other, scalar, scalars, exponent) if each is not None), None)
        call, keywords = _method(name, True), {} if alpha == 1 else {"alpha": alpha}
        for each, value in zip(_checked(self, name), list(_spread(self, given, name))):
            call(each, value, **keywords)
        return self

    return function, in_place


def _ternary(name: str) -> tuple[Any, Any]:
    def calls(self: Any, tensor1: Any, tensor2: Any, value: Any, scalars: Any, call: Callable[..., Any]) -> list[Any]:
        value = scalars if scalars is not None else value
        if isinstance(value, TensorBase):
            if value.dim() != 1 or len(value) != len(self):
                raise ShapeError(f"Expected length of scalars to match input of length {len(self)} but got {value.numel()} instead.")
            value = value.tolist()
        _checked(self, name)
        parts = zip(self, _spread(self, tensor1, name), _spread(self, tensor2, name), _spread(self, value, name))
        return [call(each, one, two, value=number) for each, one, two, number in parts]

    def function(self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None) -> Any:
        return tuple(calls(self, tensor1, tensor2, value, scalars, table[name].call))

    def in_place(self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None) -> Any:
        calls(self, tensor1, tensor2, value, scalars, table[f"{name}_"].call)
        return self

    return function, in_place


def _install() -> None:
    made = {name: _unary(name) for name in UNARY}
    made.update((name, _binary(name)) for name in BINARY)
    made.update((name, _ternary(name)) for name in TERNARY)
    for name, functions in made.items():
        for function, public in zip(functions, (f"_foreach_{name}", f"_foreach_{name}_")):
            function.__name__ = function.__qualname__ = public
            function.__doc__ = f"``{public.removeprefix('_foreach_')}`` of every tensor of a list."
            globals()[public] = function


_install()


def _foreach_lerp(self: Any, tensors1: Any, weight: Any = None, *, weights: Any = None) -> Any:
    """``lerp`` of every tensor of a list."""
    parts = zip(_checked(self, "lerp"), _spread(self, tensors1, "lerp"), _spread(self, weight if weights is None else weights, "lerp"))
    return tuple(table["lerp"].call(each, end, amount) for each, end, amount in parts)


def _foreach_lerp_(self: Any, tensors1: Any, weight: Any = None, *, weights: Any = None) -> Any:
    """``lerp_`` of every tensor of a list."""
    parts = zip(_checked(self, "lerp"), _spread(self, tensors1, "lerp"), _spread(self, weight if weights is None else weights, "lerp"))
    for each, end, amount in parts:
        each.lerp_(end, amount)
    return self


def _foreach_zero_(self: Any) -> Any:
    """Every tensor of a list set to 0."""
    for each in _checked(self, "zero_"):
        each.zero_()
    return self


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Every tensor of a list overwritten by that of another."""
    for each, source in zip(_checked(self, "copy_"), _spread(self, src, "copy_")):
        each.copy_(source)
    return self


def _foreach_clone(self: Any, *, memory_format: Any = None) -> Any:
    """A copy of every tensor of a list."""
    return tuple(each.clone() if memory_format is None else each.clone(memory_format=memory_format) for each in _checked(self, "clone"))


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    """The norm of every tensor of a list, of all its elements."""
    norm = exports["linalg", "vector_norm"]
    return tuple(norm(each, ord, dtype=dtype) for each in _checked(self, "norm"))


def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    """The sum of the absolute elements of every tensor of a list, raised to a power."""
    return tuple((each.abs() ** ord).sum(dtype=dtype) for each in _checked(self, "powsum"))


def _foreach_max(self: Any) -> Any:
    """The largest element of every tensor of a list."""
    return tuple(each.max() for each in _checked(self, "max"))


def _foreach_mm(self: Any, mat2: Any) -> Any:
    """The products of the matrices of two lists."""
    return tuple(table["matmul"].call(each, other) for each, other in zip(_checked(self, "mm"), _spread(self, mat2, "mm")))


# -- steps of optimizers -----------------------------------------------------------------------------------------


def _skipped(grads: Any, grad_scale: Any, found_inf: Any) -> bool:
    """Whether a step is left out because a gradient is not finite; else the gradients are divided by their scale."""
    if found_inf is not None and bool(found_inf):
        return True
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    return False


def _adam(
    self: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, decoupled: bool, *, lr: Any, beta1: float,
    beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any = None, found_inf: Any = None,
) -> None:  # fmt: skip
    lr = float(lr)
    with no_grad():
        if _skipped(grads, grad_scale, found_inf):
            return
        for index, (param, grad, mean, square, step) in enumerate(zip(self, grads, exp_avgs, exp_avg_sqs, state_steps)):
            grad = -grad if maximize else grad
            if weight_decay and decoupled:
                param.mul_(1 - lr * weight_decay)
            elif weight_decay:
                grad = grad.add(param, alpha=weight_decay)
            mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            count = float(step)
            if amsgrad:
                max_exp_avg_sqs[index].copy_(table["maximum"].call(max_exp_avg_sqs[index], square))
                square = max_exp_avg_sqs[index]
            scale = (square.sqrt() / (1 - beta2**count) ** 0.5).add_(eps)
            param.addcdiv_(mean, scale, value=-lr / (1 - beta1**count))


def _fused_adam_(self: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, **options: Any) -> None:
    """A step of Adam on lists of tensors, in place."""
    _adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, False, **options)


def _fused_adamw_(self: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, **options: Any) -> None:
    """A step of AdamW on lists of tensors, in place."""
    _adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, True, **options)


def _fused_sgd_(
    self: Any, grads: Any, momentum_buffer_list: Any, *, weight_decay: float, momentum: float, lr: Any, dampening: float, nesterov: bool,
    maximize: bool, is_first_step: bool, grad_scale: Any = None, found_inf: Any = None,
) -> None:  # fmt: skip
    """A step of gradient descent on lists of tensors, in place."""
    with no_grad():
        if _skipped(grads, grad_scale, found_inf):
            return
        for index, (param, grad) in enumerate(zip(self, grads)):
            grad = -grad if maximize else grad
            if weight_decay:
                grad = grad.add(param, alpha=weight_decay)
            if momentum:
                buffer = momentum_buffer_list[index]
                if is_first_step:
                    buffer.copy_(grad)
                else:
                    buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
                grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
            param.add_(grad, alpha=-float(lr))


def _fused_adagrad_(
    self: Any, grads: Any, state_sums: Any, state_steps: Any, *, lr: Any, lr_decay: float, weight_decay: float, eps: float, maximize: bool,
    grad_scale: Any = None, found_inf: Any = None,
) -> None:  # fmt: skip
    """A step of Adagrad on lists of tensors, in place."""
    with no_grad():
        if _skipped(grads, grad_scale, found_inf):
            return
        for param, grad, total, step in zip(self, grads, state_sums, state_steps):
            grad = -grad if maximize else grad
            if weight_decay:
                grad = grad.add(param, alpha=weight_decay)
            total.addcmul_(grad, grad, value=1)
            param.addcdiv_(grad, total.sqrt().add_(eps), value=-float(lr) / (1 + (float(step) - 1) * lr_decay))


def _amp_foreach_non_finite_check_and_unscale_(self: Any, found_inf: Any, inv_scale: Any) -> None:
    """Divide gradients by the scale of the loss, in place, and note whether one is not finite."""
    with no_grad():
        for each in self:
            if not bool(table["isfinite"].call(each).all()):
                found_inf.fill_(1.0)
            each.mul_(inv_scale)
