"""Architecture optimization: quantization, pruning, and the modules it replaces others with (PyTorch's ``torch.ao``).

In: a float module.  Out: a module with observers, fake quantization or quantized layers.  Start with ``quantization/quantize.py``
(prepare, calibrate, convert); ``nn/`` has the quantized, dynamic, fused and quantization-aware layers.
"""

from __future__ import annotations

from ..core.missing import missing

__getattr__ = missing(__name__, lazy=("nn", "pruning", "quantization"))
