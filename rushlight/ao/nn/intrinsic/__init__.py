"""Modules that follow each other, held together so that quantization treats them as one."""

from __future__ import annotations

import inspect
from typing import Any

from .... import nn
from ....core.missing import missing


class _FusedModule(nn.Sequential):
    """A sequence of modules that is quantized as one."""

    _kinds: tuple[tuple[type, ...], ...] = ()
    __signature__ = inspect.Signature()  # the modules by PyTorch's names

    def __init__(self, *given: Any, **named: Any) -> None:
        bound = self.__signature__.bind(*given, **named)
        modules = tuple(bound.arguments.values())
        wanted = " and ".join("/".join(kind.__name__ for kind in kinds) for kinds in self._kinds)
        if not all(type(each) in kinds for each, kinds in zip(modules, self._kinds)):
            kinds_given = ", ".join(type(each).__name__ for each in modules)
            raise AssertionError(f"{type(self).__name__} takes {wanted}, but got {kinds_given}")
        super().__init__(*modules)


_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_ACTIVATIONS = {nn.ReLU: "relu", nn.LeakyReLU: "leaky_relu", nn.Tanh: "tanh"}
_NAMES = {nn.Linear: "linear"} | _ACTIVATIONS | dict.fromkeys((nn.Conv1d, nn.Conv2d, nn.Conv3d), "conv") | dict.fromkeys(_NORMS, "bn")
_BATCH_NORM_FIRST = "batch_norm"


def _fused(name: str, what: str, *kinds: type) -> Any:
    named = [_BATCH_NORM_FIRST if not at and kind in _NORMS else _NAMES[kind] for at, kind in enumerate(kinds)]
    signature = inspect.Signature([inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in named])
    body = {"_kinds": tuple((each,) for each in kinds), "__signature__": signature, "__doc__": what, "__module__": __name__}
    return type(name, (_FusedModule,), body)


ConvReLU1d = _fused("ConvReLU1d", "A convolution and a ReLU.", nn.Conv1d, nn.ReLU)
ConvReLU2d = _fused("ConvReLU2d", "A convolution and a ReLU.", nn.Conv2d, nn.ReLU)
ConvReLU3d = _fused("ConvReLU3d", "A convolution and a ReLU.", nn.Conv3d, nn.ReLU)
LinearReLU = _fused("LinearReLU", "A linear layer and a ReLU.", nn.Linear, nn.ReLU)
LinearLeakyReLU = _fused("LinearLeakyReLU", "A linear layer and a LeakyReLU.", nn.Linear, nn.LeakyReLU)
LinearTanh = _fused("LinearTanh", "A linear layer and a hyperbolic tangent.", nn.Linear, nn.Tanh)
ConvBn1d = _fused("ConvBn1d", "A convolution and a batch normalisation.", nn.Conv1d, nn.BatchNorm1d)
ConvBn2d = _fused("ConvBn2d", "A convolution and a batch normalisation.", nn.Conv2d, nn.BatchNorm2d)
ConvBn3d = _fused("ConvBn3d", "A convolution and a batch normalisation.", nn.Conv3d, nn.BatchNorm3d)
ConvBnReLU1d = _fused("ConvBnReLU1d", "A convolution, a batch normalisation and a ReLU.", nn.Conv1d, nn.BatchNorm1d, nn.ReLU)
ConvBnReLU2d = _fused("ConvBnReLU2d", "A convolution, a batch normalisation and a ReLU.", nn.Conv2d, nn.BatchNorm2d, nn.ReLU)
ConvBnReLU3d = _fused("ConvBnReLU3d", "A convolution, a batch normalisation and a ReLU.", nn.Conv3d, nn.BatchNorm3d, nn.ReLU)
BNReLU2d = _fused("BNReLU2d", "A batch normalisation and a ReLU.", nn.BatchNorm2d, nn.ReLU)
BNReLU3d = _fused("BNReLU3d", "A batch normalisation and a ReLU.", nn.BatchNorm3d, nn.ReLU)
LinearBn1d = _fused("LinearBn1d", "A linear layer and a batch normalisation.", nn.Linear, nn.BatchNorm1d)


class ConvAdd2d(_FusedModule):
    """A convolution of one input, added to another."""

    def __init__(self, conv: Any, add: Any) -> None:
        nn.Sequential.__init__(self, conv)
        self.add = add

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]
        """What ``add`` makes of the convolved first input and the second."""
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(ConvAdd2d):
    """A convolution of one input, added to another, and a ReLU."""

    def __init__(self, conv: Any, add: Any, relu: Any) -> None:
        super().__init__(conv, add)
        self.relu = relu

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]
        """The positive part of the sum."""
        return self.relu(super().forward(x1, x2))


__getattr__ = missing(__name__, lazy=("qat", "quantized"))
__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvAdd2d", "ConvAddReLU2d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d",
    "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearLeakyReLU", "LinearReLU", "LinearTanh",
]  # fmt: skip
