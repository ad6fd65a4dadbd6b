"""Records what PyTorch's ``torch.nested`` prints: run with a Python that has PyTorch, from the repository's root."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nested_expressions import everything

found = everything(torch)
(Path(__file__).resolve().parent.parent / "data" / "nested.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf8")
print(len(found), "expressions")
