"""Ops whose gradients PyTorch computes in one kernel: those of bfloat16 and float16 in float32, with one rounding at the end.

Gradients of other ops are formulas of ops there as here, with a rounding after each.
"""

from __future__ import annotations

from ..core.recording import rounded_once

rounded_once.set(True, *"hardswish elu softplus sigmoid tanh gelu_tanh logsigmoid".split())
