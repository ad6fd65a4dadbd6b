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


_DTYPES = ("float32", "float32", "float32", "float64", "int64", "bool", "uint8", "float16", "complex64")


def _indexing(stream: random.Random) -> str:
    """Reading, writing and gradients by an index of several kinds, of tensors of several types and layouts."""
    shape = stream.choice(("5, 4", "3, 3, 3", "4", "2, 3, 4", "3, 0, 2", "3, 1, 4", "3, 2, 3, 2"))
    kind = stream.choice(_DTYPES)
    source = f"torch.arange({shape.replace(', ', ' * ')}).reshape({shape}).to(torch.{kind})"
    layout = stream.choice(("", "", ".transpose(0, -1).contiguous().transpose(0, -1)", ".flip(0)"))
    parts = (
        "0", "-1", "2", ":", "1:", "::2", "-2:", ":-1", "...", "None", "[0, 1]", "[0, -1, 0]", "[[0], [1]]", "torch.tensor([1, 0])", "torch.tensor([[0, 1], [1, 0]])",
        "torch.tensor([True, False, True])", "torch.tensor(1)", "True", "False", "slice(0, 0)", "torch.tensor([], dtype=torch.long)", "torch.tensor([2, -1], dtype=torch.int32)",
        "x.to(torch.float32).real > 3" if kind != "complex64" else "x.real > 3", "torch.tensor([1, 0], dtype=torch.uint8)", "[True, False, True]", "range(2)", "(0, 1)", "torch.arange(2)[:, None]", "1:2", "5:", "-100:100", "torch.tensor([0])",
    )  # fmt: skip
    index = ", ".join(stream.choice(parts) for _ in range(stream.choice((1, 1, 2, 2, 3))))
    value = stream.choice(
        (
            "7",
            "2.5",
            "True",
            "torch.tensor(3)",
            "torch.tensor([1., 2.])",
            "torch.arange(3)",
            "x[{i}] * 2",
            "x.sum()",
            "torch.tensor([[5]])",
            "1j",
            "torch.ones(1, 1, 1)",
        )
    )
    gradient = kind in ("float32", "float64")
    action = stream.choice((
        "y = x[{i}]\nresults = [y]", "x[{i}] = {v}\nresults = [x]", "x[{i}] += {v}\nresults = [x]", "x[{i}] *= 2\nresults = [x]", "y = x[{i}].clone()\nx[{i}] = 0\nresults = [x, y]",
        "x.index_put_((torch.tensor([0, 0]),), torch.ones(()).to(x.dtype), accumulate=True)\nresults = [x]", "y = x[{i}]\ny.zero_()\nresults = [x]", "results = [x[{i}][0], x[{i}].shape[0]]", "del x\nresults = []",
    )).replace("{v}", value).replace("{i}", index)  # fmt: skip
    return f"""
leaf = ({source}){layout}
{"leaf.requires_grad_()" if gradient else ""}
x = leaf * 1 if leaf.requires_grad else leaf.clone()
{action}
if {gradient} and any(isinstance(each, torch.Tensor) and each.requires_grad for each in results):
    sum((each * torch.arange(each.numel()).reshape(each.shape).cos()).sum() for each in results if isinstance(each, torch.Tensor) and each.requires_grad).backward()
    results.append(leaf.grad if leaf.grad is not None else torch.zeros(0))
results = [each if isinstance(each, torch.Tensor) else torch.tensor(each) for each in results]
"""


