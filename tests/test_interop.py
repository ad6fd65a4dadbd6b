"""Conversion and interchange: recorded expressions, and what they can't show: sharing, pickles, copies, storages."""

from __future__ import annotations

import copy
import gc
import io
import json
import os
import pickle
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from expressions import close, evaluate, recorded, written

import rushlight as torch

RECORDED = {topic: recorded(topic) for topic in ("conversion", "interop")}
DTYPES = (
    torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32,
    torch.int64, torch.float16,
    torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn,
    torch.float8_e5m2,
)  # fmt: skip


class Mine(torch.Tensor):
    """A subclass that pickle finds by name."""


def reload(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def test_the_recorded_expressions_are_these() -> None:
    for topic, results in RECORDED.items():
        assert list(results) == written(topic)


@pytest.mark.parametrize("expression", [(topic, each) for topic in RECORDED for each in RECORDED[topic]], ids=lambda pair: pair[1])
def test_against_pytorch(expression: tuple[str, str]) -> None:
    topic, text = expression
    found = json.loads(json.dumps(evaluate(text, torch)))
    want = RECORDED[topic][text]
    assert close(found, want), f"{text}\n  found {found}\n  want  {want}"


# -- conversion --------------------------------------------------------------------------------------------------


def test_gradients_pass_conversions() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.double() * 3).sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [3, 3]
    x.grad = None
    (x.to(torch.complex64) * 2j).real.sum().backward()
    assert x.grad.tolist() == [0, 0]
    (first,) = torch.autograd.grad((x.half() ** 2).sum(), x, create_graph=True)
    assert first.requires_grad and first.dtype is torch.float32
    (y := x.to(torch.float32, copy=True)).sum().backward()
    assert y is not x and y.data_ptr() != x.data_ptr()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_there_is_no_cuda() -> None:
    for call in (lambda: torch.ones(2).cuda(), lambda: torch.ones(2).to("cuda"), lambda: torch.ones(2, device="cuda")):
        with pytest.raises(RuntimeError, match="device .cuda. is not available"):
            call()
    assert torch.ones(2).chalf().dtype is torch.complex32


def test_apply_counts_as_a_write() -> None:
    x = torch.ones(3)
    version = x._version
    x.apply_(lambda value: value + 1)
    assert x._version == version + 1 and x.tolist() == [2, 2, 2]
    y = torch.zeros(2, 3)
    y.t().map_(torch.arange(6.0).reshape(3, 2), lambda a, b: a + b)
    assert y.tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_shared_memory_is_seen_by_a_forked_process() -> None:
    x = torch.zeros(4).share_memory_()
    child = os.fork()
    if not child:
        x[2] = 5
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert x.tolist() == [0, 0, 5, 0] and x.is_shared() and x.untyped_storage().is_shared()
    y = torch.zeros(4)
    view = y[1:]
    with pytest.raises(RuntimeError, match="clone"):
        y.share_memory_()
    assert view.tolist() == [0, 0, 0]


# -- NumPy and buffers -------------------------------------------------------------------------------------------


def test_numpy_shares_memory() -> None:
    x = torch.zeros(2, 3)
    array = x.numpy()
    array[0, 1] = 4
    assert x[0, 1].item() == 4 and array.ctypes.data == x.data_ptr()
    array.flags.writeable = False  # of this array object, not of the tensor's
    x[0, 0] = 1
    column = x[:, 1].numpy()
    column[1] = 9
    assert x[1, 1].item() == 9
    with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
        torch.ones(2, requires_grad=True).numpy()
    forced = (g := torch.ones(2, requires_grad=True)).numpy(force=True)
    assert forced.ctypes.data == g.data_ptr()


def test_numpy_protocol_for_copies() -> None:
    x = torch.ones(3)
    assert np.asarray(x).ctypes.data == x.data_ptr()
    assert np.array(x).ctypes.data != x.data_ptr()
    assert np.array(x, copy=False).ctypes.data == x.data_ptr()
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError):
        np.array(x, dtype=np.float64, copy=False)


def test_in_place_with_arrays() -> None:
    x = torch.ones(2)
    x += np.float64(2)
    assert x.tolist() == [3, 3] and x.dtype is torch.float32
    x += np.ones(2)  # as in PyTorch, NumPy computes this one
    assert x.tolist() == [4, 4] and x.dtype is torch.float64
    with pytest.raises(TypeError):
        x += [1, 2]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes have the buffer protocol from Python 3.12 on")
