"""Record PyTorch's result types: python tests/record/promotion.py (in an environment with torch 2.13)."""

import json
import pathlib

import torch

NAMES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2"
).split()
NUMBERS = {"bool": True, "int": 2, "float": 1.5, "complex": 1j}


def value(kind: str, name: str):
    if kind == "number":
        return NUMBERS[name]
    return torch.zeros((2,) if kind == "tensor" else (), dtype=getattr(torch, name))


def result(a, b):
    try:
        return str(torch.result_type(a, b)).removeprefix("torch.")
    except Exception as error:
        return "!" + type(error).__name__


kinds = [("tensor", n) for n in NAMES] + [("scalar", n) for n in NAMES] + [("number", n) for n in NUMBERS]
table = {
    f"{ka}:{na} {kb}:{nb}": result(value(ka, na), value(kb, nb)) for ka, na in kinds for kb, nb in kinds if (ka, kb) != ("number", "number")
}
casts = {f"{a} {b}": torch.can_cast(getattr(torch, a), getattr(torch, b)) for a in NAMES for b in NAMES}
limits = {}
for name in NAMES:
    kind = getattr(torch, name)
    if kind.is_floating_point:
        info = torch.finfo(kind)
        limits[name] = [info.bits, info.eps, info.max, info.min, info.tiny, info.resolution, repr(info)]
    elif name != "bool" and not kind.is_complex:
        info = torch.iinfo(kind)
        limits[name] = [info.bits, info.max, info.min, repr(info)]
path = pathlib.Path(__file__).resolve().parent.parent / "data" / "promotion.json"
path.write_text(json.dumps({"result_type": table, "can_cast": casts, "limits": limits}))
print(len(table), "pairs")
