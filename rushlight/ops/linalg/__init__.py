"""Linear algebra: matrix products, contractions, factorizations, systems, norms."""
