"""Random training programs in source: Module trees with custom Functions, control flow, buffers, hooks, contexts and transforms, and steps of optimizers.

A program defines ``Model`` and ``inputs``; what follows depends on the form: a training loop whose model, or whose step, ``form`` makes compiled, or a model that is
traced, exported, scripted.  Outputs, gradients, parameters, buffers, logs and errors are the program's results.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from .training_functions import custom_function

EXPRESSIONS = (
    "h.tanh()", "h * 0.5 + {c}", "h.sin() * h", "F.relu(h)", "F.gelu(h)", "F.silu(h) - {c}", "F.softplus(h)", "h / (1 + h.abs())", "h - h.mean(-1, keepdim=True)", "F.layer_norm(h, h.shape[-1:])",
    "F.normalize(h, dim=-1)", "h.softmax(-1)", "h.cumsum(-1) * 0.3", "torch.where(h > 0, h, {c} * h)", "h.clamp(-1.5, {c} + 2)", "h.masked_fill(h > 1, {c})", "h.flip(-1)", "h.roll(1, -1)", "h.sort(-1).values",
    "torch.cat([h, h], -1)[..., ::2]", "torch.stack([h, h * 2]).mean(0)", "h.t().contiguous().t()", "h.transpose(0, 1).transpose(0, 1)", "h + torch.arange(h.shape[-1], dtype=h.dtype)", "(h > 0).to(h.dtype) * h",
    "h + h.argmax(-1, keepdim=True)", "h * (h.long() % 2)", "h.float().to(h.dtype)", "h.to(torch.bfloat16).to(h.dtype)", "h.to(torch.float16).to(h.dtype)", "torch.fft.ifft(torch.fft.fft(h)).real if h.shape[0] else h", "torch.complex(h, h * 0.5).abs()",
    "torch.view_as_real(torch.complex(h, h.sin()))[..., 1]", "torch.einsum('bi,bj->bi', h, h) * 0.1", "(h @ h.t() @ h) * 0.01", "torch.baddbmm(h.unsqueeze(1), h.unsqueeze(1), torch.eye(D, dtype=h.dtype).expand(h.shape[0], D, D)).squeeze(1)",
    "h.unsqueeze(-1).expand(-1, -1, 2).sum(-1)", "h.reshape(-1).view(-1, D)", "h[:, torch.randperm(D)]", "h.gather(-1, h.argsort(-1))", "h.index_select(-1, torch.arange(D - 1, -1, -1))", "torch.logsumexp(torch.stack([h, -h]), 0)",
    "h.pow(2).sum(-1, keepdim=True).add(1e-3).sqrt() * h", "h.new_ones(h.shape) * h", "h.detach() + h", "h.view(h.shape[0], -1)", "F.dropout(h.contiguous(), 0.3, self.training)", "F.pad(h, (1, 0))[:, :-1]", "h.diff(dim=-1, prepend=h[:, :1])",
    "torch.lerp(h, h.cos(), 0.3)", "torch.addcmul(h, h, h.sin(), value={c})", "h.var(-1, keepdim=True, correction=0) + h", "h.unfold(-1, 1, 1).squeeze(-1)", "torch.nan_to_num((h + 2).log())", "h.tril() + h.triu(1)", "h.prod(-1, keepdim=True) * 0.1 + h",
    "h.cummax(-1).values", "h.topk(1, -1).values * h", "F.one_hot(h.argmax(-1), D).to(h.dtype) + h", "h.repeat_interleave(2, 0)[::2]", "h.amax(-1, keepdim=True) - h", "torch.where(h > 0, 1.0, h)", "h ** 2 / 4", "2 ** h.clamp(-2, 2)", "h.norm(dim=-1, keepdim=True) + h",
)  # fmt: skip
STATIC_OUT = ("torch.randperm", "F.dropout", "float16", "bfloat16", "fft", "complex", "repeat_interleave")  # not for exports
WRITES = (
    ["h = h.clone()", "h[:, 0] = {c}"], ["h = h * 1", "h[:, ::2].mul_(2)"], ["h = h.clone()", "h.t().add_({c})"], ["h = h + 0", "h[h > 1] = {c}"], ["h = h.clone()", "v = h.view(-1)", "v[::2] += {c}"],
    ["h = h.clone()", "h[0:1] = h[0:1] * 2"], ["v = h.clone()", "v.copy_(h.flip(0))", "h = v + h"], ["h = h.clone()", "a, b = h.split([1, D - 1], -1)", "a.mul_(2)", "b += 1"], ["h = h.clone()", "h.select(-1, 0).fill_({c})"],
    ["v = torch.zeros_like(h)", "v[:] = h", "h = v"], ["h = h.clone()", "h.clamp_(-1, 1).add_(h)"], ["h = h.clone()", "h.diagonal().mul_(0.5)"], ["v = torch.empty(h.shape, dtype=h.dtype)", "v.fill_({c})", "v[:, -1:] = h[:, -1:]", "h = v * h"],
    ["h = h.clone()", "h.masked_fill_(h < 0, {c})"], ["h = h.clone()", "h.index_add_(-1, torch.tensor([0, D - 1]), h[:, :1].repeat(1, 2))"], ["h = h.clone()", "h.scatter_(-1, h.argmax(-1, keepdim=True), {c})"],
)  # fmt: skip


class ModelWriter:
    """Writes the classes of a model; what a form cannot keep (side effects, control flow on values) is left out where it is asked for ``static``."""

    def __init__(self, rng: random.Random, static: bool) -> None:
        self.rng, self.static = rng, static
        self.functions: list[str] = []
        self.calls: list[str] = []
        for at in range(rng.choice((0, 1, 1, 2, 2, 3))):
            lines, calls = custom_function(rng, f"Fn{at}", static)
            self.functions += lines
            self.calls += calls
        self.init: list[str] = []
        self.made = 0

    def c(self, text: str) -> str:
        """A template with numbers in it."""
        return text.replace("{c}", str(self.rng.choice((0.5, -1, 2, 0.25, 1.5))))

    def member(self, prefix: str, text: str) -> str:
        """A new attribute of the module."""
        self.made += 1
        self.init.append(f"self.{prefix}{self.made} = {text}")
        return f"self.{prefix}{self.made}"

    def buffer(self, text: str, persistent: bool = True) -> str:
        """A new buffer of the module."""
        self.made += 1
        self.init.append(f"self.register_buffer('b{self.made}', {text}{'' if persistent else ', persistent=False'})")
        return f"self.b{self.made}"

    def expression(self) -> str:
        """An expression of ``h``'s shape."""
        if self.calls and self.rng.random() < 0.4:
            return self.rng.choice(self.calls)
        while True:
            text = self.rng.choice(EXPRESSIONS)
            if not (self.static and any(each in text for each in STATIC_OUT)):
                return self.c(text)

    def layer(self) -> list[str]:
        """A submodule that is called."""
        made = self.rng.choice((
            "nn.Linear(D, D)", "nn.Linear(D, D, bias=False)", "nn.Sequential(nn.Linear(D, 3), nn.Tanh(), nn.Linear(3, D))", "nn.LayerNorm(D)", "nn.BatchNorm1d(D)", "nn.BatchNorm1d(D, affine=False, momentum=None)", "nn.GroupNorm(1, D)",
            "nn.PReLU()", "nn.Dropout(0.2)", "nn.RMSNorm(D)", "nn.utils.parametrizations.weight_norm(nn.Linear(D, D))", "nn.Bilinear(D, D, D)", "nn.GRUCell(D, D)", "nn.Embedding(4, D)", "nn.MultiheadAttention(D, 1, batch_first=True)", "nn.Conv1d(1, 1, 3, padding=1)",
            "nn.ModuleList([nn.Linear(D, D), nn.Tanh()])", "nn.ParameterList([torch.full((D,), 0.5), torch.ones(D)])", "nn.ModuleDict({'a': nn.Linear(D, D), 'b': nn.ELU()})", "nn.Parameter(torch.linspace(-1, 1, D))", "nn.LSTM(D, D, batch_first=True)", "nn.utils.spectral_norm(nn.Linear(D, D))",
        ))  # fmt: skip
        if self.static and ("Dropout" in made or "spectral" in made):
            made = "nn.Linear(D, D)"
        name = self.member("m", made)
        if "Bilinear" in made or "GRUCell" in made:
            return [f"h = {name}(h, h.tanh())"]
        if "Embedding" in made:
            return [f"h = h + {name}((h.abs() * 3).long().sum(-1) % 4)"]
        if "Multihead" in made:
            return [f"h = {name}(h.unsqueeze(0), h.unsqueeze(0), h.unsqueeze(0), need_weights=False)[0].squeeze(0)"]
        if "Conv1d" in made:
            return [f"h = {name}(h.unsqueeze(1)).squeeze(1)"]
        if "LSTM" in made:
            return [f"h = {name}(h.unsqueeze(1))[0].squeeze(1)"]
        if "ParameterList" in made:
            return [f"for each in {name}:", "    h = h * each + 0.1"]
        if "ModuleList" in made:
            return [f"for layer in {name}:", "    h = layer(h)"]
        if "ModuleDict" in made:
            return [f"for key, layer in {name}.items():", "    h = layer(h) if key != 'c' else h"]
        if "nn.Parameter(" in made:
            return [self.rng.choice((f"h = h * {name}", f"h = h + {name}.exp()", f"h = F.linear(h, {name}.expand(D, D))"))]
        if "Dropout" in made:
            return [f"h = {name}(h.contiguous())"]
        if self.rng.random() < 0.2:
            return [f"h = {name}({name}(h))"]
        return [f"h = {name}(h)" if self.rng.random() < 0.6 else f"h = h + {name}(h)"]

    def stateful(self) -> list[str]:
        """State of the module that a call changes."""
        r = self.rng
        if r.random() < 0.3:
            name = self.member("n", r.choice(("0", "1.5", "None", "[]", "{}")))
            kind = self.init[-1].split("= ")[1]
            return {
                "0": [f"{name} += 1", f"h = h + {name}"], "1.5": [f"{name} = {name} * 0.5", f"h = h * {name}"], "None": [f"if {name} is None:", f"    {name} = h.detach().mean(0)", f"h = h + {name}"],
                "[]": [f"{name}.append(tuple(h.shape))", f"h = h * len({name})"], "{}": [f"{name}[h.shape[0]] = {name}.get(h.shape[0], 0) + 1", f"h = h + len({name})"],
            }[kind]  # fmt: skip
        name = self.buffer(r.choice(("torch.zeros(D, dtype=DT)", "torch.ones(D, dtype=DT)")), r.random() < 0.7)
        count = self.buffer("torch.tensor(0)")
        return r.choice((
            [f"{count} += 1", f"h = h + {count}"], [f"{count}.add_(h.shape[0])"], ["if self.training:", f"    {name}.mul_(0.9).add_(h.detach().mean(0), alpha=0.1)", f"h = h - {name}"],
            ["with torch.no_grad():", f"    {name}.copy_({name} * 0.5 + h.amax(-1).sum() * 0.1)", f"h = h + {name}"], [f"{name}[0] += 1", f"h = h * {name}"], [f"{name} = {name} + 1", f"h = h + {name}"], [f"h = h + {name}", f"{name}.zero_().add_({count})", f"{count} += 2"],
            [f"if {count} > 1:", "    h = h * 2", f"{count} += 1"], [f"{name}.data = {name}.data * 2", f"h = h + {name}"], [f"{name}.lerp_(h.detach().mean(0), 0.1)", f"h = h * {name}"],
        ))  # fmt: skip

    def control(self) -> list[str]:
        """Control flow on modes, sizes and values."""
        r = self.rng
        inner, other = self.statements(r.randint(1, 2)), self.statements(1)
        heads = [
            "if self.training:",
            "if h.shape[0] > 2:",
            "if h.shape[0] % 2 == 0:",
            "if h.requires_grad:",
            "if torch.is_grad_enabled():",
            "if h.dtype == torch.float64:",
            "if h.numel() == 0 or h.sum() > 0:",
            "if (h > 1).any():",
            "if flag:",
            "if h.is_contiguous():",
            "if scale is not None:",
        ]
        if self.static:
            heads = ["if self.training:", "if flag:", "if h.dim() == 2:", "if scale is not None:"]
        kind = r.random()
        if kind < 0.5:
            lines = [r.choice(heads), *["    " + each for each in inner]]
            return [*lines, "else:", *["    " + each for each in other]] if r.random() < 0.5 else lines
        if kind < 0.65:
            return [
                f"for at in range({r.choice(('2', '3', '1', 'h.shape[1] % 3', '0')) if not self.static else 2}):",
                *["    " + each for each in inner],
                *(["    if at == 1:", "        break"] if r.random() < 0.3 else []),
            ]
        if kind < 0.75 and not self.static:
            return [
                "at = 0",
                f"while at < 3{r.choice((' and bool(h.abs().sum() < 50)', ''))}:",
                "    at += 1",
                *["    " + each for each in inner],
            ]
        if kind < 0.85 and not self.static:
            return [
                "try:",
                *["    " + each for each in inner],
                f"    if h.shape[0] == {r.choice((1, 2, 3))}:",
                "        raise ValueError('size')",
                "except ValueError:",
                *["    " + each for each in other],
            ]
        if kind < 0.92 and not self.static:
            return [r.choice(heads), f"    return {self.expression()}"]
        return [
            "def inner(h):",
            *["    " + each for each in inner],
            "    return h",
            r.choice(
                ("h = inner(h)", "h = inner(inner(h))", "h = checkpoint(inner, h, use_reentrant=False)", "h = (lambda f: f(h))(inner)")
            ),
        ]

    def context(self) -> list[str]:
        """A context of gradients, of types, of checkpoints."""
        r = self.rng
        inner = self.statements(r.randint(1, 2))
        head = r.choice(
            ["with torch.no_grad():", "with torch.enable_grad():", "with torch.set_grad_enabled(self.training):", "with torch.no_grad():"]
            + ([] if self.static else ["with torch.autocast('cpu', dtype=torch.bfloat16):", "with torch.autocast('cpu', enabled=False):"])
        )
        lines = (
            [head, "    before = h", *["    " + each for each in inner], "h = h + before"]
            if "no_grad" in head
            else [head, *["    " + each for each in inner]]
        )
        return [*lines, "h = h.to(DT)"] if "autocast" in head else lines

    def transform(self) -> list[str]:
        """Transforms of ``torch.func`` and gradients inside the forward."""
        inner = self.expression()
        return self.rng.choice((
            ["h = torch.func.vmap(lambda row: row.sin() * row.sum())(h) if h.shape[0] else h"], ["h = torch.func.grad(lambda v: (v.sin() * v).sum())(h)"], ["h = torch.func.jvp(lambda v: v * v, (h,), (torch.ones_like(h),))[1]"], ["value, pull = torch.func.vjp(lambda v: v.exp().clamp(max=5), h)", "h = pull(torch.ones_like(value))[0]"],
            ["h = torch.func.vmap(torch.func.grad(lambda row: (row * row * row).sum() * 0.1))(h) if h.shape[0] else h"], ["h = torch.func.vmap(lambda a, b: a * b, in_dims=(0, None))(h, h.detach().mean(0)) if h.shape[0] else h"], ["h = torch.autograd.grad((h * h).sum(), h, create_graph=True)[0] if h.requires_grad else h"],
            ["with torch.enable_grad():", "    leaf = h.detach().requires_grad_()", "    inside = leaf.pow(3).sum()", "    h = h + torch.autograd.grad(inside, leaf)[0] * 0.1"], [f"h = checkpoint(lambda h: {inner}, h, use_reentrant=False)"], ["h = torch.func.vmap(lambda col: col / (1 + col.abs().sum()), 1, 1)(h)"],
        ))  # fmt: skip

    def hook(self) -> list[str]:
        """Hooks on tensors and modules."""
        r = self.rng
        if r.random() < 0.5:
            return (
                [
                    "if h.requires_grad:",
                    f"    h.register_hook(lambda g: {r.choice(('g * 2', 'LOG.append(tuple(g.shape))', 'g.clamp(-1, 1)'))})",
                ]
                if r.random() < 0.7
                else ["if h.requires_grad:", "    h.retain_grad()"]
            )
        name = self.member("m", "nn.Linear(D, D)")
        self.init.append(r.choice((
            f"{name}.register_forward_hook(lambda m, given, found: found * 2)", f"{name}.register_forward_pre_hook(lambda m, given: (given[0] + 1,))", f"{name}.register_full_backward_hook(lambda m, gin, gout: (gin[0] * 0.5,) if gin[0] is not None else None)",
            f"{name}.register_forward_hook(lambda m, given, found: LOG.append(m.training))", f"{name}.weight.register_hook(lambda g: g * 0.5)", f"{name}.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 2,))",
        )))  # fmt: skip
        return [f"h = {name}(h)"]

    def statement(self) -> list[str]:
        """One statement on ``h``."""
        r = self.rng.random()
        if r < 0.34:
            return [f"h = {self.expression()}"]
        if r < 0.54:
            return self.layer()
        if r < 0.62:
            return [self.c(each) for each in self.rng.choice(WRITES)]
        if r < 0.72:
            return self.control() if self.depth < 2 else [f"h = {self.expression()}"]
        if r < 0.79:
            return self.context() if self.depth < 2 else self.layer()
        if r < 0.88:
            return [f"h = {self.expression()}"] if self.static else self.stateful()
        if r < 0.94:
            return [f"h = {self.expression()}"] if self.static else self.transform()
        return self.layer() if self.static else self.hook()

    depth = 0

    def statements(self, count: int) -> list[str]:
        """Statements of an inner block."""
        self.depth += 1
        lines = [line for _ in range(count) for line in self.statement()]
        self.depth -= 1
        return lines

    def classes(self) -> list[str]:
        """The classes of the model: blocks, and ``Model``, which uses some of them twice."""
        r = self.rng
        lines = [*self.functions]
        blocks = r.choice((0, 1, 1, 2))
        for at in range(blocks + 1):
            self.init = []
            body = [line for _ in range(r.randint(1, 3) if at < blocks else r.randint(2, 5)) for line in self.statement()]
            if at == blocks and blocks:
                for each in range(blocks):
                    name = self.member("block", f"Block{each}()")
                    body.insert(0, f"h = {name}(h)")
                    if r.random() < 0.3:
                        body.append(f"h = {name}(h, flag, 0.5)")
                if r.random() < 0.2:
                    self.init.append("self.tied = self.block" + str(self.made))
            name = "Model" if at == blocks else f"Block{at}"
            last = ["return h"]
            if at == blocks:
                self.init.append("self.head = nn.Linear(D, 2)")
                last = [
                    r.choice(
                        (
                            "return self.head(h)",
                            "return self.head(h)",
                            "return self.head(h) * h.sum(-1, keepdim=True).tanh()",
                            "return self.head(h), h",
                            "return {'out': self.head(h), 'hidden': h}",
                        )
                    )
                ]
            lines += [
                f"class {name}(nn.Module):", "    def __init__(self):", "        super().__init__()", *[f"        {each}" for each in self.init],
                "    def forward(self, h, flag=True, scale=None):", *[f"        {each}" for each in body], *[f"        {each}" for each in last],
            ]  # fmt: skip
        return lines


