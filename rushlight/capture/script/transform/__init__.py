"""Transformations of scripted graphs: inlining, freezing, folding for inference, differentiable regions.

In: a Graph.  Out: a Graph.
"""
