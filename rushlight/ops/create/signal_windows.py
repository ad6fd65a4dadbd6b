"""Windows: weights that fade a stretch of a signal in and out.

The functions of ``torch`` are periodic by default, those of ``torch.signal.windows`` symmetric.  All are computed in
double precision and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.dtypes import BY_NUMPY, float32, float64, legacy_name
from ...core.errors import ArgumentError, DtypeError, NotSupported, ShapeError, ValueRangeError
from .factories import new_spec, numpy_dtype, whole_number

_OPTIONS: dict[str, Any] = {"vjp": {}, "factory": True, "exact": True, "out": False}

HANN = (0.5, 0.5)
HAMMING = (0.54, 0.46)
BLACKMAN = (0.42, 0.5, 0.08)
NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def _cosine_sum(coefficients: Any, phase: Any) -> Any:
    """``a0 - a1 cos(phase) + a2 cos(2 phase) - ...`` over a phase that runs from 0 to 2 pi."""
    total = np.zeros_like(phase)
    for order, coefficient in enumerate(coefficients):
        total += (-1) ** order * coefficient * np.cos(order * phase)
    return total


def _kaiser(beta: float, place: Any) -> Any:
    """The Kaiser window at places between -1 and 1."""
    return np.i0(beta * np.sqrt(np.maximum(1 - place * place, 0))) / np.i0(np.float64(beta))


def _sampled(spec: Spec, periodic: bool, shape: Callable[[Any, int], Any]) -> Any:
    """A window: ``shape(index, last)`` at every index, where ``last`` is that of a symmetric window's end."""
    count = spec.size
    last = count if periodic and count > 1 else count - 1
    with np.errstate(invalid="ignore"):
        numbers = shape(np.arange(count, dtype=np.float64), last)
    if count == 1:  # where a formula says 0 / 0, a window of one sample is 1
        numbers = np.nan_to_num(numbers, nan=1.0)
    return numbers.astype(np.float32 if spec.itemsize < 4 else spec.dtype).astype(spec.dtype)


# -- torch.*_window ----------------------------------------------------------------------------------------------


def _window_spec(name: str, window_length: Any, dtype: Any, *rest: Any) -> Spec:
    length = whole_number(window_length, "window_length")
    kind = BY_NUMPY[numpy_dtype(dtype)]
    if not (kind.is_floating_point or kind.is_complex):
        raise DtypeError(f"{name} expects floating point dtypes, got: {legacy_name(kind)}")
    if kind.is_complex:
        raise NotSupported(f"\"{name}\" not implemented for '{legacy_name(kind)}'")
    if length < 0:
        raise ShapeError(f"{name} requires non-negative window_length, got window_length={length}")
    return new_spec((length,), kind, *rest)


def _computed_in(g: Any) -> Any:
    """The type that a file computes a window in."""
    return np.dtype(np.float64 if g.outputs[0].dtype == np.float64 else np.float32)


def _window_onnx(g: Any, window_length: Any, periodic: bool, shape: Callable[..., Any]) -> Any:
    """A window of a length that the file computes: ``shape(place)`` of places that run from 0 to 1; of one sample it is 1."""
    kind = _computed_in(g)
    count = g.cast(g.number(window_length), kind)
    last = g.maximum(count if periodic else g.Sub(count, g.constant(1.0, kind)), g.constant(1.0, kind))
    made = shape(g.Div(g.range(0, window_length, 1, kind), last))
    made = g.where(g.equal(count, g.constant(1.0, kind)), g.constant(1.0, kind), made)
    return made if g.outputs[0].dtype == kind else g.cast(made, g.outputs[0].dtype)


def _cosine_sum_onnx(g: Any, coefficients: Any) -> Callable[[Any], Any]:
    """``_cosine_sum`` of places from 0 to 1."""
    kind = _computed_in(g)

    def shape(place: Any) -> Any:
        total = g.constant(float(coefficients[0]), kind)
        for order, coefficient in enumerate(coefficients[1:], 1):
            wave = g.Cos(g.Mul(place, g.constant(2 * np.pi * order, kind)))
            total = g.Add(total, g.Mul(wave, g.constant(float((-1) ** order * coefficient), kind)))
        return total

    return shape


@primitive(
    onnx={9: lambda g, length, periodic, *rest: _window_onnx(g, length, periodic, _cosine_sum_onnx(g, HANN))},
    meta=lambda window_length, periodic, *rest: _window_spec("hann_window", window_length, *rest),
    kernel=lambda xp, window_length, periodic, *rest: _sampled(
        _window_spec("hann_window", window_length, *rest), periodic, lambda i, n: _cosine_sum(HANN, 2 * np.pi * i / n)
    ),
    **_OPTIONS,
)
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The Hann window: one period of a raised cosine."""


@primitive(
    onnx={9: lambda g, length, periodic, *rest: _window_onnx(g, length, periodic, _cosine_sum_onnx(g, rest[:2]))},
    meta=lambda window_length, periodic, alpha, beta, *rest: _window_spec("hamming_window", window_length, *rest),
    kernel=lambda xp, window_length, periodic, alpha, beta, *rest: _sampled(
        _window_spec("hamming_window", window_length, *rest),
        periodic,
        lambda i, n: _cosine_sum((alpha, beta), 2 * np.pi * i / n),
    ),
    **_OPTIONS,
)
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The Hamming window: a raised cosine that does not quite reach zero."""


