"""Small ONNX files that tools around PyTorch write, with inputs and what ONNX Runtime computes: tests/data/onnx_tools.npz.

A convolutional network quantized by ONNX Runtime (QDQ, 8 and 16 bits, and QOperator), fused by its optimizers, a transformer quantized and fused by them, a
detector with NonMaxSuppression behind it, decoders with loops that PyTorch scripted, a branch by the newer exporter, and functions by onnxscript.
Needs torch, onnx, onnxruntime and onnxscript.  Run by ``python tests/record/run.py onnx_tools``.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import onnxscript
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.transformers import optimizer
from onnxscript import FLOAT
from onnxscript import opset18 as op
from torch import nn

FILE = Path(__file__).resolve().parent.parent / "data" / "onnx_tools.npz"
MINE = onnxscript.values.Opset("my.lib", 1)


class Network(nn.Module):
    """Convolutions of all kinds, a sum, pools and a concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 1))
        self.second, self.head = nn.Conv2d(8, 16, 3, 2, 1), nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        x = F.max_pool2d(F.relu(self.second(x + self.deep(x))), 2)
        x = torch.cat([x, F.avg_pool2d(x, 3, 1, 1)], 1)[:, :16]
        return self.head(x.mean((2, 3))).softmax(-1)


class Layer(nn.Module):
    """A layer of BERT, in the form that the optimizer knows."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.kinds, self.norm = nn.Embedding(30, 16), nn.Embedding(8, 16), nn.Embedding(2, 16), nn.LayerNorm(16)
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))
        self.up, self.down, self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 16), nn.LayerNorm(16), nn.LayerNorm(16)

    def forward(self, ids: Any, kinds: Any, mask: Any) -> Any:
        batch, length = ids.shape
        x = self.norm(self.words(ids) + self.kinds(kinds) + self.places(torch.arange(8)[:length].unsqueeze(0)))
        q, k, v = (each(x).view(batch, length, 2, 8).permute(0, 2, 1, 3) for each in (self.query, self.key, self.value))
        bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
        mixed = ((q @ k.transpose(-1, -2)) / 8**0.5 + bias).softmax(-1) @ v
        x = self.first(self.out(mixed.permute(0, 2, 1, 3).reshape(batch, length, 16)) + x)
        return self.second(self.down(F.gelu(self.up(x))) + x)


class Detector(nn.Module):
    """Boxes around the places of a grid, and scores of three classes."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
        self.scores, self.places = nn.Conv2d(8, 6, 1), nn.Conv2d(8, 8, 1)

    def forward(self, x: Any) -> Any:
        features = self.body(x)
        n, _, h, w = features.shape
        scores = self.scores(features).permute(0, 2, 3, 1).reshape(n, -1, 3).softmax(-1).transpose(1, 2)
        found = self.places(features).permute(0, 2, 3, 1).reshape(n, -1, 4)
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        centres = torch.stack([columns, rows], -1).reshape(-1, 1, 2).expand(-1, 2, 2).reshape(1, -1, 2).float() + found[..., :2]
        sides = found[..., 2:].exp() * 2
        return torch.cat([centres - sides / 2, centres + sides / 2], -1), scores


class Decoder(nn.Module):
    """Words one after the other, until the last one or so many."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.input, self.state, self.out = nn.Embedding(12, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 12)

    def forward(self, h: torch.Tensor, most: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        word = torch.zeros(1, dtype=torch.long)
        said = word
        i = 0
        go = True
        while go and i < int(most):
            h = torch.tanh(self.input(self.words(word)) + self.state(h))
            word = self.out(h).argmax(-1)
            said = torch.cat([said, word])
            i += 1
            go = bool(word[0] != 7)
        return said, h


class Branch(nn.Module):
    """A choice between two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.a(x), lambda x: self.b(x).relu(), (x,))


@onnxscript.script(MINE, default_opset=op)
def gated(x: Any, alpha: float):  # type: ignore[no-untyped-def]
    return x * op.Sigmoid(alpha * x)


@onnxscript.script(MINE, default_opset=op)
def block(x: Any, w: Any):  # type: ignore[no-untyped-def]
    return gated(op.MatMul(x, w), alpha=1.7) + x


@onnxscript.script(default_opset=op)
def functions(x: FLOAT["N", 4], w: FLOAT[4, 4]) -> FLOAT["N", 4]:  # type: ignore[valid-type]  # noqa: F821, UP037
    y = block(x, w)
    for _ in range(3):
        if op.ReduceSum(y) > 0.0:
            y = block(y, w)
        else:
            y = op.Neg(y)
    return y


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """What activations are calibrated with."""

    def __init__(self) -> None:
        self.rows = iter([{"x": np.random.default_rng(at).standard_normal((2, 3, 16, 16)).astype(np.float32)} for at in range(4)])

    def get_next(self) -> Any:
        return next(self.rows, None)


