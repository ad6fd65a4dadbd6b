"""What the recorded checkpoints hold: built with PyTorch when they are recorded, and with rushlight when they are compared."""

from __future__ import annotations

import collections
from typing import Any

TYPES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 uint16 uint32 uint64 float8_e4m3fn float8_e5m2"
).split()


def state_dict(torch: Any) -> Any:
    """As a module's: ordered, with versions as an attribute."""
    found = collections.OrderedDict()
    found["0.weight"] = torch.arange(6.0).reshape(3, 2)
    found["0.bias"] = torch.tensor([0.5, -1.0, 2.0])
    found._metadata = collections.OrderedDict({"": {"version": 1}, "0": {"version": 2}})
    return found


def contents(torch: Any, typed_only: bool = False) -> dict[str, Any]:
    """Tensors and plain values of every kind; ``typed_only`` leaves out types that the old format does not have."""
    base = torch.arange(12.0).reshape(3, 4)
    with_attribute = torch.ones(2)
    with_attribute.note = {"x": 4}
    parameter = torch.nn.parameter.Parameter(torch.tensor([1.0, 2.0]))
    frozen = torch.nn.parameter.Parameter(torch.tensor([3.0]), requires_grad=False)
    frozen.tag = "frozen"
    values = torch.tensor([0, 1, 2, 100])
    return {
        "base": base,
        "views": [base.t(), base[1], base[::2, 1::2], base[0].expand(2, 4), base[2:]],
        "types": {name: values.to(getattr(torch, name)) for name in TYPES[: 12 if typed_only else None]},
        "empty": [torch.empty(0), torch.empty(2, 0, 3)],
        "scalar": torch.tensor(3.5),
        "leaf": torch.ones(2, requires_grad=True),
        "parameter": parameter,
        "same parameter": parameter,
        "frozen": frozen,
        "attribute": with_attribute,
        "state": state_dict(torch),
        "generator state": torch.Generator().manual_seed(5).get_state(),
        "meta": torch.empty(2, 3, device="meta"),
        "size": base.shape,
        "dtypes": [torch.float32, torch.bfloat16, torch.uint64, torch.bool],
        "devices": [torch.device("cpu"), torch.device("cuda", 1), torch.device("meta")],
        "layout": torch.strided,
        "numbers": [0, 1, -1, 255, 256, 65535, 65536, -(2**31), 2**31, 2**70, -(2**70), 1.5, float("inf"), 1 + 2j, True, None],
        "texts": ["", "text", "é 漢", b"", b"bytes \xff", bytearray(b"array")],
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((), [])],
        "dicts": [{}, {1: "a", (2, "b"): 3.0, None: []}, collections.Counter("aab"), collections.OrderedDict(z=1, a=2)],
        "sets": [{1, 2}, set()],
    }
