"""Steps of optimizers as functions of lists: ``torch.optim.adam.adam(params, grads, exp_avgs, ...)``.

Each is one step of the optimizer of that name on tensors that are not its own: the lists are its state, and are updated in place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import optim
from ..autograd.grad_mode import no_grad

_BETAS: dict[str, tuple[str, ...]] = {"betas": ("beta1", "beta2")}

# Function -> class; its lists and the names of the optimizer's state; further arguments in PyTorch's order (those after "*" by name only);
# options of the class that are made of several arguments.
_FORMS: dict[str, tuple[str, dict[str, str], str, dict[str, tuple[str, ...]]]] = {
    "sgd": ("SGD", {"momentum_buffer_list": "momentum_buffer"}, "has_sparse_grad foreach fused grad_scale found_inf * weight_decay momentum lr dampening nesterov maximize", {}),
    "adam": ("Adam", {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step"},
             "foreach capturable differentiable fused grad_scale found_inf has_complex decoupled_weight_decay * amsgrad beta1 beta2 lr weight_decay eps maximize", _BETAS),
    "adamw": ("AdamW", {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step"},
              "foreach capturable differentiable fused grad_scale found_inf has_complex * amsgrad beta1 beta2 lr weight_decay eps maximize", _BETAS),
    "adagrad": ("Adagrad", {"state_sums": "sum", "state_steps": "step"},
                "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex * lr weight_decay lr_decay eps maximize", {}),
    "rmsprop": ("RMSprop", {"square_avgs": "square_avg", "grad_avgs": "grad_avg", "momentum_buffer_list": "momentum_buffer", "state_steps": "step"},
                "foreach maximize differentiable capturable has_complex * lr alpha eps weight_decay momentum centered", {}),
    "adadelta": ("Adadelta", {"square_avgs": "square_avg", "acc_deltas": "acc_delta", "state_steps": "step"},
                 "capturable foreach differentiable has_complex * lr rho eps weight_decay maximize", {}),
    "adamax": ("Adamax", {"exp_avgs": "exp_avg", "exp_infs": "exp_inf", "state_steps": "step"},
               "foreach maximize differentiable capturable has_complex * eps beta1 beta2 lr weight_decay", _BETAS),
    "nadam": ("NAdam", {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "mu_products": "mu_product", "state_steps": "step"},
              "decoupled_weight_decay foreach capturable differentiable has_complex maximize * beta1 beta2 lr weight_decay momentum_decay eps", _BETAS),
    "radam": ("RAdam", {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "state_steps": "step"},
              "decoupled_weight_decay foreach differentiable capturable has_complex maximize * beta1 beta2 lr weight_decay eps", _BETAS),
    "asgd": ("ASGD", {"axs": "ax", "mus": "mu", "etas": "eta", "state_steps": "step"},
             "foreach maximize differentiable capturable has_complex * lambd lr t0 alpha weight_decay", {}),
    "rprop": ("Rprop", {"prevs": "prev", "step_sizes": "step_size", "state_steps": "step"},
              "foreach capturable maximize differentiable has_complex * step_size_min step_size_max etaminus etaplus",
              {"etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}),
}  # fmt: skip
_UNUSED = ("has_sparse_grad", "has_complex", "grad_scale", "found_inf", "foreach", "fused", "capturable")


def _step(kind: Any, lists: dict[str, str], pairs: dict[str, tuple[str, ...]], given: dict[str, Any]) -> None:
    """One step of an optimizer on tensors and a state that are not its own."""
    if given.pop("grad_scale", None) is not None or given.pop("found_inf", None) is not None:
        raise RuntimeError("grad_scale and found_inf are arguments of fused kernels: unscale the gradients before the step")
    params, grads = given.pop("params"), given.pop("grads")
    states = {key: given.pop(name) for name, key in lists.items()}
    options = {name: value for name, value in given.items() if name not in _UNUSED}
    for option, parts in pairs.items():
        options[option] = tuple(options.pop(part) for part in parts)
    own = [each.detach() for each in params]
    optimizer = kind(own, **options)
    for place, (param, grad) in enumerate(zip(own, grads)):
        param.grad = grad
        found = {key: values[place] for key, values in states.items() if place < len(values) and values[place] is not None}
        if found:
            optimizer.state[param] = found
    with no_grad():
        optimizer.step()
        for place, param in enumerate(own):
            for key, values in states.items():
                made = optimizer.state[param].get(key)
                if place >= len(values) or made is None:
                    continue
                if values[place] is None:
                    values[place] = made
                elif made is not values[place]:
                    values[place].copy_(made)


def _function(name: str) -> Callable[..., None]:
    class_name, lists, further, pairs = _FORMS[name]
    grads = "d_p_list" if name == "sgd" else "grads"
    positional, _, named = further.partition(" * ")
    kinds = inspect.Parameter
    signature = inspect.Signature([
        *(kinds(each, kinds.POSITIONAL_OR_KEYWORD) for each in ("params", grads, *lists)),
        *(kinds(each, kinds.POSITIONAL_OR_KEYWORD, default=None if each in ("foreach", "fused", "grad_scale", "found_inf") else False) for each in positional.split()),
        *(kinds(each, kinds.KEYWORD_ONLY) for each in named.split()),
    ])  # fmt: skip

    def functional(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        given["grads"] = given.pop(grads)
        _step(getattr(optim, class_name), lists, pairs, given)

    functional.__name__ = functional.__qualname__ = name
    functional.__doc__ = f"One step of {class_name} on lists of tensors, which are updated in place."
    functional.__signature__ = signature  # type: ignore[attr-defined]
    return functional


sgd, adam, adamw, adagrad, rmsprop, adadelta = map(_function, ("sgd", "adam", "adamw", "adagrad", "rmsprop", "adadelta"))
adamax, nadam, radam, asgd, rprop = map(_function, ("adamax", "nadam", "radam", "asgd", "rprop"))
