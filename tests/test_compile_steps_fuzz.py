"""Training steps made at random, run eagerly and compiled whole: results, losses, parameters, gradients, buffers and the optimizer's state.

Models, losses, optimizers and what a step does around them differ; between steps gradients are read, kept, written to and thrown away, rates and modes
change.  In double precision, where a wrong result can't hide behind rounding, and in single precision with tensors so large that
a first call takes another way.  ``python tests/test_compile_steps_fuzz.py FIRST LAST [BACKEND]`` runs more of them.
"""

from __future__ import annotations

import copy
import random
import warnings
from typing import Any

import numpy as np
import pytest
from seeds import run_seeds

import rushlight as torch
from rushlight import compiler, nn, optim
from rushlight.nn import functional as F

pytest.importorskip("llvmlite")
COUNT = 24
FOUND: tuple[int, ...] = ()  # programs that have found mistakes, beyond those
TOLERANCE = {torch.float64: (1e-8, 1e-10), torch.float32: (1e-4, 1e-5)}  # of what is computed, relative and absolute
CALLS = 5

PRELUDE = """
class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.save_for_backward(x)
        ctx.by = by
        return x.clamp(-2, 2) ** 3 * by
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 3 * x.clamp(-2, 2) ** 2 * ctx.by * (x.abs() < 2), None

class Straight(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2 + x.detach().sin() * 0.1, x.mean()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.size = inputs[0].shape
    @staticmethod
    def backward(ctx, g, mean):
        return g * 2 + mean.expand(ctx.size) / mean.new_ones(ctx.size).numel()

class Attention(nn.Module):
    def __init__(self, width, heads, whole):
        super().__init__()
        self.qkv, self.out, self.heads, self.whole = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, whole
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (q, k, v))
        if self.whole:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
            mixed = scores.softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).flatten(2))

class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return x + self.inner(x)

class Applied(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
    def forward(self, x):
        return self.function(x)

class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('seen', torch.zeros(()))
        self.scale = nn.Parameter(torch.ones(()))
    def forward(self, x):
        if self.training:
            self.seen += 1
        return x * self.scale
"""


