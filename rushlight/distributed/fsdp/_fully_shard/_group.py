"""The parameters that are gathered and reduced together: their parts, the whole ones while they are needed, and the collectives between.

A parameter has two objects: the sharded one (a DTensor, what an optimizer sees) and the whole one (what the module computes with).  The whole
one stays the same object, which graphs refer to; its memory is there from its gathering until it is resharded.
"""

from __future__ import annotations

import math
from typing import Any

from ....autograd import no_grad
from ....core.base import Spec
from ....core.declare import exports
from ....core.process_group import world
from ....nn.parameter import Parameter
from ....tensor import Tensor
from ...tensor._api import DTensor
from ...tensor._dtensor_spec import DTensorSpec, TensorMeta
from ...tensor.placement_types import Replicate, Shard, _StridedShard


class ShardedParameter:
    """A parameter of which this process keeps one part along a dimension, its rows; or all of it, where the placement is ``Replicate``."""

    def __init__(self, parameter: Any, places: list[tuple[Any, str]], mesh: Any, dtype: Any, placement: Any = Shard(0)) -> None:
        self.places, self.placement = places, placement
        self.spec: DTensorSpec | None = None  # of the whole one where it is a DTensor of another mesh itself
        value = parameter.detach()
        if isinstance(value, DTensor):
            self.spec, value = value._spec, value._local_tensor
        last = mesh.ndim - 1
        count: int = mesh.size(last) if placement.is_shard() else 1
        self.rank: int = mesh.get_local_rank(last) if placement.is_shard() else 0
        self.dim = self._checked_dim(value, count)
        self.shape, self.rows = tuple(value.shape), value.shape[self.dim] if value.dim() else 1
        rest = self._rows(value).shape[1:]
        self.longest = -(-self.rows // count)
        self.width = math.prod(rest)
        self.size = self.longest * self.width  # elements of a part, with its padding
        self.kept = Shard.local_shard_size_and_offset(self.rows, count, self.rank)[0]
        part = self.part_of(value).clone().contiguous()
        self.computed_dtype = dtype  # by the policy, of floating-point parameters
        self._set_dtype(value.dtype)
        self.sharded: Any = Parameter(DTensor(part, self._placed(mesh, value), requires_grad=False), requires_grad=parameter.requires_grad)
        self.whole = Parameter(exports["", "empty"](0, dtype=self.whole_dtype, device=value.device), requires_grad=parameter.requires_grad)
        for holder in (self.sharded, self.whole):
            holder.__dict__.update({key: held for key, held in parameter.__dict__.items() if not key.startswith("_")})
        if self.spec is not None:
            self.inner = self.whole
            self.whole = Parameter(DTensor(self.inner.detach(), self.spec, requires_grad=False), requires_grad=parameter.requires_grad)

    def _checked_dim(self, value: Any, count: int) -> int:
        """The dimension of a placement: parts along another one than the first are of equal size."""
        dim: int = self.placement.dim if self.placement.is_shard() else 0
        dim = dim + value.dim() if dim < 0 else dim
        if dim and dim >= value.dim():
            raise AssertionError(f"Shard dim {dim} is invalid for {value.dim()}D tensor: {value.shape}")
        if dim and value.shape[dim] % count:
            raise NotImplementedError(f"FSDP does not support uneven sharding on dim {dim}: {value.shape} (world size: {count})")
        return dim

    def _rows(self, value: Any) -> Any:
        """A view of a whole tensor, or of a part, whose first dimension is the one that is split."""
        return value.movedim(self.dim, 0) if value.dim() else value.reshape(1)

    def _unrows(self, rows: Any) -> Any:
        """Back from ``_rows``."""
        return rows.movedim(0, self.dim) if self.dim else rows

    def part_of(self, value: Any) -> Any:
        """A view of what this process keeps of a whole tensor."""
        return self._unrows(self._rows(value).narrow(0, min(self.rank * self.longest, self.rows), self.kept))

    def pieces(self, part: Any) -> Any:
        """The elements of this process's part row by row, with its padding: what is gathered."""
        flat = self._rows(part).reshape(-1)
        missing = self.size - flat.numel()
        return exports["", "cat"]([flat, exports["", "zeros"](missing, dtype=flat.dtype, device=flat.device)]) if missing else flat

    def of_rows(self, flat: Any, part: Any) -> Any:
        """Elements row by row in the shape of a part."""
        return self._unrows(flat.view(self._rows(part).shape)) if part.dim() else flat.view(part.shape)

    def assembled(self, parts: Any) -> Any:
        """The whole tensor of the parts of all processes, each a row of a matrix; in memory of its own."""
        if not self.shape:
            return parts.reshape(-1)[0].clone()
        rest = [size for at, size in enumerate(self.shape) if at != self.dim]
        return self._unrows(parts.reshape(-1, *rest)[: self.rows]).contiguous()

    def _set_dtype(self, dtype: Any) -> None:
        self.dtype, self.whole_dtype = dtype, self.computed_dtype if self.computed_dtype is not None and dtype.is_floating_point else dtype

    def adopt(self) -> None:
        """Take the sharded parameter that the modules hold now: ``load_state_dict(assign=True)`` and ``to()`` may have put another one there."""
        module, name = self.places[0]
        held = module._parameters[name]
        if held is not self.sharded and held is not self.whole:
            if not isinstance(held, DTensor) or held.shape != self.sharded.shape or held.placements != self.sharded.placements:
                shown = f"placements {held.placements}" if isinstance(held, DTensor) else f"a {type(held).__name__} without placements"
                raise RuntimeError(
                    f"the parameter '{name}' of {type(module).__name__} is sharded (shape {tuple(self.sharded.shape)}, placements {self.sharded.placements}), and was replaced "
                    f"by one of shape {tuple(held.shape)} with {shown}: distribute_tensor(value, parameter.device_mesh, parameter.placements) makes one that fits"
                )
            self.sharded = held
            for other, name in self.places[1:]:
                other._parameters[name] = held
        if self.sharded._local_tensor.dtype is not self.dtype:
            self._set_dtype(self.sharded._local_tensor.dtype)

    def _placed(self, mesh: Any, value: Any) -> DTensorSpec:
        """The placements of the sharded parameter: over the mesh, and over that which has split it before."""
        if self.spec is None:
            shape = type(value.shape)(self.shape or (1,))
            meta = TensorMeta(shape, tuple(value.stride()) or (1,), self.dtype if hasattr(self, "dtype") else value.dtype)
            return DTensorSpec(
                mesh, (*[Replicate()] * (mesh.ndim - 1), Shard(self.dim) if self.placement.is_shard() else Replicate()), meta
            )
        root, held = mesh._root, self.spec.placements[0]
        names = (*(mesh.mesh_dim_names or ()), *(self.spec.mesh.mesh_dim_names or ()))
        own = _StridedShard(self.dim, split_factor=self.spec.mesh.size()) if held.is_shard(self.dim) else Shard(self.dim)
        return DTensorSpec(root[names], (*[Replicate()] * (mesh.ndim - 1), own, held), self.spec.tensor_meta)

    def fill(self, parts: Any) -> None:
        """Put the whole parameter together from the parts of all processes, a row of a matrix each."""
        value = self.assembled(parts)
        if self.spec is not None:
            self.whole._local_tensor = Tensor._make_subclass(Tensor, value)  # type: ignore[attr-defined]
            return
        self.whole._array, self.whole._storage = value._array, None

    def write_back(self, whole: Any, part: Any) -> None:
        """Write this process's part of a whole tensor."""
        value = whole._local_tensor if isinstance(whole, DTensor) else whole.detach()
        part.copy_(self.part_of(value).reshape(part.shape))

    def drop(self) -> None:
        """Free the memory of the whole parameter; graphs keep the object."""
        if self.spec is None:
            held = self.whole._array
            self.whole._array, self.whole._storage = Spec(self.shape, held.dtype, None, self.whole.device), None

    def padded(self, value: Any, count: int) -> Any:
        """Rows of a whole tensor as parts of equal size: a matrix with a row for each process."""
        rows = self._rows(value).reshape(self.rows, self.width)
        missing = self.longest * count - self.rows
        if missing:
            rows = exports["", "cat"]([rows, exports["", "zeros"]((missing, rows.shape[1]), dtype=rows.dtype, device=rows.device)])
        return rows.reshape(count, -1)


class ParameterGroup:
    """Parameters that share one collective."""

    def __init__(
        self, parameters: list[ShardedParameter], mesh: Any, policy: Any, reshard: bool | int | None, replicated: bool = False
    ) -> None:
        self.parameters, self.mesh, self.policy = parameters, mesh, policy
        self.reshard_after_forward = reshard
        dim = mesh.ndim - 1
        self.gathering: Any = None if replicated else mesh.get_group(dim)
        self.count: int = 1 if replicated else mesh.size(dim)
        self.replicas = mesh.get_group(0) if mesh.ndim > 1 or replicated else None
        self.is_whole = False
        self.started: tuple[Any, Any] | None = None
        self.reducing: tuple[Any, Any] | None = None
        self.reduces, self.all_reduces, self.reshards_after_backward = True, True, True
        self.divisor: float | None = None
        self.trained = [each for each in parameters if each.sharded.requires_grad]
        self.arrived: set[int] = set()
        for at, each in enumerate(self.trained):
            each.whole.register_post_accumulate_grad_hook(self._arrive(at))
        for each in parameters:
            each.drop()
        self.install(False)

    def install(self, whole: bool) -> None:
        """Put the whole or the sharded parameters into the modules."""
        for each in self.parameters:
            chosen = each.whole if whole else each.sharded
            for module, name in each.places:
                module._parameters[name] = chosen

    # -- gathering -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to gather the parts of all processes."""
        if self.is_whole or self.started is not None or not self.parameters:
            return
        for each in self.parameters:
            each.adopt()
        with no_grad():
            pieces = []
            kinds = {each.whole_dtype for each in self.parameters}
            kind = next(iter(kinds)) if len(kinds) == 1 else None
            for each in self.parameters:
                pieces.append(each.pieces(each.sharded._local_tensor.detach()).to(each.whole_dtype))
            if self.count == 1:  # nothing to gather: copies
                self.started = [piece.clone() for piece in pieces], []
                return
            if kind is None:  # parameters of several types: a collective for each
                gathered, works = [], []
                for piece in pieces:
                    into = exports["", "empty"]((self.count, piece.numel()), dtype=piece.dtype, device=piece.device)
                    works.append(world.collectives.all_gather_into_tensor(into, piece, group=self.gathering, async_op=True))
                    gathered.append(into)
                self.started = gathered, works
                return
            own = exports["", "cat"](pieces)
            into = exports["", "empty"]((self.count, own.numel()), dtype=own.dtype, device=own.device)
            work = world.collectives.all_gather_into_tensor(into, own, group=self.gathering, async_op=True)
            start, views = 0, []
            for piece in pieces:
                views.append(into[:, start : start + piece.numel()])
                start += piece.numel()
            self.started = views, [work]

    def unshard(self) -> None:
        """Put the whole parameters into the modules."""
        if self.is_whole:
            return
        self.start()
        if self.started is not None:
            views, works = self.started
            for work in works:
                work.wait()
            with no_grad():
                for each, view in zip(self.parameters, views):
                    each.fill(view)
            self.started = None
        self.is_whole = True
        self.install(True)

    def reshard(self) -> None:
        """Put the sharded parameters into the modules, and free the memory of the whole ones."""
        if self.started is not None:
            for work in self.started[1]:
                work.wait()
            self.started = None
        if self.is_whole:
            self.is_whole = False
            self.install(False)
            for each in self.parameters:
                each.drop()

    # -- whole tensors of a program ----------------------------------------------------------------------------------

    def gather_gradients(self) -> None:
        """Give the whole parameters whole gradients, where there are gradients."""
        with no_grad():
            for each in self.trained:
                gradient = each.sharded.grad
                if gradient is not None:
                    whole = gradient.full_tensor() if each.spec is None else gradient.redistribute(each.spec.mesh, each.spec.placements)
                    each.whole.grad = whole.reshape(each.shape).clone()

    def drop_gradients(self) -> None:
        """Forget the whole gradients."""
        for each in self.trained:
            each.whole.grad = None

    def write_back(self, gradients: bool) -> None:
        """Keep what was written to the whole parameters, and to their gradients if wanted."""
        if not self.is_whole:
            return
        with no_grad():
            for each in self.parameters:
                each.write_back(each.whole, each.sharded._local_tensor)
                if gradients and each.whole.grad is not None and each.sharded.grad is not None:
                    each.write_back(each.whole.grad, each.sharded.grad._local_tensor)

    # -- gradients -------------------------------------------------------------------------------------------------

    def _arrive(self, at: int) -> Any:
        def arrive(parameter: Any) -> None:
            self.arrived.add(at)
            if len(self.arrived) == len(self.trained):
                self.after_backward()

        return arrive

    def after_backward(self) -> None:
        """Start the reduce-scatter of the gradients that are ready."""
        if not self.arrived:
            return
        self.arrived = set()
        if self.reduces and self.reducing is None:
            self._reduce()
        if self.reshards_after_backward:
            self.reshard()

    def _gradient(self, each: ShardedParameter) -> Any:
        gradient = each.whole.grad
        if gradient is None:
            return None
        if each.spec is not None:
            gradient = gradient.redistribute(placements=each.spec.placements)._local_tensor
        return gradient.detach()

    def _reduce(self) -> None:
        """Reduce and scatter: one matrix with a row for each process."""
        with no_grad():
            taken, rows = [], []
            for each in self.trained:
                gradient = self._gradient(each)
                if gradient is None:
                    continue
                wanted = self.policy.reduce_dtype or gradient.dtype
                rows.append(each.padded(gradient.to(wanted), self.count))
                taken.append(each)
                each.whole.grad = None
            kinds: dict[Any, list[int]] = {}
            for at, row in enumerate(rows):
                kinds.setdefault(row.dtype, []).append(at)
            works = []
            for members in kinds.values():
                matrix = exports["", "cat"]([rows[at] for at in members], 1)
                matrix.mul_(1.0 / (self.divisor or self.count * (self.replicas.size() if self.replicas is not None else 1)))
                part, work = matrix.reshape(-1), None
                if self.count > 1:
                    part = exports["", "empty"](matrix.shape[1], dtype=matrix.dtype, device=matrix.device)
                    work = world.collectives.reduce_scatter_tensor(part, matrix, group=self.gathering, async_op=True)
                works.append((work, part, matrix, [taken[at] for at in members]))
            self.reducing = works, taken

    def finish(self) -> None:
        """Wait for the reduction: parts become gradients of the sharded parameters."""
        if self.reducing is None:
            return
        works, _ = self.reducing
        self.reducing = None
        with no_grad():
            for work, part, _, members in works:
                if work is not None:
                    work.wait()
                if self.replicas is not None and self.all_reduces:
                    world.collectives.all_reduce(part, group=self.replicas)
                start = 0
                for each in members:
                    local = each.sharded._local_tensor
                    value = each.of_rows(part[start : start + local.numel()], local).to(each.dtype)
                    start += each.size
                    if each.sharded.grad is None:
                        each.sharded.grad = DTensor(value.clone(), each.sharded._spec, requires_grad=False)
                    else:
                        each.sharded.grad._local_tensor.add_(value)