HEAD = """
import io
checkpoint = torch.utils.checkpoint.checkpoint
LOG = []
"""

LOOP = """
def first(found):
    return found['out'] if isinstance(found, dict) else found[0] if isinstance(found, tuple) else found


def inputs(at, n):
    torch.manual_seed(100 + at)
    x = torch.randn(n, D, dtype=DT)
    return [x, x.t().contiguous().t(), torch.randn(n, 2 * D, dtype=DT)[:, ::2], x][at % 4]


torch.manual_seed(1)
model = Model().to(DT)
@STATEMENTS@
results = []


def step(x, flag, scale):
    @STEP@


@FORMED@
for at, (n, train, leaf, flag, scale, recording) in enumerate(CALLS):
    x = inputs(at, n)
    if leaf:
        x.requires_grad_()
    model.train(train)
    torch.manual_seed(at)
    with torch.set_grad_enabled(recording):
        found = guarded(lambda: step(x, flag, scale) if recording else [first(model_(x, flag, scale))])
    results += found
    if isinstance(found[0], str):  # what a backward pass has done before it fails is not defined
        model.zero_grad()
        continue
    results += [x.detach(), x.grad]
    results += [None if parameter.grad is None else parameter.grad.clone() for parameter in model.parameters()]
    @AFTER@
results += [*model.state_dict().values()]
results += [str(LOG), str(list(model.state_dict())), str([(name, value) for module in model.modules() for name, value in vars(module).items() if isinstance(value, (int, float, list, dict)) and name[0] == 'n'])]
"""

