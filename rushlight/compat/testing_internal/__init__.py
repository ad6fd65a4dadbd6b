"""`torch.testing._internal`: the names by which PyTorch's own tests, and tests written like them, import their help."""
