"""Pruning during training: sparsifiers keep masks over parameters, schedulers say how sparse these are at a step.

>>> import rushlight
>>> model = rushlight.nn.Sequential(rushlight.nn.Linear(8, 4))
>>> sparsifier = WeightNormSparsifier(sparsity_level=0.5, sparse_block_shape=(1, 1))
>>> sparsifier.prepare(model, config=[{"tensor_fqn": "0.weight"}])
>>> sparsifier.step()
>>> sparsifier.squash_mask()
>>> int((model[0].weight == 0).sum())
16
"""

from ._mappings import get_dynamic_sparse_quantized_mapping, get_static_sparse_quantized_mapping
from .scheduler.base_scheduler import BaseScheduler
from .scheduler.cubic_scheduler import CubicSL
from .scheduler.lambda_scheduler import LambdaSL
from .sparsifier.base_sparsifier import BaseSparsifier
from .sparsifier.nearly_diagonal_sparsifier import NearlyDiagonalSparsifier
from .sparsifier.utils import FakeSparsity, fqn_to_module, get_arg_info_from_tensor_fqn, module_to_fqn
from .sparsifier.weight_norm_sparsifier import WeightNormSparsifier

__all__ = [
    "BaseScheduler", "BaseSparsifier", "CubicSL", "FakeSparsity", "LambdaSL", "NearlyDiagonalSparsifier", "WeightNormSparsifier",
    "fqn_to_module", "get_arg_info_from_tensor_fqn", "get_dynamic_sparse_quantized_mapping", "get_static_sparse_quantized_mapping",
    "module_to_fqn",
]  # fmt: skip
