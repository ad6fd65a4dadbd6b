"""Reading ONNX files: a model becomes a GraphModule whose nodes are operators of ONNX, each of which is written in ops of the table.

In: a file, bytes or a ``ModelProto``.  Out: an :class:`~rushlight.onnx.load.model.OnnxGraphModule`, which runs, trains, compiles and exports.  Read
``model.py`` first (``load``), then ``builder.py`` (nodes of the file to nodes of the graph) and ``registry.py`` (how an operator is mapped);
``importers/`` has the mappings, in a file a family; ``numbers.py`` is arithmetic on sizes, ``control_flow.py`` operators with bodies, ``reading.py`` the
file itself, ``operators.py`` what the nodes of a graph call, ``saving.py`` their names in files of ``jit.save``.
"""

from __future__ import annotations

from . import saving
from .model import OnnxGraphModule, load
from .registry import register_op

__all__ = ["OnnxGraphModule", "load", "register_op", "saving"]
