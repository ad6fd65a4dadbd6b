"""Records what PyTorch's sparse tensors give: run with a Python that has PyTorch, from the repository's root."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sparse_programs import everything, file_of, inputs

DATA = Path(__file__).resolve().parent.parent / "data"


def main() -> None:
    torch.set_num_threads(1)
    found = everything(torch)
    found["printed"] = {name: str(each) for name, each in inputs(torch).items()}
    (DATA / "sparse.json.gz").write_bytes(gzip.compress(json.dumps(found).encode(), mtime=0))
    (DATA / "checkpoints" / "sparse_tensors.pt").write_bytes(file_of(torch))
    print(len(found), "results")


if __name__ == "__main__":
    main()
