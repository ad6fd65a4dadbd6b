"""Packages of code and data in one file: not here, with the reason."""

from __future__ import annotations

from .core.missing import absents as _absents

_absents(
    globals(),
    "a file that brings its own copies of Python modules runs code that nobody has looked at: save the weights (save, safetensors) and install the code",
    classes="PackageExporter PackageImporter Importer OrderedImporter Directory EmptyMatchError GlobGroup PackagingError",
    functions="is_from_package",
)
