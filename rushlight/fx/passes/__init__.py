"""Passes over ``fx`` graphs: splitting, shapes, drawing, partitions."""

from __future__ import annotations

from ...core.missing import missing

__getattr__ = missing(
    __name__,
    lazy=(
        "annotate_getitem_nodes",
        "dialect",
        "fake_tensor_prop",
        "graph_drawer",
        "graph_manipulation",
        "infra",
        "operator_support",
        "pass_manager",
        "shape_prop",
        "split_module",
        "split_utils",
        "tools_common",
        "utils",
    ),
)
