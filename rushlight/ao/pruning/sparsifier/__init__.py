"""Sparsifiers: what decides which elements of a parameter are masked."""
