"""Random small programs as source text: modules and optimizers with all their arguments, einsum, indexing, views and writes in place.

Both packages draw the same random numbers from a seed, so a program makes its own tensors and parameters; it leaves a list ``results``.
"""

from __future__ import annotations

import random
from collections.abc import Callable


def _choose(stream: random.Random, **options: tuple[object, ...]) -> str:
    """Keyword arguments, each of them left out half of the time."""
    return ", ".join(f"{name}={stream.choice(values)!r}" for name, values in options.items() if stream.random() < 0.5)


def _module(stream: random.Random) -> str:
    """A module with random arguments: its result, its gradients and its buffers after two calls."""
    pads = (0, 1, "same", "valid")
    modes = ("zeros", "reflect", "replicate", "circular")
    make: list[Callable[[], tuple[str, str]]] = [
        lambda: (f"nn.Linear(4, 3, {_choose(stream, bias=(True, False))})", "2, 4"),
        lambda: (f"nn.Conv1d(4, 6, {stream.choice((1, 2, 3))}, {_choose(stream, padding=pads, groups=(1, 2), bias=(True, False), dilation=(1, 2), padding_mode=modes)})", "2, 4, 9"),
        lambda: (f"nn.Conv2d(4, 6, {stream.choice((1, 3, (2, 3)))}, {_choose(stream, stride=(1, 2, (2, 1)), padding=(0, 1, (1, 2)), groups=(1, 2), dilation=(1, 2), padding_mode=modes)})", "2, 4, 7, 8"),
        lambda: (f"nn.ConvTranspose2d(4, 6, 3, {_choose(stream, stride=(2, 3), padding=(0, 1), output_padding=(0, 1), groups=(1, 2), dilation=(1, 2))})", "2, 4, 5, 4"),
        lambda: (f"nn.MaxPool2d({stream.choice((2, 3, (2, 3)))}, {_choose(stream, stride=(1, 2), padding=(0, 1), dilation=(1, 2), ceil_mode=(True, False))})", "2, 3, 8, 7"),
        lambda: (f"nn.AvgPool2d({stream.choice((2, 3, (2, 3)))}, {_choose(stream, stride=(1, 2), padding=(0, 1), ceil_mode=(True, False), count_include_pad=(True, False), divisor_override=(None, 3))})", "2, 3, 8, 7"),
        lambda: (f"nn.LPPool2d({stream.choice((1, 2, 3))}, 2, {_choose(stream, stride=(1, 2), ceil_mode=(True, False))})", "2, 3, 6, 7"),
        lambda: (f"nn.AdaptiveAvgPool2d({stream.choice((1, 3, (2, None)))})", "2, 3, 7, 5"),
        lambda: (f"nn.BatchNorm2d(3, {_choose(stream, eps=(1e-5, 0.1), momentum=(0.1, None, 0.5), affine=(True, False), track_running_stats=(True, False))})", "4, 3, 2, 5"),
        lambda: (f"nn.InstanceNorm1d(3, {_choose(stream, momentum=(0.1, 0.5), affine=(True, False), track_running_stats=(True, False))})", "4, 3, 6"),
        lambda: (f"nn.GroupNorm({stream.choice((1, 2, 4))}, 4, {_choose(stream, eps=(1e-5, 0.1), affine=(True, False))})", "3, 4, 5"),
        lambda: (f"nn.LayerNorm({stream.choice((5, (4, 5)))}, {_choose(stream, eps=(1e-5, 0.1), elementwise_affine=(True, False), bias=(True, False))})", "3, 4, 5"),
        lambda: (f"nn.LSTM(4, 3, {_choose(stream, num_layers=(1, 2), bias=(True, False), batch_first=(True, False), bidirectional=(True, False), proj_size=(0, 2))})", "5, 2, 4"),
        lambda: (f"nn.GRU(4, 3, {_choose(stream, num_layers=(1, 2), bias=(True, False), batch_first=(True, False), bidirectional=(True, False))})", "5, 2, 4"),
        lambda: (f"nn.RNN(4, 3, {_choose(stream, num_layers=(1, 2), nonlinearity=('tanh', 'relu'), bias=(True, False), bidirectional=(True, False))})", "5, 2, 4"),
        lambda: (f"nn.TransformerEncoderLayer(4, 2, 6, 0.0, {_choose(stream, activation=('relu', 'gelu'), batch_first=(True, False), norm_first=(True, False), bias=(True, False))})", "5, 2, 4"),
        lambda: (f"nn.Upsample({stream.choice(('scale_factor=2', 'size=(5, 9)', 'scale_factor=(1.5, 2.5)'))}, mode={stream.choice(('nearest', 'bilinear', 'bicubic', 'nearest-exact'))!r})", "2, 3, 4, 5"),
        lambda: (f"nn.{stream.choice(('ELU', 'CELU'))}({_choose(stream, alpha=(1.0, 0.3, 2))})", "3, 5"),
        lambda: (f"nn.Softplus({_choose(stream, beta=(1, 2.5), threshold=(20, 1))})", "3, 5"),
        lambda: (f"nn.{stream.choice(('Hardtanh(-0.5, 0.7)', 'Hardshrink(0.3)', 'Softshrink(0.2)', 'LeakyReLU(0.2)', 'PReLU(3)', 'RReLU().eval()', 'GELU()', 'Mish()', 'SELU()', 'Hardswish()', 'LogSigmoid()', 'Softsign()', 'Tanhshrink()', 'Threshold(0.1, 5.0)', 'GLU(0)', 'Softmin(1)', 'LogSoftmax(0)', 'Softmax2d()'))}", "2, 3, 4, 2"),
        lambda: (f"nn.{stream.choice(('ReflectionPad2d', 'ReplicationPad2d', 'ZeroPad2d', 'CircularPad2d'))}({stream.choice((1, (1, 2, 0, 1), (2, 1, 1, 0)))})", "2, 3, 4, 5"),
        lambda: (f"nn.Unfold({stream.choice((2, (2, 3)))}, {_choose(stream, dilation=(1, 2), padding=(0, 1), stride=(1, 2))})", "2, 3, 6, 5"),
    ]  # fmt: skip
    made, shape = stream.choice(make)()
    return f"""
m = {made}
x = torch.randn({shape}, requires_grad=True)
{"m.eval()" if stream.random() < 0.3 else ""}
y = m(x)
y = m(x)
leaves = [leaf for leaf in flat(y)]
sum((leaf * torch.arange(leaf.numel()).reshape(leaf.shape).cos()).sum() for leaf in leaves).backward()
results = [*leaves, x.grad, *[p.grad for p in m.parameters()], *m.buffers()]
"""


