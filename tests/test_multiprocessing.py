"""Tensors go between processes in shared memory."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.processes import start_python

import rushlight as torch
from rushlight import multiprocessing as mp

PROGRAM = """
import sys
import torch
import torch.multiprocessing as mp


def fill(rank, shared, queue, answers):
    shared[rank] = rank + 1
    got = queue.get()
    answers.put((rank, got.sum().item(), got.dtype, got.stride(), type(got).__name__))
    got.add_(1)


def fail(rank):
    raise KeyError("boom")


if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    shared = torch.zeros(2).share_memory_()
    queue, answers = context.Queue(), context.Queue()
    sent = [torch.ones(3, 4, dtype=torch.bfloat16).t().contiguous(), torch.nn.Parameter(torch.arange(6.0)[2:4])]
    workers = [context.Process(target=fill, args=(rank, shared, queue, answers)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for each in sent:
        queue.put(each)
    print(sorted(map(str, (answers.get()[1:] for _ in range(2)))))
    for worker in workers:
        worker.join()
    print(shared.tolist(), sent[0].sum().item(), sent[0].is_shared())
    if sys.argv[1] == "spawn":
        try:
            mp.spawn(fail, nprocs=1)
        except mp.ProcessRaisedException as error:
            print("KeyError: 'boom'" in str(error), error.error_index)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_tensors_of_one_memory_and_copies_are_given_to_a_new_process(tmp_path: Path, method: str) -> None:
    program = """
        import sys
        import torch
        import torch.multiprocessing as mp

        def work(whole, part, model, parts):
            whole[2] = 5.0
            assert part[1] == 5.0 and model[0].weight is model[1].weight  # of one memory here as well
            model[0].weight.data.fill_(3.0)
            whole[0] = sum(float(each.sum()) for each in parts)

        if __name__ == "__main__":
            whole = torch.zeros(4).share_memory_()
            model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
            model[1].weight = model[0].weight
            model.share_memory()
            parts = list(torch.arange(64.0).view(8, 8).unbind())  # of one memory that is not shared: copied, one by one
            process = mp.get_context(sys.argv[1]).Process(target=work, args=(whole, whole[1:], model, parts))
            process.start()
            process.join()
            print(process.exitcode, whole.tolist(), model[1].weight.sum().item())
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    done = start_python("-m", "rushlight", "run", str(tmp_path / "program.py"), method)
    assert done.stdout == "0 [2016.0, 0.0, 5.0, 0.0] 12.0\n", done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_tensors_through_queues(tmp_path: Path, method: str) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    done = start_python("-m", "rushlight", "run", str(tmp_path / "program.py"), method)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == str(sorted([str((12.0, torch.bfloat16, (3, 1), "Tensor")), str((5.0, torch.float32, (1,), "Parameter"))]))
    assert lines[1] == "[1.0, 2.0] 24.0 True"  # the worker's in-place addition is seen here
    if method == "spawn":
        assert lines[2] == "True 0"


def test_a_tensor_with_a_history_is_refused() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        mp.reductions.reduce_tensor(x)


def test_names_of_pythons_module() -> None:
    assert mp.cpu_count() >= 1 and set(mp.get_all_start_methods()) >= {"spawn"} and mp.Queue and mp.Manager
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("pigeon")
