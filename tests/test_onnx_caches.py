"""Files of models with caches of keys and values: several tensors as ``*past``, or a class of the user's that is registered as a container."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.onnx_files import onnx_session, run_onnx

import rushlight as torch
import rushlight.onnx
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.utils import trees


class Cache:
    """Keys and values of past tokens, layer by layer; it grows in place."""

    def __init__(self, keys: list[Any], values: list[Any]) -> None:
        self.keys, self.values = keys, values

    def update(self, layer: int, key: Any, value: Any) -> tuple[Any, Any]:
        self.keys[layer] = torch.cat([self.keys[layer], key], 2)
        self.values[layer] = torch.cat([self.values[layer], value], 2)
        return self.keys[layer], self.values[layer]


@pytest.fixture
def cache_is_registered() -> Any:
    trees.register(Cache, lambda cache: ([cache.keys, cache.values], None), lambda children, _: Cache(*map(list, children)))
    yield
    del trees._registered[Cache]


class Decoder(nn.Module):
    """Two layers of attention over a cache, and a choice of the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(23, 8)
        self.layers = nn.ModuleList(nn.Linear(8, 24) for _ in range(2))
        self.head = nn.Linear(8, 23)

    def forward(self, tokens: Any, cache: Any) -> Any:
        x = self.embedding(tokens)
        past = cache.keys[0].shape[2]
        length = past + tokens.shape[1]
        mask = torch.arange(length)[None] <= torch.arange(past, length)[:, None]
        for number, layer in enumerate(self.layers):
            q, k, v = layer(x).reshape(*tokens.shape, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
            k, v = cache.update(number, k, v)
            made = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = x + made.transpose(1, 2).flatten(2)
        return {"logits": self.head(x), "cache": cache}


class Flat(nn.Module):
    """The same with tensors in the cache's place."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Any, *past: Any) -> Any:
        out = self.model(tokens, Cache(list(past[::2]), list(past[1::2])))
        return (out["logits"], *[each for pair in zip(out["cache"].keys, out["cache"].values) for each in pair])


def empty(batch: int, length: int = 0) -> list[Any]:
    return [torch.randn(batch, 2, length, 4) for _ in range(4)]


def generated(model: Any, tokens: Any, count: int) -> Any:
    cache = Cache(*[list(each) for each in (empty(len(tokens))[:2], empty(len(tokens))[:2])])
    given = tokens
    for _ in range(count):
        given = model(given, cache)["logits"][:, -1:].argmax(-1)
        tokens = torch.cat([tokens, given], 1)
    return tokens.numpy()


def driven(session: Any, tokens: Any, count: int) -> Any:
    """A loop of a decoder in ONNX Runtime."""
    names = [each.name for each in session.get_inputs()]
    past = [each.numpy() for each in empty(len(tokens))]
    found = given = tokens.numpy()
    for _ in range(count):
        logits, *past = session.run(None, dict(zip(names, [given, *past])))
        given = logits[:, -1:].argmax(-1)
        found = np.concatenate([found, given], 1)
    return found


DYNAMIC = {0: "batch", 2: "past"}


@pytest.mark.parametrize(
    "shapes",
    [
        ({0: "batch", 1: "new"}, (DYNAMIC,) * 4),
        {"tokens": {0: "batch", 1: "new"}, "past": (DYNAMIC,) * 4},
        ({0: "batch", 1: "new"}, *[DYNAMIC] * 4),
    ],
)
def test_a_cache_as_several_arguments(shapes: Any) -> None:
    torch.manual_seed(0)
    model = Decoder()
    program = rushlight.onnx.export(Flat(model), (torch.ones(2, 3, dtype=torch.long), *empty(2, 5)), None, dynamic_shapes=shapes)
    tokens = torch.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(driven(onnx_session(program), tokens, 6), generated(model, tokens, 6))


def test_a_cache_of_a_registered_class(cache_is_registered: Any) -> None:
    torch.manual_seed(0)
    model = Decoder()
    given = empty(2, 5)
    cache = Cache(given[:2], given[2:])
    shapes = {"tokens": {0: "batch", 1: "new"}, "cache": [[DYNAMIC] * 2, [DYNAMIC] * 2]}
    program = rushlight.onnx.export(model, (torch.ones(2, 3, dtype=torch.long), cache), None, dynamic_shapes=shapes)
    graph = program.model_proto.graph
    assert [each.name for each in graph.input] == ["tokens", *[f"cache_{kind}_{layer}" for kind in range(2) for layer in range(2)]]
    assert len(graph.output) == 5 and {each.name for each in graph.initializer} >= {"embedding.weight"}
    assert cache.keys[0].shape[2] == 5 and "forward" not in model.__dict__  # the caller's are as they were
    tokens = torch.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(driven(onnx_session(program), tokens, 6), generated(model, tokens, 6))


def test_a_function_with_keywords_in_a_pack() -> None:
    def program(x: Any, **others: Any) -> Any:
        return x + others["a"] * others["b"]

    given = {name: torch.ones(3) for name in "ab"}
    made = rushlight.onnx.export(
        program, (torch.ones(3),), None, kwargs=given, dynamic_shapes={"x": {0: "n"}, "others": {"a": {0: "n"}, "b": {0: "n"}}}
    )
    x = torch.arange(5.0)
    np.testing.assert_allclose(run_onnx(made, x, x, x)[0], (x + x * x).numpy())
