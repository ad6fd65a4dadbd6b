"""rushlight.nn.utils: numbers against PyTorch's, and what it does to modules."""

from __future__ import annotations

import copy
import pathlib
import pickle

import numpy as np
import pytest
from nn_utils_programs import PROGRAMS, run_program

import rushlight as torch
from rushlight import nn
from rushlight.core.state import flags
from rushlight.nn import utils
from rushlight.nn.utils import parametrizations, parametrize, prune, stateless

DATA = np.load(pathlib.Path(__file__).parent / "data" / "nn_utils.npz")


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_those_of_pytorch(name):
    found = run_program(name, torch)
    assert [each.size for each in found] == DATA[name + " sizes"].tolist()
    np.testing.assert_allclose(np.concatenate([each.reshape(-1) for each in found]), DATA[name], rtol=1e-9, atol=1e-12)


def test_clipping_through_ops_gives_the_same_numbers():
    flags.enter()
    try:
        found = run_program("clipping", torch)
    finally:
        flags.leave()
    np.testing.assert_allclose(np.concatenate([each.reshape(-1) for each in found]), DATA["clipping"], rtol=1e-9)


def parameter(grad=(0.1, -0.2)):
    param = nn.Parameter(torch.tensor([1.0, 2.0]))
    param.grad = torch.tensor(grad)
    return param


# -- clipping ----------------------------------------------------------------------------------------------------


def test_clipping_of_nothing():
    assert utils.clip_grad_norm_([], 1.0).item() == 0
    assert utils.clip_grad_norm_([nn.Parameter(torch.ones(2))], 1.0).item() == 0
    assert utils.get_total_norm([]).item() == 0
    assert utils.clip_grad_norm_(parameter(), 1.0).item() == pytest.approx(0.05**0.5)


def test_clipping_of_what_is_not_finite():
    param = parameter(grad=(float("inf"), 1.0))
    with pytest.raises(RuntimeError, match="The total norm of order 2.0 for gradients from `parameters` is non-finite"):
        utils.clip_grad_norm_([param], 1.0, error_if_nonfinite=True)
    assert param.grad.tolist() == [float("inf"), 1.0]
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        utils.clip_grad_norm([param], 1.0)
    with pytest.raises(ValueError, match="could not convert"):
        utils.clip_grad_norm_([param], "x")


def test_vectors():
    params = [parameter(), parameter()]
    vector = torch.arange(4.0)
    utils.vector_to_parameters(vector, params)
    assert params[1].tolist() == [2, 3]
    with torch.no_grad():
        params[0] += 5  # the parameters are views of the vector
    assert vector.tolist() == [5, 6, 2, 3]
    assert utils.parameters_to_vector(params).requires_grad
    with pytest.raises(TypeError, match="expected torch.Tensor, but got: list"):
        utils.vector_to_parameters([1], params)


# -- calls with other parameters ---------------------------------------------------------------------------------


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.weight = self.first.weight

    def forward(self, x):
        return self.first(x) + self.weight.sum()


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x, add=1):
        self.count = self.count + add
        return x + self.count


call = stateless._functional_call


def test_functional_call():
    layer = nn.Linear(2, 2)
    own = layer.weight
    weight = torch.ones(2, 2, requires_grad=True)
    result = call(layer, {"weight": weight, "bias": torch.zeros(2)}, torch.ones(1, 2))
    assert result.tolist() == [[2, 2]]
    result.sum().backward()
    assert weight.grad.tolist() == [[1, 1], [1, 1]]
    assert own.grad is None
    assert layer.weight is own
    with pytest.warns(FutureWarning, match=r"torch.func.functional_call"):
        stateless.functional_call(layer, {}, (torch.ones(1, 2),))
    assert call(Counter(), {"count": torch.ones(1)}, (), {"x": torch.ones(1), "add": 2}).item() == 4


def test_what_a_call_assigns_goes_to_the_dict():
    module, given = Counter(), {"count": torch.ones(1)}
    assert call(module, given, torch.zeros(1)).item() == 2
    assert given["count"].item() == 2
    assert module.count.item() == 0


def test_the_module_is_put_back_after_an_error():
    layer = nn.Linear(2, 2)
    own = layer.weight
    with pytest.raises(RuntimeError):
        call(layer, {"weight": torch.ones(5, 5)}, torch.ones(1, 2))
    assert layer.weight is own


