"""Descriptions of ops that have code of their own: what is computed, on which geometry, at what cost.  No target's code is here.

In: the arguments of an op.  Out: a description (a dataclass), which ``lowering(target)`` of ``../lowering.py`` turns into code.  ``movement.py`` is the
simplest; ``convolution.py``, ``pooling.py``, ``attention.py``, ``recurrent.py`` and ``matmul.py`` each describe a family.
"""
