"""Transformations of scripted graphs: inlining, batch norms folded into layers, lists unpacked, differentiable regions.

In: a Graph.  Out: a Graph.  Read ``inline.py`` first.
"""
