"""Instance normalisation."""

from __future__ import annotations

import warnings
from typing import Any

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    """Every channel of every sample is normalised by itself."""

    _spatial: int  # how many dimensions there are besides batch and channels

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._spatial + 1

    def _check_input_dim(self, input: Any) -> None:
        least = self._spatial + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {input.dim()}D input)")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            # Files without versions may come from a time when statistics were always tracked.
            kept = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if kept:
                name = type(self).__name__
                listed = " and ".join(f'"{prefix}{each}"' for each in kept)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {listed} for {name} with "
                    "track_running_stats=False. Remove these keys from state_dict, or if the running stats are needed, set "
                    f"track_running_stats=True in {name}."
                )
                for each in kept:
                    state_dict.pop(prefix + each)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def forward(self, input: Any) -> Any:
        """Normalise; an input without a batch dimension counts as one sample."""
        self._check_input_dim(input)
        dim = input.dim() - self._get_no_batch_dim()
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {input.size(dim)}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        batched = input if dim else input.unsqueeze(0)
        result = F.instance_norm(
            batched, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum if self.momentum is not None else 0.0, self.eps,
        )  # fmt: skip
        return result if dim else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of signals, (batch, channels, length) or (channels, length)."""

    _spatial = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of images, (batch, channels, height, width) or (channels, height, width)."""

    _spatial = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of volumes, (batch, channels, depth, height, width) or without batch."""

    _spatial = 3


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm1d`` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm1d
    _spatial = 1


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm2d`` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm2d
    _spatial = 2


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm3d`` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm3d
    _spatial = 3


__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
]  # fmt: skip