def with_suppression(path: Path) -> None:
    """Put NonMaxSuppression and the best five behind boxes and scores."""
    model = onnx.load(path)
    graph = model.graph
    values = {
        "most": np.array([20]),
        "overlap": np.array([0.4], np.float32),
        "least": np.array([0.3], np.float32),
        "columns": np.array([0, 2]),
        "five": np.array([5]),
    }
    graph.initializer.extend(numpy_helper.from_array(each, name) for name, each in values.items())
    node = helper.make_node
    graph.node.extend([
        node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["chosen"]),
        node("Gather", ["chosen", "columns"], ["places"], axis=1), node("GatherND", ["boxes", "places"], ["kept"]),
        node("GatherND", ["scores", "chosen"], ["sure"]), node("Shape", ["sure"], ["count"]), node("Min", ["count", "five"], ["k"]),
        node("TopK", ["sure", "k"], ["best", "order"]), node("Gather", ["kept", "order"], ["found"], axis=0),
    ])  # fmt: skip
    del graph.output[:]
    for name, kind, shape in (("found", 1, ["K", 4]), ("best", 1, ["K"]), ("chosen", 7, ["S", 3])):
        graph.output.append(helper.make_tensor_value_info(name, kind, shape))
    onnx.save(model, path)


def files(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Write files, and yield their names and inputs."""
    torch.manual_seed(0)
    image, x = torch.randn(2, 3, 16, 16), folder / "network.onnx"
    older: dict[str, Any] = {"dynamo": False, "verbose": False}
    torch.onnx.export(Network().eval(), (image,), x, input_names=["x"], opset_version=17, **older)
    forms = {
        "qdq": (QuantFormat.QDQ, QuantType.QUInt8, QuantType.QInt8, True), "qdq16": (QuantFormat.QDQ, QuantType.QUInt16, QuantType.QInt8, False),
        "qoperator": (QuantFormat.QOperator, QuantType.QUInt8, QuantType.QInt8, True), "qoperator_u8": (QuantFormat.QOperator, QuantType.QUInt8, QuantType.QUInt8, False),
    }  # fmt: skip
    for name, (form, activations, weights, channels) in forms.items():
        quantize_static(
            x, folder / f"{name}.onnx", Reader(), quant_format=form, activation_type=activations, weight_type=weights, per_channel=channels
        )
        yield name, {"x": image.numpy()}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "fused_network.onnx")
    onnxruntime.InferenceSession(x, options, providers=["CPUExecutionProvider"])
    yield "fused_network", {"x": image.numpy()}
    ids, mask = torch.randint(0, 30, (2, 6)), torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    inputs = {"ids": ids.numpy(), "kinds": (ids > 14).long().numpy(), "mask": mask.numpy()}
    args = tuple(map(torch.from_numpy, inputs.values()))
    torch.onnx.export(Layer().eval(), args, folder / "layer.onnx", input_names=list(inputs), opset_version=14, **older)
    quantize_dynamic(folder / "layer.onnx", folder / "dynamic.onnx", weight_type=QuantType.QInt8)
    yield "dynamic", inputs
    fused = optimizer.optimize_model(str(folder / "layer.onnx"), "bert", num_heads=2, hidden_size=16, opt_level=0)
    fused.save_model_to_file(str(folder / "fused_layer.onnx"))
    yield "fused_layer", inputs
    picture = torch.randn(1, 3, 32, 32)
    torch.onnx.export(
        Detector().eval(),
        (picture,),
        folder / "detector.onnx",
        input_names=["x"],
        output_names=["boxes", "scores"],
        opset_version=13,
        **older,
    )
    with_suppression(folder / "detector.onnx")
    yield "detector", {"x": picture.numpy()}
    state, most = torch.randn(1, 8), torch.tensor(9)
    torch.onnx.export(
        torch.jit.script(Decoder().eval()), (state, most), folder / "decoder.onnx", input_names=["h", "most"], opset_version=15, **older
    )
    yield "decoder", {"h": state.numpy(), "most": most.numpy()}
    torch.onnx.export(Branch().eval(), (torch.ones(2, 4),), folder / "branch.onnx", dynamo=True, opset_version=20, input_names=["x"], external_data=False, verbose=False)  # fmt: skip
    yield "branch", {"x": np.ones((2, 4), np.float32)}
    onnx.save(functions.to_model_proto(), folder / "functions.onnx")
    yield "functions", {"x": np.ones((2, 4), np.float32), "w": np.eye(4, dtype=np.float32) * np.float32(0.3)}


def main() -> None:
    """Record all files."""
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(4)
    plain = onnxruntime.SessionOptions()
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    content: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, inputs in files(Path(folder)):
            path = Path(folder) / f"{name}.onnx"
            made = onnxruntime.InferenceSession(path, plain, providers=["CPUExecutionProvider"]).run(None, inputs)
            content[f"{name}/file"] = np.frombuffer(path.read_bytes(), np.uint8)
            content.update({f"{name}/input{at}": each for at, each in enumerate(inputs.values())})
            content.update({f"{name}/output{at}": each for at, each in enumerate(made)})
            kinds = sorted({f"{each.domain}::{each.op_type}" for each in onnx.load(path).graph.node if each.domain})
            print(name, path.stat().st_size, *kinds)
    np.savez_compressed(FILE, **content)


if __name__ == "__main__":
    main()
