"""Programs in the style of popular libraries' models: compiled, they are one graph, and give what eager gives, on the first call and on later ones."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import MutableMapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.capture.compile.config import settings as compile_settings

# -- a library ------------------------------------------------------------------------------------------------------------------------


class Output(OrderedDict):  # type: ignore[type-arg]
    """A dict whose entries are attributes too; data classes that derive from it fill themselves."""

    def __post_init__(self) -> None:
        names = fields(self)  # type: ignore[arg-type]
        assert all(each.default is None for each in names[1:])
        first = getattr(self, names[0].name)
        if all(self.__dict__.get(each.name) is None for each in names[1:]) and not isinstance(first, torch.Tensor):
            if first is not None:
                self[names[0].name] = first
        else:
            for each in names:
                value = self.__dict__.get(each.name)
                if value is not None:
                    self[each.name] = value

    def __delitem__(self, *args: Any) -> None:
        raise TypeError("nothing is deleted")

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in {each.name for each in fields(self)} and value is not None:  # type: ignore[arg-type]
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self[key] for key in self.keys())


@dataclass
class ModelResult(Output):
    last: Any = None
    cache: Any = None
    hidden: Any = None


class Interface(MutableMapping):  # type: ignore[type-arg]
    """Functions by name: those of all, and this one's own."""

    _shared: dict[str, Any] = {}

    def __init__(self) -> None:
        self._own: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        return self._own[key] if key in self._own else self._shared[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._own.update({key: value})

    def __delitem__(self, key: str) -> None:
        del self._own[key]

    def __iter__(self) -> Any:
        return iter({**self._shared, **self._own})

    def __len__(self) -> int:
        return len(self._shared.keys() | self._own.keys())

    def get_interface(self, name: str, default: Any) -> Any:
        if name != "plain" and name not in self:
            raise KeyError(name)
        return super().get(name, default)


def plain_attention(query: Any, key: Any, value: Any, **kwargs: Any) -> Any:
    return torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, -1) @ value


def fused_attention(query: Any, key: Any, value: Any, **kwargs: Any) -> Any:
    if kwargs.get("softcap") is not None:
        raise ValueError("no softcap here")
    causal = query.shape[1] > 1
    if torch.jit.is_tracing() and isinstance(causal, torch.Tensor):
        causal = causal.item()
    return nn.functional.scaled_dot_product_attention(query[:, None], key[:, None], value[:, None], is_causal=causal)[:, 0]


Interface._shared = {"fused": fused_attention}
ATTENTION = Interface()


class Config:
    """Attributes under several names, with defaults, comparison and copying of their own."""

    attribute_map = {"width": "hidden_size"}

    def __init__(self, **kwargs: Any) -> None:
        self.hidden_size, self.attention, self.layers, self.return_dict = 8, "fused", 2, True
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __getattribute__(self, key: str) -> Any:
        if key != "attribute_map" and key in super().__getattribute__("attribute_map"):
            key = super().__getattribute__("attribute_map")[key]
        return super().__getattribute__(key)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Config) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


class CacheLayer:
    """Keys and values of one layer, which grow."""

    is_initialized = False

    def update(self, keys: Any, values: Any) -> tuple[Any, Any]:
        if not self.is_initialized:
            self.keys = torch.tensor([], dtype=keys.dtype)
            self.values = torch.tensor([], dtype=values.dtype)
            self.is_initialized = True
        self.keys = torch.cat([self.keys, keys], dim=-2) if self.keys.numel() else keys
        self.values = torch.cat([self.values, values], dim=-2) if self.values.numel() else values
        return self.keys, self.values


class Cache:
    """The layers that were met so far."""

    def __init__(self) -> None:
        self.layers: list[CacheLayer] = []

    def update(self, keys: Any, values: Any, index: int) -> tuple[Any, Any]:
        while len(self.layers) <= index:
            self.layers.append(CacheLayer())
        return self.layers[index].update(keys, values)

    def length(self) -> int:
        return self.layers[0].keys.shape[-2] if self.layers else 0

    def __iter__(self) -> Any:
        for layer in self.layers:
            yield layer.keys, layer.values

    def __len__(self) -> int:
        return len(self.layers)


