"""Running scripts: step by step at first, as generated Python later, replayed under a tracer.

In: steps or a Graph.  Out: a callable.  Read ``program.py`` first.
"""
