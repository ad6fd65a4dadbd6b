"""The tracer: intercepts ops while a program runs and records them as nodes of a graph.

In: calls of ops.  Out: a Graph with shapes, source lines and Module paths.  ``alias_tracking.py`` makes writes functional, ``fake_tensors.py`` follows a
program without data.  Read ``tracer.py`` first.
"""
