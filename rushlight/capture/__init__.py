"""Capture: the ways in which a program becomes a Graph.  None knows a back-end.

In: a function or Module, and example inputs.  Out: a ``GraphModule``.  ``tracer/`` records ops as they run; ``trace/`` is ``jit.trace`` and the
capture of exports; ``script/`` is ``jit.script``; ``compile/`` interprets bytecode; ``control/`` is control flow and Python lists under a tracer.
Each imports only from those before it in the order ``tracer control trace script compile``.  Read ``tracer/tracer.py`` first.
"""
