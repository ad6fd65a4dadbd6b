"""`torch._dynamo.config`: settings of the compiler."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ...capture.compile.config import settings
from ..config_module import patched

_OTHER_NAMES = {"cache_size_limit": "recompile_limit"}

# Settings of PyTorch's that have no counterpart, with its defaults: what is set can be read again, and changes nothing.
_KEPT: dict[str, Any] = {
    **dict.fromkeys(
        """allow_empty_graphs allow_ignore_mark_dynamic allow_rnn allow_unspec_int_on_nn_module caching_precompile capture_dynamic_output_shape_ops
        capture_profiler_record_function compiled_autograd cprofile disable do_not_emit_runtime_asserts dont_skip_tracing
        enable_compiler_collectives enable_trace_load_build_class enable_trace_unittest force_compile_during_fx_trace inline_invoke_subgraph
        install_free_tensors nested_graph_breaks only_allow_pt2_compliant_ops optimize_ddp_lazy_compile
        prefer_deferred_runtime_asserts_over_guards prepare_freezing raise_on_unsafe_aot_autograd replay_record_enabled repro_forward_only
        skip_fwd_side_effects_in_bwd_under_checkpoint skip_guards_on_constant_func_defaults specialize_float specialize_int strict_precompile
        suppress_errors trace_autograd_ops use_graph_deduplication use_numpy_random_stream verbose verify_correctness wrap_top_frame""".split(),
        False,
    ),
    **dict.fromkeys(
        """assume_dunder_attributes_remain_unchanged automatic_dynamic_local_pgo capture_autograd_function capture_func_transforms
        capture_sparse_compute dynamic_shapes enable_aot_compile enable_cpp_guard_manager enable_dynamo_decompositions
        enable_faithful_generator_behavior enable_trace_contextlib error_on_nested_fx_trace error_on_nested_jit_trace fake_tensor_cache_enabled
        fake_tensor_disable_inference_mode force_nn_module_property_static_shapes force_parameter_static_shapes graph_break_on_nn_param_ctor
        guard_nn_modules guard_nn_modules_using_dict_tags inline_inbuilt_nn_modules inline_torch_dispatch_torch_compile optimize_ddp
        raise_on_ctx_manager_usage replay_side_effects report_guard_failures rewrite_assert_with_torch_assert
        same_two_models_use_fp64 skip_fsdp_guards skip_nnmodule_hook_guards skip_torchrec trace_numpy use_lazy_graph_module""".split(),
        True,
    ),
    "accumulated_recompile_limit": 256, "automatic_dynamic_shapes_mark_as": "dynamic", "log_compilation_metrics": True, "log_level": 30,
    "minimum_call_count": 1,
    "numpy_default_complex": "complex128", "numpy_default_float": "float64", "numpy_default_int": "int64", "repro_level": 2,
    "repro_tolerance": 0.001, "side_effect_replay_policy": "info",
}  # fmt: skip


_hidden: set[str] = set()


class _Config(ModuleType):
    """The module: its settings are read and written as attributes.  One that is deleted is absent until it is set again, as `mock.patch` needs it."""

    def __getattr__(self, name: str) -> Any:
        if name in _hidden:
            raise AttributeError(f"torch._dynamo.config.{name} was deleted")
        return self._value(name)

    def _value(self, name: str) -> Any:
        found = vars(settings).get(_OTHER_NAMES.get(name, name), _KEPT.get(name, self))
        if found is self:
            raise AttributeError(f"torch._dynamo.config has no setting {name!r} in rushlight; there are {', '.join(vars(settings))}")
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        now = self._value(name)
        if type(value) is not type(now):
            raise TypeError(f"torch._dynamo.config.{name} is a {type(now).__name__}, and not a {type(value).__name__}")
        chosen = _OTHER_NAMES.get(name, name)
        if chosen in vars(settings):
            setattr(settings, chosen, value)
        else:
            _KEPT[name] = value
        _hidden.discard(name)

    def __delattr__(self, name: str) -> None:
        self.__getattr__(name)
        _hidden.add(name)


def patch(changes: Any = None, value: Any = None, **more: Any) -> Any:
    """Other settings for a while: ``patch(recompile_limit=2)``, ``patch("recompile_limit", 2)`` or with a dict; also a decorator."""
    return patched(sys.modules[__name__], changes, value, **more)


sys.modules[__name__].__class__ = _Config
