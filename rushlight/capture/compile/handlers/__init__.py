"""Handlers: how a capture treats particular callables (custom Functions, ``backward``, optimizers, hooks, Modules, control flow, builtins).

In: a call that the recorder meets.  Out: nodes, guards and side effects.  Importing this package registers all of them with
``record/registry.py``.  Read ``custom_function.py`` first.
"""

from . import (
    backward,
    break_errors,
    builtins,
    checkpointing,
    control_flow_ops,
    custom_function,
    data_parallel,
    grad_hooks,
    graph_modules,
    module_members,
    optimizer,
    recorded_calls,
    script_methods,
    transforms,
)

__all__ = [
    "backward",
    "break_errors",
    "builtins",
    "checkpointing",
    "control_flow_ops",
    "custom_function",
    "data_parallel",
    "grad_hooks",
    "graph_modules",
    "module_members",
    "optimizer",
    "recorded_calls",
    "script_methods",
    "transforms",
]
