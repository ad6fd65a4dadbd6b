"""Running scripts: step by step at first, as generated Python later, replayed under a tracer; Modules of the package as one call.

In: steps or a Graph.  Out: a callable.  Read ``program.py`` first.
"""
