"""The models of the library, each with a custom Function in it, train compiled to eager's losses, and without a break."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from models import GPT, Bags, ResNet, UNet, ViT

import rushlight as torch
from rushlight import compiler, nn
from rushlight.autograd.function import once_differentiable
from rushlight.nn import functional as F

STEPS = 4
Compile = Callable[[Any], Any]


class Swish(torch.autograd.Function):
    """x * sigmoid(x), with its derivative written out."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        gate = torch.sigmoid(x)
        ctx.save_for_backward(x, gate)
        return x * gate

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        x, gate = ctx.saved_tensors
        return g * (gate + x * gate * (1 - gate))


class Reversed(torch.autograd.Function):
    """The same forwards; backwards the gradient turns round, as strongly as is said."""

    @staticmethod
    def forward(ctx: Any, x: Any, strength: float = 1.0) -> Any:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -g * ctx.strength, None


class Clamped(torch.autograd.Function):
    """Clamps, and says where; the gradient goes through what was within."""

    @staticmethod
    def forward(x: Any, low: float, high: float) -> Any:
        inside = (x >= low) & (x <= high)
        return x.clamp(low, high), inside

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        (inside,) = ctx.saved_tensors
        return g * inside, None, None


class Gather(torch.autograd.Function):
    """The mean of the messages that come to each node."""

    @staticmethod
    def forward(ctx: Any, messages: Any, target: Any, count: int) -> Any:
        degree = torch.zeros(count, 1).index_add_(0, target, torch.ones(len(target), 1)).clamp(min=1)
        ctx.save_for_backward(target, degree)
        return torch.zeros(count, messages.shape[1]).index_add_(0, target, messages) / degree

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        target, degree = ctx.saved_tensors
        return (g / degree)[target], None, None


class Draw(torch.autograd.Function):
    """Bits that are drawn with a probability; the gradient goes straight through."""

    @staticmethod
    def forward(ctx: Any, probability: Any, noise: Any) -> Any:
        return (noise < probability).to(probability.dtype)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Huber(torch.autograd.Function):
    """A loss that is square near zero; the mean of its elements."""

    @staticmethod
    def forward(ctx: Any, guess: Any, truth: Any, delta: float) -> Any:
        apart = guess - truth
        ctx.delta, ctx.count = delta, apart.numel()
        ctx.save_for_backward(apart)
        return torch.where(apart.abs() < delta, 0.5 * apart**2, delta * (apart.abs() - 0.5 * delta)).mean()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (apart,) = ctx.saved_tensors
        found = g * apart.clamp(-ctx.delta, ctx.delta) / ctx.count
        return found, -found if ctx.needs_input_grad[1] else None, None


class Activated(nn.Module):
    """A Function as a layer."""

    def __init__(self, function: Any, *settings: Any) -> None:
        super().__init__()
        self.function, self.settings = function, settings

    def forward(self, x: Any) -> Any:
        return self.function.apply(x, *self.settings)


# -- the models: each gives its losses, one a step -----------------------------------------------------------------


def trained(model: Any, loss: Callable[[Any], Any], compiled: Compile, **options: Any) -> Iterator[float]:
    """Train a model that runs compiled."""
    run = compiled(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, **options)
    for _ in range(STEPS):
        optimizer.zero_grad()
        found = loss(run)
        found.backward()
        optimizer.step()
        yield found.item()


def cnn(compiled: Compile) -> Iterator[float]:
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        Activated(Swish),
        nn.MaxPool2d(2),
        nn.Dropout2d(0.2),
        nn.Flatten(),
        nn.Linear(64, 5),
    )
    x, y = torch.randn(4, 1, 8, 8), torch.randint(5, (4,))
    return trained(model, lambda run: F.cross_entropy(run(x), y), compiled)


def residual(compiled: Compile) -> Iterator[float]:
    model = nn.Sequential(ResNet((4, 8)), Activated(Swish))
    x, y = torch.randn(2, 3, 16, 16), torch.randint(10, (2,))
    return trained(model, lambda run: F.cross_entropy(run(x), y, label_smoothing=0.1), compiled)


