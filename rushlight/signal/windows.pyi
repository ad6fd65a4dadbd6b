"""Window functions: stub.

Written by tools/generate_stubs.py from the op table: run `make generate` after changing an op's signature.
"""

from builtins import bool as _bool, float as _float, int as _int, list as _list, str as _str
from rushlight.tensor.tensor import Tensor
from typing import Any

def bartlett(M: _int, *, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """The Bartlett window: a triangle that begins and ends at zero."""
def blackman(M: _int, *, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """The Blackman window: a sum of three cosines."""
def cosine(M: _int, *, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """The cosine window: half a period of a sine."""
def exponential(M: _int, *, center: _float | None = None, tau: _float = 1.0, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """The exponential window, which decays to both sides of a center."""
def gaussian(M: _int, *, std: _float = 1.0, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """The bell curve of a standard deviation counted in samples."""
def general_cosine(M: _int, *, a: Any, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """A sum of cosines with the given coefficients, their signs alternating."""
def general_hamming(M: _int, *, alpha: _float = 0.54, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """A raised cosine of which ``alpha`` is the constant part."""
def hamming(M: _int, *, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """The Hamming window: a raised cosine that does not quite reach zero."""
def hann(M: _int, *, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """The Hann window: one period of a raised cosine."""
def kaiser(M: _int, *, beta: _float = 12.0, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """The Kaiser window, whose ``beta`` weighs a narrow main lobe against low side lobes."""
def nuttall(M: _int, *, sym: _bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False) -> Tensor:
    """The Nuttall window: a sum of four cosines."""

__all__: _list[_str]
