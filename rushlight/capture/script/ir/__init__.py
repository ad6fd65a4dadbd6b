"""The IR of scripts: steps, which are lighter than nodes, the graph they become on demand, and the functions that such graphs call.

In: steps that ``lower/`` emits.  Out: a Graph.  Read ``steps.py`` first.
"""
