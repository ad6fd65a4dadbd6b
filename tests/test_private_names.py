"""Private names of PyTorch's that libraries import, and public ones beside the namespaces."""

from __future__ import annotations

import gc
import os
import platform
import sys

import pytest
from support.processes import run_python

import rushlight as torch
from rushlight.compat import c_names, data_utils, dtype_abbreviations, import_utils, torch_version
from rushlight.compat.contextlib_internal import _DecoratorContextManager, _NoParamDecoratorContextManager
from rushlight.compat.export_internal.wrappers import mark_subclass_constructor_exportable_experimental
from rushlight.compat.make_functional import combine_state_for_ensemble, make_functional, make_functional_with_buffers
from rushlight.compat.member_accessor import NamedMemberAccessor, swap_tensor
from rushlight.compat.numbers import _amp_update_scale_, _assert_async, _softmax_backward_data, segment_reduce
from rushlight.compat.optim_internal import _use_grad_for_differentiable
from rushlight.compat.per_sample_grad import call_for_per_sample_grads
from rushlight.utils.module_tracker import ModuleTracker
from rushlight.utils.weak import WeakIdKeyDictionary


def test_tensors_swap_all_they_are() -> None:
    a, b = torch.zeros(2), torch.nn.Parameter(torch.ones(3))
    a.mark = "a"
    held = [a, b]
    torch.utils.swap_tensors(a, b)
    assert isinstance(a, torch.nn.Parameter) and type(b) is torch.Tensor
    assert held[0].shape == (3,) and b.mark == "a" and not hasattr(a, "mark")
    (a * 2).sum().backward()
    assert a.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_dictionary_by_identity_forgets() -> None:
    held = WeakIdKeyDictionary()
    x, y = torch.ones(2), torch.ones(2)
    held[x] = 1
    assert x in held and y not in held and held.get(y) is None
    del x
    gc.collect()
    assert len(held) == 0


def test_modules_that_run_are_known_in_backward_too() -> None:
    tracker, seen = ModuleTracker(), []
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2))
    x = torch.ones(1, 2, requires_grad=True)
    with tracker:
        y = layer(x)
        y.register_hook(lambda grad: seen.append((tracker.is_bw, "Global" in tracker.parents)))
        y.sum().backward()
        assert tracker.parents == {"Global"}
    assert seen == [(True, True)]


def test_contexts_that_decorate() -> None:
    events: list[str] = []

    class Context(_DecoratorContextManager):
        def __enter__(self) -> None:
            events.append("in")

        def __exit__(self, *error: object) -> None:
            events.append("out")

    @Context()
    def function() -> None:
        events.append("run")

    @Context()
    def numbers() -> object:
        got = yield 1
        events.append(f"got {got}")
        return 3

    class Plain(_NoParamDecoratorContextManager, Context):
        pass

    function()
    assert events == ["in", "run", "out"]
    events.clear()
    running = numbers()
    assert next(running) == 1 and events == ["in", "out"]
    with pytest.raises(StopIteration) as ended:
        running.send(5)
    assert ended.value.value == 3 and events == ["in", "out", "in", "got 5", "out"]
    events.clear()
    Plain(lambda: events.append("run"))()
    assert events == ["in", "run", "out"]


def test_members_by_name() -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2))
    accessor = NamedMemberAccessor(layer)
    other = torch.zeros(2, 2)
    before = accessor.swap_tensor("0.weight", other)
    assert accessor.get_tensor("0.weight") is other and isinstance(before, torch.nn.Parameter)
    assert accessor.check_keys(["0.weight", "1.x"]) == (["0.bias"], ["1.x"])
    with pytest.raises(AttributeError, match="no attribute"):
        swap_tensor(layer, "absent", other)


def test_gradients_of_single_samples() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3)
    call_for_per_sample_grads(layer)(x).square().sum().backward()
    for index in range(4):
        layer.zero_grad()
        layer(x[index : index + 1]).square().sum().backward()
        torch.testing.assert_close(layer.weight.grad_sample[index], layer.weight.grad)


