"""``DTensor``: a tensor that the devices of a mesh hold together; each process has a part.

Programs see the whole: its shape, and ops that mean the whole.  ``_rules.py`` says how ops run on parts, ``_redistribute.py`` how
parts are exchanged.  Gradients are recorded above: those of a DTensor are DTensors.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...autograd import no_grad
from ...autograd.function import Function
from ...capture.compile.record.graph_breaks import Break
from ...core.declare import exports
from ...core.errors import NotSupported
from ...core.overrides import disabled
from ...core.process_group import world
from ...core.state import state
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...tensor import Tensor
from ..device_mesh import DeviceMesh, _mesh_resources
from . import _dispatch
from ._dtensor_spec import DTensorSpec, TensorMeta
from ._redistribute import redistribute_local
from ._utils import compute_global_tensor_info, compute_local_shape, dense_strides, normalize_placements
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros"]


class DTensor(Tensor):
    """A tensor in parts: ``placements`` say, for each dimension of the mesh, whether it is split, whole, or a sum."""

    _local_tensor: Tensor
    _spec: DTensorSpec
    __torch_function__ = disabled
    composites: dict[str, Callable[..., Any]] = {}  # composites that are not run as they are written, by name (`loss_parallel`)
    implicit = 0  # within how many `implicit_replication` contexts the program is

    @staticmethod
    def __new__(cls: Any, local_tensor: Any, spec: DTensorSpec, *, requires_grad: bool) -> Any:
        meta = spec._meta()
        result = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, meta.shape, strides=meta.stride, dtype=local_tensor.dtype, device=local_tensor.device, requires_grad=requires_grad
        )
        result._local_tensor, result._spec = local_tensor, spec
        return result

    def __init__(self, local_tensor: Any, spec: DTensorSpec, *, requires_grad: bool) -> None:
        pass

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise NotSupported(f"{func} as an operator of a dispatch mode over DTensors")

    @classmethod
    def run_op(cls, op: Any, args: tuple[Any, ...]) -> Any:
        """Run an op of the table on parts."""
        if state.capture is not None:
            raise Break("disabled", name="DTensor")
        return _dispatch.run(DTensor, op, args)

    @property
    def data(self) -> Any:
        """The same parts, unknown to the gradient graph."""
        return DTensor(self._local_tensor.detach(), self._spec, requires_grad=False)

    @data.setter
    def data(self, value: Any) -> None:
        self._local_tensor, self._spec, self._array = value._local_tensor, value._spec, value._array

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How each dimension of the mesh holds it."""
        return self._spec.placements

    @staticmethod
    def from_local(
        local_tensor: Any, device_mesh: Any = None, placements: Sequence[Placement] | None = None, *, run_check: bool = False,
        shape: Any = None, stride: Any = None, grad_placements: Any = None,
    ) -> DTensor:  # fmt: skip
        """A distributed tensor of which every process gives its part; the sizes of parts are taken to be equal unless ``shape`` is given."""
        mesh = device_mesh or _mesh_resources.get_current_mesh()
        placed = normalize_placements(placements or [Replicate()] * mesh.ndim, mesh, local_tensor.dim()) or ()
        if mesh.get_coordinate() is None:
            local_tensor = local_tensor.new_empty(0, requires_grad=local_tensor.requires_grad)
        elif run_check:
            with no_grad():
                _check_alike(local_tensor, mesh, shape is None)
                for dim, each in enumerate(placed):
                    if each.is_replicate():
                        world.collectives.broadcast(local_tensor.detach(), group=mesh.get_group(dim), group_src=0)
        if shape is None:
            size, steps = compute_global_tensor_info(local_tensor, mesh, placed)
        else:
            size, steps = list(shape), list(stride) if stride is not None else _contiguous(shape)
        spec = DTensorSpec(mesh, placed, TensorMeta(type(local_tensor.shape)(size), tuple(steps), local_tensor.dtype))
        return _apply(_FromLocal, local_tensor, spec)  # type: ignore[no-any-return]

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """This process's part; gradients of it are parts of this tensor's."""
        if not self.requires_grad or not _grad_enabled():
            return self._local_tensor
        return _apply(_ToLocal, self, grad_placements)

    def redistribute(
        self, device_mesh: Any = None, placements: Sequence[Placement] | None = None, *, async_op: bool = False, forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:  # fmt: skip
        """The same tensor with other placements."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh is not None and device_mesh != self._spec.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        placed = normalize_placements(placements, self._spec.mesh, self.dim()) or ()
        for own, each in zip(self._spec.placements, placed):
            if each.is_partial() and own != each:
                raise RuntimeError(f"Can not redistribute from {own} to {each}, redistributing to Partial is for internal use only!")
        value = self if forward_dtype is None else self.to(forward_dtype)
        return _apply(_Redistribute, value, placed)  # type: ignore[no-any-return]

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """The whole tensor, on every process."""
        return self.redistribute(placements=[Replicate()] * self._spec.mesh.ndim).to_local(grad_placements=grad_placements)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, placements={self._spec.placements})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made = DTensor(self._local_tensor.detach().clone(), self._spec, requires_grad=self.requires_grad)
            if getattr(self, "_is_param", False):
                made._is_param = True  # type: ignore[attr-defined]
            memo[id(self)] = made
        return memo[id(self)]

    def tolist(self) -> Any:
        """The elements of the whole tensor."""
        return self.full_tensor().tolist()

    def item(self) -> Any:
        """The number that a tensor of one element holds."""
        with no_grad():
            return self.detach().full_tensor().item()

    _item = _number = item  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def numpy(self, *, force: bool = False) -> Any:
        """The whole tensor as an array."""
        return self.full_tensor().numpy(force=force)

    @classmethod
    def write_out(cls, out: Any, results: Any) -> Any:
        """Write what an op gives to the tensors that were passed as ``out=``, which keep their placements."""
        several = isinstance(results, (tuple, list))
        for target, source in zip(out if several else [out], results if several else [results]):
            if not isinstance(target, DTensor):
                raise RuntimeError("out=: got mixed torch.Tensor and DTensor: what DTensors give is written to DTensors")
            part = redistribute_local(
                source._local_tensor, source.shape, source._spec.mesh, source._spec.placements, _without_sums(target._spec.placements)
            )
            if target.shape == source.shape:
                target._local_tensor.copy_(part)
            else:
                target.data = DTensor(
                    part, DTensorSpec(source._spec.mesh, target._spec.placements, source._spec.tensor_meta), requires_grad=False
                )
        return out

    def _new(self, name: str, size: Any, values: tuple[Any, ...], options: dict[str, Any]) -> DTensor:
        """A new tensor over the same mesh: split as this one where it has its shape, whole elsewhere."""
        shape = tuple(size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size)
        mesh, requires_grad = self._spec.mesh, options.pop("requires_grad", False)
        split = [(self._spec.mesh.size(dim), each.dim) for dim, each in enumerate(self._spec.placements) if isinstance(each, Shard)]
        same = shape == tuple(self.shape) and all(shape[dim] % count == 0 for count, dim in split)
        placed = _without_sums(self._spec.placements) if same else (Replicate(),) * mesh.ndim
        local = compute_local_shape(shape, mesh, placed)
        steps = _contiguous(shape)
        if name == "new_empty_strided":
            steps = list(values[0])
            values = (dense_strides(local, steps),)
        part = getattr(self._local_tensor, name)(local, *values, **options)
        return DTensor(
            part, DTensorSpec(mesh, placed, TensorMeta(type(part.shape)(shape), tuple(steps), part.dtype)), requires_grad=requires_grad
        )

    def new_zeros(self, *size: Any, **options: Any) -> DTensor:  # type: ignore[override]
        """Zeros over the same mesh."""
        return self._new("new_zeros", size or options.pop("size"), (), options)

    def new_ones(self, *size: Any, **options: Any) -> DTensor:  # type: ignore[override]
        """Ones over the same mesh."""
        return self._new("new_ones", size or options.pop("size"), (), options)

    def new_empty(self, *size: Any, **options: Any) -> DTensor:  # type: ignore[override]
        """A tensor over the same mesh that is not initialised."""
        return self._new("new_empty", size or options.pop("size"), (), options)

    def new_full(self, size: Any, fill_value: Any, **options: Any) -> DTensor:  # type: ignore[override]
        """A tensor of one value over the same mesh."""
        return self._new("new_full", (size,), (fill_value,), options)

    def new_empty_strided(self, size: Any, stride: Any, **options: Any) -> DTensor:  # type: ignore[override]
        """A tensor of given strides over the same mesh that is not initialised."""
        return self._new("new_empty_strided", (size,), (stride,), options)

    def _become(self, seen: DTensor) -> None:
        """Take over the parts of a view of this tensor, which has its shape now."""
        self._local_tensor, self._spec = seen._local_tensor, seen._spec

    def __create_chunk_list__(self) -> list[Any]:
        raise NotSupported("DTensor.__create_chunk_list__: distributed.checkpoint reads placements itself")


def _apply(function: Any, *args: Any) -> Any:
    """Apply a Function on parts: never in a captured graph, which holds no tensors in parts; a graph that is being captured ends here."""
    if state.capture is not None:
        raise Break("disabled", name="DTensor")
    elsewhere, state.run_forward = state.run_forward, None
    try:
        return function.apply(*args)
    finally:
        state.run_forward = elsewhere


def _check_alike(local: Any, mesh: DeviceMesh, with_shape: bool) -> None:
    """Raise where the parts of processes are of several kinds."""
    own = (local.dtype, local.requires_grad, *((tuple(local.shape), local.stride()) if with_shape else ()))
    for dim in range(mesh.ndim):
        found: list[Any] = [None] * mesh.size(dim)
        world.collectives.all_gather_object(found, own, group=mesh.get_group(dim))
        if any(each != own for each in found):
            raise ValueError(
                "Inconsistent tensor metadata (including shape and stride) across ranks."
                if with_shape
                else "Inconsistent tensor metadata across ranks."
            )


def _contiguous(shape: Sequence[int]) -> list[int]:
    steps, step = [], 1
    for each in reversed(shape):
        steps.append(step)
        step *= each
    return steps[::-1]


def _grad_enabled() -> bool:
    return state.grad_enabled


def _without_sums(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """The placements of a gradient: that of each part of a sum is the gradient of the sum."""
    return tuple(Replicate() if each.is_partial() else each for each in placements)


def _at(tensor: DTensor, placements: Sequence[Placement]) -> Any:
    """This process's part under other placements."""
    spec = tensor._spec
    return redistribute_local(tensor._local_tensor, spec.shape, spec.mesh, spec.placements, tuple(placements))


class _FromLocal(Function):
    @staticmethod
    def forward(ctx: Any, local: Any, spec: DTensorSpec) -> Any:  # type: ignore[override]
        ctx.spec = spec
        return DTensor(local.detach(), spec, requires_grad=False)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        return _at(gradient, _without_sums(ctx.spec.placements)), None


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, grad_placements: Any) -> Any:  # type: ignore[override]
        ctx.spec, ctx.placements = tensor._spec, grad_placements
        return tensor._local_tensor.detach()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        spec = ctx.spec
        placed = _without_sums(spec.placements) if ctx.placements is None else normalize_placements(ctx.placements, spec.mesh, spec.ndim)
        return DTensor(gradient, DTensorSpec(spec.mesh, placed or (), spec.tensor_meta), requires_grad=False), None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, placements: tuple[Placement, ...]) -> Any:  # type: ignore[override]
        ctx.placements = tensor._spec.placements
        part = _at(tensor, placements)
        return DTensor(part, DTensorSpec(tensor._spec.mesh, placements, tensor._spec.tensor_meta), requires_grad=False)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        placed = _without_sums(ctx.placements)
        # A sum that meets a sum stays one: it is reduced once, later.
        placed = tuple(
            now if now.is_partial() and was.is_partial() else each for now, was, each in zip(gradient.placements, ctx.placements, placed)
        )
        return DTensor(
            _at(gradient, placed), DTensorSpec(gradient._spec.mesh, placed, gradient._spec.tensor_meta), requires_grad=False
        ), None