def test_buffer_protocol() -> None:
    x = torch.arange(3.0)
    view = memoryview(x)
    assert view.format == "f" and view.tolist() == [0, 1, 2]
    view[1] = 7
    assert x.tolist() == [0, 7, 2]
    assert bytes(x) == x.numpy().tobytes()
    with pytest.raises((RuntimeError, BufferError)):
        memoryview(torch.ones(2, requires_grad=True))


def test_dlpack_both_ways() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    theirs = np.from_dlpack(x.t())
    assert theirs.ctypes.data == x.data_ptr() and theirs.tolist() == x.t().tolist()
    array = np.arange(4)
    ours = torch.from_dlpack(array)
    array[0] = 9
    assert ours.tolist() == [9, 1, 2, 3]
    again = torch.from_dlpack(x.__dlpack__())  # a bare capsule
    assert again.data_ptr() == x.data_ptr() and again.shape == (2, 3)
    again[0, 0] = 7  # a capsule of the old form can't say that its memory is read-only, and so it is not
    assert x[0, 0] == 7
    del x, theirs
    gc.collect()
    assert again.tolist() == [[7, 1, 2], [3, 4, 5]]
    frozen = np.arange(3)
    frozen.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        torch.from_dlpack(frozen)[0] = 1
    assert torch.from_dlpack(again, copy=True).data_ptr() != again.data_ptr()
    with pytest.raises(BufferError, match="bfloat16"):
        again.bfloat16().__dlpack__()
    with pytest.raises(BufferError, match="gradient"):
        torch.ones(1, requires_grad=True).__dlpack__()


# -- pickle ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_every_type_is_pickled(dtype: Any, protocol: int) -> None:
    x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    y = pickle.loads(pickle.dumps(x.t()[1:], protocol))
    assert y.dtype is dtype and y.stride() == (1, 3) and y.storage_offset() == 1
    assert torch.equal(y.to(torch.complex128), x.t()[1:].to(torch.complex128))
    assert (y + y if dtype not in DTYPES[-2:] else y).dtype is dtype or dtype in (
        torch.uint16,
        torch.uint32,
        torch.uint64,
    )


def test_views_share_memory_after_loading() -> None:
    x = torch.arange(4.0)
    base, view, again = reload([x, x[1:], x])
    base[2] = -1
    assert view.tolist() == [1, -1, 3] and again is base
    assert base.untyped_storage() == view.untyped_storage()
    view.add_(1)
    assert base.tolist() == [0, 2, 0, 4]


def test_a_loaded_tensor_is_like_any_other() -> None:
    x = reload(torch.arange(6.0, requires_grad=True))
    assert x.is_leaf and x.requires_grad
    x.reshape(2, 3).t()[1].sum().backward()
    assert x.grad.tolist() == [0, 1, 0, 0, 1, 0]
    y = reload(torch.zeros(3))
    y[1:].fill_(2)
    assert y.tolist() == [0, 2, 2] and y.as_strided((2,), (2,)).tolist() == [0, 2]
    assert reload(torch.zeros(0, 3)).shape == (0, 3) and reload(torch.tensor(5)).item() == 5


def test_attributes_and_classes_are_kept() -> None:
    x = torch.ones(2)
    x.label = {"a": 1}
    for y in (reload(x), copy.deepcopy(x), copy.copy(x)):
        assert y.label == {"a": 1} and y.__dict__.keys() == {"label"}
    assert copy.deepcopy(x).label is not x.label and copy.copy(x).label is x.label
    mine = torch.ones(2).as_subclass(Mine)
    for y in (reload(mine), copy.deepcopy(mine), copy.copy(mine)):
        assert type(y) is Mine and y.tolist() == [1, 1]


def test_hooks_are_not_pickled() -> None:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda gradient: gradient)
    with pytest.warns(UserWarning, match="hooks"):
        assert reload(x).requires_grad


def test_large_pickles_go_out_of_band() -> None:
    x = torch.zeros(1000)
    buffers: list[Any] = []
    text = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert len(text) < 1000 and sum(memoryview(each).nbytes for each in buffers) == 4000
    y = pickle.loads(text, buffers=buffers)
    assert y.data_ptr() == x.data_ptr()


