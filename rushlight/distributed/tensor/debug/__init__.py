"""Looking at distributed tensors: the collectives that they cause are counted by ``CommDebugMode`` (``comm_mode.py``)."""

from __future__ import annotations

from ....core.missing import absents
from .comm_mode import CommDebugMode

absents(globals(), "print `placements` and `to_local()` of a DTensor instead", functions="visualize_sharding")
