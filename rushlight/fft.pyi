"""Discrete Fourier transforms: stub.

Written by tools/generate_stubs.py from the op table: run `make generate` after changing an op's signature.
"""

from builtins import bool as _bool, float as _float, int as _int, list as _list, str as _str
from rushlight.tensor.tensor import Tensor
from typing import Any

def fft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The Fourier transform along a dimension."""
def fft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The Fourier transform over two dimensions."""
def fftfreq(n: _int, d: _float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """The frequencies that the elements of ``fft`` stand for: rising from 0, then the negative ones."""
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The Fourier transform over several dimensions (by default all)."""
def fftshift(input: Tensor, dim: Any = None, *, axis: Any = ...) -> Tensor:
    """A spectrum with the frequency 0 in the middle."""
def hfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The transform of a signal that is conjugate-symmetric in time, given by half: the result is real."""
def hfft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The transform of conjugate-symmetric input over two dimensions."""
def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The transform of conjugate-symmetric input over several dimensions: the result is real."""
def ifft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The inverse Fourier transform along a dimension."""
def ifft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The inverse Fourier transform over two dimensions."""
def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The inverse Fourier transform over several dimensions."""
def ifftshift(input: Tensor, dim: Any = None, *, axis: Any = ...) -> Tensor:
    """A spectrum with the frequency 0 in front: undoes ``fftshift``."""
def ihfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The inverse of ``hfft``."""
def ihfft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The inverse of ``hfft2``."""
def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The inverse of ``hfftn``."""
def irfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The inverse of ``rfft``; ``n`` is the size of the result, since half a spectrum leaves it open by one."""
def irfft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The inverse of ``rfft2``."""
def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The inverse of ``rfftn``."""
def rfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The Fourier transform of real input: the half of the spectrum that is not redundant."""
def rfft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The Fourier transform of real input over two dimensions."""
def rfftfreq(n: _int, d: _float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """The frequencies that the elements of ``rfft`` stand for, rising from 0."""
def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """The Fourier transform of real input over several dimensions; the last is halved."""

__all__: _list[_str]
