"""Groups that need no other process: fake ones, those of back-ends that a program registers, and a world for each thread; and DTensors over them."""

from __future__ import annotations

import faulthandler
import io
import json
import threading

import pytest

import rushlight as torch
from rushlight import distributed as dist
from rushlight.compat import c10d, c_names
from rushlight.distributed import _functional_collectives as functional
from rushlight.distributed import checkpoint as dcp
from rushlight.distributed import distributed_c10d
from rushlight.distributed.checkpoint._consolidate_hf_safetensors import consolidate_safetensors_files
from rushlight.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor, zeros
from rushlight.distributed.tensor.debug import CommDebugMode
from rushlight.distributed.tensor.experimental import local_map
from rushlight.utils import safetensors


@pytest.fixture
def fake():
    """Rank 0 of four processes that do not exist."""
    dist.init_process_group("fake", rank=0, world_size=4)
    yield dist.init_device_mesh("cpu", (4,))
    dist.destroy_process_group()


def _work(value):
    future = torch.futures.Future()
    future.set_result(value)
    return distributed_c10d._create_work_from_future(future)


class Doubling(dist.ProcessGroup):
    """A group as programs write them: its sum is that of equal tensors."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size)
        self.seen: list[str] = []

    def allreduce(self, tensors, opts):
        self.seen.append(str(opts.reduceOp))
        tensors[0].mul_(self.size())
        return _work(tensors)


def test_a_fake_group_computes_what_one_of_many_processes_would() -> None:
    dist.init_process_group("fake", rank=5, world_size=8)
    try:
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (5, 8, "fake")
        mesh = dist.init_device_mesh("cpu", (2, 4), mesh_dim_names=("data", "tensor"))
        assert mesh.get_coordinate() == (1, 1) and mesh["tensor"].get_group().size() == 4
        x = torch.arange(3.0)
        dist.all_reduce(x)
        out = torch.zeros(24)
        dist.all_gather_into_tensor(out, x)
        assert out.tolist() == [0, 1, 2] * 8
        assert distribute_tensor(torch.ones(8, 8), mesh, [Shard(0), Shard(1)]).to_local().shape == (4, 2)
        assert dist.get_process_group_ranks(dist.new_group([1, 5])) == [1, 5]
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("extended", [False, True])
def test_a_back_end_of_the_program(extended: bool) -> None:
    made: list[Doubling] = []

    def create(*given):
        rank, size = (given[0].group_rank, given[0].group_size) if extended else given[1:3]
        made.append(Doubling(rank, size))
        return made[-1]

    name = f"doubling{int(extended)}"
    dist.Backend.register_backend(name, create, extended_api=extended, devices=["cpu"])
    assert dist.is_backend_available(name) and getattr(dist.Backend, name.upper()) == name
    dist.init_process_group(name, store=dist.HashStore(), rank=1, world_size=3)
    try:
        assert dist.group.WORLD is made[0] and dist.get_backend_config() == f"cpu:{name}"
        x = torch.ones(2)
        dist.all_reduce(x)
        dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True).wait()
        assert x.tolist() == [9, 9] and made[0].seen == ["RedOpType.SUM", "RedOpType.MAX"]
        assert functional.all_reduce(x, "sum", dist.group.WORLD).tolist() == [27, 27]
        other = dist.new_group([0, 1])
        dist.all_reduce(x, group=other)
        assert other is made[1] and x.tolist() == [18, 18]
        with pytest.raises(RuntimeError, match="does not support broadcast"):
            dist.broadcast(x, 0)  # what the program has not written is not done by other means
    finally:
        dist.destroy_process_group()


def test_configurations_of_back_ends() -> None:
    for given, expected in {
        "gloo": "cpu:gloo,cuda:gloo",
        "NCCL": "cuda:nccl",
        "mpi": "cpu:mpi,cuda:mpi",
        "cpu:gloo,cuda:nccl": "cpu:gloo,cuda:nccl",
    }.items():
        assert str(dist.BackendConfig(given)) == expected
    for wrong in ("cpu:gloo,", "cpu:gloo,cuda:nccl,cpu:mpi"):
        with pytest.raises(ValueError, match=r"pairing|Duplicate"):
            dist.BackendConfig(wrong)


def test_a_world_for_each_thread() -> None:
    class Data:
        def __init__(self) -> None:
            self.default_pg, self.group_count = None, 0
            self.pg_map, self.pg_names, self.pg_group_ranks, self.pg_backend_config = {}, {}, {}, {}
            self.tags_to_pg, self.pg_to_tag, self.pg_coalesce_state = {}, {}, {}

    class Worlds:
        def __init__(self) -> None:
            object.__setattr__(self, "local", threading.local())

        def __getattr__(self, name):
            return getattr(self.local.__dict__.setdefault("data", Data()), name)

        def __setattr__(self, name, value) -> None:
            setattr(self.local.__dict__.setdefault("data", Data()), name, value)

    store, found = dist.HashStore(), {}

    def run(rank: int) -> None:
        dist.init_process_group("fake", store=store, rank=rank, world_size=2)
        dist.distributed_c10d._store_based_barrier(rank, store, "start", 2, dist.default_pg_timeout)
        pair = dist.new_group([0, 1])
        found[rank] = dist.get_rank(), pair.group_name, dist.get_rank(pair), dist.get_pg_count()
        dist.destroy_process_group()

    ours = c10d._world
    distributed_c10d._world = Worlds()
    try:
        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        distributed_c10d._world = ours
    assert found == {0: (0, "1", 0, 2), 1: (1, "1", 1, 2)}
    assert not dist.is_initialized() and c10d._world.pg_map == {}


def test_groups_that_are_made_by_hand() -> None:
    options = dist.ProcessGroupGloo._Options()
    options._timeout = 5.0
    made = dist.ProcessGroupGloo(dist.HashStore(), 0, 1, options)
    assert isinstance(made, dist.ProcessGroup) and made.size() == 1 and made.timeout.total_seconds() == 5
    x = torch.ones(3)
    made.allreduce([x], dist.AllreduceOptions()).wait()
    assert x.tolist() == [1, 1, 1] and not dist.is_initialized()


def test_stacks_of_a_crash_are_printed() -> None:
    before = faulthandler.is_enabled()
    try:
        c_names._set_print_stack_traces_on_fatal_signal(True)
        assert faulthandler.is_enabled()
        c_names._set_print_stack_traces_on_fatal_signal(False)
        assert not faulthandler.is_enabled()
    finally:
        if before:
            faulthandler.enable()


# -- DTensors ----------------------------------------------------------------------------------------------------------


def test_collectives_are_counted_by_op(fake) -> None:
    ops, in_place = torch.ops.c10d_functional, torch.ops.c10d
    x = distribute_tensor(torch.ones(8, 4), fake, [Shard(0)])
    with CommDebugMode() as mode:
        x.redistribute(fake, [Replicate()])
        x.sum().full_tensor()
        DTensor.from_local(torch.ones(8), fake, [Partial()]).redistribute(fake, [Shard(0)])
        functional.all_reduce(torch.ones(2), "sum", dist.group.WORLD)
        dist.all_reduce(torch.ones(2))
    counts = mode.get_comm_counts()
    assert (counts[ops.all_gather_into_tensor], counts[ops.all_reduce], counts[ops.reduce_scatter_tensor]) == (1, 2, 1)
    assert counts[in_place.allreduce_] == 1 and counts[in_place.broadcast_] == 0 and mode.get_total_counts() == 5
    dist.all_reduce(torch.ones(2))
    assert mode.get_total_counts() == 5
    with mode:
        assert mode.get_total_counts() == 0


def test_results_of_functional_collectives_can_be_waited_for(fake) -> None:
    made = functional.all_reduce(torch.ones(3), "sum", dist.group.WORLD)
    assert isinstance(made, functional.AsyncCollectiveTensor) and type(made.wait()) is type(made + 1) is torch.Tensor
    assert type(functional.wait_tensor(made)) is torch.Tensor and made.wait().data_ptr() == made.data_ptr()
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    assert type(torch.load(file)) is torch.Tensor
    assert type(torch.compile(lambda x: functional.all_reduce(x, "sum", dist.group.WORLD))(torch.ones(2))) is torch.Tensor


def test_meshes_of_groups_and_slices() -> None:
    dist.init_process_group("fake", rank=1, world_size=4)
    try:
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
        assert mesh[["data", "tensor"]] == mesh["data", "tensor"] == mesh
        assert mesh._dim_group_names == [each.group_name for each in mesh.get_all_groups()]
        assert dist.DeviceMesh.from_group(dist.group.WORLD, "cpu", [0, 1, 2, 3]).shape == (4,)
        with pytest.raises(ValueError, match=r"Invalid mesh \[\[0, 1\], \[2, 3\]\] for ProcessGroup with ranks \[0, 1, 2, 3\]"):
            dist.DeviceMesh.from_group(dist.group.WORLD, "cpu", [[0, 1], [2, 3]])
        with pytest.raises(ValueError, match="ndim equal to number of ProcessGroups"):
            dist.DeviceMesh.from_group(mesh.get_all_groups(), "cpu", [0, 1, 2, 3])
    finally:
        dist.destroy_process_group()


def test_a_contiguous_dtensor_has_contiguous_parts(fake) -> None:
    moved = DTensor.from_local(torch.rand(3, 5, 6), fake, [Shard(0)]).transpose(0, 2)
    assert moved.stride() == (1, 6, 30) and not moved.is_contiguous()
    kept = moved.contiguous()
    assert kept.is_contiguous() and kept.to_local().stride() == (15, 3, 1) and torch.equal(kept.to_local(), moved.to_local())


def test_new_tensors_of_a_dtensor_are_dtensors(fake) -> None:
    x = distribute_tensor(torch.ones(8, 4), fake, [Shard(0)])
    same, other = x.new_zeros(8, 4), x.new_full((2, 3), 7.0)
    assert same.placements == (Shard(0),) and same.to_local().tolist() == [[0.0] * 4] * 2
    assert other.placements == (Replicate(),) and other.to_local().tolist() == [[7.0] * 3] * 2
    strided = x.new_empty_strided((8, 4), (1, 8))
    assert strided.stride() == (1, 8) and strided.to_local().stride() == (1, 2)
    assert DTensor.from_local(torch.ones(2), fake, [Partial()]).new_ones(2).placements == (Replicate(),)


def test_results_are_written_to_a_dtensor(fake) -> None:
    x = distribute_tensor(torch.arange(8.0), fake, [Shard(0)])
    out = distribute_tensor(torch.zeros(8), fake, [Shard(0)])
    assert torch.add(x, 1, out=out) is out and out.to_local().tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="mixed torch.Tensor and DTensor"):
        torch.add(x, 1, out=torch.zeros(8))


def test_files_with_dtensors(fake) -> None:
    x = distribute_tensor(torch.arange(8.0), fake, [Shard(0)])
    file = io.BytesIO()
    torch.save({"x": x, "y": DTensor.from_local(torch.ones(2), fake, [Partial()])}, file)
    file.seek(0)
    found = torch.load(file)
    assert found["x"].placements == (Shard(0),) and found["x"].to_local().tolist() == [0, 1] and found["y"].placements == (Partial(),)
    assert found["x"]._spec == x._spec and hash(found["x"]._spec) == hash(x._spec)


def test_a_process_outside_of_the_mesh_has_nothing() -> None:
    dist.init_process_group("fake", rank=3, world_size=4)
    try:
        mesh = dist.DeviceMesh("cpu", [0, 1])
        for x in (zeros(6, 2, device_mesh=mesh, placements=[Shard(0)]), distribute_tensor(torch.ones(6, 2), mesh, [Shard(0)])):
            assert x.shape == (6, 2) and x.to_local().shape == (0,)
            assert (x + 1).shape == (6, 2) and (x + 1).to_local().shape == (0,) and x.sum().to_local().shape == (0,)
    finally:
        dist.destroy_process_group()


def test_a_function_of_parts_takes_and_gives_dtensors(fake) -> None:
    row, column = distribute_tensor(torch.ones(8, 4), fake, [Shard(1)]), distribute_tensor(torch.ones(4, 8), fake, [Shard(0)])
    product = local_map(torch.mm, out_placements=[Partial()], in_placements=([Shard(1)], [Shard(0)]))
    assert product(row, column).placements == (Partial(),) and product(row, column).to_local().tolist() == [[1.0] * 8] * 8
    with pytest.raises(ValueError, match="mismatched placements"):
        product(column, column)
    moved = local_map(torch.neg, out_placements=[Replicate()], in_placements=([Replicate()],), redistribute_inputs=True)
    assert moved(column).shape == (4, 8)

    @local_map(out_placements=([Shard(0)], None))
    def both(x, scale=2):
        return x * scale, tuple(x.shape)[0]

    x = column.detach().requires_grad_()
    parts, rows = both(x, 3)
    parts.sum().backward()
    assert rows == 1 and parts.placements == (Shard(0),) and x.grad.to_local().tolist() == [[3.0] * 8]
    assert torch.equal(both(torch.ones(2))[0], torch.full((2,), 2.0))
    assert torch.equal(product(torch.ones(2, 1), torch.ones(1, 2)), torch.ones(2, 2))  # plain tensors are parts already
    with pytest.raises(AssertionError, match="Non-Tensor input 2 expects None placements"):
        product(row, 2)


def test_functions_of_the_older_form_take_no_module(fake) -> None:
    seen = []
    with pytest.warns(FutureWarning, match="input_fn that takes two arguments"):
        model = distribute_module(torch.nn.Linear(2, 2), fake, input_fn=lambda inputs, mesh: seen.append(mesh))
    model(distribute_tensor(torch.ones(1, 2), fake, [Replicate()]))
    assert seen == [fake]
    with pytest.raises(RuntimeError, match="distribute leaf tensors"):
        distribute_tensor(torch.ones(2, requires_grad=True) * 2, fake, [Shard(0), Shard(0)])


# -- checkpoints -------------------------------------------------------------------------------------------------------


def test_checkpoints_in_safetensors_files(tmp_path) -> None:
    state = {"a.weight": torch.arange(12.0).reshape(3, 4), "b": torch.arange(5, dtype=torch.bfloat16), "empty": torch.zeros(0, 2)}
    files = {"a.weight": 1, "b": 2, "empty": 2}
    dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(str(tmp_path / "whole"), files))
    assert safetensors.load_file(tmp_path / "whole" / "model-00002-of-00002.safetensors")["b"].tolist() == [0, 1, 2, 3, 4]
    index = json.loads((tmp_path / "whole" / "model.safetensors.index.json").read_text())
    assert index["weight_map"]["a.weight"] == "model-00001-of-00002.safetensors" and index["metadata"]["total_size"] == 58
    found = {name: torch.zeros_like(value) for name, value in state.items()}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path / "whole")))
    assert all(torch.equal(found[name], state[name]) for name in state)
    with pytest.raises(dcp.CheckpointException, match="'step' is another value"):
        dcp.save({"step": 3}, storage_writer=dcp.HuggingFaceStorageWriter(str(tmp_path / "other")))

    parts = dcp.HuggingFaceStorageWriter(str(tmp_path / "parts"), save_distributed=True)
    parts.prepare()
    for rank, rows in enumerate((slice(0, 2), slice(2, 3))):  # what two processes write
        value = state["a.weight"][rows]
        item = dcp.WriteItem("a.weight", (rows.start, 0), tuple(value.shape), (3, 4), "float32", value.nbytes)
        parts.write_items(rank, "", [(item, value)])
    assert (tmp_path / "parts" / "shard-00001-model-00001-of-00001.safetensors").exists()
    again = {"a.weight": torch.zeros(3, 4)}
    dcp.load(again, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path / "parts")))
    assert torch.equal(again["a.weight"], state["a.weight"])
    consolidate_safetensors_files(str(tmp_path / "parts"), str(tmp_path / "together"))
    made = safetensors.load_file(tmp_path / "together" / "model-00001-of-00001.safetensors")
    assert torch.equal(made["a.weight"], state["a.weight"])


def test_safetensors_files_that_do_not_hold_what_they_say(tmp_path) -> None:
    """Damaged headers, parts without a place, and a part whose file is missing: one error that names the file, and no zeros in its place."""

    def refused(message: str, **header) -> None:
        safetensors.save_file({"w": torch.ones(2, 2)}, tmp_path / "x.safetensors", header)
        with pytest.raises(safetensors.SafetensorError, match=message):
            dcp.HuggingFaceStorageReader(str(tmp_path)).read_metadata()

    refused("a part is missing", DCP_SHARDING_INFO=json.dumps({"w": {"saved_offsets": [2, 0]}}))
    refused("a part is missing", DCP_SHARDING_INFO=json.dumps({"w": {"saved_offsets": [2**50, 0]}}))
    for wrong in ("{", "[]", '{"w": {}}', '{"w": {"saved_offsets": 3}}'):
        refused("does not say where its parts begin", DCP_SHARDING_INFO=wrong)
    refused("no natural number", DCP_SHARDING_INFO='{"w": {"saved_offsets": [-1, 0]}}')
    refused("has 2 dimensions", DCP_SHARDING_INFO='{"w": {"saved_offsets": [0]}}')
    (tmp_path / "x.safetensors").write_bytes(b"\xff" * 8)
    with pytest.raises(safetensors.SafetensorError, match="x.safetensors: the file says that its header"):
        dcp.HuggingFaceStorageReader(str(tmp_path)).read_metadata()


@pytest.fixture
def eight():
    """Rank 3 of eight processes, of which the others do not exist."""
    dist.init_process_group("fake", rank=3, world_size=8)
    yield
    dist.destroy_process_group()


def test_parts_of_meshes_and_dimensions_put_together(eight) -> None:
    mesh = dist.init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("dp", "cp", "tp"))
    assert mesh.mesh.dtype == torch.int32 and mesh.get_coordinate() == (0, 1, 1)
    flat = mesh["dp", "tp"]._flatten()
    assert flat.mesh.tolist() == [2, 3, 6, 7] and flat.mesh_dim_names == ("dp_tp",) and flat.get_local_rank() == 1
    assert repr(flat) == "DeviceMesh((dp_tp=4), 'cpu', stride=((4, 1),))" and mesh["dp_tp"] is flat is mesh["dp", "tp"]._flatten()
    assert mesh.get_group("dp_tp") is flat.get_group() and flat.get_group().group_desc == "mesh_dp_tp"
    mesh["dp", "cp"]._flatten()
    both = mesh["dp_cp", "tp"]
    assert both.mesh.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]] and both.get_group("tp") is mesh.get_group("tp")
    assert mesh["dp", "cp"]["cp"]._get_root_mesh() is mesh and mesh["cp"]._get_root_mesh_dim() == 1
    joined = dist.DeviceMesh._concatenate([mesh["dp"], mesh["tp"]])
    assert joined.mesh.tolist() == [[2, 3], [6, 7]] and joined == mesh["dp", "tp"]
    assert [each.mesh.tolist() for each in mesh._get_all_submeshes("dp")] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    with pytest.raises(KeyError, match="should be in ascending order"):
        mesh["cp", "dp"]
    with pytest.raises(RuntimeError, match="Slicing overlapping"):
        mesh["dp_tp", "tp"]
    with pytest.raises(ValueError, match="dp already exists"):
        mesh._flatten("dp")
    with pytest.raises(ValueError, match="has been created before"):
        mesh["cp", "tp"]._flatten("dp_tp")


def test_dimensions_of_meshes_split(eight) -> None:
    mesh = dist.init_device_mesh("cpu", (8,), mesh_dim_names=("world",))
    split = mesh._unflatten("world", (2, 4), ("a", "b"))
    assert split.mesh.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]] and split["b"].mesh.tolist() == [0, 1, 2, 3]
    assert split._unflatten(1, (2, 2), ("b", "c"))["a", "c"].mesh.tolist() == [[2, 3], [6, 7]]
    with pytest.raises(ValueError, match="must be equal for unflatten"):
        mesh._unflatten(0, (2, 3), ("a", "b"))
    with pytest.raises(KeyError):
        mesh["a"]


def test_meshes_that_a_program_is_in_and_their_back_ends(eight) -> None:
    from rushlight.distributed.tensor import DTensor, Replicate, distribute_tensor

    mesh = dist.init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"), backend_override={"tp": "fake"})
    with pytest.raises(RuntimeError, match="No device mesh is currently active"):
        DTensor.from_local(torch.ones(2))
    with mesh["tp"]:
        assert DTensor.from_local(torch.ones(2)).device_mesh == mesh["tp"] == distribute_tensor(torch.ones(2)).device_mesh
    with pytest.raises(TypeError, match="must be Shard, Replicate or Partial"):
        DTensor.from_local(torch.ones(2), mesh["tp"], [Replicate])
    for wrong, text in {("dp", 0): "redundant dim index 0 and name dp", ("cp",): "invalid keys in backend_override: got .'cp'."}.items():
        with pytest.raises(RuntimeError, match=text):
            dist.init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"), backend_override=dict.fromkeys(wrong, "fake"))


def test_parts_in_several_pieces() -> None:
    from rushlight.distributed.tensor._utils import compute_local_shape_and_global_offset
    from rushlight.distributed.tensor.placement_types import Shard, _StridedShard

    shards, missing = Shard(1)._split_tensor(torch.arange(14.0).reshape(2, 7), 4)
    assert missing == [0, 0, 0, 1] and [each.shape[1] for each in shards] == [2, 2, 2, 2] and shards[3][:, 1].tolist() == [0, 0]
    assert not _StridedShard(0, split_factor=2).is_shard() and Shard(0).is_shard()
    found = {}
    for rank in range(4):
        dist.init_process_group("fake", rank=rank, world_size=4)
        mesh = dist.init_device_mesh("cpu", (2, 2))
        placed = (_StridedShard(0, split_factor=2), Shard(0))
        found[rank] = [compute_local_shape_and_global_offset((size, 3), mesh, placed) for size in (8, 9)]
        dist.destroy_process_group()
    assert found == {
        0: [((2, 3), (0, 0)), ((3, 3), (0, 0))],
        1: [((2, 3), (4, 0)), ((2, 3), (5, 0))],
        2: [((2, 3), (2, 0)), ((2, 3), (3, 0))],
        3: [((2, 3), (6, 0)), ((2, 3), (7, 0))],
    }
