"""Passes over ``fx`` graphs: splitting, shapes, drawing, partitions.

In: a ``GraphModule``, and for partitions a test of which operators a back-end supports.  Out: a ``GraphModule`` whose parts are submodules, or nodes with shapes in
their ``meta``.  Read ``split_module.py`` first, then ``infra/partitioner.py``.
"""

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