def test_tied_weights():
    module, x = Tied(), torch.ones(1, 2)
    for name in ("weight", "first.weight"):
        assert call(module, {name: torch.zeros(2, 2)}, x).tolist() == [[0, 0]]
    assert call(module, {"weight": torch.zeros(2, 2)}, x, tie_weights=False).tolist() == module.first(x).tolist()
    with pytest.raises(ValueError, match=r"multiple values for keys \['first.weight', 'weight'\]"):
        call(module, {"weight": torch.zeros(2, 2), "first.weight": torch.ones(2, 2)}, x)
    assert call(module, {"weight": torch.zeros(2, 2), "first.weight": torch.ones(2, 2)}, x, tie_weights=False).tolist() == [[2, 2]]


def test_names_that_do_not_fit():
    layer, x = nn.Linear(2, 2), torch.ones(1, 2)
    assert call(layer, {"more": torch.ones(1)}, x).shape == (1, 2)
    assert not hasattr(layer, "more")
    with pytest.raises(RuntimeError, match=r"(?s)for Linear:.*Unexpected key\(s\): 'more'.*Missing key\(s\): 'bias', 'weight'"):
        call(layer, {"more": torch.ones(1)}, x, strict=True)
    with pytest.raises(TypeError, match="3 is not an instance of torch.Tensor"):
        call(layer, {"weight": 3}, x)
    with pytest.raises(AttributeError, match="Linear has no attribute `a`"):
        call(layer, {"a.weight": torch.ones(1)}, x)


# -- parametrizations --------------------------------------------------------------------------------------------


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).T


class Double(nn.Module):
    def forward(self, X):
        return X * 2

    def right_inverse(self, X):
        return X / 2


class Sum(nn.Module):
    def forward(self, a, b):
        return a + b

    def right_inverse(self, X):
        return X * 0.25, X * 0.75


class Returns(nn.Module):
    """Forward and right_inverse by functions."""

    def __init__(self, function, inverse=None):
        super().__init__()
        self.function = function
        if inverse is not None:
            self.right_inverse = inverse

    def forward(self, X):
        return self.function(X)


def parametrized(*parametrizations, name="weight", unsafe=False):
    layer = nn.Linear(3, 3)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(9.0).reshape(3, 3))
    for each in parametrizations:
        parametrize.register_parametrization(layer, name, each, unsafe=unsafe)
    return layer


def test_a_parametrized_module():
    layer = parametrized(Symmetric(), Double())
    assert type(layer).__name__ == "ParametrizedLinear"
    assert isinstance(layer, nn.Linear)
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert layer.weight[1, 0].item() == layer.weight[0, 1].item() == 2
    assert "(parametrizations): ModuleDict(\n    (weight): ParametrizationList(\n      (0): Symmetric()" in repr(layer)
    assert parametrize.is_parametrized(layer)
    assert parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[2, 4, 4], [0, 2, 4], [0, 0, 2]]
    assert layer.double().weight.dtype == torch.float64


def test_an_optimizer_keeps_its_parameter():
    layer = parametrized()
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Double())
    assert layer.parametrizations.weight.original is weight
    with torch.no_grad():
        layer.weight = torch.ones(3, 3)
    assert layer.parametrizations.weight.original is weight
    assert weight[0].tolist() == [0.5, 0.5, 0.5]
    assert parametrize.remove_parametrizations(layer, "weight").weight is weight


def test_assignment():
    layer = parametrized(Double())
    layer.weight = torch.ones(3, 3)
    assert layer.weight.tolist() == torch.ones(3, 3).tolist()
    with pytest.raises(KeyError, match="attribute 'weight' already exists"):
        layer.weight = nn.Parameter(torch.ones(3, 3))
    with pytest.raises(RuntimeError, match="parametrization Symmetric does not implement right_inverse"):
        parametrized(Symmetric()).weight = torch.ones(3, 3)


