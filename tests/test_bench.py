"""The benchmark of native code: that its processes answer, that it compares what is equal, counts right, and says what is missed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rushlight

BENCH = Path(__file__).resolve().parent.parent / "bench"
sys.path.append(str(BENCH))

import native_growth  # noqa: E402
import native_limits  # noqa: E402
import native_speed  # noqa: E402
import readme_table  # noqa: E402
from cases import CASES, maker  # noqa: E402
from native_speed import WHOLE, Figures  # noqa: E402
from peers import Peer, busy_core, closing  # noqa: E402

sys.path.remove(str(BENCH))  # bench/cuda.py would stand before NVIDIA's package `cuda`, which CuPy imports

MLP = "MLP, batch 32"


def figures(**ours: float) -> Figures:
    """Times of training steps: PyTorch's best is 100 µs, JAX's 50."""
    times = {("rushlight", form): seconds for form, seconds in ours.items()}
    times |= {("torch", "eager"): 100e-6, ("torch", "model"): 200e-6, ("torch", "step"): 150e-6, ("jax", "step"): 50e-6}
    return Figures(times={("rushlight", "eager"): 300e-6, **times})


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_rows_of_training_share_a_peer_and_say_what_is_missed() -> None:
    model, step = map(cells, native_speed.speed_rows(MLP, "training", figures(model=25e-6, step=7e-6)))
    names = cells(native_speed.SPEED[0])
    assert model[0] == f"{MLP}, training" and step[0] == f"{MLP}, {WHOLE}" and len(model) == len(step) == len(names)
    at = names.index("native to the best of PyTorch")
    assert model[at : at + 4] == ["0.25", "0.25", "0.50", "–"] and model[-1] == ""
    assert step[at : at + 4] == ["0.07", "0.06", "0.14", "0.5"] and step[-1] == "**missed** PyTorch"
    assert cells(native_speed.speed_rows(MLP, "training", figures(model=25e-6, step=26e-6))[1])[-1] == "**missed** PyTorch, JAX"


def test_packages_that_take_no_part_are_dashes() -> None:
    (row,) = native_speed.speed_rows(MLP, "inference", Figures(times={("rushlight", "eager"): 2e-6, ("rushlight", "model"): 1e-6}))
    assert cells(row) == [f"{MLP}, inference", "1.00 µs", "2.00 µs", *["–"] * 11, ""]


def test_first_calls_are_held_against_both_compilers() -> None:
    found = Figures(
        first={("rushlight", "model"): 0.3, ("torch", "model"): 10.0, ("jax", "step"): 0.2},
        loading={("rushlight", "model"): 0.1},
    )
    found.cached["rushlight", "model"] = 0.04
    (row,) = native_speed.cold_rows(MLP, "inference", found)
    assert cells(row)[3:5] == ["0.03", "0.05"] and cells(row)[6:8] == ["1.50", "1"] and cells(row)[-1] == "**missed**"
    found.first["jax", "step"] = 0.4
    assert cells(native_speed.cold_rows(MLP, "inference", found)[0])[-1] == ""
    found.cached["rushlight", "model"] = 0.06  # more than the disk cache may take
    assert cells(native_speed.cold_rows(MLP, "inference", found)[0])[-1] == "**missed**"


def test_a_slow_neighbour_is_seen() -> None:
    found = Figures(times={("rushlight", "model"): 1e-3}, busy={("rushlight", "model"): 2.9e-3})
    assert cells(native_speed.busy_rows(MLP, "inference", found)[0])[-1] == ""
    found.busy["rushlight", "model"] = 3.1e-3
    assert cells(native_speed.busy_rows(MLP, "inference", found)[0])[-1] == "**missed**"


@pytest.mark.parametrize("wrong", [[1.1, 0.9, 0.8], [1.0, 1.0, 1.0]])  # another loss, and a step that does nothing
def test_unequal_losses_stop_the_run(wrong: list[float]) -> None:
    def peers(values: list[float]) -> dict[Any, Any]:
        named = {("rushlight", "eager"): [1.0, 0.9, 0.8], ("rushlight", "step"): values}
        return {form: SimpleNamespace(values=lambda each=each: np.array(each)) for form, each in named.items()}

    native_speed.check_equal(MLP, "training", peers([1.0, 0.9, 0.8]))
    with pytest.raises(AssertionError, match="rushlight step"):
        native_speed.check_equal(MLP, "training", peers(wrong))


def test_small_changes_of_a_loss_are_compared_too() -> None:
    def peer(*values: float) -> Any:
        return SimpleNamespace(values=lambda: np.array(values))

    with pytest.raises(AssertionError):
        native_speed.check_equal(MLP, "training", {("rushlight", "eager"): peer(1.0, 0.9995), ("rushlight", "step"): peer(1.0, 1.0)})


@pytest.mark.skipif(sys.platform != "linux", reason="the benchmark runs on Linux")
def test_processes_answer(tmp_path: Path) -> None:
    with closing({}) as peers:
        for form in ("eager", "step"):
            peers["rushlight", form] = Peer("rushlight", form, "training", MLP, str(tmp_path))
        native_speed.check_equal(MLP, "training", peers)
        step = peers["rushlight", "step"]
        assert 0 < step.ask("time", 0.01) < step.first
        with busy_core():
            assert step.ask("disturbed", 0.05) > 0
        numbers = np.load(tmp_path / "numbers.npz")
        assert numbers["input"].shape == (32, 64) and numbers["target"].shape == (32, 1) and numbers["4.weight"].shape == (1, 64)
    with pytest.raises(SystemExit, match="KeyError"):
        Peer("rushlight", "eager", "training", "1 x nothing", str(tmp_path))


def test_work_is_counted() -> None:
    forward = 2 * 32 * (2 * 64 * 64 + 64)
    parameters = 4 * (2 * (64 * 64 + 64) + 65)
    assert native_limits.work(MLP, "inference") == (forward, parameters + 4 * 32 * 65)
    # Each layer but the first has two products in backward; the first has one, as its input needs no gradient.
    assert native_limits.work(MLP, "training") == (3 * forward - 2 * 32 * 64 * 64, 2 * parameters + 4 * 32 * 65)
    assert native_limits.work("20 Functions, 128 elements", "inference") == (
        0,
        2 * 4 * 128,
    )  # the input is the parameter


def test_limits_are_the_longer_of_two() -> None:
    found = Figures(times={("rushlight", "model"): 10e-6})
    slow_memory, slow_products = native_limits.Rates(1e12, 1e10), native_limits.Rates(1e10, 1e12)
    (memory,), (products,) = (native_limits.rows(MLP, "inference", found, each) for each in (slow_memory, slow_products))
    assert "(memory)" in memory and "(products)" in products
    assert cells(products)[5] == f"{10e-6 / (native_limits.work(MLP, 'inference')[0] / 1e10):.1f}"


def test_growth_is_linear_or_missed() -> None:
    assert cells(native_growth.row("MLP", "step", [1.0, 4.0, 16.0]))[-4:] == [
        "1.00 s, 1.00 s, 1.00 s",
        "4.00",
        "4.4",
        "",
    ]
    assert cells(native_growth.row("MLP", "step", [1.0, 4.0, 20.0]))[-1] == "**missed**"
    assert len(list(maker("4 x GPT")(rushlight)[0].blocks)) == 4 and maker(MLP) is CASES[MLP]


def test_the_readme_takes_rows_by_the_names_of_their_columns() -> None:
    table = [*native_speed.SPEED, *native_speed.speed_rows(MLP, "training", figures(model=20e-6, step=7e-6))]
    cold = ["| case | native |", "|---|---|", f"| {MLP}, training | 3 s |"]  # a later table does not hide the first
    text = "\n".join(["# Native code", "", "2026-01-01. A machine, load before the run 1.50. More.", "", *table, "", *cold])
    made = readme_table.table(text)
    assert f"| compiled, {MLP}, training | 20.00 µs | 100.00 µs (eager) | 0.20 | 0.25 |  |" in made
    assert f"| compiled, {MLP}, {WHOLE} | 7.00 µs | 100.00 µs (eager) | 0.07 | 0.06 | **missed** PyTorch |" in made
    assert "A machine; 2026-01-01" in made
