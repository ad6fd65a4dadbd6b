"""Hooks that send gradients in 8 bits: each process gets all processes' numbers, and averages them itself."""

from __future__ import annotations

from typing import Any

from ....ao.quantization import MinMaxObserver, PerChannelMinMaxObserver
from ....core.dtypes import BY_NAME
from ....core.futures import Future
from ....core.process_group import default_group, world
from ....ops.nn.padding import pad
from ....ops.shape.concat import stack

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]


def _exchanged(process_group: Any, values: Any, scale: Any, zero_point: Any, shape: tuple[int, ...], back: Any) -> Future[Any]:
    """A future of the average of what all processes have, each in 8 bits by its own scale and zero point (of ``shape``)."""
    group = default_group() if process_group is None else process_group
    size, collectives = group.size(), world.collectives
    scale, zero_point = scale.reshape(shape).float(), zero_point.reshape(shape).float()
    settings = stack([scale.reshape(-1), zero_point.reshape(-1)])
    all_settings = [settings.new_empty(settings.shape) for _ in range(size)]
    collectives.all_gather(all_settings, settings, group=group)
    narrow = ((values / scale).round() + zero_point).clamp(0, 255).to(BY_NAME["uint8"])
    gathered = [narrow.new_empty(narrow.shape) for _ in range(size)]
    work = collectives.all_gather(gathered, narrow, group=group, async_op=True)

    def average(future: Future[Any]) -> Any:
        total = sum(
            own[0].reshape(shape) * (each.float() - own[1].reshape(shape)) for each, own in zip(gathered, all_settings)
        )  # fmt: skip
        return back(total / size)

    return work.get_future().then(average)  # type: ignore[no-any-return]


def quantization_pertensor_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The average of gradients that are sent in 8 bits, with one scale for a bucket."""
    tensor = bucket.buffer()
    observer = MinMaxObserver()
    observer(tensor)
    scale, zero_point = observer.calculate_qparams()
    return _exchanged(process_group, tensor, scale, zero_point, (1,), lambda found: found.to(tensor.dtype))


def quantization_perchannel_hook(process_group: Any, bucket: Any, bucket_size: int = 512) -> Future[Any]:
    """The same with a scale for every ``bucket_size`` elements."""
    tensor = bucket.buffer()
    rows = pad(tensor, [0, -tensor.numel() % bucket_size]).view(-1, bucket_size)
    observer = PerChannelMinMaxObserver()
    observer(rows)
    scale, zero_point = observer.calculate_qparams()
    return _exchanged(
        process_group, rows, scale, zero_point, (rows.shape[0], 1),
        lambda found: found.reshape(-1)[: tensor.numel()].to(tensor.dtype),
    )  # fmt: skip
