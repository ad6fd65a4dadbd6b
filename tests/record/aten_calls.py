"""Record what PyTorch's aten overloads compute on made-up arguments (tests/aten_calls.py): tests/data/aten_calls.json."""

import json
import sys
import warnings
from pathlib import Path

import torch

root = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "tests"))
from aten_calls import SKIPPED, arguments, summary  # noqa: E402

warnings.filterwarnings("ignore")
found = {}
for line in (root / "rushlight" / "ops" / "aten_schemas.txt").read_text(encoding="utf8").splitlines():
    name = line.partition("(")[0]
    given = None if SKIPPED.match(name) else arguments(torch, line)
    if given is None:
        continue
    packet, _, overload = name.partition(".")
    try:
        result = getattr(getattr(torch.ops.aten, packet), overload or "default")(*given[0], **given[1])
        found[name] = summary(torch, result)
    except Exception:
        continue
lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(found.items())]
(root / "tests" / "data" / "aten_calls.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf8")
print(len(found), "calls")
