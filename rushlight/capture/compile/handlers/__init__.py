"""Handlers: how a capture treats particular callables (custom Functions, ``backward``, optimizers, hooks, Modules, control-flow ops).

In: a call that the recorder meets.  Out: nodes, guards and effects.  Read ``custom_function.py`` first.
"""
