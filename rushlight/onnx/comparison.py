"""Running a program eagerly and its ONNX file in ONNX Runtime, on the same inputs, and telling how far they are apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..core.base import TensorBase
from ..core.kernel_providers import same_digits
from ..nn.modules.module import Module
from .enums import TrainingMode
from .errors import OnnxExporterError
from .exporter import preserved, select_model_mode_for_export
from .files import first_line
from .random_inputs import DimSizes, InputSpec, draw, other_sizes

RTOL, ATOL = 1e-3, 1e-5
COARSE = 1e-2  # both, for types of 16 bits and fewer
TRIES = 24  # how many inputs are drawn to find one that takes a branch


class OnnxSession:
    """An ONNX model in ONNX Runtime, from a path or from its bytes."""

    def __init__(self, model: str | bytes, *, optimized: bool = True) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise ImportError("running an ONNX file needs ONNX Runtime: pip install onnxruntime") from None
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        if not optimized:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions have no common class
            raise OnnxExporterError(f"ONNX Runtime does not take the file: {first_line(error)}") from error
        self.inputs = [each.name for each in self.session.get_inputs()]
        self.outputs = [each.name for each in self.session.get_outputs()]

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """The outputs for input tensors in the order of the file."""
        if len(tensors) < len(self.inputs):
            raise OnnxExporterError(
                f"the file has {len(self.inputs)} inputs ({', '.join(self.inputs)}), and {len(tensors)} tensors were given"
            )
        arrays = [np.asarray(each.detach()._array) if isinstance(each, TensorBase) else np.asarray(each) for each in tensors]
        try:
            return list(self.session.run(None, dict(zip(self.inputs, arrays))))
        except Exception as error:
            raise OnnxExporterError(f"ONNX Runtime can't run the file: {first_line(error)}") from error


@dataclass
class OutputDifference:
    """How an output differs from the expected one, with the place where that is worst."""

    name: str
    what: str
    largest: float = 0.0
    index: tuple[int, ...] = ()
    expected: Any = None
    got: Any = None

    def __str__(self) -> str:
        if self.what != "values":
            return f"{self.name}: {self.what}: expected {self.expected}, got {self.got}"
        at = f" at {list(self.index)}" if self.index else ""
        return f"{self.name}: expected {self.expected:.8g}, got {self.got:.8g}{at} (difference {self.largest:.3g})"


@dataclass
class ComparedRun:
    """One run of both."""

    sizes: DimSizes
    largest: float = 0.0  # of all differences, absolute
    relative: float = 0.0
    wrong: OutputDifference | None = None
    refused: str = ""  # why the program itself does not take such inputs
    tensors: list[Any] = field(default_factory=list)


def tolerances(array: np.ndarray, rtol: float | None, atol: float | None) -> tuple[float, float]:
    """How far values of a type may be apart, where the user says nothing."""
    coarse = array.dtype.itemsize <= 2 and array.dtype.kind not in "iub"
    return (COARSE if coarse else RTOL) if rtol is None else rtol, (COARSE if coarse else ATOL) if atol is None else atol


def wide(array: np.ndarray) -> np.ndarray:
    """The elements in a type in which differences can be taken."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def errors(want: np.ndarray, got: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The difference of each element, the largest, and the largest relative to the expected value; nan equals nan."""
    a, b = wide(want), wide(got)
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.where(np.isnan(apart), np.inf, apart))
        relative = apart / np.maximum(np.abs(a), np.finfo(np.float64).tiny)
        relative = np.where(apart == 0, 0.0, relative)
    return apart, float(np.max(apart, initial=0.0)), float(np.max(np.nan_to_num(relative, nan=np.inf), initial=0.0))