def test_python_and_c_pickles_agree() -> None:
    target = io.BytesIO()
    pickle._Pickler(target, 4).dump(torch.arange(3))
    assert pickle.loads(target.getvalue()).tolist() == [0, 1, 2]


# -- copies ------------------------------------------------------------------------------------------------------


def test_copy_shares_memory() -> None:
    x = torch.ones(2, requires_grad=True)
    y = copy.copy(x)
    assert y is not x and y.requires_grad and y.is_leaf and y.data_ptr() == x.data_ptr()
    with torch.no_grad():
        y[0] = 5
    assert x.tolist() == [5, 1] and x._version == y._version


def test_deepcopy_keeps_what_belongs_together() -> None:
    x = torch.arange(4.0)
    found = copy.deepcopy({"all": x, "part": x[1:], "same": x})
    assert found["same"] is found["all"]
    found["all"][1] = 9
    assert found["part"].tolist() == [9, 2, 3] and x.tolist() == [0, 1, 2, 3]
    weight = torch.ones(2, requires_grad=True)
    (weight * 2).sum().backward()
    twin = copy.deepcopy(weight)
    assert twin.requires_grad and twin.grad.tolist() == [2, 2] and twin.grad is not weight.grad
    memo: dict[int, Any] = {}
    assert copy.deepcopy(x, memo) is memo[id(x)] is copy.deepcopy(x, memo)


def test_deepcopy_refuses_computed_tensors() -> None:
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(torch.ones(2, requires_grad=True) * 2)


def test_deepcopy_does_not_confuse_storages() -> None:
    """Storages that are gone must not lend their identity to others while a copy is under way."""
    tensors = [torch.full((3,), float(i)) for i in range(50)]
    assert [each[0].item() for each in copy.deepcopy(tensors)] == list(range(50))


# -- storages ----------------------------------------------------------------------------------------------------


def test_storages_share_memory() -> None:
    x = torch.zeros(3)
    memory = x.storage()
    memory[1] = 2.5
    assert x.tolist() == [0, 2.5, 0] and x._version == 0  # as in PyTorch: a storage does not know its tensors
    x.untyped_storage().fill_(0)
    assert x.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="resizable"):
        x.untyped_storage().resize_(4)
    assert reload(x.untyped_storage()).nbytes() == 12 and reload(x.storage()).tolist() == [0, 0, 0]
    assert isinstance(x.storage(), torch.FloatStorage) and not isinstance(x.storage(), torch.LongStorage)


def test_set_looks_at_other_memory() -> None:
    x, y = torch.arange(6.0), torch.zeros(1)
    y.set_(x.untyped_storage(), 1, (2, 2), (1, 2))
    assert y.tolist() == [[1, 3], [2, 4]]
    y[0, 0] = -1
    assert x.tolist() == [0, -1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="out of bounds"):
        y.set_(x.untyped_storage(), 3, (4,))
    with pytest.raises(TypeError):
        y.set_(3)


def test_memory_lives_as_long_as_it_is_looked_at() -> None:
    array = np.zeros(1000)
    owner = weakref.ref(array)
    x = torch.from_numpy(array)
    view = x[10:20]
    del array, x
    gc.collect()
    assert view.tolist() == [0] * 10
    del view
    gc.collect()
    assert owner() is None


def test_numpy_of_a_tensor_that_requires_grad_under_no_grad():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert x.numpy().tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()


def test_a_capsule_names_its_device_and_is_used_once() -> None:
    tensor = torch.arange(3)
    capsule = torch.utils.dlpack.to_dlpack(tensor)
    assert torch.utils.dlpack.from_dlpack(capsule).data_ptr() == tensor.data_ptr()
    with pytest.raises(RuntimeError, match="invalid capsule"):
        torch.utils.dlpack.from_dlpack(capsule)
    assert torch.from_dlpack(np.arange(3.0).__dlpack__(max_version=(1, 0))).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
        tensor.__dlpack__(stream=object())


def test_a_resize_to_another_shape_counts_as_a_write() -> None:
    x = torch.rand(1, 2)
    assert x.resize_(1, 2)._version == 0 and x.resize_(2, 2)._version == 1 and x.resize_as_(torch.rand(3, 2))._version == 2


def test_memory_of_a_bare_capsule_may_be_written_to() -> None:
    x = torch.zeros(3)
    y = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    y[0] = 5
    assert x.tolist() == [5, 0, 0]
