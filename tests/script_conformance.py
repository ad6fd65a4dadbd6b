"""Small scripted and traced programs, each run as a file of its own: what it prints, and how it ends.

The programs are in ``tests/data/script_conformance/*.txt``, one below each line that begins with ``###``; ``tests/record/script_outputs.py`` writes
what PyTorch makes of them beside them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import warnings
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data" / "script_conformance"
EXPECTED = FOLDER / "expected.json"
PRELUDE = """\
import collections, copy, dataclasses, enum, functools, io, math, warnings
import torch, typing
import torch.nn.functional as F
from collections import OrderedDict, namedtuple
from enum import Enum
from typing import *
from torch import Tensor, nn
def kind(error):
    if isinstance(error, torch.jit.Error): return "jit.Error"
    if any(each.__name__ == "FrontendError" for each in type(error).__mro__): return "FrontendError"
    return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
def tries(call, *args, **kwargs):
    try: call(*args, **kwargs); print("no error")
    except Exception as error: print(kind(error))
def says(words, call, *args, **kwargs):
    try: call(*args, **kwargs); print("no error")
    except Exception as error: print(kind(error), words in str(error))
def wrong(call, *args, **kwargs):
    try: call(*args, **kwargs); print("no error")
    except Exception as error: print(kind(error), next(line for line in str(error).splitlines() if line.strip()).rstrip(":. "))
def kept(made, **kwargs):
    file = io.BytesIO(); torch.jit.save(made, file, **kwargs); file.seek(0); return torch.jit.load(file)
script = torch.jit.script
"""


def programs() -> dict[str, str]:
    """The programs by name."""
    found: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.txt")):
        for block in path.read_text().split("### ")[1:]:
            title, _, text = block.partition("\n")
            name = f"{path.stem}: {title.strip()}"
            assert name not in found, f"two programs are called {name}"
            found[name] = text
    return found


def kind_of(error: BaseException, torch: Any) -> str:
    """The class of an error: that of scripts, or the Python class that it is."""
    if isinstance(error, torch.jit.Error):
        return "jit.Error"
    if any(each.__name__ == "FrontendError" for each in type(error).__mro__):
        return "FrontendError"
    return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")


def run(text: str, torch: Any, folder: Path, number: int, explain: bool = False) -> str:
    """What a program prints, and the class of the error that ends it."""
    name = f"script_conformance_{number}"
    path = folder / f"{name}.py"
    path.write_text(PRELUDE + text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            print(f"!! {kind_of(error, torch)}")
            if explain:
                print(f"   {type(error).__name__}: {error}"[:700])
        finally:
            sys.modules.pop(name, None)
    return shown.getvalue()
