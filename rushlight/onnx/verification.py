"""Is the file right?  ``verify`` compares an exported model with the program; ``find_mismatch`` names the node where they part.

>>> import rushlight, rushlight.onnx.verification
>>> rushlight.onnx.verification.verify(lambda x: x.exp() + 1, rushlight.ones(3))
>>> rushlight.onnx.verification.find_mismatch(lambda x: x.exp() + 1, rushlight.ones(3)).has_mismatch()
False
"""

from __future__ import annotations

import copy
import enum
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autograd import no_grad
from ..core.base import make
from ..core.dtypes import BY_NUMPY
from .bisection import ReferenceExport, WrongNode, all_values, first_wrong
from .comparison import OnnxSession, difference, eager, errors, flat
from .enums import OperatorExportTypes, TrainingMode
from .exporter import ExportRequest, split_arguments
from .program import ONNXProgram

BINS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1e6)  # of the histograms of errors


class OnnxBackend(enum.Enum):
    """What runs a file when it is verified."""

    REFERENCE = "ONNXReferenceEvaluator"
    ONNX_RUNTIME_CPU = "CPUExecutionProvider"
    ONNX_RUNTIME_CUDA = "CUDAExecutionProvider"


@dataclass
class VerificationOptions:
    """How exactly results must agree.

    Values agree where they are closer than ``atol + rtol * |expected|``; ``acceptable_error_percentage`` of the elements may be
    further apart.  ``flatten``, ``ignore_none`` and ``remained_onnx_input_idx`` are as in PyTorch: outputs are compared one
    by one, None among them is left out, and with ``remained_onnx_input_idx`` the file
    has only the inputs that something is computed from.
    """

    flatten: bool = True
    ignore_none: bool = True
    check_shape: bool = True
    check_dtype: bool = True
    backend: OnnxBackend = OnnxBackend.ONNX_RUNTIME_CPU
    rtol: float = 1e-3
    atol: float = 1e-7
    remained_onnx_input_idx: Sequence[int] | None = None
    acceptable_error_percentage: float | None = None


class GraphInfo:
    """What :func:`find_mismatch` found."""

    def __init__(self, wrong: WrongNode | None, program: ONNXProgram) -> None:
        self.wrong = wrong
        self.program = program

    def has_mismatch(self) -> bool:
        """Whether a node of the file computes something else than the program."""
        return self.wrong is not None

    @property
    def mismatch_error(self) -> AssertionError | None:
        """What differs, as an error."""
        return None if self.wrong is None else AssertionError(str(self.wrong.difference or self.wrong))

    def all_mismatch_leaf_graph_info(self) -> list[GraphInfo]:
        """The places that can't be narrowed down further: this one, or none."""
        return [self] if self.has_mismatch() else []

    def essential_node_kinds(self) -> set[str]:
        """The operations that contain the mismatch."""
        return set() if self.wrong is None else {self.wrong.op}

    def pretty_print_mismatch(self, graph: bool = False) -> None:
        """Print the node, the user's line and both values."""
        print("no mismatch" if self.wrong is None else self.wrong)
        if graph:
            print(self.program.graph)

    pretty_print_tree = pretty_print_mismatch

    def __repr__(self) -> str:
        return "no mismatch" if self.wrong is None else str(self.wrong)


@dataclass
class VerificationInfo:
    """How one value of the file compares with the program's: the largest errors, and how many errors are of which size."""

    name: str
    max_abs_diff: float
    max_rel_diff: float
    abs_diff_hist: tuple[Any, Any]
    rel_diff_hist: tuple[Any, Any]
    expected_dtype: Any
    actual_dtype: Any

    @classmethod
    def from_tensors(cls, name: str, expected: Any, actual: Any) -> VerificationInfo:
        """Compare two tensors."""
        want, got = np.asarray(expected._array), np.asarray(actual._array)
        apart, largest, relative = errors(want, got)
        ratios = apart / np.maximum(np.abs(want.astype(np.float64)), np.finfo(np.float64).tiny)
        return cls(
            name,
            largest,
            relative,
            histogram(apart),
            histogram(np.where(apart == 0, 0.0, ratios)),
            BY_NUMPY[want.dtype],
            BY_NUMPY[got.dtype],
        )

    def asdict(self) -> dict[str, Any]:
        """All of it as plain data."""
        made = {"name": self.name, "max_abs_diff": self.max_abs_diff, "max_rel_diff": self.max_rel_diff}
        for key in ("abs_diff_hist", "rel_diff_hist"):
            made[key] = [each.tolist() for each in getattr(self, key)]
        return {**made, "expected_dtype": str(self.expected_dtype), "actual_dtype": str(self.actual_dtype)}


