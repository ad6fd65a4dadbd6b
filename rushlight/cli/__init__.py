"""The command ``rushlight``: run, launch, export, verify, check, explain, view, shim and env.

In: the words of a command line.  Out: data on stdout, messages on stderr, and an exit status.  Read ``main.py`` first, then ``grammar.py`` (options
and help texts); each command is a module with a function ``run`` that is loaded when the command runs.
"""

from .main import main

__all__ = ["main"]
