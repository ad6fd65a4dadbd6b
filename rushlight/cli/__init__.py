"""The command line: `python -m rushlight run script.py` runs a PyTorch program on rushlight."""

from .main import main

__all__ = ["main"]
