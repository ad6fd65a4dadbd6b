"""Archives of what detection models are written with: resizing by computed factors, unions, callable objects, unique elements.

What PyTorch 2.13 computes of the same archives was compared where it is installed; here they are read back.
"""

from __future__ import annotations

import io
from typing import Dict, List, Optional, Union  # noqa: UP035

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.functional import interpolate


def again(made):
    """A Module or function as the archive that is written of it says."""
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(made), file, format="torchscript")
    file.seek(0)
    return torch.jit.load(file)


class ResizedByAny(nn.Module):
    """Resizing by a size or a factor, either of which may be None, in a mode that is an argument."""

    def forward(self, x: torch.Tensor, size: Optional[List[int]], factor: Optional[float], mode: str, recompute: Optional[bool]):  # noqa: UP006, UP045
        return interpolate(x, size=size, scale_factor=factor, mode=mode, recompute_scale_factor=recompute)


@pytest.mark.parametrize(
    ("mode", "rank"),
    [("nearest", 1), ("nearest", 2), ("nearest", 3), ("nearest-exact", 2), ("area", 1), ("area", 2), ("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)],
)  # fmt: skip
def test_resizing_by_a_size_or_a_factor_that_may_be_none(mode: str, rank: int) -> None:
    loaded = again(ResizedByAny())
    x = torch.arange(2 * 5**rank).reshape(1, 2, *[5] * rank).sin()
    for size, factor, recompute in (([7] * rank, None, None), (None, 1.7, None), (None, 1.7, True), (None, 0.6, False)):
        expected = ResizedByAny()(x, size, factor, mode, recompute)
        torch.testing.assert_close(loaded(x, size, factor, mode, recompute), expected)


class ResizedByNumber(nn.Module):
    """A factor that is computed with tensors, and one that is an int."""

    def forward(self, x: torch.Tensor, k: int):
        factor: Optional[float] = None  # noqa: UP045
        if k > 0:
            factor = (x.sum() * 0 + 1.5).item()
        first = interpolate(x, scale_factor=factor, mode="bilinear", recompute_scale_factor=True)
        smooth = interpolate(x, size=(3, k), mode="bicubic", antialias=True)
        return first, interpolate(x, scale_factor=[2.0, 1.0]), smooth, nn.functional.interpolate(x, size=k)


def test_resizing_by_computed_numbers() -> None:
    x = torch.arange(30.0).reshape(1, 1, 5, 6).sin()
    for got, expected in zip(again(ResizedByNumber())(x, 4), ResizedByNumber()(x, 4), strict=True):
        torch.testing.assert_close(got, expected)


def unique_parts(x: torch.Tensor):
    u, i, c = torch.unique(x, return_inverse=True, return_counts=True)
    v, d = torch.unique(x, return_counts=True)
    w, j = torch.unique(x, return_inverse=True)
    t, k = torch.unique_consecutive(x, return_counts=True)
    columns = torch.unique(x.reshape(2, -1), dim=1)
    total = x.sum() * 0
    for each in torch.unique(x):
        total = total + each * each
    return torch.unique(x), u, i, c, v, d, w, j, torch.unique_consecutive(x), t, k, columns, total


def test_unique_elements() -> None:
    """The operators give three results, whatever is asked for: the archive picks those."""
    x = torch.tensor([3.0, 1.0, 1.0, 2.0, 2.0, 1.0])
    got = again(unique_parts)(x)
    assert [each.tolist() for each in got] == [each.tolist() for each in unique_parts(x)]
    assert got[0].tolist() == [1, 2, 3]
    assert got[5].tolist() == [3, 2, 1]


def bits_in_place(x: torch.Tensor, y: torch.Tensor):
    low, high, other = x > 1, x > 2, x > 0
    low &= y > 1
    high |= y > 1
    other ^= y > 1
    z = x.clone()
    z //= 2
    w = x.clone()
    w %= 2
    p = x.clone()
    p **= 2
    return low, high, other, z, w, p


def test_bitwise_and_other_assignments_in_place() -> None:
    x, y = torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.tensor([3.0, 0.0, 3.0, 0.0])
    assert [each.tolist() for each in again(bits_in_place)(x, y)] == [each.tolist() for each in bits_in_place(x, y)]


def sized_by_tensors(rows: torch.Tensor, columns: torch.Tensor):
    return torch.zeros([2, rows, columns])


def test_sizes_that_are_tensors() -> None:
    """PyTorch converts no elements of lists, so the archive does."""
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(sized_by_tensors), file, format="torchscript")
    assert b"torch.zeros([2, int(rows), int(columns)])" in file.getvalue()
    file.seek(0)
    assert torch.jit.load(file)(torch.tensor(3), torch.tensor(4)).shape == (2, 3, 4)


def first_size(boxes: Union[torch.Tensor, List[torch.Tensor]]) -> int:  # noqa: UP006, UP007
    if isinstance(boxes, (list, tuple)):
        return boxes[0].size(1)
    return boxes.size(0)


def test_unions_that_are_asked_for_lists_of_any_kind() -> None:
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(first_size), file, format="torchscript")
    assert b"unchecked_cast(List[Tensor], boxes)" in file.getvalue()
    assert b"unchecked_cast(Tensor, boxes)" in file.getvalue()
    file.seek(0)
    loaded = torch.jit.load(file)
    assert (loaded(torch.ones(2, 3)), loaded([torch.ones(2, 3)])) == (2, 3)


class Matching:
    """An object that Modules call."""

    def __init__(self, low: float, keep: bool):
        self.low = low
        self.keep = keep

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        values, found = x.max(dim=0)
        if self.keep:
            kept = found.clone()
        else:
            kept = None
        found[values < self.low] = -1
        if self.keep:
            if kept is None:
                torch._assert(False, "there is nothing")
            else:
                self.restore(found, kept)
        return found

    def restore(self, found: torch.Tensor, kept: torch.Tensor) -> None:
        found[0] = kept[0]


class Matched(nn.Module):
    __annotations__ = {"chosen": Optional[Matching]}  # noqa: UP045

    def __init__(self) -> None:
        super().__init__()
        self.matching = Matching(0.5, True)
        self.chosen = Matching(0.9, False)

    def forward(self, x: torch.Tensor, trained: bool) -> tuple[Dict[str, torch.Tensor], torch.Tensor]:  # noqa: UP006
        losses = {}
        found = self.matching(x)
        if trained:
            losses = self.losses(x)
        return losses, found

    def losses(self, x: torch.Tensor) -> Dict[str, torch.Tensor]:  # noqa: UP006
        chosen = self.chosen
        if chosen is not None:
            return {"loss": chosen(x)}
        return {}


def test_objects_that_modules_call_and_dicts_that_begin_empty() -> None:
    model = Matched()
    x = torch.tensor([[0.1, 0.2, 0.7], [0.4, 0.95, 0.6]])
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(model), file, format="torchscript")
    assert b"Dict[Any" not in file.getvalue()
    file.seek(0)
    loaded = torch.jit.load(file)
    for trained in (False, True):
        losses, found = loaded(x, trained)
        expected, values = model(x, trained)
        assert found.tolist() == values.tolist() == [1, 1, 0]
        assert {key: each.tolist() for key, each in losses.items()} == {key: each.tolist() for key, each in expected.items()}
