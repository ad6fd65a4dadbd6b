"""Names that libraries look for before they compute anything: devices that are not here, private helpers, small modules."""

from __future__ import annotations

import types
import unittest.mock
from pathlib import Path
from unittest import mock

import pytest
from support.processes import run_python

import rushlight as torch
from rushlight.compat.config_module import install_config_module
from rushlight.compat.dynamo import config as dynamo_config


@pytest.mark.parametrize("name", ["cuda", "xpu", "mtia"])
def test_accelerators_that_are_not_here(name: str) -> None:
    module = getattr(torch, name)
    assert not module.is_available() and module.device_count() == 0 and not module.is_initialized()
    assert module.memory_allocated() == 0 and module.get_rng_state_all() == [] and module.memory_stats() == {}
    module.manual_seed_all(1)
    module.empty_cache()
    module.set_rng_state_all([])
    with pytest.raises(AssertionError, match=f"Torch not compiled with {name.upper()} enabled"):
        module.current_device()
    with pytest.raises(RuntimeError, match=f"Torch not compiled with {name.upper()} enabled"):
        module.set_device(0)
    assert isinstance(module.Stream, type) and (module.Stream | None) and isinstance(module.Event, type)
    with pytest.raises(RuntimeError, match="requires"):
        module.Stream()
    with module.device(None), module.stream(None):
        pass
    with pytest.raises(AssertionError), module.device(0):
        pass


def test_accelerator_and_mps() -> None:
    assert (
        not torch.accelerator.is_available() and torch.accelerator.current_accelerator() is None and torch.accelerator.device_count() == 0
    )
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        torch.accelerator.current_device_index()
    assert not torch.mps.is_available() and not torch.backends.mps.is_available()
    assert torch.get_device_module("cuda") is torch.cuda and torch.get_device_module() is torch.cpu


def test_names_in_submodules_of_cuda() -> None:
    from rushlight.cuda import memory, random, streams

    assert (
        memory.memory_allocated is torch.cuda.memory_allocated and random.get_rng_state_all() == [] and streams.Stream is torch.cuda.Stream
    )
    assert not isinstance(torch.ones(1), torch.cuda.FloatTensor)


def test_streams_and_events_of_the_cpu() -> None:
    stream = torch.Stream(device="cpu")
    with stream:
        start, end = torch.Event(enable_timing=True), torch.Event(enable_timing=True)
        start.record()
        end.record(stream)
    assert stream.query() and start.elapsed_time(end) >= 0 and torch.cpu.current_stream() == stream


def test_numbers_that_may_be_symbolic() -> None:
    assert not isinstance(3, torch.SymInt) and not isinstance(True, torch.SymBool)
    assert torch.sym_max(2, 3.5) == 3.5 and torch.sym_min(2, 3) == 2 and torch.sym_int(2.7) == 2 and torch.sym_float(2) == 2.0
    assert (
        torch.sym_not(False) and torch.sym_ite(True, 1, 2) == 1 and torch.sym_sum([1, 2, 3]) == 6 and type(torch.sym_max(1, 2.0)) is float
    )


def test_return_types() -> None:
    found = torch.topk(torch.arange(4.0), 2)
    assert type(found) is torch.return_types.topk and type(torch.max(torch.ones(2, 2), 0)) is torch.return_types.max
    with pytest.raises(AttributeError):
        torch.return_types.lantern


def test_checks(alias) -> None:
    import torch

    torch._assert(True, "")
    torch._check(True)
    with pytest.raises(AssertionError, match="why"):
        torch._assert(False, "why")
    with pytest.raises(RuntimeError, match="text"):
        torch._check(False, lambda: "text")
    with pytest.raises(ValueError, match="Expected cond to be True"):
        torch._check_value(False)
    with pytest.raises(RuntimeError):
        torch._check_tensor_all(torch.tensor([True, False]))
    torch._check_is_size(3)


