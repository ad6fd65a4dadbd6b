"""Lowering of scripts: syntax trees to steps, with types checked and inferred.

In: a syntax tree.  Out: steps.  Read ``compiler.py`` first.
"""
