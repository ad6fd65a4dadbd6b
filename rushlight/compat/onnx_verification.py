"""`torch.onnx.verification`: the private functions by which tests run a file and compare its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..onnx.comparison import flat
from ..onnx.verification import VerificationOptions, check_outputs


def _ort_session(model: Any, ort_providers: Sequence[str] | None = ("CPUExecutionProvider",)) -> Any:
    """A session of ONNX Runtime for a file: a path, or a buffer that holds it."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("onnxruntime is required for export verification: pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    providers = list(ort_providers or ("CPUExecutionProvider",))
    return onnxruntime.InferenceSession(model if isinstance(model, str) else model.getvalue(), options, providers=providers)


def _run_onnx(onnx_session: Any, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of a session; the last input may be a dict of further ones by name."""
    named = {}
    if inputs and isinstance(inputs[-1], dict):
        named, inputs = inputs[-1], inputs[:-1]
    given = {name: flat(each, np.float64)[0] for name, each in named.items()}
    names = [each.name for each in onnx_session.get_inputs()] if hasattr(onnx_session, "get_inputs") else onnx_session.input_names
    arrays: list[Any] = []
    for each in inputs:  # a list is one input, a sequence; a tuple is as many as it holds
        arrays += [[flat(item)[0] for item in each]] if isinstance(each, list) else flat(each, np.float64)
    for at, array in enumerate(arrays):
        if at == len(names) or names[at] in given:
            raise ValueError(f"got too many positional inputs. inputs: {inputs}. kw_inputs: {named}. input names: {names}.")
        given[names[at]] = array
    return list(onnx_session.run(None, given))


def _compare_onnx_pytorch_outputs(onnx_outs: Sequence[Any], pt_outs: Any, options: VerificationOptions) -> None:
    """Raise an AssertionError where outputs of a file are not those of the program."""
    expected = flat(pt_outs)
    check_outputs([str(at) for at in range(len(expected))], expected, onnx_outs, options)
