"""Tracing by running once: ``jit.trace``, and the capture that exports use.

In: a function or Module and example inputs.  Out: a graph module.  Read ``capture.py`` first.
"""