def test_steps_that_are_differentiable() -> None:
    class Plain(torch.optim.Optimizer):
        def __init__(self, params: object, differentiable: bool) -> None:
            super().__init__(params, {"differentiable": differentiable})

        @_use_grad_for_differentiable
        def step(self) -> bool:
            return torch.is_grad_enabled()

    assert Plain([torch.ones(1, requires_grad=True)], True).step() is True
    assert Plain([torch.ones(1, requires_grad=True)], False).step() is False


def test_small_functions() -> None:
    _assert_async(torch.tensor(1))
    with pytest.raises(RuntimeError, match="no good"):
        _assert_async(torch.tensor(0), "no good")
    x = torch.randn(3, 4, requires_grad=True)
    y, g = x.softmax(-1), torch.randn(3, 4)
    torch.testing.assert_close(_softmax_backward_data(g, y, -1, torch.float32), torch.autograd.grad(y, x, g)[0])
    scale, tracker = torch.tensor([4.0]), torch.tensor([0], dtype=torch.int32)
    _amp_update_scale_(scale, tracker, torch.tensor([0.0]), 2.0, 0.5, 2)
    assert (scale.item(), tracker.item()) == (4.0, 1)
    _amp_update_scale_(scale, tracker, torch.tensor([0.0]), 2.0, 0.5, 2)
    assert (scale.item(), tracker.item()) == (8.0, 0)
    _amp_update_scale_(scale, tracker, torch.tensor([1.0]), 2.0, 0.5, 2)
    assert scale.item() == 4.0
    assert data_utils.worker._generate_state(1, 2).shape == (4,)
    assert torch.functional.einsum("i,i", torch.ones(2), torch.ones(2)).item() == 2
    with pytest.warns(FutureWarning, match="deprecated"):
        torch.testing.assert_allclose([1.0], torch.tensor([1.00001]))


def test_types_that_are_only_stored() -> None:
    assert torch.uint4.itemsize == 1 and torch.complex32.is_complex and torch.chalf is torch.complex32
    assert torch.empty(3, dtype=torch.uint4).dtype is torch.uint4
    assert torch.tensor([1.0, 0.3]).to(torch.float8_e4m3fnuz).float().tolist() == [1.0, 0.3125]
    with pytest.raises(RuntimeError):
        torch.empty(3, dtype=torch.uint4) + 1


def test_the_old_types_of_sparse_tensors() -> None:
    places = torch.tensor([[0, 1], [1, 0]])
    made = torch.sparse.FloatTensor(places, torch.ones(2), torch.Size([2, 2]))
    assert made.to_dense().tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert isinstance(made, torch.sparse.FloatTensor) and not isinstance(made, torch.sparse.DoubleTensor)
    assert torch.sparse.LongTensor(2, 3).shape == (2, 3)


def test_products_of_groups() -> None:
    torch.manual_seed(0)
    ends = torch.tensor([1, 3], dtype=torch.int32)
    a, b = torch.randn(3, 2, requires_grad=True), torch.randn(2, 2, 4)
    found = torch.nn.functional.grouped_mm(a, b, offs=ends)
    torch.testing.assert_close(found, torch.cat([a[:1] @ b[0], a[1:] @ b[1]]))
    found.sum().backward()
    assert a.grad is not None
    summed = torch.nn.functional.grouped_mm(torch.ones(2, 3), torch.ones(3, 4), offs=ends)
    assert summed[:, 0, 0].tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="offsets"):
        torch.nn.functional.grouped_mm(a, b)


def test_modules_as_functions() -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    function, params, buffers = make_functional_with_buffers(layer)
    x = torch.randn(4, 2)
    torch.testing.assert_close(function(params, buffers, x), layer(x))
    with pytest.raises(RuntimeError, match="has buffers"):
        make_functional(layer)
    function, params = make_functional(layer[0])
    torch.testing.assert_close(function(params, x), layer[0](x))
    function, params, buffers = combine_state_for_ensemble([torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)])
    assert torch.vmap(function, in_dims=(0, 0, None))(params, buffers, x).shape == (2, 4, 3)


