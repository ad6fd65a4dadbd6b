"""``torch.export``: a Module as a program of PyTorch's operators, for given ranges of sizes, in PyTorch's own file format.

In: a Module and example inputs, or a ``.pt2`` file.  Out: an :class:`ExportedProgram`, which runs, trains, compiles, exports to ONNX and is saved.

    exporting.py        ``export``: the pipeline; read it first
    dynamic_shapes.py   ``Dim`` and its like; what the user says of sizes
    tracing.py          the capture: the house's tracer, recording PyTorch's operators (``aten_forms.py``), with ``stand_ins.py``
                        in the place of parameters and buffers, and the comparisons of sizes that it meets (``size_guards.py``)
    constraints.py      what the program demands of sizes, found at other sizes
    lifting.py          the graph with parameters and constants as inputs, and its signature (``graph_signature.py``)
    unlift.py           ``module()``: the program as a Module again
    decomposition.py    ``run_decompositions``
    unflatten.py        the program as a tree of Modules
    archive.py          ``.pt2`` files: ``serialize.py`` writes the graph, ``deserialize.py`` reads it
"""

from __future__ import annotations

from ..core.missing import missing as _missing
from .archive import load, save
from .decomposition import CustomDecompTable, default_decompositions
from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .exporting import draft_export, export
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .registration import register_dataclass
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

__getattr__ = _missing(__name__, lazy=("decomp_utils", "dynamic_shapes", "exported_program", "graph_signature", "passes"))
Constraint = Dim  # PyTorch's name of what a dimension is held to

__all__ = [
    "AdditionalInputs", "Constraint", "CustomDecompTable", "Dim", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram", "FlatArgsAdapter",
    "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection", "UnflattenedModule", "default_decompositions", "dims", "draft_export", "export", "load",
    "register_dataclass", "save", "unflatten",
]  # fmt: skip
