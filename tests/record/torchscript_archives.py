"""Records archives that PyTorch writes, with what its own loader makes of them: tests/data/torchscript.

``models.tar.xz`` has the models of tests/torchscript_models.py, ``conformance.tar.xz`` what the programs of tests/data/script_conformance script.
Files for debuggers are left out of the archives, and code is packed, so that they are small; one archive stays as it was written.
"""

from __future__ import annotations

import contextlib
import io
import tarfile
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import script_conformance
import torch
import torchscript_models

FOLDER = Path(__file__).resolve().parent.parent / "data" / "torchscript"
warnings.simplefilter("ignore")


def written(module: Any) -> bytes:
    """The archive of a Module."""
    file = io.BytesIO()
    torch.jit.save(module, file)
    return file.getvalue()


def smaller(archive: bytes) -> bytes:
    """An archive without what only debuggers need."""
    source, target = zipfile.ZipFile(io.BytesIO(archive)), io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name in source.namelist():
            if not name.endswith((".debug_pkl", "serialization_id")):
                made.writestr(zipfile.ZipInfo(name), source.read(name), zipfile.ZIP_STORED)
    return target.getvalue()


def plain(value: Any) -> Any:
    """A result without classes of its own; what can't be written raises."""
    if isinstance(value, tuple):
        return tuple(plain(each) for each in value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if value is None or type(value) in (int, float, bool, str, complex):
        return value
    raise TypeError(type(value))


def expected(archive: bytes, calls: list[Any]) -> bytes | None:
    """Methods, arguments, and what a loaded Module gives: a result, or the name of an error."""
    loaded = torch.jit.load(io.BytesIO(archive))
    rows = []
    for method, arguments in calls:
        torch.manual_seed(0)
        try:
            given = plain(arguments)
        except TypeError:
            continue
        try:
            rows.append((method, given, plain(getattr(loaded, method)(*arguments)), ""))
        except TypeError:
            continue
        except Exception as error:
            rows.append((method, given, None, type(error).__name__))
    file = io.BytesIO()
    torch.save(rows, file)
    return file.getvalue()


def packed(name: str, files: dict[str, bytes]) -> None:
    """Many small files as one."""
    with tarfile.open(FOLDER / name, "w:xz", preset=9) as made:
        for key, data in files.items():
            entry = tarfile.TarInfo(key)
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))


class Recorder:
    """``jit.script`` that keeps the archives of what it makes, and the arguments that programs give it."""

    def __init__(self) -> None:
        self.script = torch.jit.script
        self.files: dict[str, bytes] = {}
        self.calls: dict[str, list[Any]] = {}
        self.program = ""

    def __call__(self, obj: Any, *args: Any, _frames_up: int = 0, **kwargs: Any) -> Any:
        made = self.script(obj, *args, _frames_up=_frames_up + 1, **kwargs)
        if not isinstance(made, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
            return made
        name = f"{self.program}_{sum(each.startswith(self.program) for each in self.files)}"
        try:
            self.files[name] = written(made)
        except Exception:  # PyTorch can't save it
            return made
        self.calls[name] = []
        return Called(made, self.calls[name]) if isinstance(made, torch.jit.ScriptFunction) else made


class Called:
    """A scripted function whose calls are kept."""

    def __init__(self, function: Any, calls: list[Any]) -> None:
        self.function, self.calls = function, calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            self.calls.append(("forward", args))
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


def conformance() -> dict[str, bytes]:
    """Archives of all that the conformance programs script."""
    recorder = Recorder()
    call = torch.nn.Module.__call__

    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        known = next((name for name, made in modules if made is self), None)
        if known is not None and not kwargs:
            recorder.calls[known].append(("forward", args))
        return call(self, *args, **kwargs)

    modules: list[tuple[str, Any]] = []
    original = recorder.__call__

    def script(obj: Any, *args: Any, _frames_up: int = 0, **kwargs: Any) -> Any:
        before = set(recorder.files)
        made = original(obj, *args, _frames_up=_frames_up + 1, **kwargs)
        modules.extend((name, made) for name in set(recorder.files) - before if isinstance(made, torch.jit.ScriptModule))
        return made

    torch.jit.script, torch.jit.RecursiveScriptModule.__call__ = script, recorded
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(script_conformance.programs().values()):
            recorder.program = f"{number:03d}"
            with contextlib.redirect_stderr(io.StringIO()):
                script_conformance.run(text, torch, Path(folder), number)
    torch.jit.script = recorder.script
    del torch.jit.RecursiveScriptModule.__call__
    found: dict[str, bytes] = {}
    for name, archive in recorder.files.items():
        try:
            rows = expected(archive, recorder.calls[name])
        except RuntimeError:  # PyTorch can't read what it wrote
            continue
        if rows is not None:
            found[f"{name}.pt"], found[f"{name}.calls"] = smaller(archive), rows
    return found


def main() -> None:
    """Record all."""
    FOLDER.mkdir(exist_ok=True)
    files: dict[str, bytes] = {}
    for name, model, calls in torchscript_models.models():
        archive = written(model)
        if name == "two_trace":
            (FOLDER / "as_written.pt").write_bytes(archive)
        files[f"{name}.pt"] = smaller(archive)
        files[f"{name}.calls"] = expected(archive, calls) or b""
    packed("models.tar.xz", files)
    programs = conformance()
    packed("conformance.tar.xz", programs)
    print(len(files) // 2, "models,", len(programs) // 2, "programs")


if __name__ == "__main__":
    main()
