"""Where a model's tensors become quantized, and where they become real numbers again."""

from __future__ import annotations

from typing import Any

from ...nn.modules.module import Module


class QuantStub(Module):
    """Observes its input until ``convert`` makes a module that quantizes of it."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """The input as it is."""
        return x


class DeQuantStub(Module):
    """Does nothing until ``convert`` makes a module that dequantizes of it."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """The input as it is."""
        return x


class QuantWrapper(Module):
    """A module between a QuantStub and a DeQuantStub."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        """Quantize, run the module, dequantize."""
        return self.dequant(self.module(self.quant(X)))