def difference(
    name: str, want: np.ndarray, got: np.ndarray, rtol: float | None = None, atol: float | None = None, *, check_shape: bool = True,
    check_dtype: bool = True, share: float = 0.0,
) -> tuple[OutputDifference | None, float, float]:  # fmt: skip
    """What is wrong with an output (None where nothing is), and its largest absolute and relative error.

    ``share`` of the elements may be further apart than the tolerances say.
    """
    if check_dtype and want.dtype != got.dtype:
        return OutputDifference(name, "data types differ", np.inf, (), want.dtype, got.dtype), 0.0, 0.0
    if want.shape != got.shape:
        if check_shape or want.size != got.size:
            return OutputDifference(name, "shapes differ", np.inf, (), list(want.shape), list(got.shape)), 0.0, 0.0
        got = got.reshape(want.shape)
    apart, largest, relative = errors(want, got)
    rtol, atol = tolerances(want, rtol, atol)
    with np.errstate(all="ignore"):
        allowed = atol + rtol * np.nan_to_num(np.abs(wide(want)), nan=0.0, posinf=0.0, neginf=0.0)
    bad = apart > allowed
    if not bad.any() or bad.mean() <= share:
        return None, largest, relative
    worst = np.unravel_index(int(np.argmax(np.where(bad, apart - allowed, -1))), want.shape)
    index = tuple(int(each) for each in worst)
    return OutputDifference(name, "values", float(apart[worst]), index, want[worst].item(), got[worst].item()), largest, relative


def flat(result: Any, floats: Any = np.float32) -> list[np.ndarray]:
    """The arrays that a program returned (or takes), in the order in which a file has them; Python's floats are of the type ``floats``.

    A quantized tensor is three: integers, scale and zero point.
    """
    if isinstance(result, TensorBase):
        if not result.is_quantized:
            return [np.asarray(result.detach().resolve_conj()._array)]
        array = result.detach()._array
        own = array.quantizer
        if own.axis is not None or array.integers.dtype.itemsize > 1:
            return [np.asarray(result.dequantize()._array)]
        kind = np.int64 if floats is np.float64 else array.integers.dtype  # of an input, and of a result
        return [np.asarray(array.integers), np.asarray(own.scale, floats), np.asarray(own.zero_point, kind)]
    if isinstance(result, dict):
        return [array for each in result.values() for array in flat(each, floats)]
    if isinstance(result, (tuple, list)):
        return [array for each in result for array in flat(each, floats)]
    if isinstance(result, (int, float)):
        return [np.asarray(result, np.bool_ if isinstance(result, bool) else np.int64 if isinstance(result, int) else floats)]
    return []


def copied(value: Any) -> Any:
    """The same arguments with tensors of their own, which the program may write to."""
    if isinstance(value, TensorBase):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(copied(each) for each in value)
    return value


def eager(model: Any, args: Sequence[Any], kwargs: dict[str, Any], training: TrainingMode = TrainingMode.EVAL) -> list[np.ndarray]:
    """What the program itself computes: the same digits each time, unless it draws random numbers."""
    with select_model_mode_for_export(model, training), preserved(model), no_grad(), same_digits():
        return flat(model(*copied(tuple(args)), **copied(kwargs)))