def _optimizer(stream: random.Random) -> str:
    """Steps of an optimizer with random arguments on a small model."""
    common = {"weight_decay": (0, 0.1), "maximize": (False, True)}
    made = stream.choice((
        f"SGD(ps, lr=0.1, {stream.choice((_choose(stream, momentum=(0.9,), dampening=(0, 0.3), **common), 'momentum=0.9, nesterov=True'))})",
        f"Adam(ps, {_choose(stream, lr=(0.01, 0.1), betas=((0.9, 0.999), (0.5, 0.8)), eps=(1e-8, 1e-2), amsgrad=(True, False), **common)})",
        f"AdamW(ps, {_choose(stream, lr=(0.01, 0.1), betas=((0.9, 0.999), (0.5, 0.8)), amsgrad=(True, False), **common)})",
        f"NAdam(ps, {_choose(stream, lr=(0.01,), momentum_decay=(4e-3, 0.1), decoupled_weight_decay=(True, False), weight_decay=(0, 0.1))})",
        f"RAdam(ps, {_choose(stream, lr=(0.01,), decoupled_weight_decay=(True, False), weight_decay=(0, 0.1))})",
        f"Adamax(ps, {_choose(stream, lr=(0.01,), betas=((0.5, 0.8),), **common)})",
        f"Adagrad(ps, {_choose(stream, lr=(0.1,), lr_decay=(0, 0.1), initial_accumulator_value=(0, 0.5), **common)})",
        f"Adadelta(ps, {_choose(stream, lr=(1.0, 0.1), rho=(0.9, 0.5), **common)})",
        f"RMSprop(ps, {_choose(stream, lr=(0.01,), alpha=(0.99, 0.5), momentum=(0, 0.9), centered=(True, False), **common)})",
        f"Rprop(ps, {_choose(stream, lr=(0.01,), etas=((0.5, 1.2), (0.3, 1.5)), maximize=(False, True))})",
        f"ASGD(ps, {_choose(stream, lr=(0.01,), lambd=(1e-4, 0.1), alpha=(0.75, 0.5), t0=(1e6, 2), **common)})",
        f"LBFGS(ps, {_choose(stream, lr=(1, 0.3), max_iter=(3, 20), history_size=(2, 100), line_search_fn=(None, 'strong_wolfe'))})",
    ))  # fmt: skip
    schedule = stream.choice((
        "", "", "StepLR(o, 2, 0.5)", "MultiStepLR(o, [1, 3], 0.5)", "ExponentialLR(o, 0.8)", "CosineAnnealingLR(o, 4)", "LinearLR(o, 0.5, total_iters=3)",
        "ConstantLR(o, 0.5, 2)", "PolynomialLR(o, 4, 2.0)", "CosineAnnealingWarmRestarts(o, 2, 2)", "LambdaLR(o, lambda e: 0.9 ** e)",
    ))  # fmt: skip
    return f"""
ps = [torch.randn(3, 2, requires_grad=True), torch.randn(3, requires_grad=True)]
x, y = torch.randn(5, 2), torch.randn(5, 3)
o = torch.optim.{made}
s = {"torch.optim.lr_scheduler." + schedule if schedule else "None"}
def closure():
    o.zero_grad()
    loss = F.mse_loss(F.linear(x, *ps), y)
    loss.backward()
    return loss
results = []
for _ in range(5):
    results.append(o.step(closure))
    if s is not None:
        s.step()
        results.append(torch.tensor(s.get_last_lr()))
results += ps
"""


