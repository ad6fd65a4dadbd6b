"""Pointwise ops: arithmetic, comparison, logic, activations, selection, casts."""
