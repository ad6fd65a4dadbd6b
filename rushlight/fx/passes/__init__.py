"""Passes over ``fx`` graphs: splitting, shapes, drawing, partitions."""

from __future__ import annotations

from ...core.missing import missing

__getattr__ = missing(
    __name__,
    lazy=(
        "fake_tensor_prop",
        "graph_drawer",
        "graph_manipulation",
        "infra",
        "operator_support",
        "param_fetch",
        "shape_prop",
        "split_module",
        "tools_common",
        "utils",
    ),
)