def can_return_tuple(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        as_dict = kwargs.pop("return_dict", getattr(self.config, "return_dict", True))
        if kwargs.get("cache") is not None and "cache" not in inspect.signature(function).parameters:
            raise TypeError("no cache here")
        found = function(self, *args, **kwargs)
        return found if as_dict else found.to_tuple()

    return wrapper


@functools.lru_cache(None)
def warn_once(message: str) -> None:
    """Said once."""


@contextlib.contextmanager
def maybe_autocast(enabled: bool) -> Any:
    if enabled:
        with torch.autocast("cpu"):
            yield
    else:
        yield


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"


class Rotary(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.register_buffer("frequencies", 1.0 / 10 ** torch.arange(0, config.width, 2, dtype=torch.float32), persistent=False)

    @torch.no_grad()
    def forward(self, x: Any, positions: Any) -> tuple[Any, Any]:
        with maybe_autocast(False):
            angles = positions[:, None].float() @ self.frequencies[None, :]
            both = torch.cat((angles, angles), dim=-1)
        return both.cos().to(x.dtype), both.sin().to(x.dtype)


class Layer(nn.Module):
    def __init__(self, config: Config, index: int) -> None:
        super().__init__()
        self.config, self.index = config, index
        self.norm, self.qkv, self.out = (
            nn.LayerNorm(config.width),
            nn.Linear(config.width, 3 * config.width),
            nn.Linear(config.width, config.width),
        )

    def forward(self, x: Any, rotation: Any, cache: Any = None, **kwargs: Any) -> Any:
        query, key, value = self.qkv(self.norm(x)).chunk(3, dim=-1)
        cos, sin = rotation
        query, key = (each * cos + torch.cat((-each[..., 4:], each[..., :4]), -1) * sin for each in (query, key))
        if cache is not None:
            key, value = cache.update(key, value, self.index)
        attend = ATTENTION.get_interface(self.config.attention, plain_attention)
        return x + self.out(attend(query, key, value, **kwargs))


class Model(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.rotary = Rotary(config)
        self.layers = nn.ModuleList([Layer(config, at) for at in range(config.layers)])
        self.side = Side.LEFT

    @can_return_tuple
    def forward(self, x: Any, cache: Any = None, use_cache: bool = False, **kwargs: Any) -> Any:
        if use_cache and cache is None:
            cache = Cache()
        begun = cache.length() if cache is not None else 0
        if not hasattr(self, "absent") and self.side == Side.RIGHT:
            raise ValueError(f"side {self.side!s}")
        if not (torch.compiler.is_compiling() or torch.compiler.is_exporting()):
            warn_once("eager")
        rotation = self.rotary(x, torch.arange(x.shape[1]) + begun)
        hidden = ()
        for layer in self.layers[: self.config.layers]:
            hidden += (x,)
            x = layer(x, rotation, cache, **kwargs)
        return ModelResult(last=x, cache=cache if use_cache else None, hidden=hidden)


# -- its models, compiled -----------------------------------------------------------------------------------------------------------------


def segments(function: Any, *args: Any, **kwargs: Any) -> tuple[int, list[str]]:
    """How many segments a compiled call has, and its breaks."""
    found = torch.compiler.explain(function)(*args, **kwargs)
    return found.graph_count, [str(each) for each in found.break_reasons]


def assert_whole(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Compile a function as one graph; compare three calls with eager."""
    wanted = function(*args, **kwargs)
    compiled = torch.compile(function, fullgraph=True)
    for _ in range(3):
        found = compiled(*args, **kwargs)
        assert type(found) is type(wanted)
        assert_same(found, wanted)
    return found


def assert_same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    if isinstance(wanted, torch.Tensor):
        assert torch.allclose(found, wanted, atol=1e-5)
    elif isinstance(wanted, dict):
        assert list(found.keys()) == list(wanted.keys())
        for key, each in wanted.items():
            assert_same(found[key], each)
    elif isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            assert_same(one, other)
    elif hasattr(wanted, "__dict__"):
        assert_same(found.__dict__, wanted.__dict__)
    else:
        assert found == wanted


@pytest.fixture
def model() -> Any:
    torch.manual_seed(0)
    return Model(Config())


def test_a_data_class_that_fills_itself_is_returned_whole() -> None:
    found = assert_whole(lambda x: ModelResult(last=x * 2, hidden=(x, x + 1)), torch.arange(3.0))
    assert list(found) == ["last", "hidden"]
    assert found.last is found["last"] and found[0] is found.last and found.cache is None
    assert len(found.to_tuple()) == 2


def test_a_data_class_that_is_changed_after_a_break() -> None:
    def function(x: Any) -> Any:
        made = ModelResult(last=x * 2)
        torch.compiler.graph_break()
        made.hidden = x + 1
        made["cache"] = x + 2
        return made

    compiled = torch.compile(function)
    x = torch.arange(3.0)
    for _ in range(3):
        assert_same(compiled(x), function(x))
        assert list(compiled(x)) == ["last", "hidden", "cache"]


def test_a_model_is_one_graph(model: Any) -> None:
    assert_whole(model, torch.randn(2, 4, 8))
    assert_whole(lambda x: model(x, return_dict=False), torch.randn(2, 4, 8))


def test_a_model_with_a_cache(model: Any) -> None:
    x = torch.randn(2, 4, 8)
    found = assert_whole(model, x, use_cache=True)
    assert len(found.cache) == 2 and found.cache.length() == 4


def test_a_cache_grows_from_call_to_call(model: Any) -> None:
    compiled = torch.compile(model)
    torch.manual_seed(1)
    parts = [torch.randn(2, 1, 8) for _ in range(12)]
    ours, theirs = Cache(), Cache()
    with torch.no_grad():
        for part in parts:
            found, wanted = compiled(part, ours, True), model(part, theirs, True)
            assert torch.allclose(found.last, wanted.last, atol=1e-5)
            assert found.cache is ours and ours.length() == theirs.length()
    graphs = len(compiled.__dict__["_compiled"].cache.all())
    assert graphs <= 4, "a size that grows is symbolic"


def test_gradients_of_a_model(model: Any) -> None:
    x = torch.randn(2, 4, 8)
    model(x).last.sum().backward()
    wanted = [each.grad.clone() for each in model.parameters()]
    compiled = torch.compile(model, fullgraph=True)
    for _ in range(3):
        model.zero_grad()
        compiled(x).last.sum().backward()
        assert all(torch.allclose(each.grad, other, atol=1e-5) for each, other in zip(model.parameters(), wanted))


def test_functions_by_name_are_guarded(model: Any) -> None:
    compiled = torch.compile(model, fullgraph=True)
    x = torch.randn(2, 4, 8)
    fused = compiled(x).last
    try:
        ATTENTION["fused"] = lambda query, key, value, **kwargs: value
        assert torch.allclose(compiled(x).last, model(x).last, atol=1e-6)
        assert not torch.allclose(compiled(x).last, fused)
    finally:
        del ATTENTION["fused"]
    assert torch.allclose(compiled(x).last, fused)


def test_a_configuration_is_guarded(model: Any) -> None:
    compiled = torch.compile(model, fullgraph=True)
    x = torch.randn(2, 4, 8)
    compiled(x)
    model.config.attention = "plain"
    assert torch.allclose(compiled(x).last, model(x).last, atol=1e-5)
    model.config.layers = 1
    assert len(compiled(x).hidden) == 1


def test_containment_and_truth_in_python() -> None:
    class Bag:
        def __init__(self, *items: Any) -> None:
            self.items = items

        def __contains__(self, item: Any) -> bool:
            return item in self.items

        def __len__(self) -> int:
            return len(self.items)

    class Listed:
        def __init__(self, *items: Any) -> None:
            self.items = items

        def __iter__(self) -> Any:
            return iter(self.items)

    def function(x: Any, bag: Any, listed: Any) -> Any:
        found = [1 in bag, 5 in bag, 1 not in bag, 1 in listed, 5 not in listed, not bag, bool(bag)]
        if bag:
            x = x + 1
        while not bag:
            raise ValueError
        return x * 2, found, ("yes" if bag and 1 in bag else "no")

    x = torch.arange(3.0)
    assert_whole(function, x, Bag(1, 2), Listed(1, 2))
    bag = Bag(1, 2)
    compiled = torch.compile(function, fullgraph=True)
    compiled(x, bag, Listed(1))
    bag.items = (5,)
    assert_same(compiled(x, bag, Listed(1)), function(x, bag, Listed(1)))


def test_copies_and_replacements() -> None:
    @dataclass
    class Settings:
        scale: float = 2.0
        name: str = "a"

    def function(x: Any, config: Any, settings: Any) -> Any:
        mine = copy.deepcopy(config)
        mine.hidden_size += 1
        other = replace(settings, scale=settings.scale + mine.width)
        assert is_dataclass(other)
        return x * other.scale, mine.hidden_size, config.width, len(inspect.signature(function).parameters)

    config = Config()
    assert_whole(function, torch.arange(3.0), config, Settings())
    assert config.hidden_size == 8


def test_slices_of_a_list_of_modules() -> None:
    torch.manual_seed(0)
    layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])

    def function(x: Any, count: int) -> Any:
        for layer in layers[:count]:
            x = layer(x)
        return layers[-1](x), len(layers[1:])

    x = torch.randn(2, 4)
    compiled = torch.compile(function, fullgraph=True)
    for count in (2, 2, 3, 2):
        assert_same(compiled(x, count), function(x, count))
    layers[1] = nn.Linear(4, 4)
    assert_same(compiled(x, 2), function(x, 2))


def test_a_function_that_keeps_its_results_is_called_while_capturing() -> None:
    said: list[str] = []

    @functools.lru_cache(None)
    def say_once(message: str) -> int:
        said.append(message)
        return len(message)

    def function(x: Any) -> Any:
        return x * say_once("seven")

    compiled = torch.compile(function, fullgraph=True)
    x = torch.arange(3.0)
    for _ in range(3):
        assert compiled(x).tolist() == [0.0, 5.0, 10.0]
    assert said == ["seven"]


def test_dropout_that_drops_nothing_asks_for_no_strides() -> None:
    drop = nn.Dropout(0.5).eval()

    def function(x: Any, y: Any) -> Any:
        return drop(torch.cat([x, y], -2).transpose(0, 1) * 2)

    compiled = torch.compile(function, fullgraph=True)
    for length in range(3, 12):
        x, y = torch.randn(2, 2, length, 4).transpose(0, 1), torch.randn(2, 2, 1, 4)
        assert torch.allclose(compiled(x, y), function(x, y))
    assert len(compiled.__dict__["_compiled"].cache.all()) <= 2


def test_a_capture_that_takes_too_long_is_given_up() -> None:
    def function(x: Any, count: int) -> Any:
        total = 0
        for each in range(count):
            total += each % 7
        return x * 2 + total

    x = torch.arange(3.0)
    config = compile_settings
    before, config.capture_time_limit = config.capture_time_limit, 0.01
    try:
        compiled = torch.compile(function)
        with pytest.warns(UserWarning, match="longer than 0.01 seconds"):
            assert torch.equal(compiled(x, 5000), function(x, 5000))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert torch.equal(compiled(x, 4000), function(x, 4000))
    finally:
        config.capture_time_limit = before
