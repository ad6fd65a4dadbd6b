"""Records what PyTorch's quantization gives: run with a Python that has PyTorch, from the repository's root."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from quantization_programs import PROGRAMS, run_program


def main() -> None:
    torch.backends.quantized.engine = "fbgemm"
    torch.set_num_threads(1)
    found = {f"{name}/{key}": value for name in PROGRAMS for key, value in run_program(torch, name).items()}
    x = torch.arange(6.0).reshape(2, 3)
    checkpoint = {
        "tensor": torch.quantize_per_tensor(x, 0.05, 3, torch.quint8),
        "channel": torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([1, 2]), 0, torch.qint8),
        "scheme": torch.per_channel_affine,
        "dtype": torch.qint32,
    }
    torch.save(checkpoint, Path(__file__).resolve().parent.parent / "data" / "checkpoints" / "quantized.pt")
    np.savez_compressed(Path(__file__).resolve().parent.parent / "data" / "quantization.npz", **found)
    print(len(found), "arrays")


if __name__ == "__main__":
    main()
