"""`torch.jit._passes`: passes over graphs of scripts that are written in Python."""
