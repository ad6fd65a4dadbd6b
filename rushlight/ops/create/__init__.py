"""Ops that create tensors: factories, ranges, windows."""
