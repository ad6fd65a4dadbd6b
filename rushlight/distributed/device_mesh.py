"""``DeviceMesh``: the processes of a group as an n-d array; along each dimension, a process group."""

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import int32
from ..core.errors import NotSupported
from ..core.process_group import world
from ..tensor import Tensor
from ..tensor.construct import tensor
from .groups import NON_MEMBER, get_process_group_ranks, init_process_group, new_group

__all__ = ["DeviceMesh", "init_device_mesh"]

Layout = tuple[tuple[int, int], ...]  # a dimension of a mesh: sizes and strides in the order of the root's processes, outermost first


class _MeshEnv:
    """The meshes that ``with mesh:`` has entered."""

    def __init__(self) -> None:
        self.mesh_stack: list[DeviceMesh] = []

    def get_current_mesh(self) -> DeviceMesh:
        """The innermost one."""
        if not self.mesh_stack:
            raise RuntimeError("No device mesh is currently active!")
        return self.mesh_stack[-1]

    def get_root_mesh(self, device_mesh: DeviceMesh) -> DeviceMesh:
        """The mesh that a mesh is a part of."""
        return device_mesh._root


_mesh_resources = _MeshEnv()


class DeviceMesh:
    """An n-d array of processes, each with a device; a dimension may have a name.

    All processes make it, with the same ranks: the groups along its dimensions are made with it.
    """

    def __init__(self, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None,
                 _init_backend: bool = True, _rank: int | None = None, _groups: list[Any] | None = None,
                 _part_of: tuple[DeviceMesh, tuple[Layout, ...]] | None = None) -> None:  # fmt: skip
        self.device_type = device_type
        made = mesh if isinstance(mesh, Tensor) else tensor(mesh)
        self.mesh = made.detach().to(int32).contiguous()
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
        if world.default is not None and _init_backend and len(ranks) > world.default.size():
            raise RuntimeError(f"Mesh should not be bigger than default world size {world.default.size()}, but found {len(ranks)} ranks!")
        self._rank = _rank if _rank is not None else world.default.rank() if world.default is not None else 0
        at = ranks.index(self._rank) if self._rank in ranks else None
        self._coordinate: tuple[int, ...] | None = None if at is None else self._place(at)
        self._flattened: dict[str, DeviceMesh] = {}  # of a root: the meshes that parts of it were flattened to
        if _part_of is None:
            steps = [math.prod(self.shape[dim + 1 :]) for dim in range(self.ndim)]
            whole: tuple[Layout, ...] = tuple(((size, step),) for size, step in zip(self.shape, steps))
            self._root, self._layout = self, whole
        else:
            self._root, self._layout = _part_of
        if _groups is None and _init_backend:
            _groups = self._make_groups(_overrides(backend_override, self.mesh_dim_names, self.ndim))
        self._groups: list[Any] = _groups or []

    def _place(self, at: int) -> tuple[int, ...]:
        """The coordinates of a linear index."""
        place = []
        for size in reversed(self.shape):
            place.append(at % size)
            at //= size
        return tuple(place[::-1])

    def _make_groups(self, overrides: dict[int, tuple[Any, Any]]) -> list[Any]:
        """A group along each dimension."""
        if self.ndim == 1 and not overrides and self.size() == world.default.size() and self.mesh.tolist() == list(range(self.size())):
            return [world.default]
        names = self.mesh_dim_names or [f"dim_{dim}" for dim in range(self.ndim)]
        return [
            self._root._group_along(each, name, overrides.get(dim, (None, None)))
            for dim, (each, name) in enumerate(zip(self._layout, names))
        ]

    def _group_along(self, layout: Layout, name: str, override: tuple[Any, Any]) -> Any:
        """The group of this process along a dimension, among those of all, which every process makes."""
        ranks, own = self.mesh.reshape(-1).tolist(), None
        for start in range(self.size()):
            if all(start // step % size == 0 for size, step in layout):
                chosen = [ranks[start + each] for each in _offsets((layout,))]
                made = new_group(chosen, backend=override[0], pg_options=override[1], group_desc=f"mesh_{name}", sort_ranks=False)
                if made != NON_MEMBER:
                    own = made
        return own

    def _part(self, layout: tuple[Layout, ...], names: Any, groups: list[Any] | None, number: int | None = None) -> DeviceMesh:
        """The part of this root along some dimensions that this process is in, or another of them."""
        at = 0 if self._coordinate is None else sum(each * step for each, ((_, step),) in zip(self._coordinate, self._layout))
        steps = [pair for each in layout for pair in each]
        start = at - sum(at // step % size * step for size, step in steps)
        if number is not None:
            start = [each for each in range(self.size()) if all(each // step % size == 0 for size, step in steps)][number]
        ranks = self.mesh.reshape(-1).as_strided([size for size, _ in steps], [step for _, step in steps], start)
        shape = [math.prod(size for size, _ in each) for each in layout]
        return DeviceMesh(
            self.device_type, ranks.reshape(shape), mesh_dim_names=names, _groups=groups, _part_of=(self, layout),
            _init_backend=groups is not None, _rank=self._rank,
        )  # fmt: skip

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
                raise KeyError(f"Mesh dimension '{name}' does not exist. Available mesh dimensions are: {self.mesh_dim_names}")
            return self.mesh_dim_names.index(name)
        return int(name or 0)

    _get_mesh_dim_by_name = _dim

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

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The coordinates of this process in the mesh; None where it is outside."""
        return self._coordinate

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._coordinate is not None

    @property
    def _dim_group_names(self) -> list[str]:
        """The names of the groups along the dimensions."""
        return [str(each.group_name) for each in self._groups if each is not None]

    @property
    def _coordinate_on_dim(self) -> tuple[int, ...] | None:
        return self._coordinate

    def _get_root_mesh(self) -> DeviceMesh:
        """The mesh that this one is a part of."""
        return self._root

    def _get_root_mesh_dim(self) -> int | None:
        """Which dimension of its root a part is; None for a root."""
        if self._root is self or not self.mesh_dim_names:
            return None
        if self.ndim != 1:
            raise AssertionError("The submesh can only be a 1D mesh.")
        return self._root._dim(self.mesh_dim_names[0])

    def _get_all_submeshes(self, mesh_dim_name: str) -> list[DeviceMesh]:
        """The parts along a dimension: those of all processes."""
        layout = (self._layout[self._dim(mesh_dim_name)],)
        group = self.get_group(mesh_dim_name)
        found = [self._root._part(layout, (mesh_dim_name,), [group], at) for at in range(self._root.size() // _count(layout))]
        return [each for each in found if set(each.mesh.tolist()) <= set(self.mesh.reshape(-1).tolist())]

    def __getitem__(self, names: Any) -> DeviceMesh:
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        chosen = (names,) if isinstance(names, str) else tuple(names)
        if chosen == self.mesh_dim_names:
            return self
        own = dict(zip(self.mesh_dim_names, zip(self._layout, self._groups or [None] * self.ndim)))
        flattened = self._root._flattened if self._root is self else {}
        found = []
        for each in chosen:
            if each in own:
                found.append(own[each])
            elif each in flattened:
                found.append((flattened[each]._layout[0], flattened[each].get_group()))
            else:
                raise KeyError(f"Invalid mesh_dim_names {chosen} specified. Valid mesh_dim_names are {[*self.mesh_dim_names, *flattened]}.")
        layout = tuple(each for each, _ in found)
        if _overlap(layout):
            raise RuntimeError(f"Slicing overlapping dim_names {chosen} is not allowed.")
        steps = [step for each in layout for size, step in each if size > 1]
        if steps != sorted(steps, reverse=True):
            raise KeyError(f"Invalid mesh_dim_names {chosen} specified. Mesh dim indices should be in ascending order.")
        if len(chosen) == 1 and chosen[0] in flattened:
            return flattened[chosen[0]]
        return self._root._part(layout, chosen, [group for _, group in found] if self._groups else None)

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """The same processes in one dimension, which its root knows by name."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        name, root = mesh_dim_name or "_".join(self.mesh_dim_names), self._root
        if self.ndim == 1 and self.mesh_dim_names == (name,):
            return self
        if name in (root.mesh_dim_names or ()):
            raise ValueError(
                f"{name} already exists for submesh of the {root}. The mesh_dim_names of submesh and flattened mesh are "
                f"{root.mesh_dim_names}. Please specify another valid mesh_dim_name."
            )
        layout = (tuple(pair for each in self._layout for pair in each),)
        if name in root._flattened:
            if root._flattened[name]._layout == layout:
                return root._flattened[name]
            raise ValueError(f"Flatten mesh with mesh_dim_name {name} has been created before, Please specify another valid mesh_dim_name.")
        places = root.mesh.reshape(-1).tolist()
        if self.ndim == 1 and backend_override is None:
            group = self._groups[0]
        elif backend_override is None and [places[each] for each in _offsets(layout)] == list(range(world.default.size())):
            group = world.default
        else:
            group = root._group_along(layout[0], name, _override(backend_override))
        root._flattened[name] = root._part(layout, (name,), [group])
        return root._flattened[name]

    def _unflatten(
        self, dim: int | str, mesh_sizes: tuple[int, ...], mesh_dim_names: tuple[str, ...], backend_override: Any = None
    ) -> DeviceMesh:
        """The same processes with a dimension split into several."""
        at = self._dim(dim)
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot unflatten a DeviceMesh without mesh_dim_names!")
        if len(mesh_sizes) != len(mesh_dim_names):
            raise RuntimeError("mesh_dim_names must have same length as mesh_sizes in _unflatten!")
        if math.prod(mesh_sizes) != self.size(at):
            raise ValueError(
                f"The product of mesh_sizes={tuple(mesh_sizes)} is {math.prod(mesh_sizes)}, but the original dimension at dim={at} has size "
                f"{self.size(at)}. These must be equal for unflatten to work correctly."
            )
        if len(self._layout[at]) != 1:
            raise NotSupported(f"DeviceMesh._unflatten of {self}: its dimension {at} was flattened from several that are apart")
        step, root = self._layout[at][0][1], self._root
        made = tuple(((size, step * math.prod(mesh_sizes[each + 1 :])),) for each, size in enumerate(mesh_sizes))
        overrides = _overrides(backend_override, tuple(mesh_dim_names), len(made))
        groups = [
            root._group_along(each, name, overrides.get(number, (None, None)))
            for number, (each, name) in enumerate(zip(made, mesh_dim_names))
        ]
        return root._part(
            (*self._layout[:at], *made, *self._layout[at + 1 :]),
            (*self.mesh_dim_names[:at], *mesh_dim_names, *self.mesh_dim_names[at + 1 :]),
            [*self._groups[:at], *groups, *self._groups[at + 1 :]],
        )

    @staticmethod
    def _concatenate(device_mesh_list: list[DeviceMesh]) -> DeviceMesh:
        """A mesh with the dimensions of several parts of one root."""
        root = device_mesh_list[0]._root
        if any(each._root is not root for each in device_mesh_list):
            raise RuntimeError("Cannot concatenate meshes of different roots")
        layout = tuple(each for mesh in device_mesh_list for each in mesh._layout)
        if _overlap(layout):
            raise RuntimeError(f"Cannot concatenate overlapping meshes: {device_mesh_list}")
        names = tuple(name for mesh in device_mesh_list for name in mesh.mesh_dim_names or ())
        return root._part(layout, names, [group for mesh in device_mesh_list for group in mesh._groups])

    @staticmethod
    def from_group(group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None) -> DeviceMesh:
        """A mesh over groups that exist: one for each dimension."""
        if not isinstance(group, list):
            ranks = get_process_group_ranks(group)
            if mesh is not None and (mesh.tolist() if isinstance(mesh, Tensor) else list(mesh)) != ranks:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}")
            return DeviceMesh(device_type, ranks if mesh is None else mesh, mesh_dim_names=mesh_dim_names, _groups=[group])
        if not group:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        made = mesh if isinstance(mesh, Tensor) else tensor(mesh)
        if made.dim() != len(group):
            raise ValueError(
                f"Expects mesh with ndim equal to number of ProcessGroups but got mesh {made.tolist()} and {len(group)} ProcessGroups"
            )
        return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=list(group))

    def __enter__(self) -> DeviceMesh:
        _mesh_resources.mesh_stack.append(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        _mesh_resources.mesh_stack.pop()

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
        steps = [tuple(step for _, step in _merged(each)) for each in self._layout]
        return f"DeviceMesh({shape}, {self.device_type!r}, stride={tuple(each[0] if len(each) == 1 else each for each in steps)})"


def _merged(layout: Layout) -> Layout:
    """A dimension with what is contiguous in it as one size."""
    found: list[tuple[int, int]] = []
    for size, step in layout:
        if found and found[-1][1] == size * step:
            found[-1] = (found[-1][0] * size, step)
        else:
            found.append((size, step))
    return tuple(found)


def _count(layout: tuple[Layout, ...]) -> int:
    return math.prod(size for each in layout for size, _ in each)


def _offsets(layout: tuple[Layout, ...]) -> list[int]:
    """The places of a part in the order of its root, from its first."""
    found = [0]
    for size, step in (pair for each in layout for pair in each):
        found = [first + step * number for first in found for number in range(size)]
    return found


def _overlap(layout: tuple[Layout, ...]) -> bool:
    """Whether two dimensions of a root share processes."""
    pairs = sorted((step, size) for each in layout for size, step in each if size > 1)
    return any(step * size > above for (step, size), (above, _) in zip(pairs, pairs[1:]))


def _override(given: Any) -> tuple[Any, Any]:
    """A back-end and its options, of which one may be left out."""
    if given is None or isinstance(given, str):
        return given, None
    return (given[0], given[1]) if isinstance(given, tuple) else (None, given)


def _overrides(given: Any, names: tuple[str, ...] | None, ndim: int) -> dict[int, tuple[Any, Any]]:
    """The back-ends that are given for dimensions, by their number."""
    found: dict[int, tuple[Any, Any]] = {}
    unknown = [key for key in given or {} if key not in (names or ()) and key not in range(ndim)]
    if unknown:
        raise RuntimeError(
            f"Found invalid keys in backend_override: got {unknown}, expected integers in range [0, {ndim}) or one of {names or ()}"
        )
    for key, value in (given or {}).items():
        dim = (names or ()).index(key) if isinstance(key, str) else key
        if dim in found:
            raise RuntimeError(f"Found redundant dim index {dim} and name {(names or ())[dim]} in backend_override")
        found[dim] = _override(value)
    return found


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
    return DeviceMesh(
        device_type, tensor(list(range(count))).reshape(tuple(mesh_shape)), mesh_dim_names=mesh_dim_names, backend_override=backend_override
    )
