"""Scheduling: what a functional graph computes, as kernels, without a word of any target's code.

In: a decomposed functional graph (``passes/decompose.py``).  Out: fused groups, op routines and their epilogues in execution order, each group a
kernel plan (axes, reductions, passes, stored values), and a memory plan: together a ``Schedule``.  Stages: ``tensor_ir`` (nodes as values with strides)
with ``scalar_ir`` (pointwise kernels as expressions), ``simplify``, ``fusion``, ``epilogue``, ``in_place``, ``memory_plan``, ``plan_kernel``.  What
depends on a machine is data of a ``Target``.  No code generator is imported
here (``tests/test_layers.py``).  Read ``schedule.py`` first, then ``tensor_ir.py``, ``fusion.py`` and ``kernel_plan.py``.
"""
