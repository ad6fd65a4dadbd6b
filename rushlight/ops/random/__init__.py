"""Random ops, on PyTorch's streams."""
