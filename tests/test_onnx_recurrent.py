"""Recurrent layers and packed sequences in ONNX: exported with open batch and time, run at other sizes than the example's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.results import tensors_in

pytest.importorskip("onnxruntime")

import rushlight
import rushlight.onnx
from rushlight import nn
from rushlight.capture.graph_module import GraphModule
from rushlight.capture.trace.capture import capture
from rushlight.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from rushlight.onnx.errors import OnnxExporterError

KINDS = {
    "tanh": lambda *sizes, **options: nn.RNN(*sizes, **options),
    "relu": lambda *sizes, **options: nn.RNN(*sizes, nonlinearity="relu", **options),
    "gru": lambda *sizes, **options: nn.GRU(*sizes, **options),
    "lstm": lambda *sizes, **options: nn.LSTM(*sizes, **options),
}  # fmt: skip
OPSETS = (9, 11, 14, 20)


def assert_exported_recurrent(
    model: Any, example: tuple[Any, ...], others: list[tuple[Any, ...]], axes: Any, opset: int | None = None
) -> Any:
    """Export with an example, and compare what the file computes from other inputs with what the model does."""
    program = rushlight.onnx.export(model, example, None, opset_version=opset, dynamic_axes=axes)
    names = [each.name for each in program.model_proto.graph.input]
    session = program.session()
    for inputs in (example, *others):
        got = session.run(None, dict(zip(names, [each.detach().numpy() for each in inputs])))
        with rushlight.no_grad():
            wanted = tensors_in(model(*inputs))
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted):
            assert one.shape == tuple(other.shape)
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)
    return program


def operations(program: Any) -> list[str]:
    return [node.op_type for node in program.model_proto.graph.node if node.op_type != "Constant"]


class Padded(nn.Module):
    """A layer on sequences of equal length, with or without initial states."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any, *states: Any) -> Any:
        if not states:
            return self.layer(x)
        return self.layer(x, states if len(states) > 1 else states[0])


class Packed(nn.Module):
    """A layer on sequences of different lengths."""

    def __init__(self, layer: Any, batch_first: bool, **options: Any) -> None:
        super().__init__()
        self.layer = layer
        self.batch_first = batch_first
        self.enforce_sorted = options.pop("enforce_sorted", True)
        self.options = options

    def forward(self, x: Any, lengths: Any) -> Any:
        packed = pack_padded_sequence(x, lengths, self.batch_first, self.enforce_sorted)
        output, last = self.layer(packed)
        return *pad_packed_sequence(output, self.batch_first, **self.options), last


def made(kind: str, layers: int, bidirectional: bool, batch_first: bool, **options: Any) -> Any:
    rushlight.manual_seed(3)
    return KINDS[kind](3, 4, layers, bidirectional=bidirectional, batch_first=batch_first, **options).eval()


def batch(time: int, count: int, batch_first: bool) -> Any:
    return rushlight.randn(count, time, 3) if batch_first else rushlight.randn(time, count, 3)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_padded(kind: str, layers: int, bidirectional: bool, batch_first: bool, opset: int) -> None:
    model = Padded(made(kind, layers, bidirectional, batch_first))
    program = assert_exported_recurrent(
        model, (batch(5, 2, batch_first),), [(batch(7, 3, batch_first),), (batch(1, 1, batch_first),)], {"x": [0, 1]}, opset
    )
    node = {"tanh": "RNN", "relu": "RNN", "gru": "GRU", "lstm": "LSTM"}[kind]
    assert operations(program).count(node) == layers
    assert any(each.name.startswith("layer.weight_ih_l0") for each in program.model_proto.graph.initializer)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_initial_states(kind: str, bidirectional: bool, batch_first: bool) -> None:
    model = Padded(made(kind, 2, bidirectional, batch_first, bias=False))
    rows = 2 * (1 + bidirectional)

    def inputs(time: int, count: int) -> tuple[Any, ...]:
        return batch(time, count, batch_first), *[rushlight.randn(rows, count, 4) for _ in range(1 + (kind == "lstm"))]

    axes = {"x": [0, 1], "states_0": [1], "states_1": [1]} if kind == "lstm" else {"x": [0, 1], "states_0": [1]}
    assert_exported_recurrent(model, inputs(5, 2), [inputs(3, 4)], axes)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_packed(kind: str, layers: int, bidirectional: bool, batch_first: bool, opset: int) -> None:
    model = Packed(made(kind, layers, bidirectional, batch_first), batch_first)
    program = assert_exported_recurrent(
        model,
        (batch(5, 3, batch_first), rushlight.tensor([5, 2, 1])),
        [(batch(6, 2, batch_first), rushlight.tensor([4, 3])), (batch(3, 4, batch_first), rushlight.tensor([3, 3, 3, 1]))],
        {"x": [0, 1], "lengths": [0]},
        opset,
    )
    assert "Compress" not in operations(program) or opset < 10  # the rows themselves are not needed


@pytest.mark.parametrize("options", [{"padding_value": -1.5}, {"total_length": 8}, {"total_length": 8, "padding_value": 2.0}])
@pytest.mark.parametrize("batch_first", [False, True])
def test_padding(batch_first: bool, options: Any) -> None:
    model = Packed(made("gru", 1, True, batch_first), batch_first, **options)
    assert_exported_recurrent(
        model,
        (batch(5, 3, batch_first), rushlight.tensor([5, 2, 1])),
        [(batch(8, 2, batch_first), rushlight.tensor([6, 3])), (batch(8, 1, batch_first), rushlight.tensor([8]))],
        {"x": [0, 1], "lengths": [0]},
    )


