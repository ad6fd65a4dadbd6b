"""Reductions and scans: sums, extremes, statistics, cumulative ops.

In: a tensor, the dimensions to reduce (``dim``) and whether to keep them (``keepdim``): the family ``reduction`` of
``core/families.py``.  Out: one element for each of the remaining positions, or for a scan a tensor of the same shape.  Read
``reductions.py`` first.
"""
