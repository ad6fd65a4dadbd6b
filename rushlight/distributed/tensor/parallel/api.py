"""``parallelize_module``: applies styles to the submodules of a model, by their names."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from typing import Any

from ...device_mesh import _mesh_resources
from .style import ParallelStyle, check_mesh

__all__ = ["parallelize_module"]


def parallelize_module(module: Any, device_mesh: Any = None, parallelize_plan: Any = None, *, src_data_rank: int | None = 0) -> Any:
    """A model whose submodules are spread over a mesh: a style, or styles by names (``"layers.*.attention.wq"``)."""
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    check_mesh(mesh)
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        if path == "":
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        first, _, rest = path.partition(".")
        found = [child for name, child in module.named_children() if fnmatch(name, first)]
        if not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{first}' in module {module}, skipping this "
                "plan entry.",
                stacklevel=2,
            )
        for child in found:
            parallelize_module(child, mesh, {rest: style} if rest else style, src_data_rank=src_data_rank)
    return module
