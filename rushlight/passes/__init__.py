"""Rewriting graphs: without writes to memory, forward and backward together, and apart again."""
