"""Passes: graphs to graphs.

In: a captured Graph.  Out: the same program functionalized, decomposed into primitive ops, differentiated (forward and backward jointly), partitioned into two
graphs, with cheap values rematerialized.  Read ``functionalize.py`` first.
"""
