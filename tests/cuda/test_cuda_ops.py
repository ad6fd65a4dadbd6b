"""Every op with samples on CUDA: results and gradients are those of the CPU, and results are on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_samples import convert, flatten, same_layout
from samples import makers, samples_of

import rushlight as torch
from rushlight.core.base import make
from rushlight.core.declare import table
from rushlight.core.dtypes import BY_NUMPY
from rushlight.core.errors import NotSupported
from rushlight.runtime.cuda.kernels import HOST_ONLY
from rushlight.testing import assert_close

REFUSED = HOST_ONLY | {"linalg_ldl_factor", "lobpcg"}  # and what is made of them
OPS = [op for op in table.values() if op.functional is None and op in makers]


def called(op: Any, sample: Any, place: str, gradient: bool) -> tuple[list[Any], list[Any]]:
    """The results of a call on a device, and its floating-point arguments, which require gradients."""
    leaves: list[Any] = []

    def tensor(array: np.ndarray) -> Any:
        made = make(same_layout(array)).to(place)
        if gradient and array.dtype.kind in "fc":
            leaves.append(made.requires_grad_())
        return made

    args = convert(sample.args, tensor, BY_NUMPY.__getitem__)
    options = {name: convert(value, tensor, BY_NUMPY.__getitem__) for name, value in sample.kwargs.items()}
    if any(parameter.name == "device" for parameter in op.parameters) and "device" not in options and place != "cpu":
        options["device"] = place
    return flatten(op.call(*args, **options)), leaves


def gradients(results: list[Any], leaves: list[Any]) -> list[Any]:
    """The gradients of the sum of all differentiable results."""
    wanted = [each for each in results if isinstance(each, torch.Tensor) and each.requires_grad]
    if not wanted:
        return []
    ones = [torch.ones_like(each) for each in wanted]
    return list(torch.autograd.grad(wanted, leaves, ones, allow_unused=True))


def tolerances(array: Any) -> dict[str, float]:
    """How far results of another library may be from NumPy's."""
    return {"float16": dict(rtol=4e-3, atol=4e-3), "bfloat16": dict(rtol=2e-2, atol=2e-2)}.get(
        BY_NUMPY[array.dtype].name,
        dict(rtol=2e-5, atol=2e-5) if array.dtype.itemsize <= 8 and array.dtype != np.float64 else dict(rtol=1e-7, atol=1e-7),
    )


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore")
def test_ops(op: Any) -> None:
    for sample in samples_of(op):
        for gradient in (False, True) if sample.gradient and op.differentiable else (False,):
            torch.manual_seed(0)
            try:
                expected, leaves = called(op, sample, "cpu", gradient)
                derivatives = gradients(expected, leaves)
            except Exception:
                continue  # a sample that is refused
            if op.name in REFUSED:
                if op.name in HOST_ONLY or all(
                    each.numel() for each in expected if isinstance(each, torch.Tensor)
                ):  # others may have nothing to compute
                    with pytest.raises(NotSupported, match="has no kernel for the device 'cuda:0' yet"):
                        called(op, sample, "cuda", gradient)
                continue
            if op.name in ("attention", "layer_standardize"):  # what they keep for their gradients is the device's own
                del expected[1]
            for _ in range(3):  # launches of a call are kept, and repeated by a third
                torch.manual_seed(0)
                found, leaves = called(op, sample, "cuda", gradient)
                if op.name in ("attention", "layer_standardize"):
                    del found[1]
                for one, other in zip([*expected, *derivatives], [*found, *gradients(found, leaves)], strict=True):
                    assert (one is None) == (other is None)
                    if isinstance(one, torch.Tensor):
                        assert other.is_cuda or "device" in sample.kwargs or not sample.args
                        if sample.compare and one.device.type == "cpu":
                            assert_close(other.cpu(), one, equal_nan=True, check_stride=False, **tolerances(one._array))
