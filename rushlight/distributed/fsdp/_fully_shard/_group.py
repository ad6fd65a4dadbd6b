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
    """A parameter of which this process keeps the rows of one part."""

    def __init__(self, parameter: Any, places: list[tuple[Any, str]], mesh: Any, dtype: Any) -> None:
        self.places = places
        self.spec: DTensorSpec | None = None  # of the whole one where it is a DTensor of another mesh itself
        value = parameter.detach()
        if isinstance(value, DTensor):
            self.spec, value = value._spec, value._local_tensor
        dim = mesh.ndim - 1
        count, rank = mesh.size(dim), mesh.get_local_rank(dim)
        self.shape, self.rows = tuple(value.shape), value.shape[0] if value.dim() else 1
        self.flat = value.dim() == 0  # one number: a row of one
        rest = self.shape[1:]
        self.longest = -(-self.rows // count)
        self.size = self.longest * math.prod(rest)  # elements of a part, with its padding
        self.kept, start = Shard.local_shard_size_and_offset(self.rows, count, rank)
        part = value.reshape(self.rows, *rest).narrow(0, start, self.kept).clone().contiguous()
        self.computed_dtype = dtype  # by the policy, of floating-point parameters
        self._set_dtype(value.dtype)
        self.sharded: Any = Parameter(DTensor(part, self._placed(mesh, value), requires_grad=False), requires_grad=parameter.requires_grad)
        self.whole = Parameter(exports["", "empty"](0, dtype=self.whole_dtype, device=value.device), requires_grad=parameter.requires_grad)
        for holder in (self.sharded, self.whole):
            holder.__dict__.update({key: held for key, held in parameter.__dict__.items() if not key.startswith("_")})
        if self.spec is not None:
            self.inner = self.whole
            self.whole = Parameter(DTensor(self.inner.detach(), self.spec, requires_grad=False), requires_grad=parameter.requires_grad)

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
            return DTensorSpec(mesh, (*[Replicate()] * (mesh.ndim - 1), Shard(0)), meta)
        root, held = mesh._root, self.spec.placements[0]
        names = (*(mesh.mesh_dim_names or ()), *(self.spec.mesh.mesh_dim_names or ()))
        own = _StridedShard(0, self.spec.mesh.size()) if held.is_shard(0) else Shard(0)
        return DTensorSpec(root[names], (*[Replicate()] * (mesh.ndim - 1), own, held), self.spec.tensor_meta)

    def fill(self, parts: Any) -> None:
        """Put the whole parameter together from the parts of all processes, a row of a matrix each."""
        value = parts.reshape(-1, *self.shape[1:])[: self.rows] if self.shape else parts.reshape(-1)[0]
        array = value.contiguous()._array
        if self.spec is not None:
            self.whole._local_tensor = Tensor._make_subclass(Tensor, value.contiguous())  # type: ignore[attr-defined]
            return
        self.whole._array, self.whole._storage = array, None

    def drop(self) -> None:
        """Free the memory of the whole parameter; graphs keep the object."""
        if self.spec is None:
            held = self.whole._array
            self.whole._array, self.whole._storage = Spec(self.shape, held.dtype, None, self.whole.device), None

    def padded(self, value: Any, count: int) -> Any:
        """Rows of a whole tensor as parts of equal size: a matrix with a row for each process."""
        rows = value.reshape(self.rows, -1)
        missing = self.longest * count - self.rows
        if missing:
            rows = exports["", "cat"]([rows, exports["", "zeros"]((missing, rows.shape[1]), dtype=rows.dtype, device=rows.device)])
        return rows.reshape(count, -1)


class ParameterGroup:
    """Parameters that share one collective."""

    def __init__(self, parameters: list[ShardedParameter], mesh: Any, policy: Any, reshard: bool | int | None) -> None:
        self.parameters, self.mesh, self.policy = parameters, mesh, policy
        self.reshard_after_forward = reshard
        dim = mesh.ndim - 1
        self.gathering, self.count = mesh.get_group(dim), mesh.size(dim)
        self.replicas = mesh.get_group(0) if mesh.ndim > 1 else None
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
                local = each.sharded._local_tensor.detach().reshape(-1)
                missing = each.size - local.numel()
                if missing:
                    local = exports["", "cat"]([local, exports["", "zeros"](missing, dtype=local.dtype, device=local.device)])
                pieces.append(local.to(each.whole_dtype))
            if kind is None or self.count == 1:  # parameters of several types: a collective for each
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
                work.wait()
                if self.replicas is not None and self.all_reduces:
                    world.collectives.all_reduce(part, group=self.replicas)
                start = 0
                for each in members:
                    local = each.sharded._local_tensor
                    value = part[start : start + local.numel()].view(local.shape).to(each.dtype)
                    start += each.size
                    if each.sharded.grad is None:
                        each.sharded.grad = DTensor(value.clone(), each.sharded._spec, requires_grad=False)
                    else:
                        each.sharded.grad._local_tensor.add_(value)
