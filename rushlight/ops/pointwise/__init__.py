"""Pointwise ops: arithmetic, comparison, logic, activations, selection, casts.

In: tensors and numbers that broadcast and whose dtypes are promoted (the family ``elementwise`` of ``core/families.py``).  Out: one element
for each.  A declaration with a kernel written in functions of ``xp`` serves NumPy, every code generator and ONNX.  Read ``unary.py`` first.
"""
