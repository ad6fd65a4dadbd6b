"""Native kernels for single ops of eager mode, compiled at the first use of an op and its types (or shapes).

In: arrays.  Out: arrays, or NotImplemented where the NumPy kernel is as good.  ``core/kernel_providers.py`` finds these by name.
"""
