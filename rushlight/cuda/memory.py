"""Names of ``torch.cuda`` in the module where PyTorch has them."""

from __future__ import annotations

from .. import cuda
from ..core.missing import missing

globals().update(
    {
        name: getattr(cuda, name)
        for name in "empty_cache memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_stats memory_summary memory_snapshot mem_get_info reset_peak_memory_stats reset_accumulated_memory_stats set_per_process_memory_fraction get_per_process_memory_fraction memory_stats_as_nested_dict max_memory_cached memory_cached reset_max_memory_allocated reset_max_memory_cached caching_allocator_alloc caching_allocator_delete change_current_allocator CUDAPluggableAllocator MemPool use_mem_pool list_gpu_processes".split()
    }
)


def _record_memory_history(*args: object, **kwargs: object) -> None:
    """Accepted: there is no memory of a GPU to record."""


__getattr__ = missing(__name__)
