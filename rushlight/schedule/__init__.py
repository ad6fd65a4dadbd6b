"""Scheduling: what a functional graph computes, as kernels, without a word of any target's code.

In: a decomposed functional graph (``passes/decompose.py``).  Out: fused groups, op routines and their epilogues in execution order, each group a
kernel plan (axes, reductions, passes, stored values), and a memory plan.  Stages: ``tensor_ir`` (nodes as values seen through strides) with
``scalar_ir`` (pointwise kernels as expressions), ``simplify``, ``fusion``, ``epilogue``, ``in_place``, ``memory_plan``.  No code generator is imported
here (``tests/test_layers.py``).  Read ``tensor_ir.py`` first, then ``fusion.py``.
"""