def test_several_originals():
    layer = parametrized(Sum())
    assert sorted(name for name, _ in layer.named_parameters()) == [
        "bias", "parametrizations.weight.original0", "parametrizations.weight.original1",
    ]  # fmt: skip
    layer.weight = torch.full((3, 3), 4.0)
    assert layer.parametrizations.weight.original1[0, 0].item() == 3
    with pytest.raises(ValueError, match="leave_parametrized=False"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert parametrize.remove_parametrizations(layer, "weight").weight.tolist() == [[4.0] * 3] * 3
    assert isinstance(layer.weight, nn.Parameter)
    assert type(layer) is nn.Linear


@pytest.mark.parametrize(("leave", "factor"), [(True, 1), (False, 0.5)])
def test_removal(leave, factor):
    layer = parametrized(Double())
    parametrize.register_parametrization(layer, "bias", Double())
    before = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert torch.equal(layer.weight, before * factor)
    assert parametrize.is_parametrized(layer)
    parametrize.remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear
    assert not hasattr(layer, "parametrizations")
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")


def test_buffers_can_be_parametrized():
    module = nn.Module()
    module.register_buffer("scale", torch.ones(2))
    parametrize.register_parametrization(module, "scale", Double())
    assert [name for name, _ in module.named_buffers()] == ["parametrizations.scale.original"]
    assert module.scale.tolist() == [1, 1]
    parametrize.remove_parametrizations(module, "scale")
    assert list(module.state_dict()) == ["scale"]


def test_a_copy_is_independent():
    layer = parametrized(Double())
    other = copy.deepcopy(layer)
    with torch.no_grad():
        other.weight = torch.zeros(3, 3)
    parametrize.remove_parametrizations(other, "weight")
    assert layer.weight.sum().item() == 36
    assert parametrize.is_parametrized(layer)
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(layer)


def test_cached():
    calls = []
    layer = parametrized(Returns(lambda X: calls.append(1) or X * 2))
    calls.clear()
    assert layer.weight is not layer.weight
    assert len(calls) == 2
    with parametrize.cached():
        with parametrize.cached():
            assert layer.weight is layer.weight
        assert layer.weight is layer.weight
    assert len(calls) == 3
    layer.weight
    assert len(calls) == 4


def test_transfer():
    layer, other = parametrized(Double(), Symmetric()), nn.Linear(3, 3)
    parametrize.transfer_parametrizations_and_params(layer, other)
    assert torch.equal(layer.weight, other.weight)
    assert list(other.state_dict()) == list(layer.state_dict())


BAD = [
    (Returns(lambda X: X[:2]), "may not change the shape of the tensor.*\n.*3, 3.*\n.*2, 3"),
    (Returns(lambda X: X.double()), "may not change the dtype of the tensor.*\n.*float32\n.*float64"),
    (Returns(lambda X: 3), "A parametrization must return a tensor. Got int"),
    (Returns(lambda X: X, lambda X: 3), "'right_inverse' must return a Tensor or a Sequence of tensors"),
    (Returns(lambda X: X, lambda X: X.double()), "it may not change the dtype"),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=range(len(BAD)))
def test_bad_parametrizations(bad, message):
    with pytest.raises(ValueError, match=message):
        parametrized(bad)
    with pytest.raises(ValueError, match="must return a|must have the same|may not change"):
        parametrized(Double(), bad)


def test_unsafe_parametrizations():
    assert parametrized(Returns(lambda X: X[:2]), unsafe=True).weight.shape == (2, 3)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'foo'"):
        parametrized(Double(), name="foo")


def test_bad_arguments_of_ready_parametrizations():
    layer = nn.Linear(3, 3)
    with pytest.raises(ValueError, match='has to be one of "matrix_exp", "cayley", "householder". Got: x'):
        parametrizations.orthogonal(layer, orthogonal_map="x")
    with pytest.raises(ValueError, match="Expected a matrix or batch of matrices. Got a tensor of 1 dimensions"):
        parametrizations.orthogonal(layer, "bias")
    for function in (parametrizations.orthogonal, parametrizations.spectral_norm):
        with pytest.raises(ValueError, match="has no parameter or buffer with name 'foo'"):
            function(layer, "foo")
    for function in (parametrizations.spectral_norm, utils.spectral_norm):
        with pytest.raises(ValueError, match="Expected n_power_iterations to be positive"):
            function(layer, n_power_iterations=0)
    parametrizations.orthogonal(layer, orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError, match="It is not possible to assign"):
        layer.weight = torch.eye(3)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_weights_stay_orthogonal(name, shape):
    layer = parametrizations.orthogonal(nn.Linear(*shape), orthogonal_map=name)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.ones(2, shape[0])).pow(2).sum().backward()
        optimizer.step()
    weight = layer.weight.detach()
    product = weight @ weight.T if weight.shape[0] <= weight.shape[1] else weight.T @ weight
    torch.testing.assert_close(product, torch.eye(min(shape)), rtol=1e-5, atol=1e-5)
    with torch.no_grad():
        layer.weight = torch.eye(*weight.shape)
    torch.testing.assert_close(layer.weight.detach(), torch.eye(*weight.shape), rtol=1e-6, atol=1e-6)


