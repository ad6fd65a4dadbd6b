"""Record which of PyTorch's ``aten`` operators are written in others, so that dispatch modes see those: rushlight/ops/aten_composites.txt."""

from pathlib import Path

import torch

folder = Path(__file__).resolve().parents[2] / "rushlight" / "ops"
found = set()
for line in (folder / "aten_schemas.txt").read_text(encoding="utf8").splitlines():
    name = line.partition("(")[0]
    try:
        if "out" not in name.partition(".")[2] and torch._C._dispatch_has_kernel_for_dispatch_key(
            f"aten::{name}", "CompositeImplicitAutograd"
        ):
            found.add(name.partition(".")[0])
    except RuntimeError:  # an overload of TorchScript's alone
        continue
(folder / "aten_composites.txt").write_text("\n".join(sorted(found)) + "\n", encoding="utf8")
