"""Calls: from Python's arguments to native code, and back to tensors.

In: an executable and the example arguments of a call; guards.  Out: a launcher, which checks its arguments, calls native code and wraps the
results; a check of guards.  ``trampoline.py`` and ``guard_vm.py`` do that as machine code that reads CPython's and NumPy's objects; their plain
Python forms (``python_trampoline.py``, and the guards' own) are chosen by ``settings.py``.  Read ``launcher.py`` first.
"""
