"""Passes over ``fx`` graphs: splitting, shapes, drawing, partitions.

In: a ``GraphModule``, and for partitions a test of which operators a back-end supports.  Out: a ``GraphModule`` whose parts are submodules, or nodes with shapes in
their ``meta``.  Read ``split_module.py`` first, then ``infra/partitioner.py``.
"""

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
