"""Utilities: data loading (``data/``), activation checkpointing, benchmarks, FLOP counts, safetensors files.  Submodules load on first use.

They do not depend on each other; ``data/dataloader.py`` and ``checkpoint.py`` are the largest subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.missing import missing
from ..tensor.swapping import swap_tensors
from . import checkpoint

__all__ = ["benchmark", "checkpoint", "collect_env", "data", "dlpack", "flop_counter", "hooks", "safetensors", "swap_tensors"]

if TYPE_CHECKING:
    from . import benchmark, collect_env, data, dlpack, flop_counter, hooks, safetensors
else:
    __getattr__ = missing(
        __name__,
        lazy=(
            "benchmark",
            "collect_env",
            "cpp_extension",
            "data",
            "deterministic",
            "dlpack",
            "flop_counter",
            "hooks",
            "model_zoo",
            "module_tracker",
            "safetensors",
            "tensorboard",
            "throughput_benchmark",
            "weak",
        ),
        names={"throughput_benchmark": "ThroughputBenchmark"},
    )
