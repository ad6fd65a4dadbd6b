"""Passes over ``fx`` graphs: splitting, shapes, drawing, partitions."""

from __future__ import annotations

from ...core.missing import missing

__getattr__ = missing(
    __name__,
    lazy=(
        "dialect",
        "fake_tensor_prop",
        "graph_drawer",
        "infra",
        "operator_support",
        "shape_prop",
        "split_module",
        "tools_common",
        "utils",
    ),
)
