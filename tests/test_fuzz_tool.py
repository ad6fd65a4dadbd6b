"""The fuzzer: its calls are the same for a seed, its comparison finds differences, and shrinking keeps them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from fuzz.calls import Array, Call, Mutator
from fuzz.compare import difference, shrink
from fuzz.outcome import outcome
from fuzz.run_training import FORMS, compare, run_form, shrunk
from fuzz.run_training import difference as difference_in_training
from fuzz.spellings import Scalar, Speller
from fuzz.training import export_program, training_program

import rushlight
from rushlight.core.declare import table

OPS = "add softmax gather topk matmul cumsum index_select clamp conv2d where layer_norm".split()


@pytest.mark.parametrize("name", OPS)
def test_calls_are_repeatable_and_agree_with_themselves(name):
    first, second = Mutator(table[name], 3), Mutator(table[name], 3)
    ran = 0
    for _ in range(25):
        call, again = first.call(), second.call()
        assert str(call) == str(again)
        found = outcome(rushlight, call)
        ran += not found.error
        assert difference(call, found, outcome(rushlight, again), strides=True) == ""
    assert ran >= 3  # most calls are valid


def call_of(values, **kwargs):
    return Call("add", "add", [Array(np.array(values, np.float64), "float32", requires_grad=True), 1.5], kwargs, gradient=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: setattr(found, "error", "ValueError"), "raises ValueError"),
        (lambda found: found.dtypes.__setitem__(0, "float64"), "result 0 is float32; PyTorch float64"),
        (lambda found: found.results.__setitem__(0, found.results[0] + 0.01), "result 0 is"),
        (lambda found: found.results.__setitem__(0, found.results[0][:1]), "has shape"),
        (lambda found: found.aliases.__setitem__(0, 0), "share memory"),
        (lambda found: found.gradients.__setitem__(0, -found.gradients[0]), "gradient 0 is"),
    ],
)
def test_differences_are_told(change, said):
    call = call_of([1.0, 2.0, np.nan])
    ours = outcome(rushlight, call)
    theirs = copy.deepcopy(ours)
    assert difference(call, ours, theirs) == ""
    change(theirs)
    assert said in difference(call, ours, theirs)


def test_gradients_that_are_refused_here_alone_are_told():
    call = call_of([1.0, 2.0, np.nan])
    ours = outcome(rushlight, call)
    theirs = copy.deepcopy(ours)
    ours.backward_error = "RuntimeError"
    assert "backward" in difference(call, ours, theirs)
    assert difference(call, theirs, ours) == ""  # those that PyTorch refuses are known


def test_errors_of_one_class_agree():
    call = Call("add", "add", [Array(np.ones(2), "float32"), Array(np.ones(3), "float32")])
    assert outcome(rushlight, call).error == "RuntimeError"


def test_shrinking_keeps_what_differs():
    call = call_of([[0.0, -1.0, 3.0, 4.0]] * 8, alpha=2)

    def differs(other):
        return bool((other.args[0].values < 0).any())

    small = shrink(call, differs)
    assert differs(small) and small.args[0].values.size == 2 and not small.kwargs and not small.gradient


def test_training_programs() -> None:
    """They are the same for a seed, run to their end, and do the same captured and exported as eagerly."""
    for seed in (1, 4, 11):
        source = training_program(seed)
        assert source == training_program(seed)
        wanted = run_form(source, FORMS["training"]["eager"])
        assert not wanted.error and len(wanted.results) > 10
        assert not difference_in_training("training", source, "captured", None)
    assert not difference_in_training("export", export_program(1), "traced", None)


def test_a_difference_in_a_training_program_is_found_and_shrunk() -> None:
    source = training_program(1)
    broken = source.replace("results = []", "results = [torch.tensor(form(lambda: 1) is None)]").replace(
        "model_ = form(model)", "model_ = model"
    )
    differs = lambda text: compare(run_form(text, lambda _: None), run_form(text, lambda function: function), False)
    assert differs(broken).startswith("values 0") and len(shrunk(broken, differs, 40)) < len(broken)


def test_spellings_of_a_call_are_the_same_in_every_process_and_show_themselves() -> None:
    first, second = Speller(Mutator(table["sum"], 3)), Speller(Mutator(table["sum"], 3))
    calls = [str(first.call()) for _ in range(60)]
    assert calls == [str(second.call()) for _ in range(60)]
    assert any("axis=" in each for each in calls) and any("numpy." in each or "tensor(" in each for each in calls)


def test_a_number_is_made_in_the_form_that_a_call_spells() -> None:
    found = outcome(rushlight, Call("mul", "mul", [Array(np.array([2.0]), "float32"), Scalar(3.0, "numpy.float64")]))
    assert found.dtypes == ["float32"] and found.results[0].tolist() == [6.0]
    assert outcome(rushlight, Call("mul", "mul", [Array(np.array([2]), "int64"), Scalar(3, "tensor")])).results[0].tolist() == [6]
