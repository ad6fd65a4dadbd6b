"""`torch._functorch.config`: settings of PyTorch's differentiation of graphs, with its defaults: what is set is kept, and changes nothing."""

from __future__ import annotations

import sys

from ..config_module import install_config_module

functionalize_rng_ops = False
fake_tensor_allow_unsafe_rng_ops = True
debug_assert = False
debug_partitioner = False
cse = True
enable_autograd_cache = True
bundled_autograd_cache = False
check_custom_op_aliasing = True
error_on_custom_op_aliasing = False
activation_memory_budget = 1.0
activation_memory_budget_runtime_estimator = "flops"
activation_memory_budget_solver = "dp"
aggressive_recomputation = False
ban_recompute_used_far_apart = True
ban_recompute_long_fusible_chains = True
ban_recompute_materialized_backward = True
ban_recompute_not_in_allowlist = True
ban_recompute_reductions = True
recompute_views = False
max_dist_from_bw = 1000
treat_parameters_as_free_to_save = True
view_replay_for_aliased_outputs = True
donated_buffer = True
static_weight_shapes = True
unlift_effect_tokens = False
strict_autograd_cache = False
enable_remote_autograd_cache = None
visualize_memory_budget_pareto = False
install_config_module(sys.modules[__name__])
