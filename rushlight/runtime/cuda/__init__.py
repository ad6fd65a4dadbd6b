"""NVIDIA GPUs: the device type ``cuda`` over CuPy's arrays, its memory pool, streams and libraries.

In: arrays of CuPy and the values of an op.  Out: arrays of CuPy.  Nothing here is imported before a program names a CUDA device.
Start with ``device.py``.
"""
