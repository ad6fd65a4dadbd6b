"""Composites that can't leave sparse tensors to the ops they are made of: their entry points ask for a sparse form first."""

from __future__ import annotations

from ...core.sparse import asks_first

asks_first.set(True, "norm", "narrow_copy", "resize_", "resize_as_")