def parameters_of(model: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a program; none where they can't be known."""
    try:
        return dict(inspect.signature(model.forward if isinstance(model, Module) else model).parameters)
    except (TypeError, ValueError):
        return {}


def arguments(model: Any, specs: Sequence[InputSpec], tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Tensors as the program takes them: by name where the name of an input is one of its parameters, else in order."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = {name for name, each in parameters_of(model).items() if each.kind in kinds}
    named = {spec.name: tensor for spec, tensor in zip(specs, tensors) if spec.name in known}
    return tuple(tensor for spec, tensor in zip(specs, tensors) if spec.name not in named), named  # type: ignore[return-value]


class Comparison:
    """A comparison of a program with its ONNX file.

    ``step(text)`` is told what is being done; ``seed`` fixes the random inputs.
    """

    def __init__(
        self, model: Any, runtime: OnnxSession, specs: Sequence[InputSpec], first: DimSizes, *, rtol: float | None = None, atol: float | None = None,
        seed: int = 0, step: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self.model = model
        self.runtime = runtime
        self.specs = list(specs)
        self.first = first
        self.rtol, self.atol = rtol, atol
        self.stream = np.random.default_rng(seed)
        self.step = step
        self.cases: list[ComparedRun] = []
        self.random = False  # whether the program gives other results each time
        self.branches: dict[str, set[bool]] = {}

    @property
    def largest(self) -> float:
        """The largest absolute error of all runs."""
        return max((each.largest for each in self.cases), default=0.0)

    @property
    def relative(self) -> float:
        """The largest relative error of all runs."""
        return max((each.relative for each in self.cases), default=0.0)

    @property
    def wrong(self) -> ComparedRun | None:
        """The first run in which the two disagree."""
        return next((each for each in self.cases if each.wrong is not None), None)

    def run(self, count: int = 3) -> Comparison:
        """Compare on ``count`` inputs of the first sizes, and where sizes are open on as many of other sizes."""
        for at in range(count):
            self.step(f"comparing: input {at + 1} of {count}")
            case = self.case(self.first, scale=(1.0, 3.0, 0.1)[at % 3], demanded=True)
            if case.wrong is not None:
                return self
        done = 0
        for sizes in other_sizes(self.first):
            self.step(f"comparing: {sizes}")
            case = self.case(sizes)
            done += not case.refused
            if case.wrong is not None or done >= count:
                break
        return self

    def case(self, sizes: DimSizes, scale: float = 1.0, shift: float = 0.0, demanded: bool = False) -> ComparedRun:
        """Run both once."""
        tensors = draw(self.specs, sizes, self.stream, scale, shift)
        args, kwargs = arguments(self.model, self.specs, tensors)
        case = ComparedRun(sizes, tensors=tensors)
        try:
            want = eager(self.model, args, kwargs)
        except Exception as error:
            if demanded:
                raise
            case.refused = f"{type(error).__name__}: {first_line(error)}"
            self.cases.append(case)
            return case
        self.cases.append(case)
        if len(self.cases) == 1:
            again = eager(self.model, args, kwargs)
            self.random = any(difference("", a, b, 0, 0)[0] is not None for a, b in zip(want, again))
        self.compare(case, want)
        return case

    def compare(self, case: ComparedRun, want: list[np.ndarray]) -> None:
        """Fill in how far the file is from what is expected."""
        try:
            found = self.runtime.run(case.tensors)
        except OnnxExporterError as error:
            case.wrong = OutputDifference("the file", "it does not run where the program does", np.inf, (), "results", str(error))
            return
        if len(want) != len(found):
            case.wrong = OutputDifference("the file", "numbers of outputs differ", np.inf, (), len(want), len(found))
            return
        for name, a, b in zip(self.runtime.outputs, want, found):
            b = np.asarray(b)
            if self.random:
                b = a if a.shape == b.shape and a.dtype == b.dtype else b
            wrong, largest, relative = difference(name, a, b, self.rtol, self.atol)
            case.largest, case.relative = max(case.largest, largest), max(case.relative, relative)
            if wrong is not None and case.wrong is None:
                case.wrong = wrong

    def take_branches(self, conditions: Callable[[Sequence[Any]], dict[str, bool]]) -> None:
        """Draw inputs until each branch of each If has been taken, or enough have been tried.

        ``conditions`` gives for inputs which way each If goes, by the name of its node.
        """

        def note(case: ComparedRun) -> bool:
            found = conditions(case.tensors)
            news = [name for name, way in found.items() if way not in self.branches.setdefault(name, set())]
            for name, way in found.items():
                self.branches[name].add(way)
            return bool(news)

        for case in [each for each in self.cases if not each.refused and each.wrong is None]:
            note(case)
        for at in range(TRIES):
            if all(len(ways) == 2 for ways in self.branches.values()):
                return
            self.step(f"looking for inputs that take every branch ({at + 1} of {TRIES})")
            case = self.case(self.first, scale=(1.0, 5.0, 0.2)[at % 3], shift=(0.0, 2.0, -2.0, 10.0, -10.0)[at % 5])
            if case.refused or not (case.wrong is not None or note(case)):
                self.cases.remove(case)
            elif case.wrong is not None:
                return


def ways(count: int, seen: dict[str, set[bool]]) -> Iterator[str]:
    """A sentence on the branches that no input took."""
    for name, taken in seen.items():
        if len(taken) < count:
            yield f"no input was found for which the condition of '{name}' is {'false' if True in taken else 'true'}"


__all__ = ["ComparedRun", "Comparison", "OnnxSession", "OutputDifference", "arguments", "difference", "eager", "flat", "ways"]
