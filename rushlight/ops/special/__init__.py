"""Special functions (``torch.special``), Fourier transforms (``torch.fft``) and spectrograms.

In: real or complex tensors.  Out: function values and spectra.  Numerical kernels are in ``kernels.py`` and ``bessel_kernels.py``, their
coefficients in ``coefficients.py``. Read ``functions.py`` first.
"""
