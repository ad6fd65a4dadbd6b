"""Pruning: parameters behind masks of zeros and ones."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...ops.create.factories import ones_like, zeros_like
from ...ops.index.sort import kthvalue, topk
from ...ops.random.sampling import rand, rand_like
from ...ops.shape.concat import cat


class BasePruningMethod(ABC):
    """A way of pruning; as a hook it multiplies a parameter by its mask before every forward.

    ``PRUNING_TYPE`` is ``"unstructured"`` (single elements), ``"structured"`` (slices) or ``"global"`` (over several parameters).
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for a tensor of importances, on top of the mask that it has."""

    def apply_mask(self, module: Any) -> Any:
        """The parameter times its mask."""
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module, on top of what was pruned before."""
        before = [
            (key, hook)
            for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(before) > 1:
            raise AssertionError(f"Found {len(before)} pruning hooks to be applied to {name} of {module}")
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        present = getattr(module, name)
        if importance_scores is None:
            importance_scores = present
        elif importance_scores.shape != present.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {present.shape}"
            )
        if before:
            original, mask = getattr(module, name + "_orig"), getattr(module, name + "_mask").detach().clone()
            container = PruningContainer(before[0][1])
            container.add_pruning_method(method)
            method = container
        else:
            original, mask = module._parameters[name], ones_like(present)
        mask = method.compute_mask(importance_scores, default_mask=mask)
        # Nothing was changed so far: what fails leaves the module as it was.
        if before:
            del module._forward_pre_hooks[before[0][0]]
        else:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A pruned copy of a tensor that belongs to no module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default_mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor the parameter for good."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several ways of pruning one parameter, one after another: each sees only what those before have left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        elif len(args) == 1 and isinstance(args[0], PruningContainer):
            self._tensor_name = args[0]._tensor_name
            for method in args[0]:
                self.add_pruning_method(method)
        else:
            for method in args:
                self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a way of pruning the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask that it has, with what the newest method takes of the rest."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        kept: Any
        if method.PRUNING_TYPE == "unstructured":
            kept = mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError("Pruning methods of PRUNING_TYPE 'structured' need to have the attribute `dim` defined.")
            dim = method.dim if method.dim >= 0 else method.dim + t.dim()
            alive = mask.sum(dim=[each for each in range(t.dim()) if each != dim]) != 0
            kept = (slice(None),) * dim + (alive,)
        elif method.PRUNING_TYPE == "global":
            kept = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask[kept] = method.compute_mask(t[kept], default_mask=mask[kept]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but puts the parameter behind a mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask that it has."""
        return default_mask


class _ByAmount(BasePruningMethod):
    """A method that prunes a fraction or a number of elements."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount


class RandomUnstructured(_ByAmount):
    """Prunes elements by lot."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask, with zeros at random places."""
        count = _number_to_prune(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[topk(rand_like(t).view(-1), k=count).indices] = 0
        return mask


class L1Unstructured(_ByAmount):
    """Prunes the smallest elements."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask, with zeros where the tensor is smallest."""
        count = _number_to_prune(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[topk(t.detach().abs().view(-1), k=count, largest=False).indices] = 0
        return mask


class RandomStructured(_ByAmount):
    """Prunes slices along a dimension by lot."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask, with zeros in random slices."""
        _check_structured(t, self.dim)
        size = t.shape[self.dim]
        count = _number_to_prune(self.amount, size)
        if not count:
            return default_mask
        lots = rand(size)
        return _keep_slices(t, self.dim, lots > kthvalue(lots, k=count).values) * default_mask


class LnStructured(_ByAmount):
    """Prunes the slices along a dimension that have the smallest norms."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask, with zeros in the slices of smallest norm."""
        _check_structured(t, self.dim)
        size = t.shape[self.dim]
        count = _number_to_prune(self.amount, size)
        if not count:
            return default_mask
        others = [each for each in range(t.dim()) if each != self.dim % t.dim()]
        norms = t.detach().norm(p=self.n, dim=others)
        return _keep_slices(t, self.dim, topk(norms, k=size - count, largest=True).indices) * default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask of the user's says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Both masks together."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"mask of shape {self.mask.shape} does not fit a tensor of shape {default_mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _keep_slices(t: Any, dim: int, kept: Any) -> Any:
    mask = zeros_like(t)
    mask[(slice(None),) * (dim % t.dim()) + (kept,)] = 1
    return mask


# -- the functions -----------------------------------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Put a parameter behind a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements of a parameter by lot: a fraction, or a number of them."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the smallest elements of a parameter (or those of smallest importance)."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune slices of a parameter along a dimension by lot."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the slices of a parameter along a dimension whose norm of order ``n`` is smallest."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune a parameter where a mask is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several parameters, given as ``(module, name)`` pairs, as if they were one."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = importance_scores or {}
    pairs = [(module, name) for module, name in parameters]
    importance = cat([scores.get((module, name), getattr(module, name)).reshape(-1) for module, name in pairs])
    default = cat([getattr(module, name + "_mask", ones_like(getattr(module, name))).reshape(-1) for module, name in pairs])
    container = PruningContainer()
    container._tensor_name = "temp"  # one name for the whole, to be seen by the container alone
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE is supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    mask = container.compute_mask(importance.detach(), default)
    position = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        count = parameter.numel()
        custom_from_mask(module, name, mask=mask[position : position + count].view_as(parameter))
        position += count


def remove(module: Any, name: str) -> Any:
    """Make a pruned tensor the parameter for good, without mask and hook."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether a module, or one below it, has pruned parameters."""
    return any(isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values())


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """The number of elements (or slices) that an amount means."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _number_to_prune(amount: Any, size: int) -> int:
    """The same, of an amount that is checked."""
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


def _check_structured(t: Any, dim: int) -> None:
    if t.dim() <= 1:
        raise ValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim() or dim < -t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
