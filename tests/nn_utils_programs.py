"""Small runs of rushlight.nn.utils whose numbers are recorded from PyTorch and compared: the same code runs on both libraries."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], Iterator[Any]]] = {}


def program(function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    PROGRAMS[function.__name__] = function
    return function


def wave(torch: Any, *shape: int, shift: float = 0.0) -> Any:
    values = np.sin(shift + 1.7 * np.arange(np.prod(shape))).reshape(shape)
    return torch.tensor(values)


def filled(torch: Any, layer: Any) -> Any:
    """A layer of float64 with values that need no random numbers."""
    layer = layer.double()
    with torch.no_grad():
        for number, param in enumerate(layer.parameters()):
            param.copy_(wave(torch, *param.shape, shift=number))
    return layer


def linear(torch: Any, inputs: int = 3, outputs: int = 4, **options: Any) -> Any:
    return filled(torch, torch.nn.Linear(inputs, outputs, **options))


def gradients(torch: Any, layer: Any, inputs: Any) -> Iterator[Any]:
    """The output of a layer and the gradients of its parameters, by name."""
    layer.zero_grad()
    output = layer(inputs)
    (output * wave(torch, *output.shape, shift=0.5)).sum().backward()
    yield output
    for _, param in sorted(layer.named_parameters()):
        yield param.grad


@program
def clipping(torch: Any) -> Iterator[Any]:
    utils = torch.nn.utils
    for order in (1, 2.0, 3, 0.5, float("inf")):
        for largest in (0.1, 100.0):
            params = [
                wave(torch, 2, 3).requires_grad_(),
                wave(torch, 4).requires_grad_(),
                torch.zeros(2, requires_grad=True),
            ]
            for number, param in enumerate(params[:2]):
                param.grad = wave(torch, *param.shape, shift=2.0 + number)
            yield utils.clip_grad_norm_(params, largest, order)
            yield params[0].grad
            yield params[1].grad
            yield utils.get_total_norm([param.grad for param in params[:2]], order)
    utils.clip_grads_with_norm_(params, 0.05, torch.tensor(0.3))
    yield params[0].grad
    utils.clip_grad_value_(iter(params), 0.01)
    yield params[1].grad


@program
def vectors(torch: Any) -> Iterator[Any]:
    layer = linear(torch)
    vector = torch.nn.utils.parameters_to_vector(layer.parameters())
    yield vector
    torch.nn.utils.vector_to_parameters(vector * 2, layer.parameters())
    yield layer.weight
    yield layer.bias


@program
def weight_norms(torch: Any) -> Iterator[Any]:
    inputs = wave(torch, 2, 3)
    for dim in (0, 1, -1, None):
        layer = torch.nn.utils.parametrizations.weight_norm(linear(torch), dim=dim)
        yield from gradients(torch, layer, inputs)
        with torch.no_grad():
            layer.weight = wave(torch, 4, 3, shift=5.0)
        yield layer.weight
        yield layer.parametrizations.weight.original0
        old = torch.nn.utils.weight_norm(linear(torch), dim=dim)
        yield from gradients(torch, old, inputs)
        yield old.weight_g
        yield torch.nn.utils.remove_weight_norm(old).weight
    convolution = torch.nn.utils.parametrizations.weight_norm(filled(torch, torch.nn.Conv1d(2, 3, 2)))
    yield from gradients(torch, convolution, wave(torch, 1, 2, 5))


@program
def spectral_norms(torch: Any) -> Iterator[Any]:
    inputs = wave(torch, 2, 3)
    for function, steps in itertools.product((torch.nn.utils.parametrizations.spectral_norm, torch.nn.utils.spectral_norm), (1, 3)):
        torch.manual_seed(steps)
        layer = function(linear(torch), n_power_iterations=steps)
        for _ in range(2):
            yield from gradients(torch, layer, inputs)
        layer.eval()
        yield from gradients(torch, layer, inputs)
        yield from [buffer for _, buffer in sorted(layer.named_buffers())]
        transposed = function(filled(torch, torch.nn.ConvTranspose1d(2, 3, 2)))
        yield from gradients(torch, transposed, wave(torch, 1, 2, 5))
    yield torch.nn.utils.remove_spectral_norm(layer).weight
    yield torch.nn.utils.parametrizations.spectral_norm(linear(torch), "bias").bias


@program
def orthogonals(torch: Any) -> Iterator[Any]:
    orthogonal = torch.nn.utils.parametrizations.orthogonal
    for name, base, shape in itertools.product((None, "matrix_exp", "cayley", "householder"), (True, False), ((3, 3), (4, 2), (2, 4))):
        torch.manual_seed(3)
        layer = orthogonal(linear(torch, *shape), orthogonal_map=name, use_trivialization=base)
        yield from gradients(torch, layer, wave(torch, 2, shape[0]))
        assert base or hasattr(layer.parametrizations.weight, "original")
        with torch.no_grad():
            layer.parametrizations.weight.original.add_(0.1 * wave(torch, shape[1], shape[0]).tril(-1))
        yield layer.weight


@program
def pruning(torch: Any) -> Iterator[Any]:
    prune = torch.nn.utils.prune
    scores = wave(torch, 4, 3, shift=3.0)
    ways: list[Callable[[Any], Any]] = [
        lambda layer: prune.l1_unstructured(layer, "weight", 3),
        lambda layer: prune.l1_unstructured(layer, "weight", 0.25),
        lambda layer: prune.l1_unstructured(layer, "weight", 2, importance_scores=scores),
        lambda layer: prune.random_unstructured(layer, "weight", 3),
        lambda layer: prune.random_structured(layer, "weight", 1, 0),
        lambda layer: prune.random_structured(layer, "weight", 0.3, -1),
        lambda layer: prune.ln_structured(layer, "weight", 1, 2, 0),
        lambda layer: prune.ln_structured(layer, "weight", 1, float("inf"), 1),
        lambda layer: prune.ln_structured(layer, "weight", 0.5, 1, dim=-1, importance_scores=scores),
        lambda layer: prune.identity(layer, "weight"),
        lambda layer: prune.custom_from_mask(layer, "weight", wave(torch, 4, 3) > 0),
    ]
    for seed, (first, second) in enumerate(itertools.product(ways, ways)):
        torch.manual_seed(seed)
        layer = second(first(linear(torch)))
        yield layer.weight_mask
        if seed % 11 == 0:
            yield from gradients(torch, layer, wave(torch, 2, 3))
            yield prune.remove(layer, "weight").weight
    layers = [linear(torch), linear(torch, 2, 5)]
    for _ in range(2):
        pairs = [(layers[0], "weight"), (layers[1], "weight"), (layers[1], "bias")]
        prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.4)
        yield from [layers[0].weight, layers[1].weight, layers[1].bias]
    yield prune.L1Unstructured(3).prune(wave(torch, 3, 3))


@program
def fusing(torch: Any) -> Iterator[Any]:
    nn, utils = torch.nn, torch.nn.utils
    cases = [
        (nn.Conv1d(3, 4, 2), nn.BatchNorm1d(4), (2, 3, 5)),
        (nn.Conv2d(3, 4, 2, bias=False), nn.BatchNorm2d(4), (2, 3, 5, 5)),
        (nn.ConvTranspose2d(3, 4, 2), nn.BatchNorm2d(4, affine=False), (2, 3, 4, 4)),
        (nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), (5, 3)),
    ]
    for layer, norm, shape in cases:
        layer, norm = filled(torch, layer), filled(torch, norm)
        norm(layer(wave(torch, *shape)))
        layer.eval(), norm.eval()
        if isinstance(layer, nn.Linear):
            fused = utils.fuse_linear_bn_eval(layer, norm)
        else:
            fused = utils.fuse_conv_bn_eval(layer, norm, transpose=isinstance(layer, nn.ConvTranspose2d))
        yield fused.weight
        yield fused.bias
        assert np.allclose(plain(fused(wave(torch, *shape))), plain(norm(layer(wave(torch, *shape)))))


def plain(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().double().numpy())


def run_program(name: str, torch: Any) -> list[np.ndarray]:
    """What a program yields, as arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return [plain(each) for each in PROGRAMS[name](torch)]
