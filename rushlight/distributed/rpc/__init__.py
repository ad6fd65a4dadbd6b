"""Calls of functions in other processes."""

from __future__ import annotations

from ...core.missing import absents


def is_available() -> bool:
    """False: there are no remote processes."""
    return False


def _is_current_rpc_agent_set() -> bool:
    """False."""
    return False


absents(
    globals(),
    "there are no remote processes",
    classes="TensorPipeAgent RRef RpcBackendOptions TensorPipeRpcBackendOptions WorkerInfo BackendType",
    functions="rpc_async rpc_sync remote init_rpc shutdown get_worker_info",
)