@primitive(
    meta=lambda window_length, periodic, *rest: _window_spec("bartlett_window", window_length, *rest),
    kernel=lambda xp, window_length, periodic, *rest: _sampled(
        _window_spec("bartlett_window", window_length, *rest), periodic, lambda i, n: 1 - np.abs(2 * i / n - 1)
    ),
    **_OPTIONS,
)
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The Bartlett window: a triangle that begins and ends at zero."""


@primitive(
    onnx={9: lambda g, length, periodic, *rest: _window_onnx(g, length, periodic, _cosine_sum_onnx(g, BLACKMAN))},
    meta=lambda window_length, periodic, *rest: _window_spec("blackman_window", window_length, *rest),
    kernel=lambda xp, window_length, periodic, *rest: _sampled(
        _window_spec("blackman_window", window_length, *rest),
        periodic,
        lambda i, n: _cosine_sum(BLACKMAN, 2 * np.pi * i / n),
    ),
    **_OPTIONS,
)
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The Blackman window: a sum of three cosines."""


@primitive(
    meta=lambda window_length, periodic, beta, *rest: _window_spec("kaiser_window", window_length, *rest),
    kernel=lambda xp, window_length, periodic, beta, *rest: _sampled(
        _window_spec("kaiser_window", window_length, *rest), periodic, lambda i, n: _kaiser(beta, 2 * i / n - 1)
    ),
    **_OPTIONS,
)
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The Kaiser window, whose ``beta`` weighs a narrow main lobe against low side lobes."""


# -- torch.signal.windows ----------------------------------------------------------------------------------------


def _signal_spec(name: str, M: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool) -> Spec:
    kind = BY_NUMPY[numpy_dtype(dtype)]
    if kind not in (float32, float64):
        raise ValueRangeError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    length = whole_number(M, "M")
    if length < 0:
        raise ValueRangeError(f"{name} requires non-negative window length, got M={length}")
    return new_spec((length,), kind, layout, device, requires_grad, False)


def _signal_window(name: str, shape: Callable[..., Any], check: Callable[..., None] = lambda *values: None) -> dict[str, Any]:
    """Meta rule and kernel of a window function ``(M, *parameters, sym, dtype, layout, device, requires_grad)``."""

    def meta(M: Any, *values: Any) -> Spec:
        check(*values[:-4])
        return _signal_spec(name, M, *values[-4:])

    def kernel(xp: Any, M: Any, *values: Any) -> Any:
        *parameters, sym = values[:-4]
        return _sampled(meta(M, *values), not sym, lambda i, n: shape(i, n, *parameters))

    return {"meta": meta, "kernel": kernel, "namespace": "signal.windows", **_OPTIONS}


def _cosines(coefficients: Any) -> Callable[[Any, int], Any]:
    return lambda i, n: _cosine_sum(coefficients, 2 * np.pi * i / n)


@primitive(**_signal_window("bartlett", lambda i, n: 1 - np.abs(2 * i / n - 1)))
def signal_windows_bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Bartlett window: a triangle that begins and ends at zero."""


@primitive(**_signal_window("blackman", _cosines(BLACKMAN)))
def signal_windows_blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Blackman window: a sum of three cosines."""


@primitive(**_signal_window("cosine", lambda i, n: np.sin(np.pi * (i + 0.5) / (n + 1))))
def signal_windows_cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The cosine window: half a period of a sine."""


def _check_exponential(center: Any, tau: float, sym: bool) -> None:
    if tau <= 0:
        raise ValueRangeError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueRangeError("Center must be None for symmetric windows")


@primitive(
    **_signal_window(
        "exponential",
        lambda i, n, center, tau: np.exp(-np.abs(i - (n / 2 if center is None else center)) / tau),
        _check_exponential,
    ),
)
def signal_windows_exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The exponential window, which decays to both sides of a center."""


def _check_gaussian(std: float, sym: bool) -> None:
    if std <= 0:
        raise ValueRangeError(f"Standard deviation must be positive, got: {std} instead.")


@primitive(
    **_signal_window("gaussian", lambda i, n, std: np.exp(-0.5 * ((i - n / 2) / std) ** 2), _check_gaussian),
)
def signal_windows_gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The bell curve of a standard deviation counted in samples."""


def _check_general_cosine(a: Any, sym: bool) -> None:
    if not isinstance(a, (list, tuple)):
        raise ArgumentError("Coefficients must be a list/tuple")
    if not a:
        raise ValueRangeError("Coefficients cannot be empty")


@primitive(
    **_signal_window("general_cosine", lambda i, n, a: _cosine_sum(a, 2 * np.pi * i / n), _check_general_cosine),
)
def signal_windows_general_cosine(
    M: int,
    *,
    a: Any,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of cosines with the given coefficients, their signs alternating."""


@primitive(
    **_signal_window("general_hamming", lambda i, n, alpha: _cosine_sum((alpha, 1 - alpha), 2 * np.pi * i / n)),
)
def signal_windows_general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A raised cosine of which ``alpha`` is the constant part."""


@primitive(**_signal_window("hamming", _cosines(HAMMING)))
def signal_windows_hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Hamming window: a raised cosine that does not quite reach zero."""


@primitive(**_signal_window("hann", _cosines(HANN)))
def signal_windows_hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Hann window: one period of a raised cosine."""


def _check_kaiser(beta: float, sym: bool) -> None:
    if beta < 0:
        raise ValueRangeError(f"beta must be non-negative, got: {beta} instead.")


@primitive(
    **_signal_window("kaiser", lambda i, n, beta: _kaiser(beta, 2 * i / n - 1), _check_kaiser),
)
def signal_windows_kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Kaiser window, whose ``beta`` weighs a narrow main lobe against low side lobes."""


@primitive(**_signal_window("nuttall", _cosines(NUTTALL)))
def signal_windows_nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Nuttall window: a sum of four cosines."""
