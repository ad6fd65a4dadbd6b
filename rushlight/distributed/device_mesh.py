"""``DeviceMesh``: the processes of a group as an n-d array; along each dimension, a process group."""

from __future__ import annotations

import math
from typing import Any

from ..core.process_group import world
from ..tensor import Tensor
from ..tensor.construct import tensor
from .groups import NON_MEMBER, get_process_group_ranks, init_process_group, new_group

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """An n-d array of processes, each with a device; a dimension may have a name.

    All processes make it, with the same ranks: the groups along its dimensions are made with it.
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None,
                 _init_backend: bool = True, _groups: list[Any] | None = None) -> None:  # fmt: skip
        self.device_type = device_type
        self.mesh = mesh if isinstance(mesh, Tensor) else tensor(mesh)
        if self.mesh.dim() == 0:
            self.mesh = self.mesh.reshape(1)
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names is not None else None
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self.mesh.dim():
            raise RuntimeError("mesh_shape and mesh_dim_names should have same length!")
        ranks = self.mesh.reshape(-1).tolist()
        if len(set(ranks)) != len(ranks):
            raise RuntimeError(f"Mesh should not have duplicate ranks, but found {ranks}")
        if world.default is None and _init_backend:
            if len(ranks) == 1:
                init_process_group("gloo", "tcp://localhost:0", world_size=1, rank=0)
            else:
                init_process_group()
        if world.default is not None and len(ranks) > world.default.size():
            raise RuntimeError(f"Mesh should not be bigger than default world size {world.default.size()}, but found {len(ranks)} ranks!")
        self._rank = world.default.rank() if world.default is not None else 0
        at = ranks.index(self._rank) if self._rank in ranks else None
        self._coordinate: list[int] | None = None if at is None else self._place(at)
        self._root: DeviceMesh = self
        self._flattened: dict[str, DeviceMesh] = {}
        self._groups: list[Any] = _groups if _groups is not None else (self._make_groups() if _init_backend else [])

    def _place(self, at: int) -> list[int]:
        """The coordinates of a linear index."""
        place = []
        for size in reversed(self.shape):
            place.append(at % size)
            at //= size
        return place[::-1]

    def _make_groups(self) -> list[Any]:
        """A group along each dimension: that of this process, among those of all, which every process makes."""
        if self.ndim == 1 and self.size() == world.default.size() and self.mesh.tolist() == list(range(self.size())):
            return [world.default]
        groups = []
        for dim in range(self.ndim):
            own = None
            for ranks in self.mesh.movedim(dim, -1).reshape(-1, self.shape[dim]).tolist():
                made = new_group(ranks)
                if made != NON_MEMBER:
                    own = made
            groups.append(own)
        return groups

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many devices there are, altogether or along a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def _dim(self, name: Any) -> int:
        if isinstance(name, str):
            if not self.mesh_dim_names or name not in self.mesh_dim_names:
                raise KeyError(f"Invalid mesh_dim_name {name!r} specified. Valid mesh_dim_names are {self.mesh_dim_names}.")
            return self.mesh_dim_names.index(name)
        return int(name or 0)

    def get_group(self, mesh_dim: Any = None) -> Any:
        """The process group along a dimension."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1. "
                "If you want to get the list of all the ProcessGroups in the DeviceMesh, please use `get_all_groups()` instead."
            )
        if isinstance(mesh_dim, str) and mesh_dim in self._root._flattened and mesh_dim not in (self.mesh_dim_names or ()):
            return self._root._flattened[mesh_dim].get_group()
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """The process groups of all dimensions."""
        return [self.get_group(at) for at in range(self.ndim)]

    def get_rank(self) -> int:
        """The rank of this process in the default group."""
        return self._rank

    def get_local_rank(self, mesh_dim: Any = None) -> int:
        """The rank of this process along a dimension."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1."
            )
        if self._coordinate is None:
            raise RuntimeError(f"rank {self._rank} is not part of {self}")
        return self._coordinate[self._dim(mesh_dim)]

    def get_coordinate(self) -> list[int] | None:
        """The coordinates of this process in the mesh; None where it is outside."""
        return self._coordinate

    @property
    def _dim_group_names(self) -> list[str]:
        """The names of the groups along the dimensions."""
        return [str(each.group_name) for each in self._groups if each is not None]

    @property
    def _coordinate_on_dim(self) -> list[int] | None:
        return self._coordinate

    def __getitem__(self, names: Any) -> DeviceMesh:
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        chosen = tuple(names) if isinstance(names, (tuple, list)) else (names,)
        if len(chosen) == 1 and chosen[0] in self._root._flattened:
            return self._root._flattened[chosen[0]]
        dims = [self._dim(each) for each in chosen]
        if chosen == self.mesh_dim_names:
            return self
        others = [each for each in range(self.ndim) if each not in dims]
        moved = self.mesh.permute(*others, *dims).reshape(-1, *[self.shape[each] for each in dims])
        number = 0
        for each in others:  # the slice that this process is in
            number = number * self.shape[each] + (self._coordinate[each] if self._coordinate is not None else 0)
        made = DeviceMesh(self.device_type, moved[number], mesh_dim_names=chosen, _groups=[self._groups[each] for each in dims])
        made._root = self._root
        return made

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """The same processes in one dimension."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        if name in self._root._flattened:
            return self._root._flattened[name]
        if self.ndim == 1:
            return self
        # Every process creates the groups of all slices in the same order: those of the root along the flattened dimensions.
        root, dims = self._root, [self._root._dim(each) for each in self.mesh_dim_names or ()] or list(range(self.ndim))
        others = [each for each in range(root.ndim) if each not in dims]
        own = None
        for ranks in root.mesh.permute(*others, *dims).reshape(-1, self.size()).tolist():
            made = new_group(ranks)
            if made != NON_MEMBER:
                own = made
        flat = DeviceMesh(self.device_type, self.mesh.reshape(-1), mesh_dim_names=(name,) if name else None, _groups=[own])
        flat._root = root
        if name:
            root._flattened[name] = flat
        return flat

    @staticmethod
    def from_group(group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None) -> DeviceMesh:
        """A mesh over groups that exist: one for each dimension."""
        if not isinstance(group, list):
            ranks = get_process_group_ranks(group)
            if mesh is not None and (mesh.tolist() if isinstance(mesh, Tensor) else list(mesh)) != ranks:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}")
            return DeviceMesh(device_type, ranks if mesh is None else mesh, mesh_dim_names=mesh_dim_names, _groups=[group])
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        made = mesh if isinstance(mesh, Tensor) else tensor(mesh)
        if made.dim() != len(group):
            raise ValueError(
                f"Expects mesh with ndim equal to number of ProcessGroups but got mesh {made.tolist()} and {len(group)} ProcessGroups"
            )
        return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=list(group))

    def __enter__(self) -> DeviceMesh:
        return self

    def __exit__(self, *exception: Any) -> None:
        return None

    def _key(self) -> tuple[Any, ...]:
        return (tuple(self.mesh.reshape(-1).tolist()), self.shape, self.device_type, self.mesh_dim_names)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __getstate__(self) -> dict[str, Any]:
        return {"device_type": self.device_type, "ranks": self.mesh.tolist(), "names": self.mesh_dim_names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["device_type"], state["ranks"], mesh_dim_names=state["names"], _init_backend=False)  # type: ignore[misc]

    def __repr__(self) -> str:
        shape = (
            "(" + ", ".join(f"{name}={size}" for name, size in zip(self.mesh_dim_names, self.shape)) + ")"
            if self.mesh_dim_names
            else str(self.shape)
        )
        return f"DeviceMesh({shape}, {self.device_type!r}, stride={tuple(self.mesh.stride())})"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None
) -> DeviceMesh:
    """A mesh of a shape over all processes; the default group is made if there is none."""
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise RuntimeError("mesh_shape and mesh_dim_names should have same length!")
    if device_type and not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported but got {device_type}. ")
    count = math.prod(mesh_shape)
    return DeviceMesh(device_type, tensor(list(range(count))).reshape(tuple(mesh_shape)), mesh_dim_names=mesh_dim_names)
