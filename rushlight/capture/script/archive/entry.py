"""``jit.load`` of archives that PyTorch wrote: which reader an archive needs, and one error for what is damaged."""

from __future__ import annotations

from typing import Any

from ....core.errors import CaptureError, NotSupported, RushlightError
from ....core.process_safety import paused_collection
from ....serialization.records import ArchiveReader
from .described import DescribedReader
from .reader import ProgramReader

NEWEST = 11  # the version of the format that PyTorch 2.13 knows


def read_archive(archive: ArchiveReader, map_location: Any, wanted: dict[str, Any]) -> Any:
    """The Module of an archive; files that were stored beside it are put into ``wanted``."""
    if "bytecode.pkl" in archive and not any(name.startswith(f"{archive.root}/code/") for name in archive.records):
        raise NotSupported(
            "this archive is for the mobile interpreter alone: it holds bytecode and no code. Save the scripted Module itself (jit.save)"
        )
    version = NEWEST
    for name in (".data/version", "version"):
        if name in archive:
            text = archive.read(name).strip()
            if not text.isdigit() or (version := int(text)) > NEWEST:
                raise CaptureError(
                    f"the archive is of version {text.decode('ascii', 'replace')!r}, and this rushlight reads up to {NEWEST}"
                )
    for name in wanted:
        if f"extra/{name}" in archive:
            wanted[name] = archive.read(f"extra/{name}")
    if "data.pkl" not in archive and "model.json" not in archive:
        raise CaptureError("the archive has no data.pkl, and so no Module")
    try:
        with paused_collection():  # syntax trees are many objects, which a collection would walk again and again
            return (DescribedReader if "model.json" in archive else ProgramReader)(archive, map_location, version).read()
    except RecursionError:
        raise CaptureError("the archive is nested more deeply than any model is") from None
    except MemoryError:
        raise CaptureError("the archive asks for more memory than there is") from None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, AssertionError) as error:
        if isinstance(error, RushlightError):
            raise
        raise CaptureError(f"the archive is damaged: it holds no whole program ({type(error).__name__}: {error})") from error
