"""Record what PyTorch makes of the expressions in tests/data/expressions.

python tests/record/expressions.py     # in an environment with torch 2.13
"""

from __future__ import annotations

import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expressions import FOLDER, evaluate, written

for topic in ("creation", "construction", "conversion", "interop"):
    found = {expression: evaluate(expression, torch) for expression in written(topic)}
    text = ",\n".join(f"{json.dumps(expression)}: {json.dumps(result)}" for expression, result in found.items())
    (FOLDER / f"{topic}.json").write_text(f"{{\n{text}\n}}\n")
    print(topic, len(found))