def test_private_modules(alias) -> None:
    import torch
    from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
    from torch.jit.annotations import List  # noqa: F401
    from torch.storage import TypedStorage, UntypedStorage

    parts = [torch.ones(2), torch.zeros(2, 2)]
    flat = _flatten_dense_tensors(parts)
    assert flat.shape == (6,) and [each.shape for each in _unflatten_dense_tensors(flat, parts)] == [(2,), (2, 2)]
    assert TypedStorage is torch.TypedStorage and UntypedStorage is torch.UntypedStorage
    assert torch._C._get_tracing_state() is None and torch._C.Generator is torch.Generator
    assert torch._C._nn._parse_to("cpu", torch.float64) == (torch.device("cpu"), torch.float64, False, None)
    assert torch._dynamo.eval_frame.OptimizedModule is torch._dynamo.OptimizedModule
    torch._dynamo.config.capture_scalar_outputs = True
    assert torch._dynamo.config.capture_scalar_outputs is True
    torch._dynamo.config.capture_scalar_outputs = False
    with torch._dynamo.config.patch(enable_trace_unittest=True), torch._inductor.config.patch({"freezing": True}):
        assert torch._dynamo.config.enable_trace_unittest is True and torch._inductor.config.freezing is True
    with unittest.mock.patch.object(torch._dynamo.config, "recompile_limit", 1):
        assert torch._dynamo.config.cache_size_limit == 1
    assert torch._dynamo.config.recompile_limit == 8 and torch._inductor.config.freezing is False
    import functorch

    with pytest.warns(FutureWarning, match="functorch.vmap` is deprecated"):
        assert functorch.vmap(torch.sin)(torch.zeros(2)).tolist() == [0, 0]


def test_associative_scan(alias) -> None:
    import torch
    from torch._higher_order_ops import associative_scan

    x = torch.arange(1.0, 6.0, requires_grad=True)
    found = associative_scan(lambda a, b: a * b, x, 0)
    assert found.tolist() == torch.cumprod(x, 0).tolist()
    found.sum().backward()
    other = x.detach().requires_grad_()
    torch.cumprod(other, 0).sum().backward()
    assert torch.allclose(x.grad, other.grad)
    pair = associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (torch.full((3, 4), 0.5), torch.ones(3, 4)), 1, reverse=True)
    assert pair[1][0].tolist() == [1.875, 1.75, 1.5, 1.0]


def test_plain_pickles_of_pytorch_are_read(alias) -> None:
    import pickle

    assert pickle.loads(b"ctorch._utils\n_rebuild_parameter\n.").__name__ == "rebuild_parameter"
    assert pickle.loads(b"ctorch.storage\n_load_from_bytes\n.").__module__ == "rushlight.compat.storage"


def test_hub_reads_folders_of_this_machine(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "hubconf.py").write_text(
        "import helper\ndependencies = ['numpy']\ndef small(width=2):\n    'A small model.'\n    return helper.make(width)\ndef _hidden(): pass\n"
    )
    (tmp_path / "helper.py").write_text("import rushlight\ndef make(width): return rushlight.nn.Linear(width, 1)\n")
    assert torch.hub.load(str(tmp_path), "small", source="local", width=3).in_features == 3
    assert (
        torch.hub.list(str(tmp_path), source="local") == ["small"]
        and torch.hub.help(str(tmp_path), "small", source="local") == "A small model."
    )
    with pytest.raises(RuntimeError, match="Cannot find callable large"):
        torch.hub.load(str(tmp_path), "large", source="local")
    with pytest.raises(torch.NotSupported, match="fetches no code"):
        torch.hub.load("pytorch/vision", "resnet18")
    monkeypatch.setattr(torch.hub._Place, "folder", str(tmp_path / "hub"))
    torch.save({"a": torch.ones(2)}, tmp_path / "weights.pt")
    found = torch.hub.load_state_dict_from_url((tmp_path / "weights.pt").as_uri())
    assert found["a"].tolist() == [1, 1] and (tmp_path / "hub" / "checkpoints" / "weights.pt").is_file()


