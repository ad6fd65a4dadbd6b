"""Random ops, drawing from the generator of :mod:`rushlight.core.random`, number for number as PyTorch does.

In: a size or a tensor, parameters of a distribution, a generator.  Out: random tensors.  Read ``sampling.py`` first.
"""
