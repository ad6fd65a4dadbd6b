"""Quantization of traced models (`torch.ao.quantization.quantize_fx`): a model is traced, fused, observed on data, and converted.

Comes in: a model and a `QConfigMapping`; goes out: a `GraphModule` with observers (`prepare_fx`), then one with quantized layers (`convert_fx`).
Read `prepare.py` first (which values are observed), then `convert.py`.

>>> import rushlight
>>> from rushlight.ao.quantization import get_default_qconfig_mapping
>>> model = rushlight.nn.Sequential(rushlight.nn.Linear(2, 2), rushlight.nn.ReLU()).eval()
>>> example = rushlight.ones(1, 2)
>>> prepared = prepare_fx(model, get_default_qconfig_mapping("fbgemm"), (example,))
>>> _ = prepared(example)
>>> type(convert_fx(prepared).get_submodule("0")).__name__
'LinearReLU'
"""

from __future__ import annotations

import copy
from typing import Any

from ...ao.quantization.observer_insertion import convert_children
from ...ao.quantization.qconfig_mapping import QConfigMapping
from ...ao.quantization.quantization_mappings import get_default_qat_module_mappings
from ...core.errors import NotSupported
from ...nn import Module
from .._symbolic_trace import Tracer
from ..graph_module import GraphModule
from .convert import Converter
from .fuse import fuse
from .prepare import assign_qconfigs, insert_observers

__all__ = ["convert_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx"]


class QuantizationTracer(Tracer):
    """Traces a model for quantization: modules that the user names stay whole, and each node knows the module that it is in."""

    def __init__(self, skipped_module_names: Any = (), skipped_module_classes: Any = ()) -> None:
        super().__init__()
        self.skipped_module_names, self.skipped_module_classes = list(skipped_module_names), tuple(skipped_module_classes)
        self.node_name_to_scope: dict[str, str] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is one node."""
        named = module_qualified_name in self.skipped_module_names or type(m) in self.skipped_module_classes
        return named or super().is_leaf_module(m, module_qualified_name)

    def create_node(self, *args: Any, **kwargs: Any) -> Any:
        """Make a node, and remember the innermost module that is traced."""
        node = super().create_node(*args, **kwargs)
        self.node_name_to_scope[node.name] = next((path for path, _ in reversed(list(self.module_stack.values()))), "")
        return node


def _setting(config: Any, name: str, default: Any) -> Any:
    """A setting of a custom config: an attribute of an object, or a key of a dict."""
    found = config.get(name) if isinstance(config, dict) else getattr(config, name, None)
    return default if found is None else found


def _check(backend_config: Any) -> None:
    if backend_config is not None:
        raise NotSupported("a backend_config of one's own is not here: leave it out, and what has quantized kernels is quantized")


def _traced(model: Any, config: Any) -> tuple[GraphModule, dict[str, str]]:
    names, classes = _setting(config, "non_traceable_module_names", ()), _setting(config, "non_traceable_module_classes", ())
    tracer = QuantizationTracer(
        names or _setting(config, "non_traceable_module_name", ()), classes or _setting(config, "non_traceable_module_class", ())
    )
    graph = tracer.trace(model)
    made = GraphModule(model, graph)
    for name in _setting(config, "preserved_attributes", ()):
        setattr(made, name, getattr(model, name))
    return made, tracer.node_name_to_scope


def fuse_fx(model: Any, fuse_custom_config: Any = None, backend_config: Any = None) -> GraphModule:
    """A traced model in which batch normalisations and ReLUs are part of the layers before them."""
    _check(backend_config)
    made, _ = _traced(model, fuse_custom_config)
    fuse(made, False)
    return made


def _prepared(model: Any, qconfig_mapping: Any, config: Any, is_qat: bool) -> GraphModule:
    mapping = QConfigMapping.from_dict(qconfig_mapping) if isinstance(qconfig_mapping, dict) else copy.deepcopy(qconfig_mapping)
    made, scopes = _traced(model, config)
    fuse(made, is_qat)
    qconfigs = assign_qconfigs(made, mapping, scopes)
    for node in made.graph.nodes:
        node.meta["scope"] = scopes.get(node.name, "")
    if is_qat:
        modules = get_default_qat_module_mappings()
        convert_children(made, modules, {})
    insert_observers(made, qconfigs)
    return made


def prepare_fx(
    model: Any, qconfig_mapping: Any, example_inputs: tuple[Any, ...], prepare_custom_config: Any = None, _equalization_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:  # fmt: skip
    """A traced and fused model with observers, to be run on typical data before :func:`convert_fx`."""
    _check(backend_config)
    if _equalization_config is not None:
        raise NotSupported("equalization between layers is not here: leave _equalization_config out")
    return _prepared(model, qconfig_mapping, prepare_custom_config, False)


def prepare_qat_fx(
    model: Any, qconfig_mapping: Any, example_inputs: tuple[Any, ...], prepare_custom_config: Any = None, backend_config: Any = None
) -> GraphModule:
    """A traced and fused model that trains with fake quantization."""
    _check(backend_config)
    return _prepared(model, qconfig_mapping, prepare_custom_config, True)


def convert_fx(
    graph_module: GraphModule, convert_custom_config: Any = None, _remove_qconfig: bool = True, qconfig_mapping: Any = None,
    backend_config: Any = None, keep_original_weights: bool = False,
) -> GraphModule:  # fmt: skip
    """The quantized model that an observed or trained one becomes."""
    _check(backend_config)
    if qconfig_mapping is not None or keep_original_weights:
        raise NotSupported("convert_fx takes the QConfigs of prepare_fx, and keeps no original weights")
    made = copy.deepcopy(graph_module)
    Converter(made).run()
    return made
