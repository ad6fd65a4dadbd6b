"""Random custom Functions in source: several inputs and outputs, saved values of every kind, writes in place, both styles of context."""

from __future__ import annotations

import random

# A Function maps a tensor (and others) to a tensor of the same shape; a gradient need not be the derivative, so that a form that differentiates the forward differs.
# Each entry: forward lines over x (and w, k), what is saved, backward lines that leave gx (and gw).
ONE_INPUT = (
    (["y = x * x * k"], "x", ["gx = g * 2 * x * k"]),
    (["y = (x * 0.3).tanh()"], "y", ["gx = g * (1 - y * y) * 0.3"]),
    (["t = x.sin()", "y = t * k"], "t", ["gx = g * t + 1"]),
    (["y = x.sign()"], "", ["gx = g.clamp(-1, 1)"]),
    (["t = x > 0", "y = torch.where(t, x, x * 0.1)"], "t", ["gx = torch.where(t, g, g * 0.1)"]),
    (["y = x.round()"], "x", ["gx = g * (x.abs() < 1)"]),
    (["t = x.mean(0, keepdim=True)", "y = x - t"], "t", ["gx = g - g.mean(0, keepdim=True) + t"]),
    (["with torch.enable_grad():", "    t = x.detach().requires_grad_()", "    t = t.exp().sum()", "y = x * 0.5 + t.detach() * 0"], "x", [
        "with torch.enable_grad():", "    leaf = x.detach().requires_grad_()", "    inner = torch.autograd.grad((leaf * leaf).sum(), leaf)[0]", "gx = g * inner * 0.1"]),
    (["y = x.softmax(-1)"], "y", ["gx = y * (g - (g * y).sum(-1, keepdim=True))"]),
    (["y = x.flip(-1).contiguous()"], "", ["gx = g.flip(-1)"]),
    (["y = x.view(-1)[::1].view(x.shape).clone()", "y[..., 0] = 1"], "", ["gx = g.clone()", "gx[..., 0] = 0"]),
)  # fmt: skip
TWO_INPUTS = (
    (["y = x * w + k"], "x, w", ["gx = g * w", "gw = g * x"]),
    (["t = x - w", "y = t.abs()"], "t", ["gx = g * t.sign()", "gw = -gx"]),
    (["y = x @ w.t() @ w"], "x, w", ["gx = g @ w.t() @ w", "gw = (w @ g.t() @ x) + (w @ x.t() @ g)"]),
    (["y = torch.maximum(x, w)"], "x, w", ["t = x >= w", "gx = g * t", "gw = g * ~t"]),
)  # fmt: skip


def custom_function(rng: random.Random, name: str, simple: bool) -> tuple[list[str], list[str]]:
    """The lines of a Function, and the expressions that call it on ``h`` (a tensor of ``h``'s shape each); ``simple``: without side effects."""
    kind = rng.random()
    if kind < 0.15:
        return _in_place(rng, name)
    if kind < 0.35:
        return _two_outputs(rng, name)
    two = rng.random() < 0.4
    forward, saved, backward = rng.choice(TWO_INPUTS if two else ONE_INPUT)
    split = rng.random() < 0.35 and "t" not in saved.split(", ") and not any("with" in each for each in forward)
    given = "x, w, k" if two else "x, k"
    lines = [f"class {name}(torch.autograd.Function):"]
    if split and rng.random() < 0.4:
        lines.append("    generate_vmap_rule = True")
    keep = [f"ctx.save_for_backward({saved})"] if saved else []
    if saved == "t" and rng.random() < 0.4:
        keep, saved = ["ctx.t = t"], "ctx.t"
    if rng.random() < 0.2:
        keep.append("ctx.set_materialize_grads(False)")
    keep.append("ctx.k = k")
    if not simple and rng.random() < 0.25:
        keep.append(f"LOG.append('{name} forward')")
    if split:
        lines += ["    @staticmethod", f"    def forward({given}):", *[f"        {each}" for each in forward], "        return y"]
        lines += [
            "    @staticmethod",
            "    def setup_context(ctx, inputs, output):",
            f"        {given} = inputs",
            "        y = output",
            *[f"        {each}" for each in keep],
        ]
    else:
        lines += [
            "    @staticmethod",
            f"    def forward(ctx, {given}):",
            *[f"        {each}" for each in [*forward, *keep]],
            "        return y",
        ]
    lines.append("    @staticmethod")
    if rng.random() < 0.15:
        lines.append("    @torch.autograd.function.once_differentiable")
    lines.append("    def backward(ctx, g):")
    if any("materialize" in each for each in keep):
        lines += ["        if g is None:", f"            return {', '.join(['None'] * (3 if two else 2))}"]
    if saved == "ctx.t":
        lines.append("        t = ctx.t")
    elif saved:
        lines.append(f"        {saved}{'' if ',' in saved else ','} = ctx.saved_tensors")
    lines.append("        k = ctx.k")
    lines += [f"        {each}" for each in backward]
    if not simple and rng.random() < 0.25:
        lines.append(f"        LOG.append(('{name} backward', tuple(g.shape), ctx.needs_input_grad))")
    if rng.random() < 0.3:
        lines += ["        if not ctx.needs_input_grad[0]:", "            gx = None"]
    if two and rng.random() < 0.15:
        lines.append("        gw = None")
    lines.append(f"        return gx, {'gw, ' if two else ''}None")
    k = rng.choice(("2.0", "0.5", "3", "-1", "True", "0"))
    calls = [f"{name}.apply(h, {'h.detach() * 0.5, ' if two else ''}{k})"]
    if two:
        calls += [f"{name}.apply(h, h.cos(), {k})", f"{name}.apply(h, h, {k})", f"{name}.apply(h.detach(), h.sin(), {k})"]
    elif "generate_vmap_rule" in "".join(lines) and not any("dim=" in each or "(0, keep" in each for each in forward):
        calls.append(f"torch.func.vmap(lambda row: {name}.apply(row, {k}))(h) if h.shape[0] else h")
    if not two and not any("detach" in each for each in forward):
        calls.append(f"{name}.apply({name}.apply(h, 1.0), {k})")
    return lines, calls


