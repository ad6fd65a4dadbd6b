"""Packs what ``archives.py`` wrote by old versions of PyTorch: ``python tests/record/old/pack.py FOLDER``, which has a folder for each version.

Files for debuggers are left out, as in the other recorded archives (``tests/record/torchscript_archives.py``).
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "data" / "torchscript" / "old.tar.xz"


def smaller(archive: bytes) -> bytes:
    """An archive without what only debuggers need."""
    source, target = zipfile.ZipFile(io.BytesIO(archive)), io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name in source.namelist():
            if not name.endswith(".debug_pkl") and "/debug/" not in name:
                made.writestr(zipfile.ZipInfo(name), source.read(name), zipfile.ZIP_STORED)
    return target.getvalue()


def main(folder: Path) -> None:
    """Pack all."""
    with tarfile.open(FILE, "w:xz", preset=9) as made:
        for path in sorted(folder.glob("*/*"), key=lambda path: (path.stem, path.suffix, path.parent.name)):
            data = smaller(path.read_bytes()) if path.suffix == ".pt" else path.read_bytes()
            entry = tarfile.TarInfo(f"{path.parent.name}/{path.name}")
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