def _window(stream: random.Random) -> str:
    """Convolutions and pooling of one to three dimensions with all their parameters."""
    dims = stream.choice((1, 1, 2, 2, 3))
    size = lambda low, high: stream.choice((stream.randint(low, high), tuple(stream.randint(low, high) for _ in range(dims))))
    spatial = ", ".join(str(stream.randint(1, 7)) for _ in range(dims))
    batch = stream.choice(("2, ", "", "1, ", "0, " if stream.random() < 0.3 else "3, "))
    groups, channels = stream.choice(((1, 3), (2, 4), (4, 4), (1, 1)))
    layout = stream.choice(
        (
            "",
            "",
            "",
            ".transpose(-1, -2)" if dims > 1 else "",
            ".contiguous(memory_format=torch.channels_last)" if dims == 2 and batch == "2, " else "",
        )
    )
    kind = stream.choice(
        ("conv", "conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_avg", "adaptive_max", "lp_pool", "unfold", "indices", "unpool")
    )
    kernel = tuple(stream.randint(1, 3) for _ in range(dims))
    extra = ""
    if kind == "conv":
        padding = stream.choice((0, 1, "same", "valid", size(0, 2)))
        call = f"F.conv{dims}d(x, w, {stream.choice(('b', 'None'))}, stride={size(1, 3)!r}, padding={padding!r}, dilation={size(1, 2)!r}, groups={groups})"
        extra = f"w = torch.randn({2 * groups}, {channels // groups}, {', '.join(map(str, kernel))}, requires_grad=True); b = torch.randn({2 * groups}, requires_grad=True)"
    elif kind == "conv_transpose":
        call = f"F.conv_transpose{dims}d(x, w, {stream.choice(('b', 'None'))}, stride={size(1, 3)!r}, padding={size(0, 1)!r}, output_padding={size(0, 1)!r}, groups={groups}, dilation={size(1, 2)!r})"
        extra = f"w = torch.randn({channels}, 2, {', '.join(map(str, kernel))}, requires_grad=True); b = torch.randn({2 * groups}, requires_grad=True)"
    elif kind in ("max_pool", "indices"):
        call = f"F.max_pool{dims}d(x, {size(1, 3)!r}, {_choose(stream, stride=(1, 2, 3), padding=(0, 1), dilation=(1, 2), ceil_mode=(True, False))}{', return_indices=True' if kind == 'indices' else ''})"
    elif kind == "avg_pool":
        options = {"stride": (1, 2, 3), "padding": (0, 1), "ceil_mode": (True, False), "count_include_pad": (True, False)}
        call = f"F.avg_pool{dims}d(x, {size(1, 3)!r}, {_choose(stream, **(options if dims == 1 else {**options, 'divisor_override': (None, 2)}))})"
    elif kind.startswith("adaptive"):
        call = f"F.adaptive_{kind.removeprefix('adaptive_')}_pool{dims}d(x, {stream.choice((size(1, 5), 1, 3))!r})"
    elif kind == "lp_pool":
        call = (
            f"F.lp_pool{dims}d(x, {stream.choice((1, 2, 3.0))}, {size(1, 3)!r}, {_choose(stream, stride=(1, 2), ceil_mode=(True, False))})"
        )
    elif kind == "unpool":
        call = f"F.max_unpool{dims}d(*F.max_pool{dims}d(x, 2, 2, return_indices=True), 2, 2)"
    else:
        call = f"F.unfold(x, {size(1, 2)!r}, {_choose(stream, dilation=(1, 2), padding=(0, 1), stride=(1, 2))})"
    return f"""
leaf = torch.randn({batch}{channels}, {spatial}, requires_grad=True)
x = leaf{layout}
{extra}
leaves = flat({call})
results = list(leaves)
results.append(torch.tensor([leaf.is_contiguous() for leaf in leaves]))
sum((each * torch.arange(each.numel()).reshape(each.shape).cos()).sum() for each in leaves if each.requires_grad).backward()
results += [leaf.grad]{" + [w.grad]" if "w = " in extra else ""}
"""


def _interpolation(stream: random.Random) -> str:
    """Interpolation of one to three dimensions, grids and shuffles."""
    dims = stream.choice((1, 2, 2, 3))
    spatial = ", ".join(str(stream.randint(1, 6)) for _ in range(dims))
    modes = {
        1: ("nearest", "linear", "nearest-exact", "area"),
        2: ("nearest", "bilinear", "bicubic", "nearest-exact", "area"),
        3: ("nearest", "trilinear", "nearest-exact", "area"),
    }[dims]
    mode = stream.choice(modes)
    if stream.random() < 0.5:
        how = f"size={stream.choice((stream.randint(1, 9), tuple(stream.randint(1, 9) for _ in range(dims))))!r}"
    else:
        how = (
            f"scale_factor={stream.choice((2, 0.5, 1.5, 2.3, tuple(stream.choice((0.7, 1.0, 2.6)) for _ in range(dims))))!r}"
            + stream.choice(("", "", ", recompute_scale_factor=True"))
        )
    more = stream.choice(("", ", align_corners=True", ", align_corners=False")) if "linear" in mode or mode == "bicubic" else ""
    more += stream.choice(("", "", ", antialias=True")) if mode in ("bilinear", "bicubic") else ""
    call = f"F.interpolate(x, {how}, mode={mode!r}{more})"
    extra = ""
    if dims > 1 and stream.random() < 0.25:
        call = f"F.grid_sample(x, g, mode={stream.choice(('bilinear', 'nearest', *(('bicubic',) if dims == 2 else ())))!r}, padding_mode={stream.choice(('zeros', 'border', 'reflection'))!r}, align_corners={stream.choice((True, False))})"
        extra = f"g = (torch.rand(2, {', '.join('3' * dims)}, {dims}) * 2.6 - 1.3).requires_grad_()"
    return f"""
leaf = torch.randn(2, {stream.randint(1, 3)}, {spatial}, requires_grad=True)
x = leaf{stream.choice(("", "", ".transpose(-1, -2)" if dims > 1 else "", " * 3"))}
{extra}
y = {call}
(y * torch.arange(y.numel()).reshape(y.shape).cos()).sum().backward()
results = [y, leaf.grad]{" + [g.grad]" if extra else ""}
"""