def test_monitor() -> None:
    from datetime import timedelta

    seen = []
    handle = torch.monitor.register_event_handler(seen.append)
    stat = torch.monitor.Stat("loss", [torch.monitor.Aggregation.SUM, torch.monitor.Aggregation.COUNT], timedelta(seconds=0))
    stat.add(1.0)
    stat.add(2.0)
    torch.monitor.unregister_event_handler(handle)
    assert seen[0].data == {"loss.sum": 1.0, "loss.count": 1.0} and stat.get()[torch.monitor.Aggregation.SUM] == 1.0  # of the last interval
    stat = torch.monitor.Stat("steps", [torch.monitor.Aggregation.SUM], timedelta(hours=1), max_samples=3)
    counts = [(stat.add(each), stat.count, stat.get()[torch.monitor.Aggregation.SUM])[1:] for each in (1.0, 2.0, 4.0, 8.0)]
    assert counts == [(1, 0.0), (2, 0.0), (0, 7.0), (0, 7.0)]
    assert [each.value for each in torch.monitor.Aggregation][:2] == [1, 2]


def test_what_is_left_out_says_why() -> None:
    with pytest.raises(torch.NotSupported, match="PackageImporter is not in rushlight: a file that brings its own copies"):
        torch.package.PackageImporter("x.pt")
    with pytest.raises(torch.NotSupported, match=r"load_inline\(\) is not in rushlight: it compiles C\+\+"):
        torch.utils.cpp_extension.load_inline("x", "")


def test_import_stays_small() -> None:
    run_python("""
        import sys, rushlight
        late = "distributed multiprocessing cuda xpu streams symbols types hub futures no_accelerator".split()
        loaded = [name for name in late if f"rushlight.{name}" in sys.modules]
        assert not loaded, loaded
    """)


def test_storages_over_files(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(8)))
    storage = torch.UntypedStorage.from_file(str(path), False, 8)
    assert storage.nbytes() == 8 and list(storage) == list(range(8))
    torch.UntypedStorage.from_file(str(path), True, 10)[0] = 7
    assert path.read_bytes() == bytes([7, 1, 2, 3, 4, 5, 6, 7, 0, 0])
    with pytest.raises(RuntimeError, match="too small"):
        torch.UntypedStorage.from_file(str(path), False, 100)


def test_operators_without_a_counterpart_are_keys_and_say_so_when_called() -> None:
    overload = torch.ops.aten._make_dep_token.default
    assert {overload: 1}[torch.ops.aten._make_dep_token.default] == 1
    with pytest.raises(torch.NotSupported, match=r"aten\._make_dep_token.* is not in rushlight yet"):
        overload()
    assert bool(torch.ops.aten._is_all_true.default(torch.tensor([True, True])))


def test_selective_checkpoints_compute_the_same() -> None:
    from functools import partial

    from rushlight.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts, get_device_states

    x = torch.arange(1.0, 4.0, requires_grad=True)
    contexts = partial(create_selective_checkpoint_contexts, lambda context, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE)
    checkpoint(lambda each: (each.sin() * each).sum(), x, use_reentrant=False, context_fn=contexts).backward()
    other = x.detach().requires_grad_()
    (other.sin() * other).sum().backward()
    assert torch.equal(x.grad, other.grad) and get_device_states(x) == ([], [])
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        create_selective_checkpoint_contexts(3)


def test_mock_patch_of_a_setting_restores_what_was_set_before() -> None:
    config_module = types.ModuleType("settings_of_a_test")
    config_module.flag = 1  # type: ignore[attr-defined]
    install_config_module(config_module)
    config_module.flag = 2  # type: ignore[attr-defined]
    for owner, name, value in ((config_module, "flag", 3), (dynamo_config, "suppress_errors", True), (dynamo_config, "recompile_limit", 5)):
        before = getattr(owner, name)
        with mock.patch.object(owner, name, value):
            assert getattr(owner, name) == value
        assert getattr(owner, name) == before
    with pytest.raises(AttributeError):
        del dynamo_config.no_such_setting
