"""Settings for all pipes that a pipe is made of: sharding, shuffling, seeds."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from ...core.declare import exports
from ...core.dtypes import int64
from .datapipes.priorities import SHARDING_PRIORITIES
from .graph import traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: dict[int, Any]) -> list[Any]:
    """The pipes of a tree of ``traverse_dps``, each once."""
    found: dict[int, Any] = {}

    def walk(tree: dict[int, Any]) -> None:
        for number, (pipe, inner) in tree.items():
            if number not in found:
                found[number] = pipe
                walk(inner)

    walk(graph)
    return list(found.values())


def _shards(pipe: Any) -> bool:
    function = getattr(type(pipe), "apply_sharding", None)
    return function is not None and inspect.isfunction(function)


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = SHARDING_PRIORITIES.DEFAULT) -> Any:
    """Tell the pipes that divide samples how many take part and which one this is; one after the other on a way is refused."""

    def walk(tree: dict[int, Any], above: Any) -> None:
        for pipe, inner in tree.values():
            applied = above
            if _shards(pipe):
                if above is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                        f"Sharding already applied to {above} while trying to apply to {pipe}"
                    )
                if len(inspect.signature(pipe.apply_sharding).parameters) < 3:
                    pipe.apply_sharding(num_of_instances, instance_id)
                else:
                    pipe.apply_sharding(num_of_instances, instance_id, sharding_group=sharding_group)
                applied = pipe
            walk(inner, applied)

    walk(traverse_dps(datapipe), None)
    return datapipe


def _is_shuffle_datapipe(datapipe: Any) -> bool:
    return inspect.isfunction(getattr(type(datapipe), "set_shuffle", None)) and inspect.isfunction(
        getattr(type(datapipe), "set_seed", None)
    )


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch the shuffling of all pipes on or off; where there is none to switch on, one is put behind."""
    if shuffle is None:
        return datapipe
    shufflers = [each for each in get_all_graph_pipes(traverse_dps(datapipe)) if _is_shuffle_datapipe(each)]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware that the default "
            "buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for each in shufflers:
        each.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give every pipe with a generator of its own a seed."""
    for each in get_all_graph_pipes(traverse_dps(datapipe)):
        if inspect.isfunction(getattr(type(each), "set_seed", None)):
            each.set_seed(int(exports["", "empty"]((), dtype=int64).random_(generator=rng).item()))
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """The old name of ``apply_random_seed``."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. Please use `apply_random_seed` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return apply_random_seed(datapipe, rng)