class Writer:
    """Writes a model, and the source of a training step for it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.large = self.chance(0.25)
        self.dtype = "float32" if self.large or self.chance(0.25) else "float64"
        self.classes = 300 if self.large else self.pick(1, 3, 4, 7)
        self.batch = 300 if self.large and self.chance(0.5) else self.pick(2, 4, 6, 16)
        self.turned = self.chance(0.15)  # how inputs lie in memory
        self.kind = self.pick("rows", "rows", "images", "tokens", "sequences")
        self.lines: list[str] = []

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def write(self, text: str, depth: int = 1) -> None:
        self.lines.append("    " * depth + text)

    # -- the model -------------------------------------------------------------------------------------------------

    def model(self) -> str:
        return f"nn.Sequential({', '.join(getattr(self, self.kind)())})"

    def activation(self) -> str:
        return self.pick(
            "nn.ReLU()", "nn.Tanh()", "nn.GELU()", "nn.SiLU()", "nn.Sigmoid()", "nn.ELU()", "Applied(lambda x: Cubed.apply(x, 0.5))", "Applied(lambda x: Straight.apply(x)[0])",
            "Applied(lambda x: sum(Straight.apply(x)))", "nn.LeakyReLU(0.2)" if self.turned else "nn.Dropout(0.25)", "nn.LeakyReLU(0.1)", "nn.Softplus()", "Counted()", "Applied(lambda x: x.clone().mul_(0.5))", "nn.ReLU(inplace=True)",
        )  # fmt: skip

    def width(self) -> int:
        return 300 if self.large and self.chance(0.7) else self.pick(4, 6, 12)

    def rows(self) -> list[str]:
        width = self.inputs = self.width()
        parts = []
        for _ in range(self.random.randint(1, 3)):
            match self.random.randrange(6):
                case 0 | 1:
                    wider = self.width()
                    parts.append(f"nn.Linear({width}, {wider}, bias={self.chance(0.8)})")
                    width = wider
                case 2:
                    parts.append(
                        self.pick(f"nn.LayerNorm({width})", f"nn.BatchNorm1d({width})", f"nn.GroupNorm(2, {width})", f"nn.RMSNorm({width})")
                    )
                case 3:
                    parts.append(f"Residual(nn.Sequential(nn.Linear({width}, {width}), {self.activation()}))")
                case _:
                    parts.append(self.activation())
        return [*parts, f"nn.Linear({width}, {self.classes})"]

    def images(self) -> list[str]:
        channels = self.inputs = self.pick(1, 3, 4)
        self.side = 32 if self.large else self.pick(6, 8, 9)
        parts = []
        for _ in range(self.random.randint(1, 2)):
            wider = self.pick(2, 4, 8) if not self.large else 32
            parts.append(self.pick(
                f"nn.Conv2d({channels}, {wider}, 3, padding=1)", f"nn.Conv2d({channels}, {wider}, 3, stride=2, padding=1, bias=False)", f"nn.Conv2d({channels}, {wider}, 1)",
                f"nn.Conv2d({channels}, {wider}, (2, 3), padding='same')", f"nn.ConvTranspose2d({channels}, {wider}, 2)",
            ))  # fmt: skip
            channels = wider
            if self.chance(0.6):
                parts.append(
                    self.pick(f"nn.BatchNorm2d({channels})", f"nn.GroupNorm(2, {channels})", f"nn.BatchNorm2d({channels}, momentum=None)")
                )
            parts.append(self.activation())
            if self.chance(0.4):
                parts.append(self.pick("nn.MaxPool2d(2)", "nn.AvgPool2d(2)"))
        return [
            *parts,
            *self.pick(
                ["nn.AdaptiveAvgPool2d(1)", "nn.Flatten()"], ["Applied(lambda x: x.mean((2, 3)))"], ["Applied(lambda x: x.amax((-1, -2)))"]
            ),
            f"nn.Linear({channels}, {self.classes})",
        ]

    def tokens(self) -> list[str]:
        self.inputs = 300 if self.large else self.pick(5, 11)
        self.length = self.pick(3, 5, 8)
        width = 300 if self.large else self.pick(4, 8)
        parts = [f"nn.Embedding({self.inputs}, {width}{self.pick('', '', ', padding_idx=0')})"]
        for _ in range(self.random.randint(0, 2)):
            parts.append(
                self.pick(
                    f"Residual(Attention({width}, 2, {self.chance(0.5)}))",
                    f"nn.LayerNorm({width})",
                    self.activation(),
                    f"Residual(nn.Linear({width}, {width}))",
                )
            )
        return [
            *parts,
            self.pick("Applied(lambda x: x.mean(1))", "Applied(lambda x: x[:, -1])", "Applied(lambda x: x.amax(1))"),
            f"nn.Linear({width}, {self.classes})",
        ]

    def sequences(self) -> list[str]:
        self.inputs, self.length = self.pick(2, 4), self.pick(3, 6)
        width = 300 if self.large else self.pick(4, 5)
        cell = self.pick("LSTM", "GRU", "RNN")
        return [
            f"nn.{cell}({self.inputs}, {width}, batch_first=True)",
            "Applied(lambda x: x[0][:, -1])",
            self.activation(),
            f"nn.Linear({width}, {self.classes})",
        ]

    def batch_of(self, count: int) -> str:
        shape = {"rows": "{n}, {i}", "images": "{n}, {i}, {s}, {s}", "tokens": "", "sequences": "{n}, {l}, {i}"}[self.kind]
        if self.kind == "tokens":
            given = f"torch.randint(0, {self.inputs}, ({count}, {self.length}))"
        else:
            shape = shape.format(n=count, i=self.inputs, s=getattr(self, "side", 0), l=getattr(self, "length", 0))
            given = f"torch.randn({shape})"
            if self.turned:
                given = f"torch.randn({shape}).transpose(0, 1).contiguous().transpose(0, 1)"
        wanted = f"torch.randint(0, {self.classes}, ({count},))" if self.labels else f"torch.randn({count}, {self.classes})"
        return f"({given}, {wanted})"

    # -- the step --------------------------------------------------------------------------------------------------

    def loss(self) -> str:
        losses = ["F.cross_entropy(out, y)", "F.nll_loss(F.log_softmax(out, 1), y)", "F.cross_entropy(out, y, label_smoothing=0.1)"]
        if self.classes == 1 or self.chance(0.5):
            losses = [
                "F.mse_loss(out, y)", "F.smooth_l1_loss(out, y)", "F.binary_cross_entropy_with_logits(out, y.sigmoid())", "(out - y).pow(2).mean()", "(out * y).tanh().sum() / out.shape[0]", "F.huber_loss(out, y)",
                "((out - y).square().mean(0) * torch.arange(out.shape[1]).to(out.dtype)).mean() / out.shape[1]",
            ]  # fmt: skip
        found = self.random.choice(losses)
        self.labels = "cross_entropy(out" in found or "nll" in found
        return found

    def optimizer(self, parameters: str) -> str:
        rate = self.pick("0.1", "0.01")
        decay = self.pick("", ", weight_decay=0.1")
        match self.random.randrange(4):
            case 0 | 1:
                more = self.pick("", ", momentum=0.9", ", momentum=0.9, nesterov=True", ", momentum=0.5, dampening=0.2", ", maximize=True")
                return f"optim.SGD({parameters}, {rate}{more}{decay})"
            case 2:
                return f"optim.Adam({parameters}, {rate}, eps=1e-2{decay}{self.pick('', ', amsgrad=True', ', betas=(0.5, 0.9)')})"
            case _:
                return f"optim.AdamW({parameters}, {rate}, eps=1e-2{decay}{self.pick('', ', amsgrad=True', ', maximize=True')})"

    def scheduler(self) -> str:
        return self.pick(
            "None", "None", "optim.lr_scheduler.StepLR(optimizer, 2, 0.5)", "optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)", "optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (n + 1))",
            "optim.lr_scheduler.ExponentialLR(optimizer, 0.7)", "optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9)",
        )  # fmt: skip

    def zeroed(self, depth: int = 1) -> None:
        self.write(
            self.pick("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)", "model.zero_grad()", "optimizer.zero_grad()"),
            depth,
        )

    def step(self, loss: str, scheduler: str) -> None:
        first = self.pick("first", "last", "second", "never") if self.chance(0.5) else "first"
        if first == "first":
            self.zeroed()
        elif first == "second":
            self.write("if n % 2 == 0:")
            self.zeroed(2)
        if self.chance(0.1):
            self.write("x = x * 1" if self.kind != "tokens" else "x = x + 0")
        match self.random.randrange(8):
            case 0:  # parts of a batch
                self.write("for x, y in zip(x.chunk(2), y.chunk(2)):")
                self.forward(loss, 2)
                self.write("(loss / 2).backward()", 2)
            case 1:
                self.forward(loss, 1)
                self.write("for p, g in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)):")
                self.write(
                    self.pick(
                        "p.grad = g",
                        "p.grad = None if g is None else g.clone()",
                        "p.grad = g if p.grad is None or g is None else p.grad + g",
                    ),
                    2,
                )
            case 2:  # the same loss twice
                self.forward(loss, 1)
                self.write("loss.backward(retain_graph=True)")
                self.write("(loss * 0.5).backward()")
            case 3 if self.kind in ("rows", "images"):  # a gradient of a gradient
                self.write("x = x.detach().clone().requires_grad_()")
                self.forward(loss, 1)
                self.write("slope, = torch.autograd.grad(loss, x, create_graph=True)")
                self.write("loss = loss + slope.square().sum() * 0.1")
                self.write("loss.backward()")
            case _:
                self.forward(loss, 1)
                self.write("loss.backward()")
        for _ in range(self.pick(0, 0, 1, 2)):
            self.write(self.pick(
                "LOG.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5))", "nn.utils.clip_grad_norm_(model.parameters(), 0.1)", "nn.utils.clip_grad_value_(model.parameters(), 0.05)", "LOG.append(loss.item())",
                "LOG.append(model[-1].weight.grad.abs().sum().item())", "LOG.append(model[-1].weight.grad)", "LOG.append(model[-1].bias.grad.norm())", "KEPT.append(model[-1].bias.grad)",
                "model[-1].weight.grad.mul_(0.5)", "model[-1].bias.grad = model[-1].bias.grad * 2", "compiler.graph_break()", "LOG.append(sum(p.grad.norm() for p in model.parameters() if p.grad is not None))",
                "model[-1].weight.grad.data.clamp_(-0.1, 0.1)", "LOG.append(model[-1].weight.grad is None)", "for p in model.parameters(): p.grad = None if p.grad is None else p.grad / 2",
            ))  # fmt: skip
        self.write("optimizer.step()" if self.chance(0.9) else "if n % 2 == 1: optimizer.step()")
        if scheduler != "None" and self.chance(0.5):
            self.write("scheduler.step()")
            self.outside = False
        if self.chance(0.15):
            self.write("with torch.no_grad():")
            self.write("for mean, p in zip(MEANS, model.parameters()): mean.mul_(0.9).add_(p, alpha=0.1)", 2)
        if self.chance(0.1):
            self.write("with torch.no_grad(): LOG.append(model[-1].weight.sum())")
        if first == "last":
            self.zeroed()
        self.write(
            f"return {self.pick('loss', 'loss', 'loss', 'loss.detach()', 'loss, out', 'loss.item()', 'out.detach(), loss', 'None', 'loss, model[-1].weight.grad', 'loss.detach().clone(), out.sum()')}"
        )

    def forward(self, loss: str, depth: int) -> None:
        self.write("out = model(x)", depth)
        self.write(f"loss = {loss}", depth)
        if self.chance(0.15):
            self.write(
                self.pick(
                    "loss = loss + 0.01 * sum(p.pow(2).sum() for p in model.parameters())",
                    "loss = loss + model[-1].weight.abs().mean()",
                    "loss = loss * SCALE",
                    "loss = loss + (n + 1) * 0.1 * out.mean()",
                ),
                depth,
            )

    def between(self) -> str:
        """What happens between two steps."""
        return self.pick(
            "", "", "", "", "KEPT.extend(p.grad for p in model.parameters())", "KEPT.append(model[-1].weight.grad)", "KEPT.append(model[-1].bias.grad[:1]) if model[-1].bias.grad is not None else None",
            "LOG.append([p.grad for p in model.parameters()])", "model.zero_grad()", "model[-1].weight.grad = None", "model.eval()", "model.train()", "optimizer.param_groups[0]['lr'] *= 0.5", "model[-1].bias.requires_grad_(False)",
            "model[-1].bias.requires_grad_(True)", "optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))", "model.load_state_dict(copy.deepcopy(model.state_dict()))", "KEPT.append(model[-1].weight.detach())",
            "model[-1].weight.data.mul_(0.9)", "SCALE = SCALE * 2", "model[-1].weight.grad is not None and model[-1].weight.grad.zero_()", "model[-1].weight.data = model[-1].weight.data.clone()",
            "model[-1].weight.grad = torch.ones_like(model[-1].weight)", "model[-1].bias.grad = None", "optimizer.zero_grad(set_to_none=False)",
            "KEPT.append(model[-1].weight.grad.numpy()) if model[-1].weight.grad is not None else None", "model[-1].weight.grad = None if model[-1].weight.grad is None else model[-1].weight.grad.t().contiguous().t()",
        )  # fmt: skip

    def program(self) -> str:
        model, loss, scheduler = self.model(), self.loss(), self.scheduler()
        self.outside = scheduler != "None"
        parameters = self.pick(
            "model.parameters()",
            "model.parameters()",
            "[{'params': model[:-1].parameters(), 'lr': 0.02}, {'params': model[-1].parameters()}]",
            "[*model[-1].parameters()]",
        )
        self.write("def f(x, y, n):", 0)
        self.step(loss, scheduler)
        return "\n".join([
            PRELUDE, f"torch.set_default_dtype(torch.{self.dtype})", "SCALE = 0.5", f"model = {model}", f"optimizer = {self.optimizer(parameters)}", f"scheduler = {scheduler}",
            "MEANS = [p.detach().clone() for p in model.parameters()]", *self.lines, "",
        ])  # fmt: skip

    def calls(self) -> list[tuple[str, str]]:
        """What is done before each call, and its batch."""
        found = []
        count = self.batch
        for number in range(CALLS):
            if number > 1 and self.chance(0.15):
                count = self.pick(2, 5, 8, 12) if not self.large else self.pick(300, 310)
            before = self.between() if number else ""
            if number and self.outside:
                before = f"scheduler.step(); {before}" if before else "scheduler.step()"
            found.append((before, self.batch_of(count)))
        return found


class Side:
    """A program in a world of its own, compiled or not."""

    def __init__(self, source: str, compile_it: bool, **options: Any) -> None:
        torch.manual_seed(0)
        self.scope: dict[str, Any] = {
            "torch": torch,
            "nn": nn,
            "optim": optim,
            "F": F,
            "compiler": compiler,
            "copy": copy,
            "LOG": [],
            "KEPT": [],
            "__name__": "steps",
        }
        exec(compile(source, "<step>", "exec"), self.scope)
        self.step = torch.compile(self.scope["f"], **options) if compile_it else self.scope["f"]

    def call(self, before: str, batch: str, number: int) -> dict[str, Any]:
        """One step, and all that is there after it."""
        scope = self.scope
        torch.manual_seed(number)
        held = [each.grad for each in scope["model"].parameters()]
        exec(before, scope)
        x, y = eval(batch, scope)
        result = self.step(x, y, number)
        model, optimizer = scope["model"], scope["optimizer"]
        found = {
            "result": result, "x": x, "log": scope["LOG"], "kept": scope["KEPT"], "means": scope["MEANS"], "random": torch.rand(2), "state": optimizer.state_dict(),
            "same gradients": [each.grad is other for each, other in zip(model.parameters(), held)],
        }  # fmt: skip
        for name, each in model.state_dict(keep_vars=True).items():
            found[name] = each
            found[f"{name}.grad"] = each.grad
            found[f"{name} needs a gradient"] = each.requires_grad
        return found


def largest(array: Any) -> float:
    return float(np.abs(np.nan_to_num(array)).max(initial=0))


def same(got: Any, want: Any, dtype: Any, scale: float, where: str) -> None:
    """What one side has is what the other has, but for rounding at the ``scale`` of a step's gradients: some of them are differences of large numbers."""
    assert type(got) is type(want), f"{where}: {type(got)} and not {type(want)}"
    if isinstance(want, torch.Tensor):
        assert (got.dtype, got.shape, got.requires_grad, got.is_leaf) == (want.dtype, want.shape, want.requires_grad, want.is_leaf), where
        same(got.detach().numpy(), want.detach().numpy(), dtype, scale, where)
    elif isinstance(want, (np.ndarray, float)):
        relative, absolute = TOLERANCE[dtype]
        scale = max(scale, largest(want))
        np.testing.assert_allclose(got, want, relative, absolute * scale, err_msg=where)
    elif isinstance(want, dict):
        assert list(got) == list(want), f"{where}: {list(got)} and not {list(want)}"
        for key, each in want.items():
            same(got[key], each, dtype, scale, f"{where}[{key!r}]")
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want), where
        for at, each in enumerate(want):
            same(got[at], each, dtype, scale, f"{where}[{at}]")
    else:
        assert got == want, f"{where}: {got} and not {want}"


