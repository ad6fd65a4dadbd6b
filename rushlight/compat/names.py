"""PyTorch's private modules that real code imports, and the module that stands for each. Submodules follow."""

from __future__ import annotations

PRIVATE_NAMES: dict[str, str] = {
    "torch.version": "rushlight.compat.version",
    "torch.torch_version": "rushlight.compat.torch_version",
    "torch.utils._pytree": "rushlight.compat.pytree",
    "torch.utils._cxx_pytree": "rushlight.compat.pytree",
    "torch.utils.pytree": "rushlight.compat.pytree",
    "torch.testing._internal": "rushlight.compat.testing_internal",
    "torch._dynamo": "rushlight.compat.dynamo",
    "torch._C": "rushlight.compat.c_names",
    "torch.jit._trace": "rushlight.compat.jit_trace",
    "torch.onnx._globals": "rushlight.onnx.globals",
    "torch.onnx._type_utils": "rushlight.onnx.types",
    "torch.onnx._internal": "rushlight.compat.onnx_internal",
    "torch.onnx._internal.registration": "rushlight.onnx.registration",
    "torch.onnx._internal.jit_utils": "rushlight.onnx.opset_builder",
}

# PyTorch's packages that are one file here: programs import submodules of them, and look whether they are packages.
PACKAGES = {"torch.compiler", "torch.fft", "torch.linalg", "torch.special", "torch.quantization", "torch.utils.benchmark"}
