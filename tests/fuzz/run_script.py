"""Runs random TorchScript programs (:mod:`fuzz.script_programs`) as Python and as scripts, here and in PyTorch, and says where they differ."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import io
import itertools
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from .script_programs import PRELUDE

FORMS = ("scripted", "twice", "loaded", "archive", "frozen", "theirs")
_numbers = itertools.count()
_folder = tempfile.TemporaryDirectory()


def rendered(torch: Any, value: Any) -> str:
    """A value as text that is the same in both packages."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().double().reshape(-1).tolist()
        return f"{str(value.dtype).partition('.')[2]}{tuple(value.shape)}{[rendered(torch, each) for each in flat]}"
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)) and not isinstance(value, Enum):
        return repr(value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{value:.5g}" if "e" in f"{value:.5g}" or "." in f"{value:.5g}" else f"{value:.5g}.0"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, dict) or hasattr(value, "items") and hasattr(value, "keys"):
        return "{" + ", ".join(f"{rendered(torch, key)}: {rendered(torch, each)}" for key, each in value.items()) + "}"
    if isinstance(value, torch.Size) or (isinstance(value, tuple) and value and all(isinstance(each, torch.Tensor) for each in value)):
        value = list(value)  # as scripts have sizes and the parts of a tensor
    if isinstance(value, tuple):
        return ("" if type(value) is tuple else type(value).__name__) + "(" + ", ".join(rendered(torch, each) for each in value) + ")"
    if isinstance(value, list) or hasattr(value, "append"):
        return "[" + ", ".join(rendered(torch, each) for each in value) + "]"
    if hasattr(value, "total"):
        return f"Counter({value.total}, {value.label!r}, {rendered(torch, value.seen)})"
    return f"a {type(value).__name__}"


def kind_of(torch: Any, error: BaseException) -> str:
    """The class of an error: that of scripts, or the Python class that it is."""
    if isinstance(error, torch.jit.Error):
        return "jit.Error"
    return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")


def module_of(torch: Any, source: str, shared: bool = False) -> Any:
    """A program as a module of its own, in a file that its source can be read from; of a name that both packages know, where a saved program names it."""
    name = f"script_fuzz_{hashlib.sha256(source.encode()).hexdigest()[:12]}{'' if shared else f'_{next(_numbers)}'}"
    path = Path(_folder.name) / f"{name}.py"
    package = torch.__name__
    path.write_text(
        source
        if package == "torch"
        else source.replace("import torch\n", f"import {package} as torch\n").replace("from torch ", f"from {package} ")
    )
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def saved(torch: Any, made: Any, **how: Any) -> bytes:
    """A scripted program as a file."""
    file = io.BytesIO()
    torch.jit.save(made, file, **how)
    return file.getvalue()


def form_of(torch: Any, made: Any, form: str) -> Any:
    """A program in a form."""
    if form == "eager":
        return made
    if form == "frozen" and not hasattr(made, "eval"):
        form = "scripted"
    scripted = torch.jit.script(made.eval() if form == "frozen" else made)
    if form == "frozen":
        return torch.jit.freeze(scripted, preserved_attrs=["other"])
    if form in ("loaded", "archive"):
        return torch.jit.load(io.BytesIO(saved(torch, scripted, **({"format": "torchscript"} if form == "archive" else {}))))
    return scripted


def run_script(torch: Any, source: str, form: str, file: bytes | None = None) -> list[str]:
    """What a program says of its calls: results or errors, what it prints, and what it leaves in its arguments and attributes; or why it was refused."""
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = module_of(torch, source, shared=file is not None)
        try:
            made = torch.jit.load(io.BytesIO(file)) if file is not None else form_of(torch, module.make(), form)
        except Exception as error:
            return [f"refused: {kind_of(torch, error)}", str(error)]
        finally:
            sys.modules.pop(module.__name__, None)
        sys.modules[module.__name__] = module
        for method, args in [call for _ in range(3 if form == "twice" else 1) for call in module.calls()]:
            shown = io.StringIO()
            called = made if method in (None, "forward") else getattr(made, method)
            with contextlib.redirect_stdout(shown):
                try:
                    result = rendered(torch, called(*args))
                except Exception as error:
                    result = f"raises {kind_of(torch, error)}: {str(error).rstrip().splitlines()[-1] if str(error) else ''}"
            said = "" if torch.__name__ == "torch" and form != "eager" else shown.getvalue()  # PyTorch's scripts print elsewhere
            state = {name: rendered(torch, attribute(made, name)) for name in module.STATE} if form != "frozen" else {}
            found.append(f"{result} | {rendered(torch, list(args))} | {state} | {said}")
        sys.modules.pop(module.__name__, None)
    return found


def attribute(owner: Any, path: str) -> Any:
    """An attribute by its path."""
    for part in path.split("."):
        owner = getattr(owner, part)
    return owner


def archive_of(torch: Any, source: str) -> bytes | None:
    """A scripted program as a file of PyTorch's; None where it can't be one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = module_of(torch, source, shared=True)
        try:
            return saved(torch, torch.jit.script(module.make()), format="torchscript")
        except Exception:
            return None
        finally:
            sys.modules.pop(module.__name__, None)


def parts(line: str) -> list[str]:
    """Result, arguments, attributes and prints of a call."""
    return (line.split(" | ", 3) + [""] * 4)[:4]


def unlike(
    found: list[str], wanted: list[str], prints: bool = True, errors: bool = True, state: bool = True, arguments: bool = True
) -> str:
    """The first call that differs; of errors the class is compared, or only that there is one."""
    if found[0].startswith("refused") or wanted[0].startswith("refused"):
        return "" if found[0].partition(":")[0] == wanted[0].partition(":")[0] else f"{found[:2]} instead of {wanted[:2]}"
    for at, (one, other) in enumerate(zip(found, wanted)):
        a, b = parts(one), parts(other)
        if a[0].startswith("raises") and b[0].startswith("raises"):
            a[0], b[0] = (a[0].split(":")[0], b[0].split(":")[0]) if errors else ("", "")
            a[1:3] = b[1:3] if not errors else a[1:3]
        if not prints:
            a[3] = b[3] = ""
        if not state:
            a[2] = b[2] = ""
        if not arguments:
            a[1] = b[1] = ""
        if a != b:
            return f"call {at}: {one}\n   instead of {other}"
    return ""


def difference(torch: Any, source: str, ask: Callable[..., list[str]] | None, forms: tuple[str, ...] = FORMS) -> str:
    """How a program differs: its scripted form from PyTorch's, other forms from the scripted one; from Python where PyTorch refuses it.

    ``ask`` runs a form of a program in PyTorch; without it scripts are compared with Python.
    """
    here = run_script(torch, source, "scripted")
    python = run_script(torch, source, "eager")
    theirs = ask(source, "scripted", None) if ask is not None else None
    if theirs is not None and not theirs[0].startswith("refused"):
        said = unlike(here, theirs, prints=False)
        if said:
            if not here[0].startswith("refused") and not unlike(here, python, prints=False, errors=False, arguments=False):
                if any(part.startswith("raises") for part in here):
                    return ""  # PyTorch leaves out what is not used, and with it the error that Python has
                return f"as Python, and not as PyTorch: {said}"
            return f"scripted: {said}"
    elif not here[0].startswith("refused"):
        said = unlike(here, python, prints=False, errors=False, arguments=False)  # scripts get copies of lists and dicts
        if said:
            return f"not as Python, and PyTorch refuses it: {said}"
    if here[0].startswith("refused"):
        return ""
    for form in forms:
        if form == "scripted" or (form == "frozen" and "def other" not in source):
            continue
        wanted = here
        if form == "theirs":
            if ask is None or theirs is None or theirs[0].startswith("refused") or (file := archive_of(torch, source)) is None:
                continue
            found, wanted = ask(source, "scripted", file), ask(source, "loaded", None)
        elif form == "twice":
            found = run_script(torch, source, form)
            wanted = here if "STATE = []" in source else found[: len(here)]
            found = found[-len(here) :] if "STATE = []" in source else found
        else:
            found = run_script(torch, source, form)
        if found[0].startswith("refused") and "Could not export Python function call" in found[1]:
            continue
        said = unlike(found, wanted, prints=form != "theirs", state=form != "frozen")
        if said and form == "frozen" and any(each.startswith("raises") for each in wanted):
            continue  # freezing leaves out what is not used, and with it the error
        if "Unknown reference to ScriptClass" in said:
            continue  # PyTorch gives members of enumerations to Python only where it has scripted the class
        if said and form == "archive" and ask is not None and (theirs is None or unlike(ask(source, "loaded", None), theirs, prints=False)):
            continue  # what PyTorch's own files can't hold
        if said:
            return f"{form}: {said}"
    return ""


def smaller(source: str) -> Iterator[str]:
    """Programs with one statement less, with a block in the place of its statement, or with a part in the place of an expression."""
    lines = source.split("\n")
    indent = lambda line: len(line) - len(line.lstrip())
    for first, line in enumerate(lines):
        if not line.strip():
            continue
        last = first + 1
        while last < len(lines) and (not lines[last].strip() or indent(lines[last]) > indent(line)):
            last += 1
        yield "\n".join(lines[:first] + lines[last:])
        if last > first + 1 and line.rstrip().endswith(":"):
            yield "\n".join(lines[:first] + [each[4:] for each in lines[first + 1 : last]] + lines[last:])
            yield "\n".join([*lines[: first + 1], " " * (indent(line) + 4) + "pass", *lines[last:]])
    tree = ast.parse(source)
    for node in list(ast.walk(tree)):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and name in ("value", "test", "iter"):
                for part in [each for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr)]:
                    setattr(node, name, part)
                    yield ast.unparse(tree)
                    setattr(node, name, value)


def shrunk(source: str, differs: Callable[[str], str], most: int = 300) -> str:
    """A smaller program that still differs in the same form, found greedily."""
    head, mark, body = source.partition(PRELUDE)
    way = lambda said: said.split(":")[0]
    kept, tried = way(differs(source)), 0
    found: str | None = body
    while found is not None and tried < most:
        found = None
        for other in itertools.islice(smaller(body), most - tried):
            tried += 1
            try:
                compile(other, "<program>", "exec")
                same = way(differs(head + mark + other)) == kept
            except Exception:  # it is no program any more
                continue
            if same:
                found = body = other
                break
    return head + mark + body
