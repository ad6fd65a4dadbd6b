"""Has PyTorch load the archives that rushlight writes, and compares what they compute: tests/data/torchscript/accepted.json lists them.

Raises where PyTorch refuses a file, or computes something else: what can't be written must be refused by rushlight.
"""

from __future__ import annotations

import io
import json
import warnings
from typing import Any

import torch
from torchscript_files import FOLDER, recorded
from torchscript_layers import LAYERS, layer

import rushlight

warnings.simplefilter("ignore")


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal, up to rounding."""
    if isinstance(a, torch.Tensor):
        wide = torch.complex128 if a.is_complex() else torch.float64
        return a.dtype == b.dtype and torch.allclose(a.detach().to(wide), b.detach().to(wide), rtol=1e-4, atol=1e-4, equal_nan=True)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b or (isinstance(a, float) and (a != a or abs(a - b) < 1e-4))


def moved(value: Any) -> Any:
    """A value of rushlight as one of PyTorch."""
    file = io.BytesIO()
    rushlight.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def detached(value: Any) -> Any:
    """A result without its gradients' graph."""
    return (
        [detached(each) for each in value]
        if isinstance(value, (list, tuple))
        else value.detach()
        if isinstance(value, rushlight.Tensor)
        else value
    )


def leaves(value: Any) -> list[Any]:
    """The values in nested lists and tuples."""
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, (list, tuple)) else [value]


def written(made: Any) -> Any:
    """What PyTorch makes of the archive of a Module."""
    file = io.BytesIO()
    rushlight.jit.save(made, file, format="torchscript")
    file.seek(0)
    return torch.jit.load(file)


def check(name: str, made: Any, rows: Any) -> None:
    """Compare what was recorded with what PyTorch computes."""
    for method, arguments, result, error in rows:
        torch.manual_seed(0)
        try:
            found = getattr(made, method)(*arguments)
        except Exception:
            if not error:
                raise
            continue
        assert not error and same(result, found), f"{name}.{method}: {result} is expected, and {found} is given"


def main() -> None:
    """Check all."""
    accepted: dict[str, list[str]] = {"models": [], "layers": [], "refused": []}
    for collection in ("models", "conformance"):
        files = recorded(collection)
        for name in [each.removesuffix(".pt") for each in files if each.endswith(".pt")]:
            try:
                made = written(rushlight.jit.load(io.BytesIO(files[f"{name}.pt"])))
            except rushlight.jit.CaptureError as error:
                print(f"{name}: {error}")
                accepted["refused"].append(name)
                continue
            check(name, made, torch.load(io.BytesIO(files[f"{name}.calls"]), weights_only=False))
            if collection == "models":
                accepted["models"].append(name)
    for name in LAYERS:
        module, arguments = layer(name, rushlight)
        for how in ("script", "trace"):
            made = rushlight.jit.script(module) if how == "script" else rushlight.jit.trace(module, arguments)
            try:
                loaded = written(made)
            except rushlight.jit.CaptureError as error:
                print(f"{name} {how}: {error}")
                continue
            expected = module(*arguments)
            assert same(leaves(moved(detached(expected))), leaves(loaded(*moved(list(arguments))))), name
            accepted["layers"].append(f"{name} {how}")
    (FOLDER / "accepted.json").write_text(json.dumps(accepted, indent=0) + "\n")
    print({key: len(value) for key, value in accepted.items()})


if __name__ == "__main__":
    main()
