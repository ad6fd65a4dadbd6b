"""PyTorch's private modules that real code imports, and the module that stands for each. Submodules follow."""

from __future__ import annotations

PRIVATE_NAMES: dict[str, str] = {
    "torch.version": "rushlight.compat.version",
    "torch.torch_version": "rushlight.compat.torch_version",
    "torch.utils._pytree": "rushlight.compat.pytree",
    "torch.utils._cxx_pytree": "rushlight.compat.pytree",
    "torch.utils.pytree": "rushlight.compat.pytree",
    "torch._utils": "rushlight.compat.utils_internal",
    "torch._tensor": "rushlight.compat.tensor_internal",
    "torch.storage": "rushlight.compat.storage",
    "torch._jit_internal": "rushlight.compat.jit_internal",
    "torch._inductor": "rushlight.compat.inductor",
    "torch._higher_order_ops": "rushlight.compat.higher_order",
    "torch._functorch": "rushlight.compat.functorch",
    "torch.functorch": "rushlight.compat.functorch",
    "torch.compiler.config": "rushlight.compat.dynamo.config",
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

# Packages that come with PyTorch under a name of their own.
OTHER_PACKAGES = {"functorch": "rushlight.compat.functorch"}

# Private names in public modules: module of PyTorch's -> module here -> names.
PRIVATE_ATTRIBUTES: dict[str, dict[str, str]] = {
    "torch": {
        "rushlight.compat.checks": "_assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_tensor_all_with "
        "_check_type _check_value _check_with",
        "rushlight.compat.numbers": "_shape_as_tensor",
        "rushlight.jit": "ScriptModule ScriptFunction",
    },
    "torch.jit": {"rushlight.compat.jit_internal": "_overload _overload_method _script_if_tracing"},
    "torch.utils.data.dataloader": {
        "rushlight.compat.dataloader": "_BaseDataLoaderIter _SingleProcessDataLoaderIter _MultiProcessingDataLoaderIter"
    },
}
