"""Hooks that average gradients: uncompressed, or communicated in a 16-bit type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.dtypes import BY_NAME
from ....core.futures import Future
from ....core.process_group import default_group, world

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"]

Hook = Callable[[Any, Any], Future[Any]]


def _average(process_group: Any, tensor: Any) -> Future[Any]:
    """A future of a tensor's average over a group; the tensor is overwritten."""
    group = default_group() if process_group is None else process_group
    tensor.div_(group.size())
    work = world.collectives.all_reduce(tensor, group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])  # type: ignore[no-any-return]


def allreduce_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The average of the gradients."""
    return _average(process_group, bucket.buffer())


def _compressed(process_group: Any, bucket: Any, name: str) -> Future[Any]:
    buffer = bucket.buffer()

    def widen(future: Future[Any]) -> Any:
        buffer.copy_(future.value())
        return buffer

    return _average(process_group, buffer.to(BY_NAME[name])).then(widen)


def fp16_compress_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The average, communicated in float16."""
    return _compressed(process_group, bucket, "float16")


def bf16_compress_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The average, communicated in bfloat16."""
    return _compressed(process_group, bucket, "bfloat16")


def _wrapped(hook: Hook, name: str) -> Hook:
    def wrapper(state: Any, bucket: Any) -> Future[Any]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(BY_NAME[name]))

        def widen(future: Future[Any]) -> Any:
            found = future.value()
            buffer.copy_(found[0] if isinstance(found, (list, tuple)) else found)
            return buffer

        return hook(state, bucket).then(widen)

    return wrapper


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets gradients in float16."""
    return _wrapped(hook, "float16")


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets gradients in bfloat16."""
    return _wrapped(hook, "bfloat16")
