"""``jit.save(..., format="torchscript")``: archives are written whole or not at all, and are read back as what was written.

That PyTorch reads them, too, and computes the same is what tests/record/torchscript_written.py checks where PyTorch is installed.
"""

from __future__ import annotations

import enum
import io
import json
import re
import zipfile
from typing import Dict, List, NamedTuple, Optional  # noqa: UP035

import pytest
from torchscript_files import FOLDER, recorded
from torchscript_layers import LAYERS, layer

import rushlight as torch
from rushlight import Tensor, nn

MODELS = sorted(name.removesuffix(".pt") for name in recorded("models") if name.endswith(".pt"))
ACCEPTED = json.loads((FOLDER / "accepted.json").read_text())


def again(made, **options):
    """A Module as the archive that is written of it says."""
    file = io.BytesIO()
    torch.jit.save(made, file, format="torchscript", **options)
    file.seek(0)
    return torch.jit.load(file)


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.allclose(a.detach().double(), b.detach().double(), rtol=1e-4, atol=1e-4, equal_nan=True)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b or (isinstance(a, float) and abs(a - b) < 1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_archives_of_pytorch(name: str) -> None:
    """What PyTorch wrote is written again, and computes what it did."""
    files = recorded("models")
    made = again(torch.jit.load(io.BytesIO(files[f"{name}.pt"])))
    for method, arguments, result, error in torch.load(io.BytesIO(files[f"{name}.calls"])):
        torch.manual_seed(0)
        if error:
            with pytest.raises(Exception):  # noqa: B017 (of whatever class: the message is compared where it is read)
                getattr(made, method)(*arguments)
        else:
            assert same(result, getattr(made, method)(*arguments))
    assert name in ACCEPTED["models"]


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("how", ["script", "trace"])
def test_layers(name: str, how: str) -> None:
    """Each layer, scripted and traced."""
    module, arguments = layer(name, torch)
    made = torch.jit.script(module) if how == "script" else torch.jit.trace(module, arguments)
    assert f"{name} {how}" in ACCEPTED["layers"]
    assert same(module(*arguments), again(made)(*arguments))


def test_conformance_programs() -> None:
    """What PyTorch scripts of the conformance programs, and what older versions wrote, is written again."""
    assert ACCEPTED["refused"] == []
    for collection in ("conformance", "old"):
        files = recorded(collection)
        for name in [each for each in files if each.endswith(".pt")]:
            again(torch.jit.load(io.BytesIO(files[name])))


@torch.jit.interface
class Stepping(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Stepped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])

    def forward(self, x: Tensor, at: int) -> Tensor:
        step: Stepping = self.steps[at]
        return step.forward(x)


def test_a_module_of_a_list_by_an_index_that_is_computed() -> None:
    module, x = Stepped(), torch.randn(2, 3)
    made = again(torch.jit.script(module))
    for at in range(2):
        assert same(module(x, at), made(x, at))


def test_attention_of_a_trace() -> None:
    """Also without a bias, and in a whole encoder."""
    x = torch.randn(4, 2, 8)
    for module in (nn.MultiheadAttention(8, 2, bias=False), nn.TransformerEncoderLayer(8, 2, 16)):
        given = (x, x, x) if isinstance(module, nn.MultiheadAttention) else (x,)
        made = torch.jit.trace(module.eval(), given)
        assert same(module(*given), again(made)(*given))
    with pytest.raises(torch.jit.CaptureError, match="add_zero_attn"):
        again(torch.jit.trace(nn.MultiheadAttention(8, 2, add_zero_attn=True).eval(), (x, x, x)))


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Pair(NamedTuple):
    x: Tensor
    n: int


@torch.jit.script
class Counter:
    def __init__(self, start: int) -> None:
        self.n = start

    def add(self, by: int) -> int:
        self.n += by
        return self.n


@torch.jit.script
def half(x: Tensor, by: float = 2.0) -> Tensor:
    return x / by


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.shared = self.layers[0]
        self.table, self.color, self.kind = {"a": [1, 2]}, Color.GREEN, torch.float64
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor, y: Tensor | None = None, steps: int = 3) -> tuple[Pair, dict[str, Tensor], list[str]]:
        counter, found, words = Counter(1), {"x": x}, []
        for at in range(steps):
            if at == 2:
                break
            for each in self.layers:
                x = half(each(x))
            counter.add(at)
            words.append(f"{at} of {steps}")
        if y is not None:
            x = x + y
        assert x.dim() == 2, "two dimensions"
        while x.sum() > 100:
            x = x / 2
        if self.color == Color.GREEN and len(self.table["a"]) == 2:
            found["y"] = x[:, 1:].to(self.kind)
        self.seen += 1
        return Pair(self.shared(x), counter.n), found, words

    @torch.jit.export
    def refuse(self, text: str) -> int:
        if text not in self.table:
            raise ValueError("not there: " + text)
        return len(self.table[text])


