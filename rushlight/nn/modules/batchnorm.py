"""Batch normalisation, and the base that it shares with instance normalisation."""

from __future__ import annotations

from typing import Any

from ...core.dtypes import int64
from ...core.process_group import world
from ...ops.create.factories import full, ones, zeros
from .. import functional as F
from .. import init
from ..parameter import UninitializedBuffer, UninitializedParameter
from ._functions import SyncBatchNorm as synchronized
from .lazy import LazyModuleMixin
from .module import Module
from .utils import new_parameter


class _NormBase(Module):
    """Scale, shift and running statistics of channels."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_parameter("weight", new_parameter((num_features,), device, dtype) if affine else None)
        self.register_parameter("bias", new_parameter((num_features,), device, dtype) if affine and bias else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype=int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the statistics: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the statistics; scale 1, shift 0."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Any) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        """The number of channels, and options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            # The count of batches exists since version 2; older files do not have it.
            counted = self.num_batches_tracked
            fresh = counted is None or counted.is_meta
            state_dict.setdefault(prefix + "num_batches_tracked", zeros((), dtype=int64) if fresh else counted)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class _BatchNorm(_NormBase):
    def forward(self, input: Any) -> Any:
        """Normalise with the batch's statistics in training mode, with the running ones otherwise."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches so far
                factor = 1.0 / float(self.num_batches_tracked)
        from_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input, self.running_mean if tracked else None, self.running_var if tracked else None, self.weight, self.bias,
            from_batch, factor, self.eps,
        )  # fmt: skip


def _refuse(input: Any, wanted: str) -> None:
    raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")


class _CheckedFor1d:
    def _check_input_dim(self, input: Any) -> None:
        if input.dim() not in (2, 3):
            _refuse(input, "2D or 3D")


class _CheckedFor2d:
    def _check_input_dim(self, input: Any) -> None:
        if input.dim() != 4:
            _refuse(input, "4D")


class _CheckedFor3d:
    def _check_input_dim(self, input: Any) -> None:
        if input.dim() != 5:
            _refuse(input, "5D")


class BatchNorm1d(_CheckedFor1d, _BatchNorm):
    """Batch normalisation of vectors or signals, (batch, channels) or (batch, channels, length)."""


class BatchNorm2d(_CheckedFor2d, _BatchNorm):
    """Batch normalisation of images, (batch, channels, height, width)."""


class BatchNorm3d(_CheckedFor3d, _BatchNorm):
    """Batch normalisation of volumes, (batch, channels, depth, height, width)."""


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalisation that takes ``num_features`` from its first input."""

    weight: Any
    bias: Any

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        # First without parameters and buffers, which would have no elements.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = full((), 0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Reset the statistics and parameters, once their shapes are known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:  # type: ignore[override]
        """Take the number of channels from the input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for each in (self.weight, self.bias, self.running_mean, self.running_var):
            if each is not None:
                each.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _CheckedFor1d, _BatchNorm):
    """A ``BatchNorm1d`` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, _CheckedFor2d, _BatchNorm):
    """A ``BatchNorm2d`` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, _CheckedFor3d, _BatchNorm):
    """A ``BatchNorm3d`` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm3d


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes of a group, on any device; with one process it is ``BatchNorm``."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() < 2:
            _refuse(input, "at least 2D")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Any) -> Any:
        """The input, normalised by statistics of all processes' batches."""
        group = world.default if self.process_group is None else self.process_group
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        if group is None or not by_batch or not self.training or group.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        average = 0.0 if self.momentum is None else self.momentum
        tracked = self.training and self.track_running_stats
        if tracked and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                average = 1.0 / self.num_batches_tracked.item()
        return synchronized.apply(
            input, self.weight, self.bias, self.running_mean if tracked else None, self.running_var if tracked else None, self.eps, average,
            group, group.size(),
        )  # fmt: skip

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with every ``BatchNorm`` in it as a ``SyncBatchNorm`` of the same parameters and statistics."""
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group,
                bias=module.bias is not None,
            )  # fmt: skip
            result._parameters.update(module._parameters)
            result._buffers.update(module._buffers)
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm",
]  # fmt: skip