def test_segments_are_reduced() -> None:
    data = torch.arange(6.0)
    assert segment_reduce(data, "sum", lengths=torch.tensor([2, 4])).tolist() == [1.0, 14.0]
    assert segment_reduce(data, "max", offsets=torch.tensor([0, 0, 6]), initial=-1).tolist() == [-1.0, 5.0]
    with pytest.raises(RuntimeError, match="Either lengths or offsets must be defined"):
        segment_reduce(data, "sum")


def test_module_tracker_names_what_is_in_containers_and_modules_that_call_themselves() -> None:
    class Again(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2)])
            self.entered = False

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.entered = not self.entered
            return self(x) if self.entered else self.layers[0](x)

    tracker, seen = ModuleTracker(), []
    model = Again()
    model.layers[0].register_forward_pre_hook(lambda *_: seen.append(sorted(tracker.parents)))
    with tracker:
        out = model(torch.ones(1, 2, requires_grad=True))
        out.register_hook(lambda gradient: seen.append(tracker.is_bw))
        out.sum().backward()
    assert seen == [["Again", "Again.layers.0", "Global"], True]
    assert tracker.parents == {"Global"} and not tracker.is_bw


def test_names_of_storages_and_of_pruning() -> None:
    storage = torch.ones(3).storage()
    assert isinstance(storage._untyped_storage, torch.UntypedStorage)
    assert torch.TypedStorage(wrap_storage=storage._untyped_storage, dtype=torch.int32, _internal=True)[0] == 0x3F800000
    prune = torch.nn.utils.prune
    assert [prune._compute_nparams_toprune(amount, 15) for amount in (0.0, 0.4, 7)] == [0, 6, 7]
    with pytest.raises(ValueError, match="smaller than the number of parameters"):
        prune._validate_pruning_amount(20, 15)
    with pytest.raises(TypeError):
        prune._validate_pruning_amount_init("a lot")


def test_private_modules_do_not_take_the_place_of_names_that_their_parents_use() -> None:
    """Import binds `torch.jit._state` to `rushlight.jit`: a function there that reads a global `_state` would find the module."""
    run_python("""
        import importlib, sys, types
        from rushlight import compat
        from rushlight.compat.names import PRIVATE_NAMES
        compat.install()
        lost = []
        for name in [each for each in PRIVATE_NAMES if each.count(".") > 1]:
            parent = importlib.import_module(name.rpartition(".")[0])
            before = dict(vars(parent))
            importlib.import_module(name)
            lost += [(name, key) for key, value in before.items() if not isinstance(value, types.ModuleType) and vars(parent).get(key) is not value]
        assert not lost, lost
        import torch, torch.jit._state
        assert torch.jit.is_tracing() is False and callable(torch.library.infer_schema)
    """)


def test_operators_and_helpers_that_libraries_reach_under_private_names() -> None:
    run_python("""
        from rushlight import compat
        compat.install()
        import torch
        lstm, x, h = torch.nn.LSTM(3, 4), torch.randn(5, 2, 3), (torch.zeros(1, 2, 4),) * 2
        outputs, *last = torch._VF.lstm(x, h, lstm._flat_weights, True, 1, 0.0, True, False, False)
        assert torch.equal(outputs, lstm(x)[0]) and len(last) == 2 and not hasattr(torch._VF, "nonexistent")
        with torch._tensor_str.printoptions(precision=1):
            assert repr(torch.tensor(0.25)) == "tensor(0.2)"
        assert repr(torch.tensor(0.25)) == "tensor(0.2500)"
        shared = torch.nn.ModuleList([layer := torch.nn.Linear(2, 2), layer])
        assert list(torch.jit._unique_state_dict(shared)) == ["0.weight", "0.bias"]
        assert torch.jit._unique_state_dict(shared, keep_vars=True)["0.weight"] is layer.weight
        assert torch.functional.Tensor is torch.Tensor
        assert torch.optim.optimizer.DeviceDict == dict[torch.device | None, torch.Tensor]
        assert torch.backends.nnpack.set_flags(False) == (True,)
        with torch.backends.nnpack.flags(True):
            assert torch.backends.nnpack.set_flags(True) == (True,)
        assert torch.backends.nnpack.set_flags(True) == (False,)
    """)