def distribute_tensor(
    tensor: Any, device_mesh: Any = None, placements: Sequence[Placement] | None = None, *, src_data_rank: int | None = 0
) -> DTensor:
    """A tensor in parts over a mesh; the first process's values are the ones (or every process's own, with ``src_data_rank=None``)."""
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    placed = normalize_placements(placements or [Replicate()] * mesh.ndim, mesh, tensor.dim()) or ()
    for each in placed:
        if isinstance(each, Partial) and each.reduce_op not in ("sum", "avg", "min", "max"):
            raise ValueError(f"Replicate to {each} conversion is not supported.")
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}.")
        if tensor.placements != placed:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements {placed}. do you want to call "
                "`redistribute` instead?"
            )
        return tensor
    with no_grad():
        part = _own_part(tensor.detach(), mesh, placed, src_data_rank)
    meta = TensorMeta(tensor.shape, tuple(tensor.stride()), tensor.dtype)
    return DTensor(part, DTensorSpec(mesh, placed, meta), requires_grad=tensor.requires_grad)


def _own_part(whole: Any, mesh: DeviceMesh, placed: tuple[Placement, ...], source: int | None) -> Any:
    """This process's part of a tensor that the process ``source`` along each dimension of the mesh has."""
    if mesh.get_coordinate() is None:
        return whole.new_empty(0)
    if whole.device.type == "meta":
        return whole.new_empty(compute_local_shape(whole.shape, mesh, placed))
    if source is not None and mesh.size() > 1:
        whole = whole.contiguous().clone()
        for dim in range(mesh.ndim):
            world.collectives.broadcast(whole, group=mesh.get_group(dim), group_src=source)
    part = redistribute_local(whole, whole.shape, mesh, [Replicate()] * mesh.ndim, placed)
    return part.clone() if part is whole or part._storage is not None else part