def assert_random_steps_match(seed: int, **options: Any) -> None:
    """One program, in several steps."""
    writer = Writer(seed)
    source = writer.program()
    calls = writer.calls()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eager, compiled = Side(source, False), Side(source, True, **options)
            scale = 1.0
            for number, (before, batch) in enumerate(calls):
                text = f"seed {seed}, call {number}, {batch} after {before!r}\n{source[len(PRELUDE) :]}\n{calls}"
                try:
                    want: Any = eager.call(before, batch, number)
                except (RuntimeError, ValueError, TypeError, AttributeError) as error:
                    with pytest.raises(type(error)):
                        compiled.call(before, batch, number)
                    return
                got = compiled.call(before, batch, number)
                if not largest(next(eager.scope["model"].parameters()).detach().numpy()) < 1e3:
                    return  # it goes astray
                scale = max([scale, *(largest(each.grad.numpy()) for each in eager.scope["model"].parameters() if each.grad is not None)])
                same(got, want, getattr(torch, writer.dtype), scale, text)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("seed", [*range(COUNT), *FOUND])
def test_random_steps(seed: int) -> None:
    assert_random_steps_match(seed)


def ends(source: str, calls: list[tuple[str, str]]) -> bool:
    """Whether a program comes to its last step in eager mode."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            side = Side(source, False)
            for number, (before, batch) in enumerate(calls):
                side.call(before, batch, number)
        return True
    except (RuntimeError, ValueError, TypeError, AttributeError):
        return False
    finally:
        torch.set_default_dtype(torch.float32)


def test_the_programs_are_worth_running() -> None:
    """They use what there is, and most of them come to their last step in eager mode."""
    texts, last = "", 0
    for seed in range(COUNT):
        writer = Writer(seed)
        source, calls = writer.program(), writer.calls()
        texts += source[len(PRELUDE) :] + str(calls)
        if writer.large:
            continue
        last += ends(source, calls)
    assert last > 12
    for word in (
        "SGD", "Adam(", "AdamW(", "momentum", "nesterov=True", "weight_decay", "clip_grad_norm_", "lr_scheduler", "autograd.grad", "set_to_none=False", "Conv2d", "BatchNorm", "LayerNorm",
        "Embedding", "Attention", "Cubed.apply", "Straight.apply", "cross_entropy", "mse_loss", "n % 2", "KEPT", "float64", "300",
    ):  # fmt: skip
        assert word in texts, word


if __name__ == "__main__":
    run_seeds(assert_random_steps_match, shown=700)
