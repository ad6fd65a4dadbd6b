"""A state as items: nested containers become names, tensors become chunks."""

from __future__ import annotations

import io
from typing import Any

from ...autograd import no_grad
from ...serialization import load, save
from ...tensor import Tensor
from ..tensor._api import DTensor
from ..tensor._utils import compute_local_shape_and_global_offset
from ..tensor.placement_types import Partial, Replicate, _StridedShard
from .planner import WriteItem
from .stateful import Stateful

Path = tuple[str | int, ...]


def plain_state(state: dict[str, Any]) -> dict[str, Any]:
    """A state whose objects with states are these."""
    return {name: value.state_dict() if isinstance(value, Stateful) else value for name, value in state.items()}


def _is_entered(value: Any) -> bool:
    """Whether a value is flattened: a dict, and a list with a dict or a tensor in it."""
    if isinstance(value, list):
        return any(isinstance(each, Tensor) or _is_entered(each) for each in value)
    return isinstance(value, dict)


def stored_paths(state: dict[str, Any]) -> dict[str, Path]:
    """The path of each name of a flat state as checkpoints have it: keys of dicts are text, positions in lists are numbers."""
    found: dict[str, Path] = {}

    def visit(value: Any, path: Path) -> None:
        if not _is_entered(value):
            found[".".join(map(str, path))] = path
        else:
            for key, each in enumerate(value) if isinstance(value, list) else value.items():
                visit(each, (*path, key if isinstance(value, list) else str(key)))

    for key, value in state.items():
        visit(value, (str(key),))
    return found


def flatten(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """Values by dotted names, and the path of each: dicts are entered, lists where they hold dicts or tensors."""
    values: dict[str, Any] = {}
    paths: dict[str, Path] = {}

    def visit(value: Any, path: Path) -> None:
        if _is_entered(value):
            for key, each in enumerate(value) if isinstance(value, list) else value.items():
                visit(each, (*path, key))
        else:
            name = ".".join(map(str, path))
            if name in values:
                raise ValueError(f"duplicated flatten key {name}")
            values[name], paths[name] = value, path

    for key, value in state.items():
        visit(value, (key,))
    return values, paths


def put(state: Any, path: Path, value: Any) -> None:
    """Set the value at a path; missing containers are created."""
    for at, key in enumerate(path[:-1]):
        following: Any = [] if isinstance(path[at + 1], int) and not isinstance(state, list) and key not in state else {}
        if isinstance(state, dict):
            state = state.setdefault(key, following)
        else:
            while len(state) <= int(key):
                state.append({})
            state = state[key]
    if isinstance(state, list):
        while len(state) <= int(path[-1]):
            state.append(None)
    state[path[-1]] = value


def chunk_of(value: Any) -> tuple[tuple[int, ...], Any]:
    """The offsets of this process's part of a tensor, and the part."""
    if not isinstance(value, DTensor):
        return (0,) * value.dim(), value.detach()
    spec = value._spec
    if any(isinstance(each, (_StridedShard, Partial)) for each in spec.placements):
        # A part that is no block of the whole: the first dimension of the mesh that splits it so is put together.
        placements = [Replicate() if isinstance(each, (_StridedShard, Partial)) else each for each in spec.placements]
        with no_grad():
            value = value.detach().redistribute(placements=placements)
        spec = value._spec
    return compute_local_shape_and_global_offset(spec.shape, spec.mesh, spec.placements)[1], value._local_tensor.detach()


def item_of(name: str, value: Any) -> tuple[WriteItem, Any]:
    """What a process would write for a value, and the part of a tensor or the bytes of an object."""
    if isinstance(value, Tensor):
        offsets, part = chunk_of(value)
        kind = str(part.dtype).partition(".")[2]
        return WriteItem(name, tuple(offsets), tuple(part.shape), tuple(value.shape), kind, part.numel() * part.element_size()), part
    file = io.BytesIO()
    save(value, file)
    return WriteItem(name, nbytes=file.tell()), file.getvalue()


def object_of(data: bytes) -> Any:
    """An object from its bytes; none that would run code."""
    return load(io.BytesIO(data), weights_only=True)
