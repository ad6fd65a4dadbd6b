# libraries: safetensors
"""safetensors: tensors of several types written, read, and read in part."""

import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

torch.manual_seed(0)
tensors = {
    "a": torch.randn(3, 4),
    "b": torch.arange(6, dtype=torch.int64),
    "c": torch.randn(2, 2).to(torch.bfloat16),
    "d": torch.tensor([True, False]),
}
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.safetensors")
    save_file(tensors, path, metadata={"format": "pt"})
    found = load_file(path)
    for name in sorted(found):
        print(name, found[name].dtype, tuple(found[name].shape), torch.equal(found[name], tensors[name]))
    with safe_open(path, framework="pt") as file:
        print(sorted(file.keys()), file.metadata(), file.get_slice("a")[1:3, :2].shape, torch.equal(file.get_tensor("c"), tensors["c"]))
    again = load(save(tensors))
    print(sorted(again), all(torch.equal(again[name], tensors[name]) for name in again))
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    other = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    save_model(model, path)
    print(load_model(other, path), torch.equal(model[0].weight, other[0].weight))
