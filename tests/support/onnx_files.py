"""ONNX files in ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as torch


def onnx_session(model: Any, optimize: bool = True) -> Any:
    """ONNX Runtime's session for an exported program, a model, a path, or the bytes of a file."""
    onnxruntime = pytest.importorskip("onnxruntime")
    model = getattr(model, "model_proto", model)
    options = onnxruntime.SessionOptions()
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = model.SerializeToString() if hasattr(model, "SerializeToString") else model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run_onnx(model: Any, *inputs: Any, optimize: bool = True) -> list[Any]:
    """The results of a file for tensors, arrays or numbers, given in the order of its inputs."""
    session = onnx_session(model, optimize)
    given = [each.detach().numpy() if isinstance(each, torch.Tensor) else np.asarray(each) for each in inputs]
    return session.run(None, dict(zip((each.name for each in session.get_inputs()), given)))