def _einsum(stream: random.Random) -> str:
    """An equation of one to three operands."""
    sizes = {letter: stream.choice((1, 2, 3)) for letter in "abcdef"}
    terms = ["".join(stream.choice("abcdef") for _ in range(stream.randint(1, 3))) for _ in range(stream.randint(1, 3))]
    letters = sorted(set("".join(terms)))
    result = "".join(stream.sample(letters, stream.randint(0, len(letters))))
    equation = ",".join(terms) + stream.choice((f"->{result}", f"->{result}", ""))
    made = ", ".join(f"torch.randn({[sizes[letter] for letter in term]}, requires_grad=True)" for term in terms)
    return f"""
xs = [{made}]
y = torch.einsum({equation!r}, *xs)
(y * torch.arange(y.numel()).reshape(y.shape).cos()).sum().backward()
results = [y, *[x.grad for x in xs]]
"""


def _index(stream: random.Random) -> str:
    """An index, for reading or writing."""
    kinds = (
        "0", "-1", ":", "1:", "::2", "...", "None", "[0, 1]", "[[0], [1]]", "torch.tensor([1, 0])", "torch.tensor([True, False, True])", "torch.tensor(1)", "True",
        "torch.tensor([[0, 1]])", "slice(0, 0)", "torch.tensor([], dtype=torch.long)", "-2:", "torch.tensor([-1, 0])",
    )  # fmt: skip
    return ", ".join(stream.choice(kinds) for _ in range(stream.randint(1, 3)))


def _program(stream: random.Random) -> str:
    """Views, writes in place and arithmetic on a few tensors, with gradients."""
    lines = [
        "a = torch.randn(3, 4, requires_grad=True)",
        "b = torch.randn(3, 3, 2, requires_grad=True)",
        "x, y = a * 1, b * 1",
        "results = []",
    ]
    steps = (
        "x = x.t()", "x = x.reshape(-1)", "x = x.unsqueeze(0)", "x = x.flip(0)", "x[{i}] = 2.0", "x[{i}] = y.sum()", "v = x[{i}]; results.append(v)",
        "v = y[{i}]; v.mul_(3); results.append(v * 1)", "y[{i}] += 1", "y = y.transpose(0, 2)", "y.diagonal(0, 0, 1).fill_(1.5)", "x = torch.cat([x, x], -1)",
        "x = x.expand(2, *x.shape)[0]", "y = y.contiguous()", "y.mul_(x.mean())", "x = x.clone()", "x = x.roll(1, 0)", "y = y.softmax(-1)", "x = torch.where(x > 0, x, x * 0.1)",
        "x = x.cumsum(0)", "results.append(x.max(0).values)", "y = y.permute(1, 2, 0)", "x.clamp_(-1, 1)", "y = F.pad(y, (1, 0))", "results += list(y.unbind(0))",
        "y.select(0, 0).add_(1)", "x = x.squeeze()", "x = x.detach().requires_grad_() * 2", "x.view(-1)[:2].zero_()", "y.index_add_(0, torch.tensor([0]), y[:1].detach())",
        "results.append(x.var(0, keepdim=True))", "y = y.narrow(0, 0, 1)", "x = x.as_strided((2,), (1,))", "y = torch.stack([y, y.sin()])", "y = y.sum(0)", "x = x.tril() if x.dim() == 2 else x",
    )  # fmt: skip
    lines += [stream.choice(steps).replace("{i}", _index(stream)) for _ in range(stream.randint(2, 6))]
    lines += ["results += [x, y]", "total = sum((r * torch.arange(r.numel()).reshape(r.shape).cos()).sum() for r in results)"]
    lines += ["total.backward()", "results += [a.grad, b.grad]"]
    return "\n".join(lines)


KINDS: dict[str, Callable[[random.Random], str]] = {"modules": _module, "optimizers": _optimizer, "einsum": _einsum, "programs": _program}


def program(kind: str, seed: int) -> str:
    """The program of a kind and a seed."""
    return KINDS[kind](random.Random(f"{kind} {seed}"))