def test_language() -> None:
    model = Model()
    made, x = torch.jit.script(model), torch.randn(2, 3)
    expected = made(x, x)
    loaded = again(made)
    assert same(expected, loaded(x, x)) and loaded.refuse("a") == 2 and loaded.original_name == "Model"
    assert loaded.shared is loaded.layers[0] and float(loaded.seen) == 2
    assert same(torch.jit.script(half)(x), again(half)(x))
    with pytest.raises(torch.jit.Error, match="not there: b"):
        loaded.refuse("b")
    with pytest.raises(torch.jit.Error, match="two dimensions"):
        loaded(x[0])


def test_files_beside_it_and_the_form_of_the_file(tmp_path) -> None:
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(nn.Linear(2, 2)), path, {"notes": "hello"}, format="torchscript")
    names = zipfile.ZipFile(path).namelist()
    assert all(name.startswith("archive/") for name in names)
    assert {"archive/data.pkl", "archive/constants.pkl", "archive/version", "archive/byteorder", "archive/extra/notes"} <= set(names)
    wanted = {"notes": ""}
    assert same(torch.jit.load(path, _extra_files=wanted).weight, torch.jit.load(path).weight) and wanted == {"notes": b"hello"}


class Ignored(nn.Module):
    @torch.jit.ignore
    def python(self, x: Tensor) -> Tensor:
        return x

    def forward(self, x: Tensor) -> Tensor:
        return self.python(x)


def test_what_cannot_be_written_leaves_no_file(tmp_path) -> None:
    path = tmp_path / "model.pt"
    with pytest.raises(torch.jit.CaptureError, match="python"):
        torch.jit.save(torch.jit.script(Ignored()), path, format="torchscript")
    with pytest.raises(ValueError, match="'other'"):
        torch.jit.save(torch.jit.script(nn.Linear(2, 2)), path, format="other")
    with pytest.raises(TypeError, match="scripted or traced"):
        torch.jit.save(nn.Linear(2, 2), path, format="torchscript")
    assert list(tmp_path.iterdir()) == []


def test_pooling_with_indices_is_written_and_read() -> None:
    functional = torch.nn.functional
    for function, shape in (
        (lambda x: functional.max_pool1d(x, 2, stride=1, return_indices=True), (1, 1, 4)),
        (lambda x: functional.max_pool2d(x, 2, return_indices=True), (1, 1, 4, 4)),
        (lambda x: functional.adaptive_max_pool2d(x, 2, return_indices=True), (1, 1, 4, 4)),
    ):
        x = torch.rand(*shape)
        traced = torch.jit.trace(function, x)
        assert "_with_indices(" in traced.code or "adaptive_max_pool2d(" in traced.code
        file = io.BytesIO()
        torch.jit.save(traced, file)
        file.seek(0)
        for found, wanted in zip(torch.jit.load(file)(x), function(x)):
            assert torch.equal(found, wanted)


class Targets(torch.nn.Module):
    """Writes to a list that may be None, where it is there."""

    def forward(self, x: torch.Tensor, targets: Optional[List[Dict[str, torch.Tensor]]] = None) -> torch.Tensor:  # noqa: UP006, UP045
        for i in range(2):
            target = targets[i] if targets is not None else None
            if target is not None:
                target["a"] = x + i
            if targets is not None and target is not None:
                targets[i] = target
        return x if targets is None else targets[1]["a"]


def test_items_of_a_list_that_may_be_none() -> None:
    """What is put into the list is of its items' type for PyTorch's reader, too, which knows nothing of the test for None."""
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Targets()), file, format="torchscript")
    with zipfile.ZipFile(file) as archive:
        text = "".join(archive.read(each).decode() for each in archive.namelist() if each.endswith(".py"))
    written = re.findall(r"unchecked_cast\(List\[Dict\[str, Tensor\]\], \w+\)\[\w+\] = (.*)", text)
    assert written
    assert all(each.startswith("unchecked_cast(Dict[str, Tensor], ") for each in written)
    file.seek(0)
    assert torch.jit.load(file)(torch.ones(2), [{}, {}]).tolist() == [2, 2]


class Resized(nn.Module):
    """Images resized to sizes that are computed, and by factors."""

    def forward(self, x, y, k: int):
        like = nn.functional.interpolate(x, size=y.shape[-2:], mode="bilinear", align_corners=False)
        nearest = nn.functional.interpolate(x, size=y.shape[-2:], mode="nearest")
        square = nn.functional.interpolate(x, size=k, mode="bicubic", align_corners=True)
        factor = nn.functional.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=False)
        ratio = nn.functional.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=False, recompute_scale_factor=True)
        return like, nearest, square, factor, ratio


