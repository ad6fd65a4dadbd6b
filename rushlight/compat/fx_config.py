"""`torch.fx.experimental._config`: settings of symbolic shapes.  What is set can be read again, and changes nothing."""

from __future__ import annotations

import sys

from .config_module import install_config_module

aggressive_guard_free_semantics = 0
backed_size_oblivious = False
enrich_profiler_metadata = False
meta_nonzero_assume_all_nonzero = False
no_data_dependent_graph_break = False
print_specializations = False
skip_dtype_check_in_meta_registrations = False
soft_pending_unbacked_not_found_error = False
translation_validation = False
translation_validation_timeout = 600000
use_duck_shape = True
validate_shape_env_version_key = False
check_shape_env_recorded_events = False
symbol_guard_limit_before_specialize: int | None = None

install_config_module(sys.modules[__name__])
