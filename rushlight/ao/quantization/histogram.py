"""An observer that keeps a histogram, and leaves out the rare extremes that would cost the common values their precision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...core.dtypes import quint8
from ...tensor.construct import tensor
from .observer import EPSILON, Maker, UniformQuantizationObserverBase, per_tensor_affine

_FINER = 16  # parts of an old bin that are dealt to new ones
_STEP = 1e-5  # share of the values that one step of the search leaves out


class HistogramObserver(UniformQuantizationObserverBase):
    """A histogram of all values seen; the range is the one with the smallest squared error of quantization."""

    def __init__(
        self, bins: int = 2048, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False,
        quant_min: Any = None, quant_max: Any = None, factory_kwargs: Any = None, eps: float = EPSILON, is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme.per_channel:
            raise NotImplementedError("HistogramObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine.")
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.bins = bins
        self.register_buffer("histogram", tensor(np.zeros(bins, np.float32)))
        self.register_buffer("min_val", tensor(float("inf")))
        self.register_buffer("max_val", tensor(float("-inf")))
        self.dst_nbins = 2 ** (8 * self.dtype.itemsize)

    # -- watching ------------------------------------------------------------------------------------------------

    def forward(self, x_orig: Any) -> Any:
        """Count the values of a tensor, and return it."""
        if x_orig.numel() == 0:
            return x_orig
        values = np.asarray(x_orig.detach()._array).astype(np.float32)
        low, high = np.min(values), np.max(values)
        if np.isnan(low) or np.isinf(low) or np.isinf(high):
            warnings.warn("torch.inf or nan detected in input tensor, ignoring input", stacklevel=2)
            return x_orig
        old_low, old_high = self.min_val._array[()], self.max_val._array[()]
        if np.isinf(old_low) or np.isinf(old_high):
            counts = self._counted(values, low, high)
        else:
            low, high = min(low, old_low), max(high, old_high)
            counts = self._counted(values, low, high) + self._dealt(self.histogram._array, old_low, old_high, low, high)
        self.histogram._array[...] = counts
        self.min_val._array[...] = low
        self.max_val._array[...] = high
        return x_orig

    def reset_histogram(self, x: Any, min_val: Any, max_val: Any) -> None:
        """Forget what was counted, and count a tensor's values in the bins of a given range."""
        if min_val.numel() != 1 or max_val.numel() != 1:
            raise AssertionError("histogram min/max values must be scalar.")
        counted = x.histc(self.bins, min=min_val.item(), max=max_val.item())
        for name, value in (("min_val", min_val), ("max_val", max_val), ("histogram", counted)):
            kept = getattr(self, name)
            kept.resize_(value.shape)
            kept.copy_(value)

    def _counted(self, values: Any, low: Any, high: Any) -> Any:
        """How many values fall into each bin of a range."""
        if low == high:  # a range of one value is widened, so that it has bins
            low, high = low - 1, high + 1
        places = ((values.ravel() - low) / np.float32(high - low) * np.float32(self.bins)).astype(np.int64)
        return np.bincount(np.clip(places, 0, self.bins - 1), minlength=self.bins).astype(np.float32)

    def _dealt(self, counts: Any, old_low: Any, old_high: Any, low: Any, high: Any) -> Any:
        """The counts of an old range in the bins of a wider one."""
        if (old_low, old_high) == (low, high):
            return counts
        if old_low == old_high:
            return self._counted(np.array([old_low], np.float32), low, high) * counts.sum()
        parts = self.bins * _FINER
        width = (np.float64(old_high) - old_low) / parts
        middles = old_low + (np.arange(parts) + 0.5) * width
        edges = np.linspace(np.float64(low), np.float64(high), self.bins + 1)
        places = np.clip(np.searchsorted(edges, middles, side="right") - 1, 0, self.bins - 1)
        return np.bincount(places, weights=np.repeat(counts, _FINER) / _FINER, minlength=self.bins).astype(np.float32)

    # -- choosing a range ----------------------------------------------------------------------------------------

    def _error(self, first: int, last: int) -> float:
        """The squared error of quantizing the histogram with the range from one bin to another."""
        counts = self.histogram._array.astype(np.float64)
        width = (float(self.max_val._array) - float(self.min_val._array)) / self.bins
        step = width * (last - first + 1) / self.dst_nbins
        if step == 0:
            return 0.0
        begin = (np.arange(self.bins) - first) * width
        end = begin + width
        at_begin = np.clip(np.floor(begin / step), 0, self.dst_nbins - 1)
        at_end = np.clip(np.floor(end / step), 0, self.dst_nbins - 1)
        density = counts / width

        def cubes(lower: Any, upper: Any) -> Any:
            return density * (upper**3 - lower**3) / 3

        total = cubes(begin - (at_begin + 0.5) * step, step / 2)
        total = total + (at_end - at_begin - 1) * cubes(-step / 2, step / 2)
        total = total + cubes(-step / 2, end - (at_end + 0.5) * step)
        return float(total.sum())

    def _non_linear_param_search(self) -> tuple[Any, Any]:
        """Narrow the range, bin by bin and from the emptier side, for as long as the error falls."""
        low, high = np.float32(self.min_val._array), np.float32(self.max_val._array)
        width = (high - low) / np.float32(self.bins)
        counts = self.histogram._array
        total = float(counts.sum())
        sums = np.cumsum(counts, dtype=np.float32).astype(np.float64)
        below, above = 0.0, 1.0
        first, last = 0, self.bins - 1
        best = float("inf")
        while below < above:
            next_below, next_above = below + _STEP, above - _STEP
            left = min(max(int(np.searchsorted(sums, next_below * total, side="left")), first), last)
            right = max(min(int(np.searchsorted(sums, next_above * total, side="right")) - 1, last), first)
            new_first, new_last = first, last
            if left - first > last - right:
                new_first, below = left, next_below
            else:
                new_last, above = right, next_above
            if (new_first, new_last) == (first, last):
                continue
            error = self._error(new_first, new_last)
            if error > best:
                break
            best, first, last = error, new_first, new_last
        return low + width * np.float32(first), low + width * np.float32(last + 1)

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """The scale and the zero point, as tensors."""
        if np.isinf(self.min_val._array) and np.isinf(self.max_val._array):
            warnings.warn("must run observer before calling calculate_qparams. Returning default scale and zero point", stacklevel=2)
            return tensor([1.0]), tensor([0])
        low, high = self._non_linear_param_search()
        return self._calculate_qparams(tensor(np.asarray(low)), tensor(np.asarray(high)))

    def extra_repr(self) -> str:
        """The range that was seen."""
        return f"min_val={self.min_val.item()}, max_val={self.max_val.item()}"


default_histogram_observer: Maker = HistogramObserver.with_args(quant_min=0, quant_max=127)
