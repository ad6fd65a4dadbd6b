"""Layers against PyTorch's: initial values, outputs, gradients and printing, recorded by tests/record/nn_modules.py."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nn_module_cases import CASES, INITIALISERS, Case, draw, run_case
from nn_module_expressions import ERRORS, REPRS, evaluate

import rushlight as torch
from rushlight import nn


class Recorded:
    """The recorded data: one array of all numbers, and what they are."""

    def __init__(self, file: Path) -> None:
        with np.load(file) as data:
            self.values = data["values"]
            self.index = json.loads(data["index"].tobytes())
        self.position = 0
        self.cases = {name: {key: self.take(*what) for key, what in case["arrays"].items()} for name, case in self.index["cases"].items()}
        self.initialisers = {name: [self.take(*what) for what in arrays] for name, arrays in self.index["initialisers"].items()}

    def take(self, shape: list[int], dtype: str) -> tuple[np.ndarray, str]:
        count = int(np.prod(shape))
        self.position += count
        return self.values[self.position - count : self.position].reshape(shape), dtype


RECORDED = Recorded(Path(__file__).parent / "data" / "nn_modules.npz")


def assert_recorded(found: np.ndarray, expected: tuple[np.ndarray, str], what: str) -> None:
    values, dtype = expected
    assert str(found.dtype) == dtype, what
    assert found.shape == values.shape, what
    np.testing.assert_allclose(found.astype(np.float32), values, rtol=2e-5, atol=2e-6, err_msg=what)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_layer(case: Case) -> None:
    found, text = run_case(torch, case)
    expected = RECORDED.cases[case.name]
    assert list(found) == list(expected)
    for what, array in found.items():
        assert_recorded(array, expected[what], what)
    assert text == RECORDED.index["cases"][case.name]["repr"]


@pytest.mark.parametrize("expression", INITIALISERS)
def test_initialiser(expression: str) -> None:
    for found, expected in zip(draw(torch, expression), RECORDED.initialisers[expression], strict=True):
        assert_recorded(found, expected, expression)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", REPRS)
def test_printing(expression: str) -> None:
    assert repr(evaluate(torch, expression)) == RECORDED.index["reprs"][expression]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", ERRORS)
def test_error(expression: str) -> None:
    kind, message = RECORDED.index["errors"][expression]
    with pytest.raises(Exception) as caught:
        evaluate(torch, expression)
    assert kind in [each.__name__ for each in type(caught.value).__mro__], repr(caught.value)
    assert len(str(caught.value)) > 15 or str(caught.value) == message


# -- all of them -------------------------------------------------------------------------------------------------


def layers() -> list[str]:
    return [name for name in nn.modules.__all__ if isinstance(getattr(nn, name), type)]


def test_every_layer_has_a_case() -> None:
    text = "\n".join([case.layer for case in CASES] + REPRS)
    abstract = {"Container", "Module", "NLLLoss2d", "RNNBase", "RNNCellBase"}
    lazy = {name for name in layers() if name.startswith("Lazy")}  # one of each family stands for all
    missing = [name for name in layers() if f"nn.{name}(" not in text and name not in abstract | lazy]
    assert missing == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_layer_survives_copying_and_pickling(case: Case) -> None:
    import copy
    import pickle

    module = eval(case.layer, {"nn": nn, "torch": torch})
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(other) == repr(module)
        assert type(other) is type(module)
        own, others = dict(module.named_parameters()), dict(other.named_parameters())
        assert list(own) == list(others)
        if "Lazy" not in case.layer:
            for name, parameter in own.items():
                assert others[name] is not parameter
                assert others[name].data_ptr() != parameter.data_ptr()
                assert torch.equal(others[name], parameter)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layer", sorted({case.layer for case in CASES}))
def test_a_layer_is_made_on_the_meta_device(layer: str) -> None:
    """On the meta device nothing is computed, so initial values cost nothing; shapes are those of the CPU."""
    with torch.device("meta"):
        module = eval(layer, {"nn": nn, "torch": torch})
    made = eval(layer, {"nn": nn, "torch": torch})
    if "Lazy" in layer:
        assert all(parameter.device.type == "meta" for parameter in module.parameters())
        return
    assert {name: (value.shape, value.dtype) for name, value in module.state_dict().items()} == {
        name: (value.shape, value.dtype) for name, value in made.state_dict().items()
    }
    assert all(value.is_meta for value in module.state_dict().values())


def test_layers_without_device_and_dtype_take_no_stream() -> None:
    """Making a layer on the meta device leaves the random stream where it was."""
    torch.manual_seed(3)
    nn.Linear(4, 4, device="meta")
    first = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(1), first)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_dtype_argument(dtype: str) -> None:
    kind = getattr(torch, dtype)
    made = [
        nn.Linear(2, 2, dtype=kind), nn.Conv2d(1, 1, 1, dtype=kind), nn.BatchNorm1d(2, dtype=kind), nn.LSTM(2, 2, dtype=kind),
        nn.MultiheadAttention(2, 1, dtype=kind), nn.Embedding(2, 2, dtype=kind), nn.LayerNorm(2, dtype=kind), nn.PReLU(dtype=kind),
    ]  # fmt: skip
    for module in made:
        assert {each.dtype for each in module.parameters()} == {kind}
    lazy = nn.LazyLinear(2, dtype=kind)
    assert lazy.weight.dtype == kind
    lazy(torch.ones(1, 3, dtype=kind))
    assert lazy.weight.dtype == kind


# -- what the table does not say ---------------------------------------------------------------------------------


def test_running_statistics_of_batch_norm_are_restored_by_loading() -> None:
    first, second = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    first(torch.arange(8.0).reshape(4, 2))
    second.load_state_dict(first.state_dict())
    x = torch.ones(3, 2)
    assert torch.equal(first.eval()(x), second.eval()(x))
    assert int(second.num_batches_tracked) == 1


def test_old_states_of_batch_norm_have_no_count() -> None:
    state = dict(nn.BatchNorm1d(2).state_dict())
    del state["num_batches_tracked"]
    assert repr(nn.BatchNorm1d(2).load_state_dict(state)) == "<All keys matched successfully>"


def test_recurrent_weights_stay_those_of_the_module() -> None:
    layer = nn.GRU(2, 3)
    layer.double()
    assert layer._flat_weights[0] is layer.weight_ih_l0
    layer.weight_ih_l0 = nn.Parameter(torch.zeros(9, 2))
    assert layer.all_weights[0][0] is layer.weight_ih_l0
    layer.flatten_parameters()


def test_packed_and_padded_give_the_same() -> None:
    torch.manual_seed(0)
    layer = nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True)
    sequences = [torch.randn(length, 3) for length in (2, 5, 3)]
    packed, (hidden, _) = layer(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    assert lengths.tolist() == [2, 5, 3]
    for number, sequence in enumerate(sequences):
        output, (last, _) = layer(sequence.unsqueeze(0))
        torch.testing.assert_close(padded[number, : len(sequence)], output[0])
        torch.testing.assert_close(hidden[:, number], last[:, 0])


def test_gradient_through_packing() -> None:
    x = torch.arange(12.0).reshape(3, 2, 2).requires_grad_()
    packed = nn.utils.rnn.pack_padded_sequence(x, [3, 1])
    padded, _ = nn.utils.rnn.pad_packed_sequence(packed, padding_value=7.0)
    (padded * torch.arange(12.0).reshape(3, 2, 2)).sum().backward()
    assert x.grad.reshape(-1).tolist() == [0, 1, 2, 3, 4, 5, 0, 0, 8, 9, 0, 0]


def test_second_derivative_of_a_layer() -> None:
    layer = nn.Sequential(nn.Linear(2, 3, dtype=torch.float64), nn.Tanh(), nn.Linear(3, 1, dtype=torch.float64))
    x = torch.ones(1, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(layer, (x,))


def test_a_small_network_learns() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    loss_function = nn.BCEWithLogitsLoss()
    losses = []
    for _ in range(300):
        loss = loss_function(model(x), y)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.5 * parameter.grad
        losses.append(float(loss))
    assert losses[0] > 0.5 > 0.1 > losses[-1]


def test_sdpa_kernels() -> None:
    from rushlight.nn.attention import SDPBackend, sdpa_kernel

    q = torch.ones(1, 2, 3, 4)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION]):
        nn.functional.scaled_dot_product_attention(q, q, q)
    with pytest.raises(NotImplementedError, match="CUDNN_ATTENTION"), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        pass


def test_linear_cross_entropy_says_that_options_have_no_effect() -> None:
    loss = nn.LinearCrossEntropyLoss(3, 4, options=nn.LinearCrossEntropyOptions())
    with pytest.warns(UserWarning, match="computed whole"):
        loss(torch.ones(2, 3), torch.tensor([0, 1]))


def test_old_ways_to_say_how_losses_are_reduced() -> None:
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert nn.L1Loss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert nn.MSELoss(reduce=False).reduction == "none"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nn.L1Loss().reduction == "mean"


def everything_public(module: Any) -> list[str]:
    return [name for name in dir(module) if not name.startswith("_")]


def test_functions_have_the_signatures_of_their_layers() -> None:
    for name in ("relu_", "elu_", "celu_", "hardtanh_", "leaky_relu_", "selu_", "threshold_", "rrelu_"):
        assert name in everything_public(nn.functional)
    x = torch.tensor([-1.0, 2.0])
    assert nn.functional.relu_(x) is x
    assert x.tolist() == [0.0, 2.0]