class Tagger(nn.Module):
    """A bidirectional LSTM with dropout, and a score for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 6, padding_idx=0)
        self.rnn = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True, dropout=0.1)
        self.out = nn.Linear(10, 4)

    def forward(self, tokens: Any) -> Any:
        hidden, (last, _) = self.rnn(self.embed(tokens))
        return self.out(Swish.apply(hidden)), last


def lstm(compiled: Compile) -> Iterator[float]:
    tokens, tags = torch.randint(1, 20, (3, 6)), torch.randint(4, (3, 6))

    def loss(run: Any) -> Any:
        scores, last = run(tokens)
        return F.cross_entropy(scores.flatten(0, 1), tags.flatten()) + last.square().mean()

    return trained(Tagger(), loss, compiled)


class PackedTagger(Tagger):
    """The same for sentences of different lengths."""

    def forward(self, tokens: Any, lengths: Any) -> Any:
        words = nn.utils.rnn.pack_padded_sequence(self.embed(tokens), lengths, batch_first=True, enforce_sorted=False)
        packed, (last, _) = self.rnn(words)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=tokens.shape[1])
        return self.out(Swish.apply(hidden)), last


def packed(compiled: Compile) -> Iterator[float]:
    tokens, tags = torch.randint(1, 20, (3, 6)), torch.randint(4, (3, 6))
    turns = iter([torch.tensor([2, 6, 3]), torch.tensor([6, 1, 4]), torch.tensor([5, 5, 6]), torch.tensor([1, 2, 6])])

    def loss(run: Any) -> Any:
        scores, last = run(tokens, next(turns))
        return F.cross_entropy(scores.flatten(0, 1), tags.flatten()) + last.square().mean()

    return trained(PackedTagger(), loss, compiled)


def gpt(compiled: Compile) -> Iterator[float]:
    model = GPT(vocabulary=20)
    for layer in model.layers:
        layer["mlp"][1] = Activated(Swish)
    tokens = torch.randint(20, (2, 9))
    return trained(
        model, lambda run: F.cross_entropy(run(tokens[:, :-1]).reshape(-1, 20), tokens[:, 1:].reshape(-1)), compiled, weight_decay=0.1
    )


def vit(compiled: Compile) -> Iterator[float]:
    model = nn.Sequential(ViT(), Activated(Reversed, 0.5))
    x, y = torch.randn(2, 3, 16, 16), torch.randint(5, (2,))
    return trained(model, lambda run: F.cross_entropy(run(x), y), compiled)


class BinaryVAE(nn.Module):
    """A code of bits, and a code of normal numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 9))
        self.decoder = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 16), nn.Unflatten(1, (4, 4)))

    def forward(self, x: Any) -> Any:
        bits, mean, deviation = self.encoder(x).chunk(3, dim=1)
        probability = torch.sigmoid(bits)
        drawn = Draw.apply(probability, torch.rand_like(probability))
        normal = mean + torch.exp(0.5 * deviation) * torch.randn_like(mean)
        distance = -0.5 * (1 + deviation - mean**2 - deviation.exp()).sum()
        return self.decoder(torch.cat([drawn, normal], dim=1)), probability, distance


def vae(compiled: Compile) -> Iterator[float]:
    x = (torch.rand(5, 4, 4) < 0.5).float()

    def loss(run: Any) -> Any:
        scores, probability, distance = run(x)
        return (
            F.binary_cross_entropy_with_logits(scores, x)
            + distance / 100
            + F.binary_cross_entropy(probability, torch.full_like(probability, 0.5))
        )

    return trained(BinaryVAE(), loss, compiled)


def gan(compiled: Compile) -> Iterator[float]:
    generator = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.LeakyReLU(0.2), nn.Linear(8, 4))
    critic = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 8)), Activated(Swish), nn.Linear(8, 1))
    make, judge = compiled(generator), compiled(critic)
    optimizers = [torch.optim.Adam(each.parameters(), lr=1e-2, betas=(0.5, 0.9)) for each in (generator, critic)]
    real = torch.randn(6, 4)
    for _ in range(STEPS):
        fake = make(torch.randn(6, 3))
        optimizers[1].zero_grad()
        criticism = F.relu(1 - judge(real)).mean() + F.relu(1 + judge(fake.detach())).mean()
        criticism.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        creation = -judge(fake).mean()
        creation.backward()
        optimizers[0].step()
        yield from (criticism.item(), creation.item())


