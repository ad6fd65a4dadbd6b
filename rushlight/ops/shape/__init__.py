"""Views and moves: reshape, permute, concat, split, repeat, strides."""
