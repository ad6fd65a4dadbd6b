"""Hooks that average gradients, as they are or in a shorter type: with one process the average is the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.dtypes import BY_NAME
from ....core.futures import Future, completed

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"]

Hook = Callable[[Any, Any], Future[Any]]


def allreduce_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The average of the gradients."""
    return completed(bucket.buffer())


def _compressed(buffer: Any, name: str) -> Future[Any]:
    return completed(buffer.to(BY_NAME[name]).to(buffer.dtype))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The average, rounded to float16 on its way."""
    return _compressed(bucket.buffer(), "float16")


def bf16_compress_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The average, rounded to bfloat16 on its way."""
    return _compressed(bucket.buffer(), "bfloat16")


def _wrapped(hook: Hook, name: str) -> Hook:
    def wrapper(state: Any, bucket: Any) -> Future[Any]:
        kind = bucket.buffer().dtype
        bucket.set_buffer(bucket.buffer().to(BY_NAME[name]))
        return hook(state, bucket).then(lambda future: future.value().to(kind))

    return wrapper


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets gradients in float16."""
    return _wrapped(hook, "float16")


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets gradients in bfloat16."""
    return _wrapped(hook, "bfloat16")
