"""Kernel plans run by NumPy: a second emitter, and the oracle of the scheduler in the tests.

In: a schedule, or one kernel plan, and arrays.  Out: the results, computed statement by statement as the plan says.  It is slow, needs nothing but
NumPy, and makes no decision of its own: where its results are right, so is the plan.  Read ``kernel.py``.
"""

from ...schedule.target import Target

TARGET = Target("NumPy", matrix_products=False, lowerings="")

__all__ = ["TARGET"]
