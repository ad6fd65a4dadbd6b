"""Records the public names of PyTorch's modules, of which docs/missing-names.md tells those that are not here.

python tests/record/public_names.py        (with a Python that has PyTorch)
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

import torch

MODULES = """
torch torch.Tensor torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrizations
torch.nn.utils.parametrize torch.autograd torch.autograd.functional torch.autograd.forward_ad torch.autograd.graph torch.optim
torch.optim.lr_scheduler torch.optim.swa_utils torch.linalg torch.fft torch.special torch.signal.windows torch.amp torch.func
torch.utils.data torch.utils.checkpoint torch.utils.dlpack torch.utils.benchmark torch.serialization torch.testing torch.jit torch.fx torch.compiler
torch.onnx torch.onnx.verification torch.ao.quantization torch.random torch.hub
""".split()
PARTS = """
cuda distributed distributions sparse nested export library profiler masked multiprocessing package futures overrides mps xpu monitor utils.cpp_extension
utils.tensorboard utils.mobile_optimizer ao.quantization.quantize_fx ao.quantization.quantize_pt2e
""".split()


OBJECTS = "Event Generator Size Stream device dtype finfo iinfo layout memory_format qscheme".split()


def public(module: object, name: str) -> bool:
    """Whether a name of a module is PyTorch's own and meant for users."""
    value = getattr(module, name, None)
    helper = value is torch.Tensor or hasattr(torch.overrides, name)
    if name.startswith("_") or inspect.ismodule(value) or helper or (isinstance(value, type) and issubclass(value, Warning)):
        return False
    if inspect.isclass(value) and getattr(torch._C, name, None) is value and name not in OBJECTS:
        return False  # of the TorchScript compiler's own
    home = getattr(value, "__module__", None) or ""
    return home.startswith("torch") or not (inspect.isclass(value) or inspect.isfunction(value) or home == "typing")


def main() -> None:
    found = {}
    for path in MODULES:
        module = torch.Tensor if path == "torch.Tensor" else importlib.import_module(path)
        names = getattr(module, "__all__", None) if path != "torch.Tensor" else None
        listed = sorted({name for name in (names or dir(module)) if public(module, name) and callable(getattr(module, name, None))})
        found[path] = listed
    data = {"version": torch.__version__, "names": found, "parts": PARTS}
    path = Path(__file__).parent.parent / "data" / "public_names.json"
    path.write_text(json.dumps(data, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
    print(path, sum(map(len, found.values())), "names")


if __name__ == "__main__":
    main()
