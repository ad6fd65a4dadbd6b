"""The IR of scripts: steps, which are lighter than nodes, and the graph they become on demand.

In: steps that ``lower/`` emits.  Out: a Graph.  Read ``steps.py`` first.
"""
