"""A process group of one: ranks, collectives that write as PyTorch's do, and the wrappers of data-parallel training."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest
from support.processes import run_python, start_python

import rushlight as torch
from rushlight import distributed as dist
from rushlight import nn
from rushlight.distributed import checkpoint as dcp
from rushlight.distributed._composable import checkpoint
from rushlight.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from rushlight.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from rushlight.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure, record
from rushlight.distributed.fsdp import fully_shard
from rushlight.distributed.rendezvous import find, local_rank


@pytest.fixture
def group():
    dist.init_process_group("gloo", "tcp://localhost:1", world_size=1, rank=0)
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_before_a_group_is_made(monkeypatch) -> None:
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    for call in (
        dist.get_rank,
        dist.get_world_size,
        dist.barrier,
        lambda: dist.all_reduce(torch.ones(2)),
        lambda: nn.parallel.DistributedDataParallel(nn.Linear(1, 1)),
    ):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        dist.init_process_group("gloo")
    with pytest.raises(RuntimeError, match=r"doesn't have NCCL built in: .*pip install 'rushlight\[cuda\]'"):
        dist.init_process_group("nccl", world_size=1, rank=0)
    with pytest.raises(torch.NotSupported, match="a process group of 2 processes, but no launcher"):
        dist.init_process_group("gloo", "tcp://localhost:1", world_size=2, rank=0)
    assert not dist.is_initialized()


LAUNCHERS = {
    "mpich": {"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"},
    "Open MPI": {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1"},
    "MVAPICH": {"MV2_COMM_WORLD_RANK": "2", "MV2_COMM_WORLD_SIZE": "4", "MV2_COMM_WORLD_LOCAL_RANK": "1"},
    "srun": {"SLURM_STEP_ID": "0", "SLURM_NTASKS": "4", "SLURM_PROCID": "2", "SLURM_LOCALID": "1"},
    "srun with PMIx": {"PMIX_RANK": "2", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4", "SLURM_LOCALID": "1"},
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ranks_come_from_the_variables_of_launchers(launcher, monkeypatch) -> None:
    for name in {each for variables in LAUNCHERS.values() for each in variables} | {"RANK", "WORLD_SIZE", "LOCAL_RANK"}:
        monkeypatch.delenv(name, raising=False)
    for name, value in LAUNCHERS[launcher].items():
        monkeypatch.setenv(name, value)
    assert find("env://", -1, -1)[:3] == (4, 2, True) and local_rank() == 1
    with pytest.raises(ValueError, match="WORLD_SIZE is 3, but the launcher has started 4 processes"):
        find("env://", 3, -1)
    if launcher == "srun":  # in the batch script itself, which is one process
        monkeypatch.delenv("SLURM_STEP_ID")
        with pytest.raises(ValueError, match="environment variable RANK expected"):
            find("env://", -1, -1)


PLACES = {
    "mpich": ({"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "4"}, "2 4 2 4 127.0.0.1"),
    "Open MPI": (
        {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
        "3 4 1 2 None",
    ),
    "srun": (
        {"SLURM_STEP_ID": "0", "SLURM_NTASKS": "4", "SLURM_PROCID": "2", "SLURM_LOCALID": "0", "SLURM_NTASKS_PER_NODE": "2",
         "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.1"},
        "2 4 0 2 10.0.0.1",
    ),
    "rushlight launch": ({"PMI_RANK": "1", "PMI_SIZE": "4", "RANK": "7"}, "7 None None None None"),
}  # fmt: skip


@pytest.mark.parametrize("launcher", PLACES)
def test_programs_under_other_launchers_read_what_torchrun_sets(launcher) -> None:
    variables, expected = PLACES[launcher]
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
    code = f"import os; print(*[os.environ.get(each) for each in {names}])"
    assert start_python("-m", "rushlight", "run", "-c", code, **variables).stdout.strip() == expected


def test_groups_from_the_environment(monkeypatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29501"}.items():
        monkeypatch.setenv(name, value)
    dist.init_process_group()
    try:
        assert (dist.get_rank(), dist.get_world_size(), dist.is_initialized()) == (0, 1, True)
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo")
        assert isinstance(dist.new_group([0]), dist.ProcessGroup) and dist.get_rank(dist.new_group([])) == -1
        assert dist.get_process_group_ranks(dist.group.WORLD) == [0]
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_collectives_write_in_place(group) -> None:
    x = torch.arange(4.0)
    assert dist.all_reduce(x) is None and x.tolist() == [0, 1, 2, 3]
    work = dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True)
    assert work.wait() and work.is_completed() and work.get_future().wait()[0] is x
    into = [torch.zeros(4)]
    dist.all_gather(into, x)
    assert into[0].tolist() == x.tolist() and into[0] is not x
    whole = torch.zeros(1, 4)
    dist.all_gather_into_tensor(whole, x)
    part = torch.zeros(4)
    dist.reduce_scatter(part, [x])
    assert whole.tolist() == [[0, 1, 2, 3]] and part.tolist() == [0, 1, 2, 3]
    other = torch.zeros(4)
    dist.scatter(other, [x])
    dist.all_to_all_single(part.zero_(), x)
    assert other.tolist() == part.tolist() == [0, 1, 2, 3]
    dist.gather(x, into, 0)
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    with pytest.raises(TypeError, match="Expected parameter `tensor` of type torch.Tensor"):
        dist.all_reduce([1, 2])
    with pytest.raises(ValueError, match="destination rank should not be the same"):
        dist.send(x, 0)


def test_collectives_are_ops(group) -> None:
    filled, summed = torch.zeros(2), torch.ones(3)
    written, work = torch.ops.c10d.scatter_([filled], [[torch.arange(2.0)]], group, 0)
    work.wait()
    assert written[0] is filled and filled.tolist() == [0.0, 1.0]
    torch.ops.c10d.allreduce_.default([summed], group, dist.ReduceOp.SUM, None)[1].wait()
    assert summed.tolist() == [1.0, 1.0, 1.0]
    assert str(torch.ops.c10d.send.default._schema) == (
        "c10d::send(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup process_group, int dst, int tag) -> __torch__.torch.classes.c10d.Work"
    )
    gathered = torch.ops.c10d_functional.all_gather_into_tensor(filled, "", [0], 1)
    assert torch.ops.c10d_functional.wait_tensor(gathered).tolist() == [0.0, 1.0]
    assert "all_reduce" in dir(torch.ops._c10d_functional) and not hasattr(torch.ops.c10d, "nothing")


def test_modules_run_each_on_its_input() -> None:
    outputs = nn.parallel.parallel_apply([nn.Identity(), nn.Flatten()], [torch.ones(2), (torch.ones(1, 2, 2),)])
    assert [tuple(each.shape) for each in outputs] == [(2,), (1, 4)]
    with pytest.raises(NotImplementedError, match="start a process for each device"):
        nn.parallel.replicate(nn.Identity(), [0, 1])


def test_objects(group) -> None:
    value = {"a": [1, 2]}
    found = [None]
    dist.all_gather_object(found, value)
    assert found == [value] and found[0] is not value
    dist.broadcast_object_list(found, 0)
    out = [None]
    dist.scatter_object_list(out, [value], 0)
    assert out == [value]


def test_collectives_keep_gradients_alone(group) -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    out = torch.zeros(3)
    dist.all_gather([out], y)
    assert not out.requires_grad
    dist.nn.functional.all_gather(y)[0].sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_distributed_data_parallel_is_the_module(group) -> None:
    torch.manual_seed(0)
    plain = nn.Linear(3, 2)
    wrapped = nn.parallel.DistributedDataParallel(nn.Linear(3, 2), find_unused_parameters=True)
    wrapped.module.load_state_dict(plain.state_dict())
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    x = torch.randn(4, 3)
    plain(x).sum().backward()
    with wrapped.no_sync():
        wrapped(x).sum().backward()
    assert torch.equal(wrapped.module.weight.grad, plain.weight.grad)
    with pytest.raises(RuntimeError, match="not needed when a module doesn't have any parameters"):
        nn.parallel.DistributedDataParallel(nn.ReLU())
    seen = []

    def hook(state, bucket):
        seen.append(bucket.buffer().numel())
        return dist.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook(state, bucket)

    wrapped.register_comm_hook(None, hook)
    wrapped.zero_grad()
    wrapped(x).sum().backward()
    assert seen == [8]  # one bucket
    assert torch.equal(wrapped.module.weight.grad, plain.weight.grad.bfloat16().float())


def test_samplers_take_ranks_from_the_group(group) -> None:
    sampler = torch.utils.data.distributed.DistributedSampler(list(range(5)), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4] and sampler.num_replicas == 1


def test_device_mesh(group) -> None:
    mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    assert mesh.ndim == 2 and mesh["tp"].size() == 1 and mesh.get_group("dp").size() == 1
    with pytest.raises(RuntimeError, match="bigger than default world size 1"):
        dist.init_device_mesh("cpu", (2,))


def test_sharded_training_in_one_process(group, tmp_path) -> None:
    from rushlight.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from rushlight.distributed.tensor import DTensor, Shard

    assert not isinstance(torch.ones(1), DTensor) and Shard(0).is_shard(0) and ShardingStrategy.FULL_SHARD.value == 1
    model = FullyShardedDataParallel(nn.Linear(3, 2))
    model(torch.ones(1, 3)).sum().backward()
    assert isinstance(model.module.weight.grad, DTensor) and model.module.weight.grad.full_tensor().tolist() == [[1, 1, 1], [1, 1, 1]]
    dist.checkpoint.save({"model": model.state_dict(), "step": 3}, checkpoint_id=tmp_path)
    state = {"model": {"weight": torch.zeros(2, 3)}, "step": 0}
    dist.checkpoint.load(state, checkpoint_id=tmp_path)
    assert torch.equal(state["model"]["weight"], model.state_dict()["weight"]) and state["step"] == 3
    with pytest.raises(torch.NotSupported, match="DistributedOptimizer is not in rushlight"):
        dist.optim.DistributedOptimizer()


def test_activation_checkpoint_wrapper() -> None:
    from rushlight.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    x = torch.randn(2, 3)
    model(x).sum().backward()
    wanted, state = model[0].weight.grad.clone(), {name: value.clone() for name, value in model.state_dict().items()}
    model.zero_grad()
    apply_activation_checkpointing(model, check_fn=lambda each: isinstance(each, nn.Linear))
    model(x).sum().backward()
    assert torch.equal(model[0].weight.grad, wanted)
    assert list(model.state_dict()) == list(state)
    model.load_state_dict(state)


def test_failures_of_children(tmp_path, monkeypatch) -> None:
    own, child = tmp_path / "own.json", tmp_path / "child.json"
    child.write_text('{"message": {"message": "KeyError: x", "extraInfo": {"py_callstack": "line 1", "timestamp": "10"}}}')
    killed, failed = ProcessFailure(0, 7, -11, "absent"), ProcessFailure(1, 8, 3, str(child))
    assert (killed.signal_name(), killed.message, killed.error_file) == ("SIGSEGV", "Signal 11 (SIGSEGV) received by PID 7", "<N/A>")
    assert (failed.timestamp, failed.signal_name()) == (10, "<N/A>") and ProcessFailure(0, 7, 1, "absent").message.endswith("errors.record")

    @record
    def main(*failures):
        raise ChildFailedError("train", dict(enumerate(failures)))

    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(own))
    with pytest.raises(ChildFailedError, match=r"(?s)train FAILED.*rank 1 .*line 1.*rank 0 .*SIGSEGV"):
        main(killed, failed)  # the first in time is the cause
    assert '"errorCode": 3' in own.read_text()
    own.unlink()
    with pytest.raises(ChildFailedError):
        main(killed)
    assert not own.exists() and record(lambda: sys.exit(0))() is None
    with pytest.raises(SystemExit):
        record(lambda: sys.exit(2))()
    assert not own.exists()


def test_options_of_torchrun_in_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("PET_NPROC_PER_NODE", "4")
    monkeypatch.setenv("PET_STANDALONE", "1")
    found = dist.run.parse_args(["train.py", "--lr", "1"])
    assert (found.nproc_per_node, found.standalone, found.training_script_args) == ("4", True, ["--lr", "1"])
    assert dist.run.parse_args(["--nproc-per-node", "2", "train.py"]).nproc_per_node == "2"


def test_optimizers_that_step_inside_of_backward(group) -> None:
    from rushlight.distributed.optim import _apply_optimizer_in_backward, _get_in_backward_optimizers

    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), torch.randn(2, 3)
    model[1].weight = model[0].weight  # steps once, with the whole gradient
    plain = copy.deepcopy(model)
    optimizers = [torch.optim.SGD(plain.parameters(), lr=lr) for lr in (0.1, 0.01)]
    for lr in (0.1, 0.01):
        _apply_optimizer_in_backward(torch.optim.SGD, model.parameters(), {"lr": lr})
    for _ in range(3):
        for each in (model, plain):
            each(x).square().sum().backward()
        for each in optimizers:
            each.step()
            if each is optimizers[-1]:
                each.zero_grad()
    assert len(_get_in_backward_optimizers(model)) == 6 and all(each.grad is None for each in model.parameters())
    for one, other in zip(model.parameters(), plain.parameters()):
        torch.testing.assert_close(one, other)
    for wrap in (nn.parallel.DistributedDataParallel, fully_shard):
        with pytest.raises(torch.NotSupported, match="inside of backward"):
            wrap(model)


def test_microbatches_of_nested_arguments_and_other_dimensions(group) -> None:
    from rushlight.distributed.pipelining import PipelineStage, ScheduleGPipe
    from rushlight.distributed.pipelining.microbatch import TensorChunkSpec, _Replicate, merge_chunks, split_args_kwargs_into_chunks

    args, kwargs = split_args_kwargs_into_chunks(
        (torch.arange(5), {"mask": torch.arange(4)}, 7), {"whole": torch.ones(3)}, 2, None, {"whole": _Replicate}
    )
    assert [each[0].tolist() for each in args] == [[0, 1, 2], [3, 4]] and [each[1]["mask"].tolist() for each in args] == [[0, 1], [2, 3]]
    assert [each[2] for each in args] == [7, 7] and [len(each["whole"]) for each in kwargs] == [3, 3]
    assert merge_chunks([(torch.ones(2), 3), (torch.zeros(1), 3)], None)[0].tolist() == [1, 1, 0]
    assert (
        merge_chunks([torch.ones(2, 2)] * 2, TensorChunkSpec(1)).shape == (2, 4)
        and str(TensorChunkSpec.from_tuple((1,))[0]) == "TensorChunkSpec(1)"
    )
    with pytest.raises(ValueError, match="1 chunk specs are given for 2 values"):
        split_args_kwargs_into_chunks((torch.ones(2), torch.ones(2)), {}, 2, (TensorChunkSpec(0),))

    class Model(nn.Module):
        def forward(self, x, options):
            assert x.shape == (3, 2) and options["bias"].shape == (2,)
            return x.cumsum(0) + options["bias"]

    x, bias = torch.randn(3, 6), torch.randn(6)
    schedule = ScheduleGPipe(
        PipelineStage(Model(), 0, 1, "cpu"),
        3,
        args_chunk_spec=(TensorChunkSpec(1), {"bias": TensorChunkSpec(0)}),
        output_merge_spec=TensorChunkSpec(1),
    )
    torch.testing.assert_close(schedule.step(x, {"bias": bias}), x.cumsum(0) + bias)


def test_policies_choose_what_is_checkpointed_and_sharded(group) -> None:
    from functools import partial

    from rushlight.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointWrapper, apply_activation_checkpointing
    from rushlight.distributed.fsdp import FullyShardedDataParallel
    from rushlight.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy, transformer_auto_wrap_policy

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention, self.last = nn.MultiheadAttention(4, 2), nn.Linear(4, 4)

    def wrapped(kind, policy):
        model = nn.Sequential(Block(), nn.ReLU(), Block())
        if kind is CheckpointWrapper:
            apply_activation_checkpointing(model, auto_wrap_policy=policy)
        else:
            model = kind(model, auto_wrap_policy=policy).module
        return [name for name, each in model.named_modules() if isinstance(each, kind)]

    policies = {
        ModuleWrapPolicy({Block}): ["0", "2"],
        partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.ReLU}): ["1"],
        partial(size_based_auto_wrap_policy, min_num_params=60): [
            "0",
            "2",
        ],  # attention, which is not taken apart, belongs to what is around it
    }
    for kind, inner in ((CheckpointWrapper, "_checkpoint_wrapped_module"), (FullyShardedDataParallel, "_fsdp_wrapped_module")):
        for policy, names in policies.items():
            assert [each.replace(f"{inner}.", "") for each in wrapped(kind, policy)] == names, kind


def test_state_of_model_and_optimizer_by_names() -> None:
    from rushlight.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    model = nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    state, optimizer_state = get_state_dict(model, optimizer)
    assert set(optimizer_state["state"]) == {"weight", "bias"} == set(state)
    other = nn.Linear(2, 2)
    other_optimizer = torch.optim.Adam(other.parameters())
    set_state_dict(other, other_optimizer, model_state_dict=state, optim_state_dict=optimizer_state)
    assert torch.equal(other.weight, model.weight)
    assert torch.equal(other_optimizer.state[other.weight]["exp_avg"], optimizer.state[model.weight]["exp_avg"])


def test_torchrun_of_one(tmp_path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import sys, torch.distributed as d\nd.init_process_group()\nprint(d.get_rank(), d.get_world_size(), sys.argv[1:])")
    out = run_python(f"""
        import runpy, sys
        from rushlight import compat
        compat.install()
        sys.argv = ["torchrun", "--nproc_per_node", "1", {str(program)!r}, "--lr", "2"]
        runpy.run_module("torch.distributed.run", run_name="__main__")
    """)
    assert out.strip() == "0 1 ['--lr', '2']"


def test_futures() -> None:
    from rushlight.futures import Future, collect_all, wait_all

    first, second = Future(), Future()
    then = first.then(lambda future: future.value() + 1)
    both = collect_all([first, second])
    assert not then.done() and not both.done()
    first.set_result(2)
    second.set_result(5)
    assert then.wait() == 3 and wait_all([first, second]) == [2, 5] and both.done()
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        first.set_result(3)
    failed = Future()
    failed.set_exception(KeyError("x"))
    with pytest.raises(KeyError):
        failed.wait()
    with pytest.raises(RuntimeError, match="error when running the callback: KeyError: 'x'"):
        failed.then(lambda future: future.value()).wait()


def test_errors_are_written_where_a_launcher_looks_for_them(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))

    @record
    def fails(value: int) -> None:
        raise ValueError(f"no {value}")

    with pytest.raises(ValueError, match="no 3"):
        fails(3)
    failure = ProcessFailure(1, 4711, 1, str(tmp_path / "error.json"))
    assert failure.message["message"] == "ValueError: no 3" and failure.timestamp > 0
    assert ChildFailedError("train", {1: failure}).get_first_failure() == (1, failure)


@pytest.mark.parametrize("batched", [False, True])
def test_power_sgd_starts_from_the_numbers_of_its_seed(group, batched) -> None:
    torch.manual_seed(5)
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(6, 8, bias=False), nn.Linear(8, 8, bias=False), nn.Linear(8, 6, bias=False))
    )
    state = PowerSGDState(
        None,
        start_powerSGD_iter=2,
        min_compression_rate=1.5,
        use_error_feedback=False,
        random_seed=7,
        batch_tensors_with_same_shape=batched,
    )
    model.register_comm_hook(state, powerSGD_hook)
    x = torch.randn(3, 6)
    for _ in range(3):
        plain = torch.autograd.grad(model.module(x).square().sum(), list(model.parameters()))
        model.zero_grad()
        model(x).square().sum().backward()
    order = [2, 1, 0]  # gradients become ready from the last layer to the first
    torch.manual_seed(int(np.random.RandomState(7).randint(1_000_000_000)))
    for at in order:
        q = torch.randn(1, plain[at].shape[1], 1)[0]
        p = plain[at] @ (q / q.norm())
        p = p / p.norm()
        torch.testing.assert_close(model.module[at].weight.grad, p @ (p.T @ plain[at]))


def test_composable_checkpoint_recomputes_a_module_in_place(group) -> None:
    calls = []

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, x, *, scale=1.0):
            calls.append(scale)
            return torch.nn.functional.dropout(self.inner(x).tanh(), 0.5) * scale

    block = Block()
    x = torch.randn(4, 3)
    torch.manual_seed(3)
    block(x, scale=2.0).sum().backward()
    expected, block.inner.weight.grad = block.inner.weight.grad, None
    assert checkpoint(block) is block and list(block.state_dict()) == ["inner.weight", "inner.bias"]
    calls.clear()
    fully_shard(block)
    torch.manual_seed(3)
    out = block(x, scale=2.0)
    assert calls == [2.0]
    out.sum().backward()
    assert calls == [2.0, 2.0]
    torch.testing.assert_close(block.inner.weight.grad.full_tensor(), expected)
    with pytest.raises(AssertionError, match="before"):
        checkpoint(block)
    with pytest.raises(NotImplementedError, match="use_reentrant=True"):
        checkpoint(nn.Linear(1, 1), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: wrong"):
        checkpoint(nn.Linear(1, 1), wrong=1)


def test_a_checkpoint_is_read_into_an_empty_dict(tmp_path) -> None:
    state = {"model": {"a": {"w": torch.ones(2)}, "ab": torch.zeros(1)}, "step": 3}
    dcp.save(state, checkpoint_id=tmp_path, no_dist=True)
    for keys, found in (
        (None, {"model": {"a": {"w": [1.0, 1.0]}, "ab": [0.0]}, "step": 3}),
        ({"model.a"}, {"model": {"a": {"w": [1.0, 1.0]}}}),
        ({"step"}, {"step": 3}),
    ):
        into: dict = {}
        dcp.load(into, checkpoint_id=tmp_path, planner=_EmptyStateDictLoadPlanner(keys=keys), no_dist=True)

        def lists(value):
            return (
                {key: lists(each) for key, each in value.items()} if isinstance(value, dict) else getattr(value, "tolist", lambda: value)()
            )

        assert lists(into) == found
    with pytest.raises(dcp.CheckpointException, match="empty dict"):
        dcp.load({"step": 1}, checkpoint_id=tmp_path, planner=_EmptyStateDictLoadPlanner(), no_dist=True)