def test_lengths_in_any_order() -> None:
    model = Packed(made("lstm", 2, True, True), True, enforce_sorted=False)
    assert_exported_recurrent(
        model,
        (batch(5, 3, True), rushlight.tensor([2, 5, 1])),
        [(batch(6, 4, True), rushlight.tensor([1, 2, 6, 3]))],
        {"x": [0, 1], "lengths": [0]},
    )


def test_fixed_sizes() -> None:
    model = Packed(made("lstm", 1, False, False), False)
    assert_exported_recurrent(
        model, (batch(5, 3, False), rushlight.tensor([5, 2, 1])), [(batch(5, 3, False), rushlight.tensor([4, 4, 4]))], None
    )


def test_int32_lengths_are_used_as_they_are() -> None:
    model = Packed(made("gru", 1, False, False), False)
    program = assert_exported_recurrent(
        model, (batch(5, 2, False), rushlight.tensor([5, 2], dtype=rushlight.int32)), [], {"x": [0, 1], "lengths": [0]}
    )
    (node,) = [each for each in program.model_proto.graph.node if each.op_type == "GRU"]
    assert node.input[4] == "lengths"


class Rows(nn.Module):
    """Works on the rows of a packed batch before the layer does, so that they have to be padded again."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any, lengths: Any) -> Any:
        packed = pack_padded_sequence(x, lengths)
        rows = PackedSequence(packed.data * 2 + 1, packed.batch_sizes)
        output, last = self.layer(rows)
        return output.data, output.batch_sizes, last, pad_packed_sequence(rows)[0]


@pytest.mark.parametrize("bidirectional", [False, True])
def test_rows_of_packed_sequences(bidirectional: bool) -> None:
    assert_exported_recurrent(
        Rows(made("gru", 2, bidirectional, False)),
        (batch(5, 3, False), rushlight.tensor([5, 2, 1])),
        [(batch(6, 2, False), rushlight.tensor([4, 3]))],
        {"x": [0, 1], "lengths": [0]},
    )


class FromPacked(nn.Module):
    """Takes and returns packed rows."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, data: Any, batch_sizes: Any) -> Any:
        output, last = self.layer(PackedSequence(data, batch_sizes))
        return output.data, last


def test_packed_inputs() -> None:
    example = rushlight.randn(6, 3), rushlight.tensor([3, 2, 1])
    other = rushlight.randn(7, 3), rushlight.tensor([2, 2, 2, 1])
    assert_exported_recurrent(FromPacked(made("lstm", 1, False, False)), example, [other], {"data": [0], "batch_sizes": [0]})


class OwnState(nn.Module):
    """Makes its own initial state, for as many sequences as there are at first."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any, lengths: Any) -> Any:
        packed = pack_padded_sequence(x, lengths)
        state = rushlight.full((1, packed.batch_sizes[0], 4), 0.5)
        output, last = self.layer(packed, state)
        return pad_packed_sequence(output)[0], last


def test_state_as_large_as_the_first_batch() -> None:
    assert_exported_recurrent(
        OwnState(made("gru", 1, False, False)),
        (batch(5, 3, False), rushlight.tensor([5, 2, 1])),
        [(batch(6, 2, False), rushlight.tensor([4, 3]))],
        {"x": [0, 1], "lengths": [0]},
    )


def test_parameters_that_are_not_folded() -> None:
    layer = made("lstm", 2, True, False)
    program = rushlight.onnx.export(Padded(layer), (batch(4, 2, False),), None, do_constant_folding=False)
    assert "layer.weight_ih_l0" in [each.name for each in program.model_proto.graph.initializer]
    x = batch(4, 2, False)
    (got, *_), (wanted, _) = program.session().run(None, {"x": x.numpy()}), layer(x)
    np.testing.assert_allclose(got, wanted.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_projections() -> None:
    layer = nn.LSTM(3, 4, proj_size=2).eval()
    assert_exported_recurrent(Padded(layer), (batch(3, 2, False),), [(batch(3, 5, False),)], {"x": [1]})
    with pytest.raises(OnnxExporterError, match="projections"):
        rushlight.onnx.export(Padded(layer), (batch(3, 2, False),), None, dynamic_axes={"x": [0]})


@pytest.mark.parametrize("cell", [nn.RNNCell(3, 4), nn.RNNCell(3, 4, nonlinearity="relu"), nn.GRUCell(3, 4), nn.LSTMCell(3, 4, bias=False)])
def test_cells(cell: Any) -> None:
    states = 1 + isinstance(cell, nn.LSTMCell)

    def inputs(count: int) -> tuple[Any, ...]:
        return rushlight.randn(count, 3), *[rushlight.randn(count, 4) for _ in range(states)]

    assert_exported_recurrent(
        Padded(cell), inputs(2), [inputs(5)], {"x": [0], "states_0": [0], **({"states_1": [0]} if states > 1 else {})}
    )


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_through_a_captured_graph(kind: str) -> None:
    """A capture holds for other lengths, and its gradients are the program's own."""
    model = Packed(made(kind, 2, True, False), False)
    captured = capture(model, (batch(5, 3, False), rushlight.tensor([5, 2, 1])))
    program = GraphModule(model, captured.graph)
    x = batch(6, 2, False)
    found = []
    for run in (model, program):
        leaf = x.detach().requires_grad_()
        model.zero_grad()
        output, lengths, last = run(leaf, rushlight.tensor([4, 3]))
        (output.sin().sum() + sum(each.cos().sum() for each in tensors_in(last))).backward()
        found.append([output, lengths, leaf.grad, *[each.grad.clone() for each in model.parameters()]])
    for one, other in zip(*found):
        rushlight.testing.assert_close(one, other)
