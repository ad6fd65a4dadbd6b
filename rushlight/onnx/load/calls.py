"""The public functions of the op table by name (``calls.add``, ``calls.topk``): what importers are written with.

Importers can't import ``rushlight`` itself, which is above them; these are the same functions, loaded when they are first used.
"""

from __future__ import annotations

from ...core.dtypes import BY_NAME as _BY_NAME
from ...core.missing import missing as _missing
from ...tensor import Tensor
from ...tensor.construct import as_tensor, from_numpy, tensor

globals().update(_BY_NAME)
__getattr__ = _missing(__name__, namespace="")
__all__ = ["Tensor", "as_tensor", "from_numpy", "tensor"]
