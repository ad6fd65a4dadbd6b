"""Reductions and scans: sums, extremes, statistics, cumulative ops."""
