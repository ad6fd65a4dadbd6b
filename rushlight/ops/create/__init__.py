"""Ops that create tensors from numbers: factories, ranges, signal windows.

In: sizes, numbers, a dtype and a device (the option ``factory=True`` of a declaration).  Out: new contiguous tensors.  Read
``factories.py`` first.
"""