OPTIMIZERS = (
    "SGD(ps, lr=0.05)", "SGD(ps, lr=0.05, momentum=0.9, nesterov=True)", "SGD(ps, lr=0.02, momentum=0.5, weight_decay=0.1)", "Adam(ps, lr=0.02)", "AdamW(ps, lr=0.02, amsgrad=True)", "RMSprop(ps, lr=0.01, momentum=0.5)",
    "Adagrad(ps, lr=0.05)", "Adadelta(ps)", "NAdam(ps, lr=0.01)", "RAdam(ps, lr=0.01)", "Adamax(ps, lr=0.01)", "ASGD(ps, lr=0.01)", "Adam([{'params': ps[:1], 'lr': 0.1}, {'params': ps[1:]}], lr=0.01)",
)  # fmt: skip
SCHEDULERS = (
    "",
    "",
    "StepLR(optimizer, 2, 0.5)",
    "ExponentialLR(optimizer, 0.8)",
    "OneCycleLR(optimizer, 0.1, total_steps=20)",
    "CosineAnnealingLR(optimizer, 4)",
    "LambdaLR(optimizer, lambda e: 0.9 ** e)",
)
LOSSES = (
    "out.square().mean()", "F.mse_loss(out, torch.ones_like(out))", "F.cross_entropy(out, torch.arange(out.shape[0]) % 2)", "F.l1_loss(out, out.detach() + 0.3)", "out.sum()", "F.binary_cross_entropy_with_logits(out, torch.full_like(out, 0.3))",
    "F.smooth_l1_loss(out, torch.zeros_like(out), beta=0.5)", "(out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)).sum()", "F.kl_div(out.log_softmax(-1), torch.full_like(out, 0.5), reduction='batchmean')",
)  # fmt: skip


