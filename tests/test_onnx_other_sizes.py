"""An export with dynamic dimensions is refused where the program is another one for other sizes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support.onnx_files import run_onnx

import rushlight as torch
import rushlight.onnx
from rushlight import nn
from rushlight.onnx.errors import OnnxExporterError


def loop(x):
    y = x
    for _ in range(x.shape[0]):
        y = y + 1
    return y


def branch(x):
    return x + 1 if x.shape[0] > 4 else x - 1


def whole(x):
    return x * int(x.shape[0])


def length(x):
    return x * len(x)


def rows(x):
    total = 0
    for row in x:
        total = total + row
    return total


@pytest.mark.parametrize("program", [loop, branch, whole, length, rows])
def test_refused(program, tmp_path):
    path = tmp_path / "model.onnx"
    with warnings.catch_warnings(), pytest.raises(OnnxExporterError, match="for other sizes") as caught:
        warnings.simplefilter("ignore")
        rushlight.onnx.export(program, (torch.ones(3),), str(path), input_names=["x"], dynamic_axes={"x": [0]})
    assert f'File "{__file__}"' in str(caught.value) and program.__name__ in str(caught.value)
    assert not list(tmp_path.iterdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fixed = rushlight.onnx.export(program, (torch.ones(3),), None, input_names=["x"])
    assert np.array_equal(fixed.run(torch.ones(3))[0].numpy(), program(torch.ones(3)).numpy())


def test_a_limit_that_the_program_checks_is_no_difference():
    class Limited(nn.Module):
        def forward(self, x):
            assert x.shape[1] <= 8, "too long"
            return x.cumsum(1)

    made = rushlight.onnx.export(Limited(), (torch.ones(2, 8),), None, input_names=["x"], dynamic_axes={"x": [0, 1]})
    assert np.array_equal(made.run(torch.ones(3, 5))[0].numpy(), np.cumsum(np.ones((3, 5)), 1))


def test_sizes_that_must_divide_are_kept_dividing():
    class Halves(nn.Module):
        def forward(self, x):
            return x.view(x.shape[0], 2, x.shape[1] // 2).sum(1)

    made = rushlight.onnx.export(Halves(), (torch.ones(2, 6),), None, input_names=["x"], dynamic_axes={"x": [0, 1]})
    assert made.run(torch.ones(1, 10))[0].shape == (1, 5)


def test_a_table_that_is_cut_to_the_length_of_the_input_is_no_difference():
    class Places(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("places", torch.arange(64)[None])

        def forward(self, x):
            places = self.places[:, : x.shape[1]]
            return x + places.expand(x.shape[0], places.shape[1])

    made = rushlight.onnx.export(Places(), (torch.ones(2, 40),), None, input_names=["x"], dynamic_axes={"x": [0, 1]})
    assert np.array_equal(made.run(torch.ones(3, 5))[0].numpy(), 1 + np.arange(5.0) + np.zeros((3, 1)))


@torch.jit.script
def one_row(state: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    if rows.size(0) == 1:
        state = rows + state
    return state * 2


@torch.jit.script
def of_equal_sizes(state: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    if state.size(0) == rows.size(0):
        found = state + rows
    else:
        found = state
    return found


@torch.jit.script
def first_row(state: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    if rows.size(0) > 0:
        if rows.size(0) > 4:
            state = state + rows[4]
        else:
            state = state - rows[0]
    return state


@pytest.mark.parametrize(("program", "example"), [(one_row, 3), (of_equal_sizes, 3), (first_row, 0)])
def test_a_branch_that_the_sizes_of_the_example_rule_out_is_part_of_the_file(program, example):
    names = ["state", "rows"]
    exported = rushlight.onnx.export(
        program, (torch.randn(2, 4), torch.randn(example, 4)), None, input_names=names, dynamic_axes={name: [0] for name in names}
    )
    for state, rows in [(2, example), (2, 1), (5, 1), (2, 2), (5, 5), (3, 6), (1, 1)]:
        args = torch.randn(state, 4), torch.randn(rows, 4)
        try:
            expected = program(*args)
        except Exception:  # the program is not for these sizes
            continue
        assert np.allclose(exported.run(*args)[0].numpy(), expected.numpy(), atol=1e-6), (state, rows)


def test_a_branch_that_runs_at_no_sizes_is_refused():
    @torch.jit.script
    def unfit(x: torch.Tensor) -> torch.Tensor:
        if bool(x.sum() > 100):
            x = x.reshape(7, 11)
        return x * 2

    with pytest.raises(
        RuntimeError, match="a branch that this run does not take can't be captured .*is invalid for input of size 3"
    ) as caught:
        rushlight.onnx.export(unfit, (torch.ones(3),), None)
    assert "Give example inputs for which it runs" in str(caught.value)


def test_an_assigned_value_whose_leading_size_is_1_in_the_example():
    @torch.jit.script
    def assign(state: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        state = state.clone()
        state[:] = value
        return state

    names = ["state", "value"]
    exported = rushlight.onnx.export(
        assign,
        (torch.randn(2, 1, 3, 4), torch.randn(1, 3, 4)),
        None,
        input_names=names,
        dynamic_axes={"state": [0, 1, 2, 3], "value": [0, 1, 2]},
    )
    for state, value in [((2, 5, 3, 4), (5, 3, 4)), ((2, 5, 3, 2), (1, 3, 2)), ((2, 1, 1, 1), (1, 1, 1))]:
        args = torch.randn(state), torch.randn(value)
        assert np.array_equal(exported.run(*args)[0].numpy(), assign(*args).numpy()), (state, value)


@pytest.mark.parametrize("norm_first", [False, True])
def test_causal_masks_of_transformers_at_other_lengths(norm_first):
    """Whether a mask that is made for the length of the input is causal is a hint, which needs no value of it."""

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x):
            return self.encoder(x, mask=nn.Transformer.generate_square_subsequent_mask(x.size(1)))

    model = Encoder().eval()
    program = rushlight.onnx.export(model, (torch.randn(2, 5, 8),), None, input_names=["x"], dynamic_axes={"x": [0, 1]})
    for shape in ((2, 5, 8), (1, 9, 8), (3, 1, 8)):
        x = torch.randn(shape)
        np.testing.assert_allclose(program.run(x)[0].numpy(), model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def written_up_to(x):
    x = x.clone()
    x[:, : x.size(0)] = 0
    return x


def written_from(x):
    x = x.clone()
    x[:, x.size(0) :] += 1
    return x


def written_at(x):
    x = x.clone()
    x[:, x.shape[1] - x.shape[0]] = 2.5
    return x


def written_to_all_rows_of_the_example(x):
    x = x.clone()
    x[: x.shape[1] // 2] *= 2
    return x


def counted(x):
    rows = x[: x.shape[1] // 2]
    return rows * rows.shape[0]


@pytest.mark.parametrize("program", [written_up_to, written_from, written_at, written_to_all_rows_of_the_example, counted])
def test_slices_by_sizes_that_are_written_to(program):
    made = torch.onnx.export(program, (torch.randn(3, 6),), dynamic_axes={"x": {0: "a", 1: "b"}}, opset_version=17)
    for shape in ((3, 6), (4, 9), (5, 7), (7, 8)):
        x = torch.randn(*shape)
        assert torch.allclose(torch.as_tensor(run_onnx(made, x)[0]), program(x))


def test_a_slice_that_is_shorter_than_it_was_said_to_be_is_no_silent_difference():
    def program(x):
        x = x.clone()
        x[1:-1] = x[1:-1] * 2
        x[-2:] = 3.0
        return x

    made = torch.onnx.export(program, (torch.randn(5, 2),), dynamic_axes={"x": {0: "a"}}, opset_version=17)
    for length in (5, 2, 8):
        x = torch.randn(length, 2)
        assert torch.allclose(torch.as_tensor(run_onnx(made, x)[0]), program(x))


FORMULAS = {
    "larger": lambda x: torch.sym_max(x.shape[0], x.shape[1]),
    "smaller": lambda x: torch.sym_min(x.shape[0], x.shape[1]),
    "float": lambda x: x * torch.sym_float(x.shape[0]),
    "root": lambda x: x * torch.sym_sqrt(x.shape[0]),
    "max of Python": lambda x: x.new_zeros(max(x.shape[0], x.shape[1])),
    "max of a list": lambda x: x.new_zeros(max([*x.shape, 4])),
    "min of an iterator": lambda x: x.new_zeros(min(size + 1 for size in x.shape)),
    "min and a number": lambda x: x[:, : min(x.shape[1], 3)] * min(2.0, 3.0),
}


@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("name", FORMULAS)
def test_the_larger_of_sizes_is_a_formula(name, dynamo):
    program = FORMULAS[name]

    class Model(nn.Module):
        def forward(self, x):
            return program(x)

    how = {"dynamo": True, "dynamic_shapes": ({0: "rows", 1: "columns"},)} if dynamo else {"dynamic_axes": {"x": [0, 1]}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = rushlight.onnx.export(Model(), (torch.ones(3, 5),), None, input_names=["x"], **how)
    for shape in ((3, 5), (7, 2), (4, 4), (1, 9)):
        found, expected = made.run(torch.ones(shape))[0].numpy(), np.asarray(program(torch.ones(shape)))
        assert found.shape == expected.shape and np.allclose(found, expected), (shape, found)
    assert max.__name__ == "max" and type(max) is type(len)  # the builtins are in their places again


def wide(x):
    return x * 2 if x.shape[1] > x.shape[0] else x * 3


def few(x):
    return x * 2 if x.shape[0] > 512 else x * 3


def chosen(x):
    return x * torch.sym_ite(x.shape[0] > x.shape[1], x.shape[0], x.shape[1])


def by_key(x):
    return x * max(x.shape, key=lambda size: -size)


@pytest.mark.parametrize("program", [wide, few, chosen, by_key])
def test_a_comparison_of_sizes_that_the_file_depends_on_is_named(program):
    with pytest.warns(torch.jit.TracerWarning, match="the file holds where") as caught:
        rushlight.onnx.export(program, (torch.ones(3, 5),), None, input_names=["x"], dynamic_axes={"x": [0, 1]})
    assert __file__ in str(caught[0].message)


def test_a_comparison_of_sizes_that_changes_nothing_is_not_named():
    def checked(x):
        if x.shape[0] > 512:
            raise ValueError("too long")
        return x * (2 if x.shape[0] == x.shape[1] else 2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rushlight.onnx.export(checked, (torch.ones(3, 5),), None, input_names=["x"], dynamic_axes={"x": [0, 1]})
