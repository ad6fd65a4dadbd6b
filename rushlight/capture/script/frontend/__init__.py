"""The front end of scripts: source text, syntax trees, types and annotations.

In: a Python function.  Out: its syntax tree with one exit, and the types of its parameters.  Read ``source.py`` first.
"""
