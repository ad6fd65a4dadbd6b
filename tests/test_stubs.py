"""Type stubs: they say what is there, and a type checker accepts right programs and refuses wrong ones."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import rushlight

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_stubs", ROOT / "tools" / "generate_stubs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stubs_are_up_to_date(generator: ModuleType) -> None:
    made = generator.stubs()
    old = [str(path.relative_to(ROOT)) for path, text in made.items() if not path.exists() or path.read_text(encoding="utf8") != text]
    assert not old, f"run `make generate`: {old}"
    assert set(made) == set((ROOT / "rushlight").rglob("*.pyi")), "a stub that nothing writes"


def names_of(stub: Path) -> set[str]:
    """The public names of a stub."""
    found: set[str] = set()
    for node in ast.parse(stub.read_text(encoding="utf8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            found |= {
                alias.asname for alias in node.names if alias.asname == alias.name or alias.asname and not alias.asname.startswith("_")
            }
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("module", ["", "fft", "linalg", "nn.functional", "signal.windows", "special"])
def test_a_stub_has_the_names_of_its_module(module: str) -> None:
    real = importlib.import_module(f"rushlight.{module}".rstrip("."))
    folder = ROOT / "rushlight"
    stub = folder / f"{module.replace('.', '/')}.pyi" if module else folder / "__init__.pyi"
    wanted = set(real.__all__) if module else {name for name in dir(real) if not name.startswith("_")}
    named = names_of(stub)
    assert [name for name in named if not hasattr(real, name)] == []
    # Modules that something has imported are attributes of the package, too: those of the public face are in the stub.
    assert {name for name in wanted - named if not isinstance(getattr(real, name), ModuleType)} <= {"annotations"}


def test_methods_of_tensors_are_declared() -> None:
    (declared,) = (
        node
        for node in ast.parse((ROOT / "rushlight/tensor/op_methods.pyi").read_text(encoding="utf8")).body
        if isinstance(node, ast.ClassDef)
    )
    names = {node.name for node in declared.body if isinstance(node, ast.FunctionDef)}
    assert {"softmax", "add_", "view", "float", "__matmul__", "numpy"} <= names
    assert [name for name in names if not hasattr(rushlight.Tensor, name) and name != "__buffer__"] == []


RIGHT = """
import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x * x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.softmax(self.linear(x), dim=-1)
        values, indices = y.sort(dim=-1, descending=True)
        best = torch.topk(y, 2).indices
        shape: torch.Size = x.shape
        kind: torch.dtype = torch.float32 if x.dtype == torch.float64 else x.dtype
        values += 2 * torch.zeros(2, 3).to(kind) - x.new_ones((2, 3))
        return F.gelu(values @ torch.linalg.inv(torch.eye(3))).sum(dim=1, keepdim=True).mean(axis=0).view(-1, best.numel()).reshape((1, -1))


def train(model: nn.Module, x: Tensor) -> float:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with torch.no_grad():
        x[0, 1:] = torch.fft.fft(x).real.clamp(min=0)[0, 1:]
    loss = F.mse_loss(torch.compile(model)(x), x.detach() ** 2)
    loss.backward()
    optimizer.step()
    return loss.item()
"""
# Each line of this program is an error of the kind that it names.
WRONG = """
import rushlight as torch; import rushlight.nn.functional as F; from rushlight import Tensor, nn; x: Tensor = torch.ones(2)
torch.sofmax(x)  # attr-defined
x.sofmax(0)  # attr-defined
F.geluu(x)  # attr-defined
nn.Lineer(2, 3)  # attr-defined
torch.optim.Adamm([x])  # attr-defined
torch.linalg.invv(x)  # attr-defined
torch.tanh("a")  # arg-type
x.softmax(dim="a")  # arg-type
F.dropout(x, 0.5, True, True, True)  # call-arg
torch.softmax(x, dims=1)  # call-arg
x + "a"  # operator
number: int = x.sum()  # assignment
"""


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed (extra dev)")
def test_a_type_checker_reads_the_stubs(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf8")
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nmypy_path = {ROOT}\nfollow_imports = silent\nfollow_untyped_imports = False\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-pretty", "--hide-error-context", "--cache-dir", str(tmp_path / "cache"), "right.py", "wrong.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = {(int(line), kind) for line, kind in re.findall(r"^wrong\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.M)}
    expected = {(number, line.rpartition("# ")[2]) for number, line in enumerate(WRONG.split("\n"), 1) if "  # " in line}
    assert expected <= found, done.stdout + done.stderr
    assert {line for line, _ in found} == {line for line, _ in expected}, done.stdout
    assert [line for line in done.stdout.splitlines() if not line.startswith(("wrong.py:", "Found "))] == []