def definitions(rng: random.Random, static: bool) -> str:
    """The classes of a program with its sizes."""
    lines = ModelWriter(rng, static).classes()
    dtype = rng.choice(("float64", "float64", "float64", "float32"))
    return "\n".join([HEAD.strip(), f"D, DT = {rng.choice((4, 4, 3, 2, 1, 6))}, torch.{dtype}", *lines, ""])


def training_program(seed: int) -> str:
    """A training program: its model, or the whole step, is what ``form`` is made of."""
    rng = random.Random(f"training {seed}")
    text = definitions(rng, False)
    whole = rng.random() < 0.3
    penalty = rng.random() < 0.2
    clip = rng.choice(("", "", "torch.nn.utils.clip_grad_norm_(ps, 0.5)", "torch.nn.utils.clip_grad_value_(ps, 0.1)"))
    schedule = rng.choice(SCHEDULERS)
    step = [
        f"optimizer.zero_grad({rng.choice(('', 'set_to_none=False'))})", "out = first(model_(x, flag, scale))", f"loss = {rng.choice(LOSSES)}",
        *(["if x.requires_grad:", "    loss = loss + torch.autograd.grad(out.sum(), x, create_graph=True)[0].square().sum()"] if penalty else []),
        "loss.backward()", *([clip] if clip else []), "optimizer.step()", "return [loss.detach(), out.detach()]",
    ]  # fmt: skip
    after = []
    if schedule:
        after.append("scheduler.step()")
    if rng.random() < 0.25:
        after += [
            "if at == 2:",
            "    file = io.BytesIO()",
            "    torch.save([model.state_dict(), optimizer.state_dict()], file)",
            "    file.seek(0)",
            "    saved = torch.load(file)",
            "    model.load_state_dict(saved[0])",
            "    optimizer.load_state_dict(saved[1])",
        ]
    if rng.random() < 0.15:
        after += ["if at == 3:", "    next(iter(model.parameters())).requires_grad_(False)"]
    statements = ["ps = list(model.parameters())", f"optimizer = torch.optim.{rng.choice(OPTIMIZERS)}"]
    if schedule:
        statements.append(f"scheduler = torch.optim.lr_scheduler.{schedule}")
    formed = ["model_ = model", "step = form(step)"] if whole else ["model_ = form(model)"]
    first = rng.choice((3, 3, 4, 2, 1))
    calls: list[tuple[object, ...]] = [(first, True, False, True, None, True)]
    for _ in range(rng.randint(3, 5)):
        calls.append(
            (
                rng.choice((first, first, 2, 5, 1, 7, 0)),
                rng.random() < 0.7,
                rng.random() < 0.3,
                rng.random() < 0.8,
                rng.choice((None, None, 0.5, 2)),
                rng.random() < 0.75,
            )
        )
    calls.append(calls[0])
    loop = (
        LOOP.replace("@STATEMENTS@", "\n".join(statements))
        .replace("    @STEP@", "\n".join("    " + each for each in step))
        .replace("@FORMED@", "\n".join(formed))
    )
    loop = loop.replace("    @AFTER@\n", "".join(f"    {each}\n" for each in after))
    return f"{text}\nCALLS = {calls}\n{loop}"


