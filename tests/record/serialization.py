"""Record checkpoints that PyTorch writes; tests/checkpoint_objects.py says what is in them.

python tests/record/serialization.py     # in an environment with torch 2.13
"""

from __future__ import annotations

import pathlib
import sys

import torch

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from checkpoint_objects import contents  # noqa: E402

FOLDER = TESTS / "data" / "checkpoints"
FOLDER.mkdir(exist_ok=True)
torch.save(contents(torch), FOLDER / "zip.pt")
torch.save(contents(torch), FOLDER / "protocol_4.pt", pickle_protocol=4)
torch.save(contents(torch, typed_only=True), FOLDER / "stream.pt", _use_new_zipfile_serialization=False)
torch.serialization.set_crc32_options(False)
torch.save(contents(torch), FOLDER / "no_checksums.pt")
generator = torch.Generator().manual_seed(3)
torch.rand(3, generator=generator)
torch.save(generator, FOLDER / "generator.pt")
torch.save(torch.tensor([1 + 2j, -3j]).conj(), FOLDER / "conjugate.pt")
torch.save(torch.tensor([1 + 2j, -3j]).conj(), FOLDER / "conjugate_stream.pt", _use_new_zipfile_serialization=False)
torch.save(torch.sparse_coo_tensor([[0], [1]], [1.0]), FOLDER / "sparse.pt")
torch.manual_seed(0)
module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.BatchNorm1d(3)).eval()
torch.save({"module": module, "output": module(torch.arange(4.0).reshape(2, 2)).detach()}, FOLDER / "module.pt")
torch.manual_seed(0)
layers = torch.nn.ModuleDict({
    "lstm": torch.nn.LSTM(2, 3, 2, bidirectional=True), "gru": torch.nn.GRU(2, 3), "cell": torch.nn.LSTMCell(2, 3),
    "encoder": torch.nn.TransformerEncoderLayer(2, 1, 3, 0.0, "gelu"), "attention": torch.nn.MultiheadAttention(2, 1),
})  # fmt: skip
for layer, function in zip(layers.values(), [torch.relu, torch.special.erf, torch.linalg.norm, torch.fft.fft, torch.Tensor.sin]):
    layer.function = function
x = torch.arange(12.0).reshape(3, 2, 2) / 7
outputs = [layers["lstm"](x)[0], layers["gru"](x)[0], layers["encoder"](x), layers["attention"](x, x, x)[0]]
torch.save({"layers": layers, "x": x, "outputs": [each.detach() for each in outputs]}, FOLDER / "layers.pt")
for path in sorted(FOLDER.iterdir()):
    print(path.name, path.stat().st_size)