def unet(compiled: Compile) -> Iterator[float]:
    model = nn.Sequential(UNet(4), Activated(Reversed, -1.0))
    x, y = torch.randn(1, 3, 8, 8), (torch.rand(1, 1, 8, 8) < 0.5).float()

    def loss(run: Any) -> Any:
        scores = run(x)
        return F.binary_cross_entropy(scores, y) + 1 - 2 * (scores * y).sum() / (scores.sum() + y.sum() + 1)

    return trained(model, loss, compiled)


def bags(compiled: Compile) -> Iterator[float]:
    words, y = torch.randint(30, (4, 5)), torch.randint(2, (4,))
    return trained(Bags(), lambda run: F.cross_entropy(run(words), y), compiled)


class GraphNetwork(nn.Module):
    """Rounds of messages over the edges of a graph."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [3, 6, 4]
        self.messages = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in zip(sizes, sizes[1:]))
        self.itself = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.norm = nn.LayerNorm(6)

    def forward(self, x: Any, edges: Any) -> Any:
        source, target = edges
        for index, (message, itself) in enumerate(zip(self.messages, self.itself)):
            x = itself(x) + Gather.apply(message(x)[source], target, len(x))
            if index == 0:
                x = F.elu(self.norm(x))
        return x


def gnn(compiled: Compile) -> Iterator[float]:
    x, edges, y = torch.randn(7, 3), torch.randint(7, (2, 12)), torch.randint(4, (7,))
    return trained(GraphNetwork(), lambda run: F.cross_entropy(run(x, edges), y), compiled)


def dqn(compiled: Compile) -> Iterator[float]:
    def network() -> Any:
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    online, slow = network(), network()
    slow.load_state_dict(online.state_dict())

    def loss_of(states: Any, actions: Any, rewards: Any, following: Any, ended: Any) -> Any:
        worth = online(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            best = online(following).argmax(dim=1, keepdim=True)
            target = rewards + 0.9 * slow(following).gather(1, best).squeeze(1) * ~ended
        value, inside = Clamped.apply(target, -5.0, 5.0)
        return Huber.apply(worth, value, 1.0), inside.float().mean()

    run = compiled(loss_of)
    optimizer = torch.optim.SGD(online.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for _ in range(STEPS):
        loss, _ = run(torch.randn(6, 4), torch.randint(2, (6,)), torch.randn(6), torch.randn(6, 4), torch.rand(6) < 0.3)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for mine, other in zip(slow.parameters(), online.parameters()):
                mine.lerp_(other, 0.1)
        yield loss.item()


MODELS = [cnn, residual, lstm, packed, gpt, vit, vae, gan, unet, bags, gnn, dqn]


CASES = [(model, backend) for model in MODELS for backend in ("eager", None)] + [(gan, "onnxrt")]


@pytest.mark.filterwarnings("ignore:onnxrt")
@pytest.mark.parametrize("model, backend", CASES, ids=lambda each: getattr(each, "__name__", each) or "default")
def test_trains_to_the_same_losses_without_a_break(model: Any, backend: str | None) -> None:
    options = {} if backend is None else {"backend": backend}
    torch.manual_seed(0)
    expected = list(model(lambda each: each))
    compiler.reset()
    for counter in compiler.counters.values():
        counter.clear()
    made: list[Any] = []

    def compiled(each: Any) -> Any:
        made.append(torch.compile(each, fullgraph=True, **options))
        return made[-1]

    torch.manual_seed(0)
    assert list(model(compiled)) == pytest.approx(expected, rel=2e-5, abs=1e-6)
    assert not compiler.counters["graph_break"] and not compiler.counters["not_kept"]
    # How much is packed depends on the lengths: such a graph runs op by op.
    assert bool(compiler.counters["aot_fallback"]) is (model is packed and backend is None)
    for each in made:
        segments = each.__dict__["_compiled"].cache.entries[None]
        assert 1 <= len(segments) <= 2 and all(segment.ends for segment in segments), [segment.guards.source for segment in segments]
