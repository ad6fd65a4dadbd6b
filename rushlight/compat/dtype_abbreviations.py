"""``torch.utils._dtype_abbrs``: short names of types, such as ``f32``."""

from __future__ import annotations

from ..core import dtypes

dtype_abbrs = {each: each.abbr for each in dtypes.ALL}