def _in_place(rng: random.Random, name: str) -> tuple[list[str], list[str]]:
    change = rng.choice(("x.mul_(k)", "x.add_(k)", "x[..., 0] = k", "x.tanh_()"))
    saved = rng.random() < 0.4
    lines = [
        f"class {name}(torch.autograd.Function):", "    @staticmethod", "    def forward(ctx, x, k):", f"        {change}", "        ctx.mark_dirty(x)",
        *(["        ctx.save_for_backward(x)"] if saved else []), "        ctx.k = k", "        return x",
        "    @staticmethod", "    def backward(ctx, g):", f"        return g * {'ctx.saved_tensors[0]' if saved else 'ctx.k'}, None",
    ]  # fmt: skip
    return lines, [f"{name}.apply(h.clone(), 2.0)", f"{name}.apply(h * 1, 0.5)", f"({name}.apply(h.clone(), 2) + h)"]


def _two_outputs(rng: random.Random, name: str) -> tuple[list[str], list[str]]:
    style = rng.randrange(4)
    head = [f"class {name}(torch.autograd.Function):", "    @staticmethod", "    def forward(ctx, x, k):"]
    if style == 0:  # an output without a gradient
        lines = [
            *head, "        y, at = (x * k).sort(-1)", "        ctx.mark_non_differentiable(at)", "        ctx.save_for_backward(at)", "        ctx.k = k", "        return y, at",
            "    @staticmethod", "    def backward(ctx, g, _):", "        at, = ctx.saved_tensors", "        return torch.zeros_like(g).scatter(-1, at, g) * ctx.k, None",
        ]  # fmt: skip
        return lines, [f"{name}.apply(h, 2.0)[0]", f"({name}.apply(h, 1.5)[0] + {name}.apply(h, 1.5)[1])"]
    if style == 1:  # gradients that may be None
        lines = [
            *head, "        ctx.set_materialize_grads(False)", "        ctx.save_for_backward(x, None)", "        return x.sin(), x.cos()",
            "    @staticmethod", "    def backward(ctx, a, b):", "        x, nothing = ctx.saved_tensors", "        gx = None", "        if a is not None:", "            gx = a * x.cos()",
            "        if b is not None:", "            gx = -b * x.sin() if gx is None else gx - b * x.sin()", "        return gx, None",
        ]  # fmt: skip
    elif style == 2:  # an output that is no tensor, another dtype
        lines = [
            *head, "        ctx.shape = x.shape", "        ctx.k = k", "        return x * k, x.sum(-1, keepdim=True) * k",
            "    @staticmethod", "    def backward(ctx, a, b):", "        return a * ctx.k + b.expand(ctx.shape) * 2, None",
        ]  # fmt: skip
    else:  # the input is given back, saved twice
        lines = [
            *head, "        y = x.exp().clamp(max=3)", "        ctx.save_for_backward(x, y, x)", "        return y, x.view_as(x) * 0.5",
            "    @staticmethod", "    def backward(ctx, a, b):", "        x, y, again = ctx.saved_tensors", "        return a * y + b * 0.5 + 0 * (x - again), None",
        ]  # fmt: skip
    return lines, [
        f"{name}.apply(h, 2.0)[0]",
        f"{name}.apply(h, 2.0)[1] + h",
        f"sum({name}.apply(h, 0.5))",
        f"torch.add(*{name}.apply(h, 2))",
    ]
