"""A mesh of devices with one device: ``DeviceMesh`` and ``init_device_mesh``."""

from __future__ import annotations

import math
from typing import Any

from ..core.errors import NotSupported
from ..core.process_group import world
from ..tensor import Tensor
from ..tensor.construct import tensor
from .groups import init_process_group, new_group

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Devices in rows and columns; each dimension has one device, and may have a name."""

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None,
                 _init_backend: bool = True) -> None:  # fmt: skip
        self.device_type = device_type
        self.mesh = mesh if isinstance(mesh, Tensor) else tensor(mesh)
        if self.mesh.numel() != 1:
            raise NotSupported(f"a DeviceMesh of {self.mesh.numel()} devices: there is one process, and one device")
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names is not None else None
        if world.default is None and _init_backend:
            init_process_group("gloo", "tcp://localhost:0", world_size=1, rank=0)
        self._groups: dict[int, Any] = {}

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
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
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1."
            )
        at = self._dim(mesh_dim)
        if at not in self._groups:
            self._groups[at] = new_group([0])
        return self._groups[at]

    def get_all_groups(self) -> list[Any]:
        """The process groups of all dimensions."""
        return [self.get_group(at) for at in range(self.ndim)]

    def get_rank(self) -> int:
        """The number of this process."""
        return 0

    def get_local_rank(self, mesh_dim: Any = None) -> int:
        """The number of this process along a dimension."""
        self._dim(mesh_dim)
        return 0

    def get_coordinate(self) -> list[int]:
        """Where this process is in the mesh."""
        return [0] * self.ndim

    def __getitem__(self, names: Any) -> DeviceMesh:
        chosen = names if isinstance(names, tuple) else (names,)
        for each in chosen:
            self._dim(each)
        return DeviceMesh(self.device_type, self.mesh.reshape((1,) * len(chosen)), mesh_dim_names=chosen)

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        return DeviceMesh(self.device_type, self.mesh.reshape((1,)), mesh_dim_names=(mesh_dim_name,) if mesh_dim_name else None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (self.shape, self.device_type, self.mesh_dim_names) == (
            other.shape, other.device_type, other.mesh_dim_names
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.shape, self.device_type, self.mesh_dim_names))

    def __repr__(self) -> str:
        names = dict(zip(self.mesh_dim_names, self.shape)) if self.mesh_dim_names else self.shape
        return f"DeviceMesh({names}, device: {self.device_type!r})"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None
) -> DeviceMesh:
    """A mesh of a shape; the default group is made if there is none."""
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise RuntimeError("mesh_shape and mesh_dim_names should have same length!")
    if math.prod(mesh_shape) != 1:
        raise NotSupported(f"a DeviceMesh of shape {tuple(mesh_shape)}: there is one process, and one device")
    return DeviceMesh(device_type, tensor(0).reshape(tuple(mesh_shape)), mesh_dim_names=mesh_dim_names)
