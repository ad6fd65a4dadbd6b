"""Record what PyTorch does with bad input: python tests/record/bad_input.py (in an environment with torch 2.13)."""

import json
import pathlib
import warnings

import torch

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).resolve().parent.parent
found = {}
for line in (HERE / "bad_input.txt").read_text(encoding="utf8").splitlines():
    if line and not line.startswith("#"):
        try:
            eval(line, {"torch": torch, "x": torch.ones(2, 3), "i": torch.arange(6)})
            found[line] = None
        except Exception as error:
            found[line] = [type(error).__name__, str(error)[:160]]
(HERE / "data" / "bad_input.json").write_text(json.dumps(found, indent=0))
print(len(found), "expressions;", [line for line, error in found.items() if error is None], "are accepted")
