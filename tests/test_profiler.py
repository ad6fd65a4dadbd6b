"""The profiler: events of forward, backward and compiled functions; schedules; tables; Chrome traces."""

from __future__ import annotations

import gzip
import json

import pytest

import rushlight as torch
from rushlight.core.state import flags, state
from rushlight.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler


def recorded(**options):
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    with profile(activities=[ProfilerActivity.CPU], **options) as prof:
        with record_function("forward"):
            loss = model(torch.ones(3, 8)).sum()
        loss.backward()
    return prof


def test_forward_and_backward_are_recorded_and_nested():
    prof = recorded(record_shapes=True, profile_memory=True)
    events = prof.events()
    by_name = {event.name: event for event in reversed(events)}
    linear = by_name["aten::linear"]
    assert linear.cpu_parent.name == "forward" and linear.input_shapes == [[3, 8], [16, 8], [16]] and linear.cpu_memory_usage == 3 * 16 * 4
    assert by_name["aten::relu"].cpu_parent.name == "forward" and "aten::nn_functional_relu" not in by_name
    inner = by_name["ReluBackward0"]
    assert inner.cpu_parent.name == "autograd::engine::evaluate_function: ReluBackward0"
    assert inner.sequence_nr == by_name["aten::relu"].sequence_nr and {e.name for e in inner.cpu_children} == {
        "aten::le",
        "aten::where",
    }
    for event in events:
        assert event.time_range.start <= event.time_range.end and event.self_cpu_time_total >= 0
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start and child.time_range.end <= event.time_range.end


def test_nothing_stays_on():
    before = flags.special
    recorded()
    assert flags.special == before and state.profiler is None
    with pytest.raises(ZeroDivisionError), profile():
        1 / 0
    assert flags.special == before and state.profiler is None


def test_averages_and_tables():
    prof = recorded(record_shapes=True)
    averages = {each.key: each for each in prof.key_averages()}
    assert averages["aten::linear"].count == 2 and averages["aten::linear"].cpu_time * 2 == pytest.approx(
        averages["aten::linear"].cpu_time_total
    )
    assert len([e for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::linear"]) == 2
    text = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=3)
    lines = text.splitlines()
    assert lines[1].split() == "Name Self CPU % Self CPU CPU total % CPU total CPU time avg # of Calls".split()
    assert len(lines) == 8 and lines[-1].startswith("Self CPU time total: ") and len(set(map(len, lines[:6]))) == 1
    assert "Input Shapes" in prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total")
    with pytest.raises(AssertionError, match="sort_by should be one of"):
        prof.key_averages().table(sort_by="beauty")


def test_chrome_trace(tmp_path):
    prof = recorded(record_shapes=True)
    prof.add_metadata("who", "me")
    prof.add_metadata_json("numbers", "[1, 2]")
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["who"] == "me" and trace["numbers"] == [1, 2]
    spans = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    assert len(spans) == len(prof.events()) and {each["cat"] for each in spans} == {"cpu_op", "user_annotation"}
    open_until: list[float] = []
    for span in sorted(spans, key=lambda each: (each["ts"], -each["dur"])):  # as a viewer does: intervals nest or are apart
        while open_until and open_until[-1] <= span["ts"]:
            open_until.pop()
        assert not open_until or span["ts"] + span["dur"] <= open_until[-1] + 0.01
        open_until.append(span["ts"] + span["dur"])
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    with gzip.open(tmp_path / "trace.json.gz", "rt") as file:
        assert json.load(file)["traceEvents"]


def test_schedule():
    action = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=1)
    assert [action(step).name for step in range(7)] == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    with pytest.raises(AssertionError):
        schedule(wait=-1, warmup=0, active=1)


def test_steps_are_recorded_by_the_schedule(tmp_path):
    ready = []

    def handler(prof):
        ready.append((prof.step_num, [event.name for event in prof.events()]))
        tensorboard_trace_handler(str(tmp_path), "worker")(prof)

    with profile(schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=handler) as prof:
        for _ in range(9):
            torch.ones(2).exp()
            prof.step()
    steps = ["ProfilerStep#2", "aten::ones", "aten::exp", "ProfilerStep#3", "aten::ones", "aten::exp"]
    assert [step for step, _ in ready] == [4, 8] and ready[0][1] == steps and prof.current_action is ProfilerAction.WARMUP
    assert len(list(tmp_path.glob("worker.*.pt.trace.json"))) == 2


def test_a_profiler_without_a_schedule_hands_over_at_the_end():
    seen = []
    with profile(on_trace_ready=seen.append) as prof:
        torch.ones(1)
    assert seen == [prof]


def test_compiled_functions_are_one_event():
    compiled = torch.compile(lambda x: (x * 2 + 1).exp())
    x = torch.ones(4)
    expected = compiled(x)
    with profile() as prof:
        found = compiled(x)
        torch.neg(x)
    assert [event.name for event in prof.events()] == ["Torch-Compiled Region: <lambda>", "aten::neg"]
    assert torch.equal(found, expected)


def test_autograd_profiler():
    with torch.autograd.profiler.profile(record_shapes=True) as prof:
        x = torch.ones(3, requires_grad=True)
        with torch.autograd.profiler.record_function("mine"):
            x.exp().sum().backward()
    assert prof.function_events[1].name == "mine" and prof.self_cpu_time_total > 0
    assert prof.total_average().count == len(prof.function_events) and "aten::exp" in prof.key_averages().table()
    assert "unfinished" in repr(torch.autograd.profiler.profile())
    with torch.autograd.profiler.profile(enabled=False) as off:
        torch.ones(1)
    assert off.function_events is None
    with pytest.raises(NotImplementedError, match="NVIDIA"), torch.autograd.profiler.emit_nvtx():
        pass


def test_composites_and_autocast_under_the_profiler():
    with profile() as prof, torch.autocast("cpu", dtype=torch.bfloat16):
        result = torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2))
        torch.nn.functional.gelu(torch.ones(2))
    assert result.dtype is torch.bfloat16 and "aten::linear" in [event.name for event in prof.events()]


def test_stacks_name_the_program(tmp_path):
    with profile(with_stack=True) as prof:
        torch.ones(1)
    assert "test_stacks_name_the_program" in prof.events()[0].stack[0]
    prof.export_stacks(str(tmp_path / "stacks.txt"))


@record_function("decorated")
def doubled(x):
    return x * 2


def test_record_function_decorates():
    with profile() as prof:
        doubled(torch.ones(1))
    assert [event.name for event in prof.events()][1:] == ["decorated", "aten::mul"]


def test_ranges_by_the_operators_of_the_profiler() -> None:
    with torch.profiler.profile() as found:
        handle = torch.ops.profiler._record_function_enter_new("my range", None)
        torch.ones(2).add(1)
        torch.ops.profiler._record_function_exit(handle)
    assert "my range" in {event.key for event in found.key_averages()} and "_record_function_enter" in dir(torch.ops.profiler)