def histogram(values: np.ndarray) -> tuple[Any, Any]:
    """A histogram: the counts of the bins, and their edges."""
    counts, edges = np.histogram(np.clip(values, BINS[0], BINS[-1]), BINS)
    return make(counts.astype(np.float32)), make(edges.astype(np.float32))


def request_for(model: Any, args: Any, kwargs: Mapping[str, Any] | None, **options: Any) -> ExportRequest:
    """An export by the names of its arguments, the others as they usually are."""
    chosen: dict[str, Any] = dict(
        input_names=None, output_names=None, opset_version=None, dynamic_axes=None, dynamic_shapes=None, training=TrainingMode.EVAL,
        mode=OperatorExportTypes.ONNX, folding=True, custom_opsets=None, autograd_inlining=True, export_params=True,
        keep_initializers_as_inputs=False, modules_as_functions=False,
    )  # fmt: skip
    return ExportRequest(model, args, kwargs=None if kwargs is None else dict(kwargs), **{**chosen, **options})


class ModelRunner:
    """Runs a model by the chosen back-end."""

    def __init__(self, data: bytes, backend: OnnxBackend) -> None:
        if backend is OnnxBackend.ONNX_RUNTIME_CUDA:
            raise ValueError("the back-ends for verification here are ONNX_RUNTIME_CPU and REFERENCE")
        self.runtime = OnnxSession(data) if backend is OnnxBackend.ONNX_RUNTIME_CPU else None
        self.evaluator: Any = None
        if self.runtime is None:
            import onnx.reference

            self.evaluator = onnx.reference.ReferenceEvaluator(onnx.load_from_string(data))

    def __call__(self, arrays: list[np.ndarray]) -> list[Any]:
        if self.runtime is not None:
            return self.runtime.run(arrays)
        return list(self.evaluator.run(None, dict(zip(self.evaluator.input_names, arrays))))


def check_outputs(names: Sequence[str], expected: Sequence[np.ndarray], found: Sequence[Any], options: VerificationOptions) -> None:
    """Raise an AssertionError that names the output, the place and both values where they disagree."""
    found = [part for each in found for part in (each if isinstance(each, list) else [each])]  # sequences among them
    assert len(expected) == len(found), f"Number of outputs differ. ONNX: {len(found)}, expected: {len(expected)}"
    share = (options.acceptable_error_percentage or 0.0) if options.acceptable_error_percentage else 0.0
    if not 0 <= share <= 1:
        raise ValueError("If set, acceptable_error_percentage should be between 0.0 and 1.0")
    for at, (want, got) in enumerate(zip(expected, found)):
        name = names[at] if len(names) == len(found) else f"{at}"
        wrong = difference(
            name,
            want,
            np.asarray(got),
            options.rtol,
            options.atol,
            check_shape=options.check_shape,
            check_dtype=options.check_dtype,
            share=share,
        )[0]
        if wrong is not None:
            how = "Tensor-likes are not close!\n\n" if wrong.what == "values" else ""
            raise AssertionError(f"{how}the exported model does not agree with the program: {wrong}")


def cloned(model: Any) -> Any:
    """A copy of a model whose forward may change its attributes; the model itself, with a warning, where it can't be copied."""
    try:
        return copy.deepcopy(model)
    except Exception:
        warnings.warn("Failed to clone model. Model state might be mutated during verification.", stacklevel=3)
        return model


