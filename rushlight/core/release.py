"""The version of the package, in one place."""

VERSION = "0.1.0"
PEER_VERSION = "2.13.0"  # the PyTorch whose names and behaviour these are; the alias `torch` presents it
