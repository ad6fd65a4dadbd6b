"""Which QConfig a part of a traced model gets: by its path, by a pattern of paths, by its class or function, or the one for all."""

from __future__ import annotations

import re
from typing import Any

from ... import nn
from ...core.declare import exports
from ...nn import functional
from .fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
    default_weight_fake_quant,
)
from .observer import (
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    default_placeholder_observer,
    default_weight_observer,
)
from .qconfig import QConfig, default_quint8_weight_qconfig, default_reuse_input_qconfig, get_default_qat_qconfig, get_default_qconfig

_TRANSPOSED: tuple[Any, ...] = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_FROM_0_TO_1: tuple[Any, ...] = (
    nn.Hardsigmoid,
    nn.Sigmoid,
    nn.Softmax,
    functional.hardsigmoid,
    exports["", "sigmoid"],
    "hardsigmoid",
    "sigmoid",
)
_FROM_MINUS_1_TO_1: tuple[Any, ...] = (nn.Tanh, exports["", "tanh"], "tanh")


class QConfigMapping:
    """QConfigs for a whole model: the most particular setting that matches a part counts.

    >>> mapping = QConfigMapping().set_global(None).set_object_type(nn.Linear, get_default_qconfig("fbgemm"))
    >>> mapping.qconfig_for("head", nn.ReLU) is None, mapping.qconfig_for("head", nn.Linear) is None
    (True, False)
    """

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: dict[Any, Any] = {}
        self.module_name_regex_qconfigs: dict[str, Any] = {}
        self.module_name_qconfigs: dict[str, Any] = {}
        self.module_name_object_type_order_qconfigs: dict[tuple[str, Any, int], Any] = {}

    def set_global(self, global_qconfig: Any) -> QConfigMapping:
        """The QConfig of what nothing else names."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: Any) -> QConfigMapping:
        """The QConfig of a class of modules, a function, or a method by its name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> QConfigMapping:
        """The QConfig of modules whose whole path a pattern matches; the first such pattern counts."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> QConfigMapping:
        """The QConfig of the module at a path, and of what is below it."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(self, module_name: str, object_type: Any, index: int, qconfig: Any) -> QConfigMapping:
        """The QConfig of the ``index``-th call of a kind in the module at a path."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """The mapping that a dict of the older form says."""
        made = cls().set_global(qconfig_dict.get("", qconfig_dict.get("global_qconfig")))
        for kind, qconfig in qconfig_dict.get("object_type", ()):
            made.set_object_type(kind, qconfig)
        for pattern, qconfig in qconfig_dict.get("module_name_regex", ()):
            made.set_module_name_regex(pattern, qconfig)
        for name, qconfig in qconfig_dict.get("module_name", ()):
            made.set_module_name(name, qconfig)
        for name, kind, index, qconfig in qconfig_dict.get("module_name_object_type_order", ()):
            made.set_module_name_object_type_order(name, kind, index, qconfig)
        return made

    def to_dict(self) -> dict[str, Any]:
        """The older form."""
        return {
            "": self.global_qconfig,
            "object_type": list(self.object_type_qconfigs.items()),
            "module_name_regex": list(self.module_name_regex_qconfigs.items()),
            "module_name": list(self.module_name_qconfigs.items()),
            "module_name_object_type_order": [(*key, value) for key, value in self.module_name_object_type_order_qconfigs.items()],
        }

    def qconfig_for(self, path: str, kind: Any, order: int = 0, scope: str = "") -> Any:
        """The QConfig of a part: ``path`` is that of its module, or of the module that calls a function; ``order`` counts calls in ``scope``."""
        if (scope, kind, order) in self.module_name_object_type_order_qconfigs:
            return self.module_name_object_type_order_qconfigs[scope, kind, order]
        above = path
        while above:
            if above in self.module_name_qconfigs:
                return self.module_name_qconfigs[above]
            above = above.rpartition(".")[0]
        for pattern, qconfig in self.module_name_regex_qconfigs.items():
            if re.fullmatch(pattern, path):
                return qconfig
        return self.object_type_qconfigs.get(kind, self.global_qconfig)


def _defaults(qconfig: QConfig, low: Any, both: Any, weight: Any) -> QConfigMapping:
    made = QConfigMapping().set_global(qconfig).set_object_type("reshape", default_reuse_input_qconfig)
    for kind in _TRANSPOSED:  # weights of these are quantized as a whole
        made.set_object_type(kind, QConfig(activation=qconfig.activation, weight=weight))
    norms: tuple[Any, ...] = (functional.layer_norm, nn.LayerNorm)
    for kind in norms:
        made.set_object_type(kind, QConfig(activation=qconfig.activation, weight=default_placeholder_observer))
    made.set_object_type(nn.PReLU, default_quint8_weight_qconfig)
    for kind in _FROM_0_TO_1:
        made.set_object_type(kind, QConfig(activation=low, weight=weight))
    for kind in _FROM_MINUS_1_TO_1:
        made.set_object_type(kind, QConfig(activation=both, weight=weight))
    return made


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """QConfigs to observe a whole model for a back-end's kernels; results of sigmoid and tanh have fixed scales."""
    return _defaults(
        get_default_qconfig(backend, version),
        default_fixed_qparams_range_0to1_observer,
        default_fixed_qparams_range_neg1to1_observer,
        default_weight_observer,
    )


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """The same to train a whole model."""
    return _defaults(
        get_default_qat_qconfig(backend, version),
        default_fixed_qparams_range_0to1_fake_quant,
        default_fixed_qparams_range_neg1to1_fake_quant,
        default_weight_fake_quant,
    )
