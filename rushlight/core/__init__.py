"""The machinery under everything: dtypes, devices, tensors' fields, symbolic sizes, errors, and how an op is declared and dispatched.

In comes the declaration of an op (``declare.primitive`` and ``declare.composite``, used by the files of ``ops/``); out comes a function that
users call.  A call goes through these files, in this order:

    declare.py     the table of ops: schema, kernel, gradient rules, and the stub that a first call replaces
    entry.py       the entry point of an op, compiled for its signature: parses arguments, has fast paths for common calls
    dispatch.py    the general path: unwraps tensors, runs kernel or meta rule, wraps results, records; in-place ops and out=
    placement.py   the device that an op runs on, and the error for operands on two devices
    families.py    pointwise ops and reductions: how operands are prepared, and shape and dtype of the result
    recording.py   compiles the gradient rules of an op into its node class and the function that records a call
    node.py        nodes of the gradient graph, saved tensors, and what in-place writes do to views

``base.py`` has the fields of a tensor and ``Spec``; ``devices.py`` the kinds of devices; ``dtypes.py`` dtypes and promotion; ``symbolic/``
sizes with formulas; ``state.py`` lists the process-wide state.  Read ``declare.py`` first, then ``dispatch.py``.
"""

from __future__ import annotations

from . import entry  # registers itself with `declare`, which compiles entry points on first use

__all__ = ["entry"]
