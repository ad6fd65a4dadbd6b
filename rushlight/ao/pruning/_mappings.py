"""Which layer is which sparse quantized one: none of these is here."""

from __future__ import annotations

from ...core.missing import absent_function

_PLACE = __name__.rpartition(".")[0]
_WHY = "linear layers with weights that are quantized and stored sparse (torch.ao.nn.sparse) have no kernels; squash the mask, and quantize the layer as it is"
get_static_sparse_quantized_mapping = absent_function("get_static_sparse_quantized_mapping", _PLACE, _WHY)
get_dynamic_sparse_quantized_mapping = absent_function("get_dynamic_sparse_quantized_mapping", _PLACE, _WHY)
