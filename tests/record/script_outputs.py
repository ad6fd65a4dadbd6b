"""Records what PyTorch prints for the programs of tests/data/script_conformance."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import script_conformance as programs
import torch


def main() -> None:
    """Run them all."""
    with tempfile.TemporaryDirectory() as folder:
        found = {name: programs.run(text, torch, Path(folder), number) for number, (name, text) in enumerate(programs.programs().items())}
    programs.EXPECTED.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