def verify(
    model: Any, input_args: Any, input_kwargs: Mapping[str, Any] | None = None, do_constant_folding: bool = True, dynamic_axes: Any = None,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None, training: TrainingMode = TrainingMode.EVAL,
    opset_version: int | None = None, keep_initializers_as_inputs: bool = True, verbose: bool = False, fixed_batch_size: bool = False,
    use_external_data: bool = False, additional_test_inputs: Sequence[Any] | None = None, options: VerificationOptions | None = None,
) -> None:  # fmt: skip
    """Export a model and compare what the file computes with what the program does, on the example inputs and on further ones.

    Raises an AssertionError that names the output and both values where they disagree.
    """
    options = options or VerificationOptions()
    reference = cloned(model)  # which a forward that sets attributes leaves alone
    request = request_for(
        model, input_args, input_kwargs, folding=do_constant_folding, dynamic_axes=dynamic_axes, input_names=input_names, output_names=output_names,
        training=training, opset_version=opset_version, keep_initializers_as_inputs=keep_initializers_as_inputs,
    )  # fmt: skip
    request.keeps_unused_inputs = options.remained_onnx_input_idx is None
    with no_grad():
        made = request.model_file()
    if verbose:
        print(made.graph)
    stream = io.BytesIO()
    made.write(stream)
    reader = ModelRunner(stream.getvalue(), options.backend)
    names = [value.name for value in made.graph._outputs]
    for inputs in [(request.args, request.kwargs), *(split_arguments(model, each, None) for each in additional_test_inputs or ())]:
        expected = eager(cloned(reference), *inputs, training)
        arrays = flat([list(inputs[0]), inputs[1]], np.float64)  # which an argument that is a float is in the file
        if made.graph.kept_inputs is not None:
            arrays = [arrays[at] for at in made.graph.kept_inputs]
        check_outputs(names, expected, reader(arrays), options)


def find_mismatch(
    model: Any, input_args: Any, do_constant_folding: bool = True, training: TrainingMode = TrainingMode.EVAL, opset_version: int | None = None,
    keep_initializers_as_inputs: bool = True, verbose: bool = False, options: VerificationOptions | None = None,
) -> GraphInfo:  # fmt: skip
    """Export a model, and find the first node of the file that computes something else than the program does there."""
    options = options or VerificationOptions()
    request = request_for(
        model, input_args, None, folding=do_constant_folding, training=training, opset_version=opset_version,
    )  # fmt: skip
    expected = eager(model, request.args, request.kwargs, training)
    reference = ReferenceExport(request)
    tensors = flat([list(request.args), request.kwargs])
    wrong = first_wrong(reference.model.proto(), reference, tensors, expected, options.rtol, max(options.atol, 1e-6))
    found = GraphInfo(wrong, ONNXProgram(reference.model))
    if verbose:
        found.pretty_print_mismatch()
    return found


def verify_onnx_program(
    onnx_program: ONNXProgram,
    args: tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    compare_intermediates: bool = False,
) -> list[VerificationInfo]:
    """Compare an exported program with the one it was exported from, on the example inputs or on others."""
    request = getattr(onnx_program, "_request", None)
    if request is None:
        raise ValueError("The program does not hold the model that it was exported from: use verify(model, args)")
    args, kwargs = request.args if args is None else args, request.kwargs if kwargs is None else kwargs
    expected = eager(request.model, args, kwargs, request.training)
    tensors = flat([list(args), kwargs])
    proto = onnx_program.model_proto
    pairs: list[tuple[str, Any, Any]] = []
    if compare_intermediates:
        again = request_for(
            request.model,
            args,
            kwargs,
            opset_version=request.opset,
            input_names=request.input_names or None,
            output_names=request.output_names or None,
        )
        reference, found = ReferenceExport(again), all_values(proto, tensors)
        pairs = [(name, want, found[name]) for name, want in reference.values.items() if name in found and want.shape == found[name].shape]
    stream = io.BytesIO()
    onnx_program.save(stream)
    outputs = ModelRunner(stream.getvalue(), OnnxBackend.ONNX_RUNTIME_CPU)(tensors)
    names = [each.name for each in proto.graph.output]
    pairs = [each for each in pairs if each[0] not in names] + [*zip(names, expected, outputs)]
    return [VerificationInfo.from_tensors(name, make(np.asarray(want)), make(np.asarray(got))) for name, want, got in pairs]


__all__ = ["GraphInfo", "OnnxBackend", "VerificationInfo", "VerificationOptions", "find_mismatch", "verify", "verify_onnx_program"]