def _with_module(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of the older form, without the module, as one of today's."""
    count = len(inspect.signature(function).parameters)
    if count == 2:
        warnings.warn(
            f"Deprecating {name} that takes two arguments ({name.partition('_')[0]}s, device_mesh), please use {name} that takes in (module, "
            f"{name.partition('_')[0]}s, device_mesh) instead!",
            FutureWarning,
            stacklevel=3,
        )
        return lambda module, values, mesh: function(values, mesh)
    if count != 3:
        raise ValueError(f"{name} should take in 3 arguments, but got {count} arguments!")
    return function


def distribute_module(
    module: Any, device_mesh: Any = None, partition_fn: Callable[[str, Any, Any], None] | None = None,
    input_fn: Callable[..., Any] | None = None, output_fn: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """A module whose parameters are DTensors: ``partition_fn`` splits those of each submodule, what it leaves is whole on every process."""
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    for name, submodule in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, submodule, mesh)
        for key, value in submodule._parameters.items():
            if value is not None and not isinstance(value, DTensor):
                submodule._parameters[key] = Parameter(
                    distribute_tensor(value.detach(), mesh, [Replicate()] * mesh.ndim), requires_grad=value.requires_grad
                )
        for key, value in submodule._buffers.items():
            if value is not None and not isinstance(value, DTensor):
                submodule._buffers[key] = distribute_tensor(value, mesh, [Replicate()] * mesh.ndim)
    if input_fn is not None:
        given = _with_module(input_fn, "input_fn")
        module.register_forward_pre_hook(lambda mod, inputs: given(mod, inputs, mesh))
    if output_fn is not None:
        taken = _with_module(output_fn, "output_fn")
        module.register_forward_hook(lambda mod, inputs, outputs: taken(mod, outputs, mesh))
    return module


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """A context in which plain tensors among DTensors are taken to be the same on every process."""
    DTensor.implicit += 1
    try:
        yield
    finally:
        DTensor.implicit -= 1


def _made(name: str, size: Any, options: dict[str, Any], mesh: Any, placements: Any, *values: Any) -> DTensor:
    """A new tensor in parts: the whole is made on every process where numbers are drawn, else only the part."""
    shape = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
    requires_grad = options.pop("requires_grad", False)
    mesh = mesh or _mesh_resources.get_current_mesh()
    placed = normalize_placements(placements or [Replicate()] * mesh.ndim, mesh, len(shape)) or ()
    if name in ("rand", "randn"):
        part = redistribute_local(exports["", name](*shape, **options), shape, mesh, [Replicate()] * mesh.ndim, placed)
    else:
        part = exports["", name](compute_local_shape(shape, mesh, placed), *values, **options)
    meta = TensorMeta(type(part.shape)(shape), tuple(_contiguous(shape)), part.dtype)
    return DTensor(part, DTensorSpec(mesh, placed, meta), requires_grad=requires_grad)


def _factory(name: str, summary: str) -> Callable[..., DTensor]:
    def make(*size: Any, device_mesh: Any = None, placements: Any = None, **options: Any) -> DTensor:
        return _made(name, size, options, device_mesh, placements)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = summary
    return make


zeros = _factory("zeros", "Zeros, in parts.")
ones = _factory("ones", "Ones, in parts.")
empty = _factory("empty", "A tensor that is not initialised, in parts.")
rand = _factory("rand", "Uniform random numbers, in parts of what one process would draw.")
randn = _factory("randn", "Normal random numbers, in parts of what one process would draw.")


def full(size: Any, fill_value: Any, *, device_mesh: Any = None, placements: Any = None, **options: Any) -> DTensor:
    """A tensor of one value, in parts."""
    return _made("full", (size,), options, device_mesh, placements, fill_value)
