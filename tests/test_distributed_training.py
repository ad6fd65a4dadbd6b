"""Training in several processes, started by mpiexec: the losses of one process with the whole batch, for each strategy; checkpoints in parts."""

from __future__ import annotations

import io
import json
import pickle
import time
from pathlib import Path

import pytest
from support.mpi import launch, run_ranks, start_ranks
from support.processes import ROOT

import rushlight as torch
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.checkpoint import _pickled

RANKS = Path(__file__).parent / "ranks"


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_strategy_trains_as_one_process_does(count) -> None:
    done = start_ranks(count, RANKS / "training.py", seconds=180)
    assert done.returncode == 0 and done.stdout.count("done") == count, f"{done.stdout}\n{done.stderr[-6000:]}"


@pytest.mark.parametrize(
    ("count", "strategy", "options"), [(2, "replicate", ()), (3, "shard", ()), (4, "replicate", ("--compile",)), (4, "shard", ())]
)
def test_the_example_loses_in_several_processes_what_it_loses_in_one(count, strategy, options, tmp_path) -> None:
    expected = json.loads((ROOT / "tests" / "data" / "examples.json").read_text(encoding="utf8"))["distributed_gpt"]
    file = tmp_path / "losses.json"
    done = launch(
        count, ROOT / "examples" / "distributed_gpt.py", *expected["arguments"], "--strategy", strategy, "--losses", str(file), *options
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(file.read_text()) == pytest.approx(expected["losses"], rel=1e-4)


def test_a_rank_that_dies_in_the_middle_of_a_save_leaves_the_last_whole_checkpoint(tmp_path) -> None:
    begun = time.monotonic()
    done = start_ranks(3, RANKS / "dying_save.py", str(tmp_path), "save")
    assert done.returncode != 0 and "saved" in done.stdout and "not reached" not in done.stdout and time.monotonic() - begun < 30
    left = sorted(each.name for each in tmp_path.glob("*.distcp"))
    assert len(left) > 3  # files of the save that did not end
    state = {"weight": torch.zeros(7, 5), "all": torch.zeros(3), "number": 0}
    dcp.load(state, checkpoint_id=tmp_path)  # in one process
    assert torch.equal(state["weight"], torch.arange(35.0).reshape(7, 5)) and state["number"] == 1
    assert run_ranks(2, RANKS / "dying_save.py", str(tmp_path), "load").count("loaded") == 2  # and in two
    assert not set(left) & {each.name for each in tmp_path.glob("*.distcp")}


def test_sharded_modules_take_new_parameters_dtypes_and_policies() -> None:
    assert run_ranks(2, RANKS / "sharding.py").count("done") == 2


def test_ops_on_distributed_tensors_give_the_placements_of_pytorch() -> None:
    assert run_ranks(2, RANKS / "placements.py").count("done") == 2


@pytest.mark.parametrize(("saved", "loaded"), [(2, 3), (4, 2)])
def test_states_of_sharded_models_go_to_other_numbers_of_processes(saved, loaded, tmp_path) -> None:
    assert run_ranks(saved, RANKS / "states.py", str(tmp_path), "save").count("done") == saved
    assert run_ranks(loaded, RANKS / "states.py", str(tmp_path), "load").count("done") == loaded


def test_methods_of_planners_and_writers_that_would_be_ignored_are_refused(tmp_path) -> None:
    class Planner(dcp.DefaultSavePlanner):
        def create_local_plan(self):
            raise AssertionError("not reached")

    class Writer(dcp.FileSystemWriter):
        def write_data(self, plan, planner):
            raise AssertionError("not reached")

    class Reader(dcp.FileSystemReader):
        def read_data(self, plan, planner):
            raise AssertionError("not reached")

    state = {"a": torch.ones(2)}
    with pytest.raises(NotImplementedError, match=r"Planner\.create_local_plan"):
        dcp.save(state, checkpoint_id=tmp_path, planner=Planner())
    with pytest.raises(NotImplementedError, match=r"Writer\.write_data"):
        dcp.save(state, storage_writer=Writer(tmp_path))
    dcp.save(state, checkpoint_id=tmp_path)
    with pytest.raises(NotImplementedError, match=r"Reader\.read_data"):
        dcp.load(state, storage_reader=Reader(tmp_path))


def test_checkpoints_of_one_process(tmp_path) -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    dcp.save({"model": model, "optimizer": optimizer, "epoch": 4, "names": ["a", "b"]}, checkpoint_id=tmp_path)
    other = torch.nn.Linear(3, 2)
    stepper = torch.optim.AdamW(other.parameters(), lr=7.0)
    other(torch.ones(1, 3)).sum().backward()
    stepper.step()
    state = {"model": other, "optimizer": stepper, "epoch": 0, "names": None}
    dcp.load(state, checkpoint_id=tmp_path)
    assert torch.equal(other.weight, model.weight) and state["epoch"] == 4 and state["names"] == ["a", "b"]
    assert stepper.param_groups[0]["lr"] == 1e-3 and torch.equal(
        stepper.state[other.weight]["exp_avg"], optimizer.state[model.weight]["exp_avg"]
    )
    with pytest.raises(dcp.CheckpointException, match="Size mismatch between saved"):
        dcp.load({"model": {"weight": torch.zeros(3, 3)}}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException, match="Checkpoint already exists"):
        dcp.save({"epoch": 5}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False))
    dcp.format_utils.dcp_to_torch_save(tmp_path, tmp_path / "whole.pt")
    assert torch.load(tmp_path / "whole.pt")["optimizer"]["param_groups"][0]["params"] == [0, 1]
    (tmp_path / ".metadata").write_bytes(b"\x80\x02}q\x00.")
    with pytest.raises(dcp.CheckpointException, match="no checkpoint in parts"):
        dcp.load({"epoch": 0}, checkpoint_id=tmp_path)


