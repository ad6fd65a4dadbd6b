"""`torch._inductor.decomposition`: the registry of bodies of operators, by the name under which libraries import it."""

from __future__ import annotations

from ..decompositions import register_decomposition

__all__ = ["register_decomposition"]
