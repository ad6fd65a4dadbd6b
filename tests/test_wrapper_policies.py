"""Wrapper subclasses whose ``__torch_dispatch__`` answers for sizes, strides, device and layout.  What is asked is what PyTorch 2.13 asks."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch

aten, prim = torch.ops.aten, torch.ops.prim
ANSWERS = {
    aten.sym_size.default: (5, 3), aten.sym_stride.default: (7, 9), aten.sym_numel.default: 15, aten.dim.default: 2,
    aten.is_contiguous.default: False, prim.device.default: torch.device("meta"), prim.layout.default: torch.sparse_csr,
}  # fmt: skip


def make(answers: dict[Any, Any], wrapper: bool = True, **policies: Any) -> tuple[Any, list[str]]:
    """A tensor of a class of its own, and the operators that it was asked about."""
    seen: list[str] = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return answers.get(func, NotImplemented)

    if wrapper:
        return torch.Tensor._make_wrapper_subclass(Asked, (2, 2), **policies), seen
    return torch.Tensor._make_subclass(Asked, torch.ones(2, 2), **policies), seen


@pytest.mark.parametrize("wrapper", [True, False])
def test_all_questions_about_sizes(wrapper: bool) -> None:
    tensor, seen = make(ANSWERS, wrapper, dispatch_sizes_strides_policy="sizes")
    assert tensor.size() == tensor.shape == torch.Size((5, 3))
    assert tensor.size(1) == 3
    assert (tensor.stride(), tensor.numel(), tensor.dim(), tensor.ndim, tensor.is_contiguous()) == ((7, 9), 15, 2, 2, False)
    assert set(seen) == {f"aten.{name}.default" for name in ("sym_size", "sym_stride", "sym_numel", "dim", "is_contiguous")}


def test_questions_about_strides_leave_sizes_alone() -> None:
    tensor, seen = make(ANSWERS, dispatch_sizes_strides_policy="strides")
    assert tensor.size() == torch.Size((2, 2))
    assert tensor.stride() == (7, 9)
    assert not tensor.is_contiguous()
    assert seen == ["aten.sym_stride.default", "aten.is_contiguous.default"]


def test_devices_and_layouts() -> None:
    tensor, seen = make(ANSWERS, dispatch_device=True, dispatch_layout=True)
    assert tensor.device == torch.device("meta")
    assert tensor.layout is torch.sparse_csr
    assert seen == ["prim.device.default", "prim.layout.default"]


def test_questions_without_an_answer() -> None:
    tensor, _ = make({}, dispatch_sizes_strides_policy="sizes")
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.ops\.aten\.sym_size'"):
        tensor.size()
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.ops\.aten\.dim'"):
        tensor.dim()


def test_a_wrapper_without_policies_is_asked_nothing_and_keeps_its_offset() -> None:
    tensor, seen = make({}, strides=(7, 1), storage_offset=12)
    assert (tensor.size(), tensor.stride(), tensor.storage_offset()) == (torch.Size((2, 2)), (7, 1), 12)
    assert seen == []


def test_what_is_no_tensor_is_refused_as_a_result() -> None:
    tensor, _ = make({aten.neg.default: "text"})
    with pytest.raises(RuntimeError, match="Unable to cast text to Tensor"):
        tensor.neg()


def test_elements_that_a_wrapper_does_not_have_are_refused() -> None:
    tensor, _ = make({})
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        tensor.numpy()
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses, got Asked"):
        tensor.tolist()


def test_a_handler_leaves_a_question_to_the_tensor_by_none() -> None:
    tensor, _ = make({aten.sym_size.default: None, aten.sym_stride.default: None}, dispatch_sizes_strides_policy="sizes")
    assert tensor.size() == torch.Size((2, 2))
    assert tensor.stride() == (2, 1)


def test_a_tensor_that_says_it_is_contiguous_is_not_copied() -> None:
    tensor, seen = make({aten.is_contiguous.default: True}, dispatch_sizes_strides_policy="strides")
    assert tensor.contiguous() is tensor
    assert seen == ["aten.is_contiguous.default"]
