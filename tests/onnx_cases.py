"""The ONNX project's own test cases (``onnx.backend.test``), and how one is run here."""

from __future__ import annotations

import functools
import glob
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from rushlight.onnx import backend

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
# What does not pass, and why.
RANDOM = "the numbers that the reference draws are those of NumPy's generator"
NOT_PASSING = {
    **{f"node/bernoulli{kind}{form}": RANDOM for kind in ("", "_double", "_seed") for form in ("", "_expanded")},
    "node/attention_4d_causal_fp16_expanded": "float16 is rounded at other places than in the reference",
}
if importlib.util.find_spec("PIL") is None:
    NOT_PASSING["node/image_decoder"] = "decoding images needs the package Pillow"


def is_expected_to_pass(name: str) -> bool:
    """Whether a case passes here, as far as is known."""
    return name not in NOT_PASSING and not (name.startswith("node/image_decoder") and "node/image_decoder" in NOT_PASSING)


@functools.cache
def cases() -> dict[str, Any]:
    """All cases by kind and name."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = {kind: load_model_tests(kind=kind) for kind in KINDS}
    return {f"{kind}/{case.name.removeprefix('test_')}": case for kind, each in found.items() for case in each}


def model_of(case: Any) -> Any:
    """The model of a case."""
    return case.model if case.model is not None else onnx.load(os.path.join(case.model_dir, "model.onnx"))


def data_of(case: Any, model: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """Inputs and expected outputs of a case."""
    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield [plain(each) for each in inputs], [plain(each) for each in outputs]
        return
    for folder in sorted(glob.glob(os.path.join(case.model_dir, "test_data_set*"))):
        yield (
            [read(os.path.join(folder, f"input_{at}.pb"), kind) for at, kind in enumerate(model.graph.input[: count(folder, "input")])],
            [read(os.path.join(folder, f"output_{at}.pb"), kind) for at, kind in enumerate(model.graph.output)],
        )


def count(folder: str, kind: str) -> int:
    return len(glob.glob(os.path.join(folder, f"{kind}_*.pb")))


def plain(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def read(path: str, value: Any) -> Any:
    """What a file of a data set holds."""
    with open(path, "rb") as file:
        content = file.read()
    form = value.type.WhichOneof("value")
    if form == "sequence_type":
        return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if form == "optional_type":
        return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(content))


def run(case: Any, compiler: Callable[[Any], Any] | None = None) -> Any:
    """Run a case and compare its outputs as the ONNX project does; returns the prepared model."""
    model = model_of(case)
    prepared = backend.prepare(model, compiler=compiler)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for inputs, expected in data_of(case, model):
            compare(expected, prepared.run(inputs), case)
            if compiler is not None:  # the first call captures, the second runs what was compiled
                compare(expected, prepared.run(inputs), case)
    return prepared


def compare(expected: Any, found: Any, case: Any) -> None:
    """Compare outputs with the project's own function, which does not know tensors without dimensions in sequences: those are given alone."""
    assert len(found) == len(expected)
    for one, other in zip(expected, found):
        if isinstance(one, list):
            assert isinstance(other, list)
            compare(one, other, case)
        elif one is None:
            assert other is None
        else:
            Runner.assert_similar_outputs([one], [other], case.rtol, case.atol, case.model_dir)
