"""Calls: from Python's arguments to native code, and back to tensors, without a detour.

In: an executable and the example arguments of a call.  Out: a launcher, which checks its arguments, calls native code and wraps the results.
``trampoline.py`` and ``guard_vm.py`` do that as machine code which reads CPython's and NumPy's objects; each has a plain Python form that does the
same.  Read ``launcher.py`` first.
"""
