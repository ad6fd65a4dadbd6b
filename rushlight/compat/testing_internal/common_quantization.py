"""`torch.testing._internal.common_quantization`: which quantised kernels a test needs."""

from __future__ import annotations

import rushlight

from ...core.missing import missing
from ...testing.helpers import skip_when

skipIfNoFBGEMM = skip_when(lambda: "fbgemm" not in rushlight.backends.quantized.supported_engines, "there are no FBGEMM kernels")
skipIfNoQNNPACK = skip_when(lambda: "qnnpack" not in rushlight.backends.quantized.supported_engines, "there are no QNNPACK kernels")

__getattr__ = missing("rushlight.testing._internal.common_quantization")
