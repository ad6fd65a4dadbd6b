"""`torch.ao.pruning`: masks over parameters that follow the weights, and how sparse they are by step. Values recorded from PyTorch 2.13."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.ao import pruning
from rushlight.ao.pruning import BaseScheduler, BaseSparsifier, CubicSL, LambdaSL, NearlyDiagonalSparsifier, WeightNormSparsifier


def wave(*shape: int) -> Any:
    steps = torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float32)
    return (torch.sin(steps * 0.7) * torch.cos(steps * 0.13)).reshape(shape)


def net() -> Any:
    made = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 4)))
    with torch.no_grad():
        for each in made.parameters():
            each.copy_(wave(*each.shape))
    return made


@pytest.mark.parametrize(
    ("settings", "zeros", "total"),
    [
        ({}, 48, 0.87437),
        ({"sparsity_level": 0.3, "sparse_block_shape": (2, 3)}, 30, 1.19087),
        ({"sparsity_level": 0.8, "sparse_block_shape": (1, 4), "zeros_per_block": 2}, 38, 1.50646),
        ({"norm": 1, "sparsity_level": 0.6}, 56, 3.28490),
        ({"sparsity_level": 0.0}, 0, 1.40630),
        ({"sparsity_level": 1.0}, 96, 0.0),
    ],
)
def test_blocks_of_the_least_norm_are_masked(settings: dict[str, Any], zeros: int, total: float) -> None:
    model = net()
    sparsifier = WeightNormSparsifier(**settings)
    sparsifier.prepare(model, None)
    sparsifier.step()
    assert int((model[0].weight == 0).sum()) == zeros and model[0].weight.sum().item() == pytest.approx(total, abs=1e-4)
    assert [group["tensor_fqn"] for group in sparsifier.groups] == [
        "0.weight",
        "2.0.weight",
    ] and "0.parametrizations.weight.original" in model.state_dict()
    assert not any("mask" in name for name in model.state_dict())


def test_sizes_that_are_no_multiple_of_the_block() -> None:
    model = nn.Sequential(nn.Linear(5, 3))
    sparsifier = WeightNormSparsifier(sparsity_level=0.9, sparse_block_shape=(2, 2), zeros_per_block=1)
    sparsifier.prepare(model, None)
    sparsifier.step()
    assert model[0].weight.shape == (3, 5) and int((model[0].weight == 0).sum()) == 5


def test_what_is_near_the_diagonal_stays() -> None:
    model = nn.Sequential(nn.Linear(4, 3))
    sparsifier = NearlyDiagonalSparsifier(3)
    sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
    sparsifier.step()
    assert model[0].parametrizations.weight[0].mask.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]]
    sparsifier.groups[0]["nearliness"] = 2
    with pytest.raises(ValueError, match="odd"):
        sparsifier.step()


def test_training_with_a_schedule() -> None:
    model = net()
    sparsifier = WeightNormSparsifier(sparse_block_shape=(1, 1))
    sparsifier.prepare(model, [{"tensor_fqn": "0.weight", "sparsity_level": 0.2}, {"tensor_fqn": "2.0.weight"}])
    scheduler = CubicSL(sparsifier, init_sl=0.0, init_t=1, delta_t=2, total_t=3, initially_zero=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    levels, zeros = [], []
    for _ in range(6):
        optimizer.zero_grad()
        model(wave(3, 12)).square().mean().backward()
        optimizer.step()
        sparsifier.step()
        scheduler.step()
        levels.append(round(scheduler.get_last_sl()[1], 4))
        zeros.append(int((model[2][0].weight == 0).sum()))
    assert levels == [0.0, 0.2106, 0.3519, 0.4375, 0.4815, 0.4977] and zeros == [0, 0, 7, 11, 14, 15]
    again, other = net(), WeightNormSparsifier(sparse_block_shape=(1, 1))
    other.prepare(again, None)
    other.load_state_dict(copy.deepcopy(sparsifier.state_dict()))
    assert int((again[2][0].weight == 0).sum()) == 15 and other.groups[1]["module"] is again[2][0]
    sparsifier.squash_mask(params_to_keep=("sparse_block_shape",))
    assert (
        type(model[0]) is nn.Linear
        and model[0].sparse_params == {"sparse_block_shape": (1, 1)}
        and int((model[2][0].weight == 0).sum()) == 15
    )


def test_levels_by_a_function() -> None:
    sparsifier = WeightNormSparsifier()
    sparsifier.prepare(net(), None)
    scheduler = LambdaSL(sparsifier, lambda step: 0.5**step)
    with pytest.warns(UserWarning, match="before `sparsifier.step"):
        scheduler.step()
    assert scheduler.get_last_sl() == [0.25, 0.25] and "sparsifier" not in scheduler.state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparsifier.step()
        scheduler.step()


def test_modules_are_replaced() -> None:
    class Sparse(nn.Linear):
        @classmethod
        def from_dense(cls, mod: Any) -> Any:
            return cls(mod.in_features, mod.out_features)

    model = net()
    sparsifier = WeightNormSparsifier()
    sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
    made: Any = sparsifier.convert(model, {nn.Linear: Sparse})
    assert type(made[0]) is Sparse and type(made[2][0]) is nn.Linear and type(model[0]).__name__ == "ParametrizedLinear"
    with pytest.raises(NotImplementedError, match="mapping"):
        sparsifier.convert(model)


def test_wrong_settings() -> None:
    with pytest.raises(AssertionError, match="tensor_fqn is a required"):
        WeightNormSparsifier().prepare(net(), [{}])
    with pytest.raises(AssertionError, match="expected them to agree"):
        WeightNormSparsifier().prepare(net(), [{"tensor_fqn": "0.weight", "module_fqn": "1"}])
    with pytest.raises(NotImplementedError, match="L-3"):
        WeightNormSparsifier(norm=3)
    with pytest.raises(TypeError, match="not an instance"):
        BaseScheduler(3)
    with pytest.raises(TypeError, match="abstract"):
        BaseSparsifier()  # type: ignore[abstract]
    with pytest.raises(NotImplementedError, match="sparse"):
        pruning.get_static_sparse_quantized_mapping()
    assert pruning.module_to_fqn(net(), nn.ReLU()) is None and pruning.fqn_to_module(net(), "9.x") is None