def test_storages_of_buffers() -> None:
    assert torch.UntypedStorage.from_buffer(b"\0\1\0\2", "big", dtype=torch.int16).tolist() == [1, 0, 2, 0]
    assert torch.UntypedStorage.from_buffer(b"abcd", "native", 2, 1, dtype=torch.uint8).tolist() == [98, 99]
    buffer = bytearray(b"abcd")
    bytes_of_it = torch.ByteTensor(torch.ByteStorage._from_buffer(buffer))
    buffer[0] = 0
    assert bytes_of_it.tolist() == [97, 98, 99, 100]


def test_schedulers_of_libraries_call_get_lr_within_their_step() -> None:
    scheduler = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1), 2)
    with pytest.raises(ZeroDivisionError), torch.optim.lr_scheduler._enable_get_lr_call(scheduler) as entered:
        assert entered is scheduler and scheduler._get_lr_called_within_step
        raise ZeroDivisionError
    assert not scheduler._get_lr_called_within_step


def test_the_exporter_of_files_by_its_new_names() -> None:
    program = """
import rushlight.compat
rushlight.compat.install()
import torch
from torch.onnx._internal.torchscript_exporter import _type_utils, jit_utils, symbolic_helper, symbolic_opset14, utils
from torch.onnx._internal.torchscript_exporter._globals import GLOBALS
assert symbolic_helper is torch.onnx.symbolic_helper and utils is torch.onnx.utils and GLOBALS.export_onnx_opset_version >= 7
assert _type_utils.JitScalarType and callable(symbolic_opset14.softmax)
"""
    run_python(program)


def test_operations_of_masked_tensors_by_their_private_module() -> None:
    assert (
        run_python("import rushlight.compat as c; c.install(); import torch.masked; print(torch.masked._ops.sum is torch.masked.sum)")
        == "True\n"
    )


def test_what_the_processor_can_do() -> None:
    found = torch.cpu.get_capabilities()
    assert found["architecture"] == platform.machine() and found["num_logical_cores"] == os.cpu_count()
    if platform.machine() == "x86_64" and sys.platform == "linux":
        assert found["sse2"] is True and found["cpu_name"]  # which every processor of this architecture has


def test_states_of_torch_function():
    states = c_names._TorchFunctionState
    assert c_names._get_torch_function_state() == states.ENABLED
    with c_names.DisableTorchFunctionSubclass():
        assert c_names._get_torch_function_state() == states.SUBCLASSES_DISABLED
        c_names._set_torch_function_state(states.ALL_DISABLED)
        assert c_names._get_torch_function_state() == states.ALL_DISABLED
    assert c_names._get_torch_function_state() == states.ENABLED


def test_small_private_modules():
    assert import_utils._check_module_exists("json") and not import_utils._check_module_exists("no_such_package")
    assert dtype_abbreviations.dtype_abbrs[torch.float32] == "f32"
    assert torch_version.parse("2.1") < torch_version.Version("2.10") and torch_version.parse("2.13").micro == 0
    assert c_names._get_cpu_capability() == torch.backends.cpu.get_cpu_capability()


def test_constructor_of_a_class_of_tensors_is_marked_and_stays_as_it_is():
    def __init__(self):
        """A constructor."""

    assert mark_subclass_constructor_exportable_experimental(__init__) is __init__
    with pytest.raises(RuntimeError, match="__init__"):
        mark_subclass_constructor_exportable_experimental(len)


def test_compiled_namespaces_are_the_public_ones():
    assert c_names._linalg.linalg_svd is torch.linalg.svd and c_names._special.special_i0e is torch.special.i0e
    assert c_names._fft.fft_rfft is torch.fft.rfft and c_names._VariableFunctions.matmul is torch.matmul
    assert c_names._VariableFunctions.__and__(torch.tensor(6), 3).item() == 2
    x = torch.tensor([1.0, -1.0])
    assert c_names._nn.gelu_(x, approximate="tanh") is x and round(x[0].item(), 4) == 0.8412
    assert not hasattr(c_names._linalg, "linalg_nothing") and not hasattr(c_names._nn, "nothing")
