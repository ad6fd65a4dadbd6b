"""Comparison of an ONNX file with a program, for `export` and `verify`: runs, branches, and the first wrong node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.errors import RushlightError
from ..onnx.bisection import WrongNode, condition_reader, first_wrong, fresh, plain
from ..onnx.comparison import ComparedRun, Comparison, OnnxSession, arguments, eager, ways
from ..onnx.errors import OnnxExporterError
from ..onnx.files import opset_of
from ..onnx.random_inputs import DimSizes, InputSpec
from .output import MISSING, Failure, Progress, number, raised, users_code


class Compared:
    """What came of it."""

    def __init__(self, comparison: Comparison, node: WrongNode | None, trouble: str) -> None:
        self.comparison = comparison
        self.node = node
        self.trouble = trouble  # why the wrong node could not be looked for

    @property
    def agrees(self) -> bool:
        """Whether all runs agree."""
        return self.comparison.wrong is None

    def runs(self) -> list[ComparedRun]:
        """The runs that took place."""
        return [each for each in self.comparison.cases if not each.refused]

    def summary(self) -> str:
        """In a few words."""
        runs = self.runs()
        sizes = len({str(each.sizes) for each in runs})
        how = f"on {len(runs)} random inputs" + (f" of {sizes} sizes" if sizes > 1 else "")
        if self.comparison.random:
            return f"types and shapes agree with the program {how}; it draws random numbers, so values were not compared"
        return f"agrees with the program {how}, largest error {number(self.comparison.largest)}"

    def lines(self) -> list[str]:
        """What there is to tell besides."""
        found = [f"note: the program itself does not take {each.sizes} ({each.refused})" for each in self.comparison.cases if each.refused]
        found += [f"note: {each}" for each in ways(2, self.comparison.branches)]
        case = self.comparison.wrong
        if case is not None:
            found.append(f"error: the file does not agree with the program ({case.sizes})\n  {case.wrong}")
            if self.node is not None:
                found.append(str(self.node))
                if any(each.startswith("the stored tensor") for each in self.node.changed):
                    found.append("  the file has other weights than the program: is --weights missing, or not what the file was made with?")
            elif self.trouble:
                found.append(f"  the node could not be found: {self.trouble}")
            else:
                found.append(
                    "  every value that can be compared agrees when ONNX Runtime does not optimise the graph: the difference is its own"
                )
        return found

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        case = self.comparison.wrong
        wrong = None if case is None or case.wrong is None else case.wrong
        return {
            "agrees": self.agrees, "largest_error": self.comparison.largest, "largest_relative_error": self.comparison.relative,
            "random": self.comparison.random,
            "runs": [
                {"sizes": each.sizes.values, "largest_error": each.largest, "agrees": each.wrong is None, "refused": each.refused or None}
                for each in self.comparison.cases
            ],
            "branches": {name: sorted(taken) for name, taken in self.comparison.branches.items()},
            "mismatch": None if wrong is None else {
                "output": wrong.name, "what": wrong.what, "index": list(wrong.index), "expected": plain(wrong.expected), "got": plain(wrong.got),
            },
            "node": None if self.node is None else self.node.data(),
        }  # fmt: skip


def compare(
    model: Any,
    path: str,
    proto: Any,
    specs: Sequence[InputSpec],
    sizes: DimSizes,
    tolerance: float | None,
    count: int,
    progress: Progress,
    seed: int = 0,
) -> Compared:
    """Run the file and the program on random inputs; where they disagree, look for the node."""
    tolerances = {"rtol": tolerance, "atol": tolerance}
    with users_code():
        try:
            runtime = OnnxSession(path)
            comparison = Comparison(model, runtime, specs, sizes, step=progress.step, seed=seed, **tolerances)
            try:
                comparison.run(count)
            except OnnxExporterError:
                raise
            except Exception as error:
                raise raised(f"the program raised an exception ({sizes})", error) from error
            if comparison.wrong is None:
                reader = condition_reader(proto)
                if reader is not None:
                    comparison.take_branches(reader)
        except ImportError as error:
            raise Failure(str(error), MISSING) from error
        except OnnxExporterError as error:
            raise Failure(str(error)) from error
        case = comparison.wrong
        if case is None:
            return Compared(comparison, None, "")
        progress.step("looking for the first wrong node")
        try:
            args, kwargs = arguments(model, specs, case.tensors)
            reference = fresh(model, args, kwargs, opset_of(proto), specs)
            node = first_wrong(proto, reference, case.tensors, eager(model, args, kwargs), tolerance, tolerance)
        except (RushlightError, ValueError) as error:
            return Compared(comparison, None, str(error))
        return Compared(comparison, node, "")