def _distribution(stream: random.Random) -> str:
    """A distribution with random parameters: sample, log_prob, moments, entropy, cdf and gradients."""
    pick = lambda *values: stream.choice(values)
    positive = lambda: pick("torch.tensor([0.5, 1.5, 3.0])", "torch.tensor(2.0)", "1.3", "torch.rand(2, 3) + 0.2")
    real = lambda: pick("torch.tensor([0.0, -1.0, 2.0])", "torch.tensor(0.3)", "0.5", "torch.randn(2, 3)")
    share = lambda: pick(
        "probs=torch.tensor([0.2, 0.5, 0.9])", "logits=torch.tensor([0.1, -1.0, 2.0])", "probs=0.3", "logits=torch.randn(2, 3)"
    )
    made = stream.choice((
        f"Normal({real()}, {positive()})", f"LogNormal({real()}, {positive()})", f"Laplace({real()}, {positive()})", f"Cauchy({real()}, {positive()})", f"Gumbel({real()}, {positive()})", f"StudentT({positive()}, {real()}, {positive()})",
        f"Gamma({positive()}, {positive()})", f"Beta({positive()}, {positive()})", f"Exponential({positive()})", f"HalfNormal({positive()})", f"HalfCauchy({positive()})", f"Weibull({positive()}, {positive()})", f"Pareto({positive()}, {positive()})",
        f"Kumaraswamy({positive()}, {positive()})", f"Chi2({positive()})", f"InverseGamma({positive()}, {positive()})", "Uniform(torch.tensor([0.0, -1.0, 1.0]), torch.tensor([1.0, 2.0, 4.0]))", f"Bernoulli({share()})", f"Geometric({share()})", f"Poisson({positive()})",
        f"Binomial({pick('5', 'torch.tensor([1.0, 4.0, 9.0])')}, {share()})", f"NegativeBinomial({positive()}, {share()})", f"Categorical({pick('torch.tensor([0.2, 0.3, 0.5])', 'logits=torch.randn(2, 4)')})", f"OneHotCategorical({pick('torch.tensor([0.2, 0.3, 0.5])', 'logits=torch.randn(2, 4)')})",
        f"Multinomial(6, {pick('torch.tensor([0.2, 0.3, 0.5])', 'logits=torch.randn(2, 4)')})", "Dirichlet(torch.tensor([0.5, 1.5, 3.0]))", "MultivariateNormal(torch.randn(3), torch.eye(3) * 2)", "MultivariateNormal(torch.randn(2, 3), scale_tril=torch.eye(3) + torch.ones(3, 3).tril(-1))",
        f"ContinuousBernoulli({share()})", f"VonMises({real()}, {positive()})", f"RelaxedBernoulli(torch.tensor(0.7), {share()})", "LogisticNormal(torch.randn(3), torch.rand(3) + 0.1)", "FisherSnedecor(torch.tensor([3.0, 5.0]), torch.tensor([7.0, 9.0]))",
        f"Independent(D.Normal(torch.randn(2, 3), torch.rand(2, 3) + 0.1), {pick('1', '2', '0')})", "MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal(torch.randn(3), torch.rand(3) + 0.1))", "LowRankMultivariateNormal(torch.zeros(3), torch.ones(3, 1), torch.ones(3))",
        f"TransformedDistribution(D.Normal({real()}, 1.0), [D.transforms.{pick('ExpTransform()', 'SigmoidTransform()', 'AffineTransform(1.0, 2.0)', 'TanhTransform()')}])", "Wishart(torch.tensor(5.0), torch.eye(2))", "LKJCholesky(3, 0.7)",
    ))  # fmt: skip
    shape = pick("", "(4,)", "(2, 1)")
    return f"""
D = torch.distributions
d = D.{made}
results = []
def add(make):
    try:
        made = make()
        results.append(made if isinstance(made, torch.Tensor) else torch.tensor(float(made)))
    except (NotImplementedError, ValueError, RuntimeError, AttributeError) as error:
        results.append(torch.tensor(float(isinstance(error, NotImplementedError)) + 100))
s = d.sample({shape})
results.append(s)
for make in (lambda: d.log_prob(s), lambda: d.mean, lambda: d.variance, lambda: d.entropy(), lambda: d.cdf(s), lambda: d.mode, lambda: d.stddev, lambda: d.expand((2, *d.batch_shape)).mean, lambda: d.icdf(torch.full(d.batch_shape, 0.3)), lambda: d.enumerate_support()):
    add(make)
results.append(torch.tensor([*d.batch_shape, 99, *d.event_shape, int(d.has_rsample), int(d.has_enumerate_support)]))
"""


KINDS: dict[str, Callable[[random.Random], str]] = {
    "modules": _module,
    "optimizers": _optimizer,
    "einsum": _einsum,
    "programs": _program,
    "indexing": _indexing,
    "windows": _window,
    "interpolation": _interpolation,
    "distributions": _distribution,
}


def program(kind: str, seed: int) -> str:
    """The program of a kind and a seed."""
    return KINDS[kind](random.Random(f"{kind} {seed}"))
