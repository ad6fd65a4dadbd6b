"""Record the graphs and code that PyTorch prints for the programs of tests/fx_programs.py: tests/data/fx_programs.json."""

import importlib.util
import json
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("fx_programs_recorded", root / "tests" / "fx_programs.py")
module = importlib.util.module_from_spec(spec)
sys.modules["fx_programs_recorded"] = module
spec.loader.exec_module(module)
found = [str(each).replace("fx_programs_recorded", "fx_programs") for each in module.texts()]
(root / "tests" / "data" / "fx_programs.json").write_text(json.dumps(found, indent=0) + "\n", encoding="utf8")
print(len(found), "texts")
