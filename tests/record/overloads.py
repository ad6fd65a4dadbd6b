"""Record which of PyTorch's operators have an overload called ``Tensor``: rushlight/onnx/overloads.json."""

import json
from pathlib import Path

import torch

names = []
for schema in torch._C._jit_get_all_schemas():
    space, _, name = schema.name.partition("::")
    if space == "aten" and schema.overload_name == "Tensor" and not name.startswith("_") and not name.endswith("_"):
        names.append(name)
target = Path(__file__).resolve().parents[2] / "rushlight" / "onnx" / "overloads.json"
target.write_text(json.dumps({"Tensor": sorted(set(names))}, indent=1) + "\n", encoding="utf8")
print(len(names), "operators")
