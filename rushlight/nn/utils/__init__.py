"""Tools for parameters and gradients.  A file is loaded when one of its functions is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.missing import listing, missing
from .spectral_norm import remove_spectral_norm, spectral_norm  # functions that share the names of their files can't wait
from .weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from . import parametrizations, parametrize, prune, rnn, stateless
    from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
    from .convert_parameters import parameters_to_vector, vector_to_parameters
    from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
    from .init import skip_init
    from .memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format

# The functions by the file that declares them.
FUNCTIONS = {
    "clip_grad": "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
}  # fmt: skip
if not TYPE_CHECKING:
    __all__ = sorted([
        *(name for names in FUNCTIONS.values() for name in names.split()),
        "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "stateless", "weight_norm",
    ])  # fmt: skip
    __getattr__ = missing(__name__, lazy=(*FUNCTIONS, "parametrizations", "parametrize", "prune", "rnn", "stateless"), names=FUNCTIONS)
    __dir__ = listing(__name__, names=__all__)