# -- the old hooks -----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_hooks_of_norms():
    layer = utils.weight_norm(nn.Linear(3, 2))
    assert list(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks on the same parameter weight"):
        utils.weight_norm(layer)
    utils.remove_weight_norm(layer)
    assert not layer._forward_pre_hooks
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        utils.remove_weight_norm(layer)
    utils.spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert layer.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks on the same parameter weight"):
        utils.spectral_norm(layer)
    other = utils.spectral_norm(nn.Linear(3, 2))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.eval()(torch.ones(1, 3)), layer.eval()(torch.ones(1, 3)))
    utils.remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"]
    assert not layer._forward_pre_hooks
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found"):
        utils.remove_spectral_norm(layer)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_files_of_the_old_weight_norm_load_into_the_new():
    old, new = utils.weight_norm(nn.Linear(3, 2)), parametrizations.weight_norm(nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    assert torch.equal(new(torch.ones(1, 3)), old(torch.ones(1, 3)))


def test_files_of_the_first_spectral_norm():
    layer = utils.spectral_norm(nn.Linear(3, 4))
    layer(torch.ones(1, 3))
    state = layer.state_dict()
    wanted = layer.eval()(torch.ones(1, 3))
    old = {
        "bias": state["bias"],
        "weight_orig": state["weight_orig"],
        "weight_u": state["weight_u"],
        "weight": layer.weight.detach(),
    }
    other = utils.spectral_norm(nn.Linear(3, 4))
    other.load_state_dict(old)
    torch.testing.assert_close(other.eval()(torch.ones(1, 3)), wanted, rtol=1e-4, atol=1e-5)


# -- pruning -----------------------------------------------------------------------------------------------------


def test_a_pruned_module():
    layer = nn.Linear(3, 2)
    weight = layer.weight
    prune.l1_unstructured(layer, "weight", 2)
    prune.random_unstructured(layer, "weight", 0.5)
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    assert [type(hook) for hook in layer._forward_pre_hooks.values()] == [prune.PruningContainer]
    assert len(next(iter(layer._forward_pre_hooks.values()))) == 2
    assert layer.weight_mask.sum().item() == 2
    assert layer.weight_orig is weight
    assert prune.is_pruned(nn.Sequential(layer))
    prune.remove(layer, "weight")
    assert layer.weight is weight
    assert (weight == 0).sum().item() == 4
    assert not prune.is_pruned(layer)
    with pytest.raises(ValueError, match="has to be pruned before pruning can be removed"):
        prune.remove(layer, "weight")


BAD_PRUNING = [
    (lambda layer: prune.l1_unstructured(layer, "weight", -1), ValueError, "amount=-1 should either be a float"),
    (lambda layer: prune.l1_unstructured(layer, "weight", 1.5), ValueError, "amount=1.5 should either be a float"),
    (lambda layer: prune.l1_unstructured(layer, "weight", 100), ValueError, "amount=100 should be smaller than"),
    (lambda layer: prune.l1_unstructured(layer, "weight", "x"), TypeError, "Invalid type for amount: x"),
    (lambda layer: prune.ln_structured(layer, "weight", 1, 2, 5), IndexError, "Invalid index 5 for tensor of size"),
    (lambda layer: prune.ln_structured(layer, "bias", 1, 2, 0), ValueError, "can only be applied to multidimensional"),
    (lambda layer: prune.l1_unstructured(layer, "foo", 2), AttributeError, "has no attribute 'foo'"),
    (lambda layer: prune.l1_unstructured(layer, "weight", 2, torch.ones(6)), AssertionError, "should have the same shape"),
    (lambda layer: prune.custom_from_mask(layer, "weight", torch.ones(6)), AssertionError, "mask"),
    (lambda layer: prune.global_unstructured(3, prune.L1Unstructured, amount=1), TypeError, "not an Iterable"),
    (
        lambda layer: prune.global_unstructured([(layer, "weight")], prune.RandomStructured, amount=1),
        TypeError, 'Only "unstructured" PRUNING_TYPE',
    ),
    (
        lambda layer: prune.global_unstructured([(layer, "weight")], prune.L1Unstructured, importance_scores=3, amount=1),
        TypeError, "must be of type dict",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("action", "error", "message"), BAD_PRUNING, ids=range(len(BAD_PRUNING)))
def test_pruning_that_fails_changes_nothing(action, error, message):
    layer = nn.Linear(3, 2)
    with pytest.raises(error, match=message):
        action(layer)
    assert list(layer.state_dict()) == ["weight", "bias"]
    assert not layer._forward_pre_hooks


# -- the rest ----------------------------------------------------------------------------------------------------


def test_fusing_is_for_evaluation():
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        utils.fuse_conv_bn_eval(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1))
    with pytest.raises(AssertionError, match="linear.out_features=2 and bn.num_features=3"):
        utils.fuse_linear_bn_eval(nn.Linear(1, 2).eval(), nn.BatchNorm1d(3).eval())


def test_skip_init():
    torch.manual_seed(0)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    layer = utils.skip_init(nn.Linear, 3, 2, bias=False)
    assert (layer.weight.shape, layer.weight.device.type, layer.bias) == ((2, 3), "cpu", None)
    assert torch.equal(torch.rand(1), drawn)  # no random number was used
    assert utils.skip_init(nn.Linear, 3, 2, device="meta").weight.is_meta
    with pytest.raises(RuntimeError, match="Expected a Module; got <class 'int'>"):
        utils.skip_init(int, 3)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        utils.skip_init(Tied)


def test_memory_formats():
    model = nn.Sequential(nn.Conv2d(3, 4, 2), nn.Linear(2, 2))
    utils.convert_conv2d_weight_memory_format(model, torch.channels_last)
    assert model[0].weight.stride() == (12, 1, 6, 3)


class Shifted(torch.nn.Module):
    """A layer, a buffer and a number that is no tensor."""

    foo = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.register_buffer("offset", torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + self.offset


def test_functional_call_takes_none_in_the_place_of_a_bias() -> None:
    found = torch.func.functional_call(Shifted(), {"layer.weight": torch.full((1, 1), 2.0), "layer.bias": None}, torch.ones(1, 1))
    assert found.item() == 3.0


def test_functional_call_refuses_attributes_that_are_no_tensors() -> None:
    with pytest.raises(TypeError, match="attribute `foo`: 0.0 is not an instance of torch.Tensor"):
        torch.func.functional_call(Shifted(), {"foo": torch.ones(1)}, torch.ones(1, 1))


def test_functional_call_lists_a_new_parameter_among_the_others() -> None:
    class Listing(Shifted):
        def forward(self, x: torch.Tensor) -> list[str]:
            return [name for name, _ in self.named_parameters()]

    module = Listing()
    given = {"extra": torch.nn.Parameter(torch.ones(1)), "other": torch.ones(1)}
    assert torch.func.functional_call(module, given, torch.ones(1)) == ["extra", "layer.weight", "layer.bias"]
    assert not hasattr(module, "extra")


def test_functional_call_of_modules_in_a_circle() -> None:
    module = Shifted()
    module.layer.above = module
    given = {"layer.above.layer.weight": torch.full((1, 1), 3.0), "layer.bias": torch.zeros(1)}
    assert torch.func.functional_call(module, given, torch.ones(1, 1), tie_weights=False).item() == 4.0


def test_the_old_functional_call_refuses_two_values_for_tied_tensors() -> None:
    module = Shifted()
    module.tied = module.layer.bias
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match=r"multiple values for keys \['layer.bias', 'tied'\]"):
        torch.nn.utils.stateless.functional_call(module, {"layer.bias": torch.ones(1), "tied": torch.zeros(1)}, torch.ones(1, 1))
