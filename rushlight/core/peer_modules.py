"""The modules in which PyTorch has the classes that are in other files here: by them checkpoints and, under the alias, classes name themselves."""

from __future__ import annotations

PEER = "torch"

# Public classes: the end of our module's name, or of the class's, -> that of PyTorch's module.
_MOVED = {
    "nn.modules.rnn_cells": "nn.modules.rnn",
    "nn.modules.multihead_attention": "nn.modules.activation",
    "optim._adafactor": "optim",
    "optim._muon": "optim",
    "streams.Event": "",
    "streams.Stream": "",
    "distributions.composition": "distributions.transforms",
    "ao.quantization.histogram": "ao.quantization.observer",
    "ao.nn.intrinsic": "ao.nn.intrinsic.modules.fused",
    "ao.nn.quantized.quantize": "ao.nn.quantized.modules",
    **{f"ao.nn.quantized.{each}": f"ao.nn.quantized.modules.{each}" for each in ("conv", "functional_modules", "linear")},
    **{
        f"ao.nn.quantized.layers.{each}": f"ao.nn.quantized.modules.{file}"
        for file, names in {
            "activation": "ELU Hardswish LeakyReLU PReLU ReLU6 Sigmoid Softmax",
            "batchnorm": "BatchNorm2d BatchNorm3d",
            "dropout": "Dropout",
            "embedding_ops": "Embedding EmbeddingBag",
            "normalization": "GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm",
        }.items()
        for each in names.split()
    },
    **{f"ao.nn.quantized.conv.ConvReLU{each}d": "ao.nn.intrinsic.quantized.modules.conv_relu" for each in (1, 2, 3)},
    "ao.nn.quantized.linear.LinearReLU": "ao.nn.intrinsic.quantized.modules.linear_relu",
    "graph.node": "fx.node",
    "library.registration": "library",
    "nn.scaled_products": "nn.functional",
    "onnx.program": "onnx",
    "serialization.options": "serialization",
    "sparse.invariants": "sparse",
    "utils.selective_checkpoint": "utils.checkpoint",
    **{f"optim.lr_scheduler.{each}": "optim.lr_scheduler" for each in ("base", "composed", "cyclic", "plateau", "simple")},
}


def peer_module(place: str, name: str) -> str:
    """PyTorch's module of what is in the module ``place`` of the package, a path without the package's name."""
    if not name.startswith("_"):
        place = _MOVED.get(f"{place}.{name}", _MOVED.get(place, place))
    return f"{PEER}.{place}" if place else PEER
