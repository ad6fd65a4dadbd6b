"""What the operators of ONNX compute, in calls of ops: each file registers a family of them when it is imported.

In: a node's inputs and attributes.  Out: its outputs.  ``../registry.py`` says how an importer is written.
"""

from __future__ import annotations

from . import pointwise, shapes

__all__ = ["pointwise", "shapes"]
