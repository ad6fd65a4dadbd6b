"""`rushlight shim`: a folder, or a wheel, with a package `torch` that means rushlight."""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import zipfile
from pathlib import Path

from ..compat.distribution import INFO, NAME, shim_files
from ..core.release import PEER_VERSION, VERSION
from .output import DONE, Failure, give, give_json

WHEEL = f"Wheel-Version: 1.0\nGenerator: rushlight {VERSION}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def run(options: argparse.Namespace) -> int:
    """Write it."""
    folder = Path(options.folder).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = write_wheel(folder) if options.wheel else write_folder(folder, options.force)
    except OSError as error:
        raise Failure(f"can't write into '{folder}': {error.strerror or error}") from error
    if options.json:
        give_json({"written": str(written), "torch": PEER_VERSION, "rushlight": VERSION})
    else:
        give(str(written))
    return DONE


def write_folder(folder: Path, force: bool) -> Path:
    """A folder for PYTHONPATH, which knows where this rushlight is."""
    if (folder / NAME).exists() and not force:
        there = folder / NAME / "__init__.py"
        if not there.is_file() or "means rushlight" not in there.read_text(encoding="utf-8", errors="replace")[:200]:
            raise Failure(f"'{folder / NAME}' is there already, and is no shim: choose another folder, or say --force")
    home = Path(__file__).resolve().parents[2]
    for name, text in shim_files(repr(os.fspath(home))).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def write_wheel(folder: Path) -> Path:
    """A wheel that depends on rushlight."""
    path = folder / f"{NAME}-{PEER_VERSION}-py3-none-any.whl"
    files = {**shim_files("None"), f"{INFO}/WHEEL": WHEEL}
    files.pop(f"{INFO}/INSTALLER")  # the installer says who it is
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            data = text.encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(data)}\n")
            archive.writestr(zipfile.ZipInfo(name), data)  # with a fixed date: equal content is an equal file
        archive.writestr(zipfile.ZipInfo(f"{INFO}/RECORD"), "".join(rows) + f"{INFO}/RECORD,,\n")
    return path
