"""Partitions of graphs for back-ends, and the base of passes."""
