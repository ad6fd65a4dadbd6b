"""Spectral normalisation by a hook: the old form of ``parametrizations.spectral_norm``."""

from __future__ import annotations

from typing import Any

from ...autograd import no_grad
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..parameter import Parameter, UninitializedParameter


def default_dim(module: Any) -> int:
    """The dimension of a weight that counts outputs: transposed convolutions have it second."""
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


def as_matrix(weight: Any, dim: int) -> Any:
    """A weight as a matrix with a row for every index of ``dim``."""
    if dim != 0:
        weight = weight.permute(dim, *(each for each in range(weight.dim()) if each != dim))
    return weight.reshape(weight.shape[0], -1)


class SpectralNorm:
    """The hook that computes the weight before every forward."""

    _version = 1  # of what `state_dict` keeps: u and v

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """The weight as a matrix with a row for every output."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The weight over its largest singular value, which power iterations estimate from the last estimate on."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                new_u, new_v = u, v
                for _ in range(self.n_power_iterations):
                    new_v = F.normalize(matrix.t().mv(new_u), dim=0, eps=self.eps)
                    new_u = F.normalize(matrix.mv(new_v), dim=0, eps=self.eps)
                v.copy_(new_v)
                u.copy_(new_u)
                u, v = (new_u.clone(), new_v.clone())  # the next forward writes to the buffers; this one's backward needs these
        sigma = u.dot(matrix.mv(v))
        return weight / sigma

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, weight_mat: Any, u: Any, target_sigma: Any) -> Any:
        """The v that goes with a u, as files of long ago do not hold it."""
        v = (weight_mat.t() @ weight_mat).pinverse() @ weight_mat.t() @ u.unsqueeze(1)
        v = v.squeeze(1)
        return v * (target_sigma / u.dot(weight_mat.mv(v)))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Hang the hook on a module."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        norm = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward before "
                "applying spectral normalization"
            )
        with no_grad():
            rows, columns = norm.reshape_weight_to_matrix(weight).shape
            u = F.normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
        del module._parameters[name]
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.detach())  # an attribute: what it holds is the parameter's, under another name
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(norm)
        module._register_state_dict_hook(SpectralNormStateDictHook(norm))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(norm))
        return norm


class SpectralNormLoadStateDictPreHook:
    """Brings a ``state_dict`` of an older version to the present one."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, unexpected_keys: Any, error_msgs: Any
    ) -> None:
        name = self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + name
        if version is None and all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v")) and key not in state_dict:
            return  # already of the present form
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if strict:
            missing_keys.extend(missing)
        if missing:
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            sigma = (original / weight).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = self.fn._solve_v_and_rescale(matrix, state_dict[key + "_u"], sigma)


class SpectralNormStateDictHook:
    """Notes the version in a ``state_dict``'s metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """Divide a weight by its largest singular value before every forward."""
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Take spectral normalisation off a module."""
    norm = next((hook for hook in module._forward_pre_hooks.values() if isinstance(hook, SpectralNorm) and hook.name == name), None)
    if norm is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    norm.remove(module)
    for table in (module._forward_pre_hooks, module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(table.items()):
            if getattr(hook, "fn", hook) is norm:
                del table[key]
    return module


__all__ = [
    "SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm", "spectral_norm",
]  # fmt: skip
