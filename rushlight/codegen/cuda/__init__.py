"""CUDA C: the kernels of eager mode on NVIDIA GPUs.

In: an expression of scalar IR and the layout of its operands.  Out: the source of a kernel, which the runtime compiles (NVRTC).
Start with ``scalar_text.py``.
"""
