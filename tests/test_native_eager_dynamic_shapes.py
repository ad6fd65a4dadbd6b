"""Single ops of eager mode on batches of many sizes: after a few, one executable with symbolic sizes serves the rest."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.nn import functional as F

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from rushlight.backends.native import dynamic_shapes
from rushlight.backends.native.eager import ops
from rushlight.runtime.cpu.jit import jit


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The programs for any sizes that are made from here on; none is known."""
    found: list[Any] = []
    begin = dynamic_shapes.Template.__init__

    def beginning(template: Any, *given: Any) -> None:
        begin(template, *given)
        found.append(template)

    monkeypatch.setattr(dynamic_shapes.Template, "__init__", beginning)
    for name in ("_programs", "_sizes", "_general"):
        monkeypatch.setattr(ops, name, type(getattr(ops, name))())
    return found


def step(x: Any, w: Any, b: Any) -> list[Any]:
    """A network of ops that native code has, and its gradients."""
    leaves = [each.detach().requires_grad_() for each in (x, w, b)]
    y = F.max_pool2d(F.batch_norm(F.conv2d(*leaves, padding=1).relu(), None, None, training=True), 2)
    (y * y.cos()).sum().backward()
    return [y.detach().numpy(), *[each.grad.numpy() for each in leaves]]


def test_many_batches(made: list[Any]) -> None:
    torch.manual_seed(0)
    w, b = torch.randn(16, 8, 3, 3), torch.randn(16)
    emitted = 0
    for number, count in enumerate((16, 20, 24, 32, 33, 18, 47, 40, 20, 33, 3, 2)):
        if number == ops.SEVERAL:
            assert not made
        if number == ops.SEVERAL + 1:
            assert len(made) >= 5
            emitted = jit().emitted
        if count == 3:  # the last that are large
            assert jit().emitted == emitted
        x = torch.randn(count, 8, 24, 24)
        for one, wanted in zip(step(x, w, b), step(x.double(), w.double(), b.double()), strict=True):
            np.testing.assert_allclose(one, wanted, 1e-3, 2e-4 * float(np.abs(wanted).max()), err_msg=f"batch of {count}")
    assert len(made) == 14  # of each type


def test_other_sizes_that_change(made: list[Any]) -> None:
    """Weights whose number changes, and batches; what does not fit what was compiled is compiled by itself."""
    torch.manual_seed(0)
    for count, rows in ((16, 16), (20, 16), (20, 24), (24, 32), (32, 40), (33, 16), (17, 17), (40, 48), (16, 16)):
        x, w, b = torch.randn(count, 8, 20, 20), torch.randn(rows, 8, 3, 3), torch.randn(rows)
        for one, wanted in zip(step(x, w, b), step(x.double(), w.double(), b.double()), strict=True):
            np.testing.assert_allclose(one, wanted, 1e-3, 2e-4 * float(np.abs(wanted).max()), err_msg=f"{count}, {rows}")