def test_images_resized_to_sizes_that_are_computed() -> None:
    made = torch.jit.script(Resized())
    x, y = torch.arange(30.0).reshape(1, 1, 5, 6).sin(), torch.zeros(1, 1, 7, 9)
    expected = Resized()(x, y, 4)
    assert not torch.allclose(expected[3], expected[4])  # a factor is not the ratio of the sizes
    assert same(expected, again(made)(x, y, 4))


FORMS = {
    "stft": lambda x: torch.stft(x.reshape(-1), 4, return_complex=True).abs(),
    "stft that is not centered": lambda x: torch.stft(x.reshape(-1), 4, center=False, return_complex=True).abs(),
    "kl_div": lambda x: nn.functional.kl_div(x, x.softmax(-1), reduction="batchmean"),
    "norm": lambda x: (torch.norm(x, dim=0), torch.norm(x), torch.norm(x, "nuc"), torch.norm(x, 1, dim=[0, 1], keepdim=True)),
    "bools": lambda x: ((x > 0) & True, (x > 0) | False, torch.where(x > 0, True, False), torch.bitwise_xor(x > 0, True)),
    "variance": lambda x: (torch.var(x, False), torch.std(x, 0, False), torch.var_mean(x, False)),
    "no sizes": lambda x: (x.sum(0, keepdim=True)[:, :1].reshape(()), x[0, 0].expand(()), x.new_zeros(())),
    "grids": lambda x: nn.functional.grid_sample(x[None, None], nn.functional.affine_grid(torch.eye(2, 3)[None], [1, 1, 3, 5], align_corners=False)),
    "softmin": lambda x: nn.functional.softmin(x, dim=1),
    "tensordot": lambda x: (torch.tensordot(x, x.T, 1), torch.tensordot(x, x, 2), torch.tensordot(x, x, ([0, 1], [0, 1])), torch.tensordot(x, x, 0)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORMS)
def test_operators_that_differ_from_functions(name: str) -> None:
    """A function of the package and its operator differ in defaults, in names of modes, or in what they return."""
    x = torch.arange(12.0).reshape(3, 4).sin()
    assert same(FORMS[name](x), again(torch.jit.trace(FORMS[name], x))(x))


def test_a_number_over_a_tensor_is_divided_as_pytorch_does() -> None:
    """The reciprocal times the number, bit for bit; PyTorch's own archives say the same."""

    def divided(x: Tensor, k: float, n: int):
        return 2.5 / x, k / x, n / x, k / 3.0

    file = io.BytesIO()
    torch.jit.save(torch.jit.script(divided), file, format="torchscript")
    assert b"torch.mul(torch.reciprocal(x), k)" in file.getvalue()
    assert b"torch.div(k, 3.0)" in file.getvalue()
    x = torch.linspace(0.1, 7.3, 1000)
    for got, expected in zip(again(torch.jit.script(divided))(x, 1.7, 3)[:3], divided(x, 1.7, 3)[:3], strict=True):
        assert torch.equal(got, expected)


def test_layers_without_an_operator_of_their_own_are_written_by_others():
    """SegNet's unpooling, AlexNet's normalization and their like: PyTorch computes them in Python, and a file can't name them."""
    F = torch.nn.functional
    x = torch.arange(96.0).reshape(2, 3, 4, 4) / 7
    cases = {
        "unpool": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), "unpool1": lambda x: F.max_unpool1d(*F.max_pool1d(x[0], 2, return_indices=True), 2),
        "response": lambda x: F.local_response_norm(x, 2), "response3": lambda x: F.local_response_norm(x[0], 3, 0.1, 0.5, 2.0),
        "power": lambda x: F.lp_pool2d(x, 2, (2, 1)), "power1": lambda x: F.lp_pool1d(x[0], 3.0, 3, stride=1), "indices": lambda x: F.adaptive_max_pool2d(x, (3, None), return_indices=True),
        "fractional": lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=torch.full((2, 3, 2), 0.4)), "chosen": lambda x: x.where(x > 3, 0.5),
        "polygamma": lambda x: (x + 1).polygamma(2), "hermite": lambda x: torch.special.hermite_polynomial_h(x, 3), "airy": lambda x: torch.special.airy_ai(x),
    }  # fmt: skip
    for name, function in cases.items():
        file = io.BytesIO()
        torch.jit.save(torch.jit.trace(function, (x,)), file, format="torchscript")
        file.seek(0)
        made, wanted = torch.jit.load(file)(x), function(x)
        for a, b in zip(made, wanted) if isinstance(wanted, tuple) else ((made, wanted),):
            assert torch.allclose(a, b, atol=1e-5, rtol=1e-5), name