def names_in(file: Path) -> set[tuple[str, str]]:
    """The classes and functions that metadata name."""
    found = set()

    class Reader(_pickled._Unpickler):
        def find_class(self, module, name):
            found.add((module, name))
            return super().find_class(module, name)

    Reader(io.BytesIO(file.read_bytes())).load()
    return found


def test_checkpoints_that_pytorch_has_written_are_read(tmp_path) -> None:
    folder = ROOT / "tests" / "data" / "checkpoint_in_parts"
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.zeros(1, 3)).sum().backward()
    optimizer.step()
    state = {
        "weight": torch.zeros(7, 5),
        "half": torch.zeros(4, dtype=torch.bfloat16),
        "optimizer": optimizer.state_dict(),
        "epoch": 0,
        "names": 0,
    }
    dcp.load(state, checkpoint_id=folder)
    assert torch.equal(state["weight"], torch.arange(35.0).reshape(7, 5)) and state["half"].tolist() == [0, 1, 2, 3]
    assert (state["epoch"], state["names"], state["optimizer"]["param_groups"][0]["lr"]) == (4, ["a", "b"], 0.5)
    assert state["optimizer"]["state"][1]["exp_avg"].tolist() == pytest.approx([0.1, 0.1])
    dcp.save(state, checkpoint_id=tmp_path)  # in the same format: the pickle names nothing that PyTorch's does not
    assert names_in(tmp_path / ".metadata") <= names_in(folder / ".metadata")
    again = {"weight": torch.zeros(7, 5), "epoch": 0}
    dcp.load(again, checkpoint_id=tmp_path)
    assert torch.equal(again["weight"], state["weight"]) and again["epoch"] == 4


def test_metadata_that_would_run_something_are_refused(tmp_path) -> None:
    (tmp_path / ".metadata").write_bytes(pickle.dumps(print))
    with pytest.raises(dcp.CheckpointException, match="the metadata of the checkpoint name builtins.print"):
        dcp.load({"epoch": 0}, checkpoint_id=tmp_path)