EXPORTED = """
torch.manual_seed(1)
model = Model().to(DT)
model.eval()


def inputs(n):
    torch.manual_seed(100 + n)
    return torch.randn(n, D, dtype=DT)


results = []
run = form(model, inputs(3))
for n in SIZES:
    results += guarded(lambda: flat(list(run(inputs(n)))))
"""


def export_program(seed: int) -> str:
    """A model without side effects, called at sizes: ``form(model, example)`` makes it traced or exported."""
    rng = random.Random(f"export {seed}")
    text = definitions(rng, True).replace("return {'out': self.head(h), 'hidden': h}", "return self.head(h), h")
    for line in ("return self.head(h)\n", "return self.head(h) * h.sum(-1, keepdim=True).tanh()\n"):
        text = text.replace(line, line[:-1].replace("return ", "return (") + ",)\n")
    return f"{text}\nSIZES = {[3, 3, rng.choice((2, 5)), 4, 1]}\n{EXPORTED}"


def smaller_text(source: str) -> list[str]:
    """The program without one line and the block below it, longest first, or with a block in place of the statement around it."""
    lines = source.split("\n")
    found: list[tuple[int, str]] = []
    for at, line in enumerate(lines):
        if not line.strip() or line.startswith(("results", "import", "LOG", "for at, (n")):
            continue
        indent = len(line) - len(line.lstrip())
        end = at + 1
        while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
            end += 1
        found.append((end - at, "\n".join(lines[:at] + lines[end:])))
        if end > at + 1 and line.strip().startswith(("if", "with", "for", "else", "while", "try")):
            found.append((1, "\n".join(lines[:at] + [each.removeprefix("    ") for each in lines[at + 1 : end]] + lines[end:])))
        if line.startswith("CALLS = "):
            calls = eval(line.removeprefix("CALLS = "))
            found += [
                (3, "\n".join(lines[:at] + [f"CALLS = {calls[:k] + calls[k + 1 :]}"] + lines[at + 1 :]))
                for k in range(len(calls))
                if len(calls) > 1
            ]
    return [text for _, text in sorted(found, key=lambda each: -each[0])]


KINDS: dict[str, Callable[[int], str]] = {"training": training_program, "export": export_program}
