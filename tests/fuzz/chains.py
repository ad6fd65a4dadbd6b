"""Random chains of ops as a function of a few tensors: views, writes in place, dtypes, reductions, control flow on sizes; in source.

A chain is grown line by line: a line that raises at the first sizes is dropped, so most chains run to their end.  The text defines ``f``, which a form
(``compile``, ``jit.trace``) is made of, and calls it with tensors of several sizes; results, arguments after the call and gradients are the program's results.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

SIZES = ((3, 4, 2), (5, 4, 2), (2, 6, 3), (1, 4, 1), (4, 4, 4), (0, 4, 2), (7, 1, 3))

UNARY = (
    "{x}.sin()", "{x}.cos()", "{x}.tanh()", "{x}.sigmoid()", "{x}.relu()", "{x}.abs()", "-{x}", "{x}.abs().sqrt()", "{x}.abs().log1p()", "{x}.floor()", "{x}.round()",
    "{x}.sign()", "{x}.square()", "{x}.clamp(-1, 1)", "{x}.clamp(min=0)", "{x}.erf()", "{x}.trunc()", "{x}.frac()", "{x}.exp().clamp(max=9)", "F.gelu({x})", "F.silu({x})", "{x}.isnan()",
    "{x}.nan_to_num()", "{x} ** 2", "{x} ** 3", "2 ** {x}.clamp(-3, 3)", "1 / ({x}.abs() + 1)", "{x} / 0", "{x} // 2", "{x} % 3", "{x} % -2", "{x}.fmod(2)", "{x} * {c}", "{x} + {c}", "{c} - {x}", "{x} - {c}",
    "{x} / {c}", "{x} > {c}", "{x} <= {c}", "{x} == {c}", "~{x}", "{x} & 3", "{x} | 4", "{x} ^ 1", "{x} << 1", "{x} >> 1", "F.leaky_relu({x}, 0.1)", "F.softplus({x})", "{x}.rsqrt()", "{x}.log()",
    "F.hardtanh({x})", "{x}.logical_not()", "{x}.to(torch.{t})", "{x}.to(torch.{t})", "{x}.to(torch.{t})", "{x}.float()", "{x}.clone()", "{x}.contiguous()", "{x}.detach()", "{x}.bool()", "{x}.add({c}, alpha=2)",
    "torch.where({x} > 0, {x}, {c})", "torch.where({x} > 0, {c}, 0)", "{x}.masked_fill({x} > 0, {c})", "{x}.maximum(torch.tensor({c}))", "{x}.pow(0.5)", "{x}.remainder({c})", "{x}.heaviside(torch.zeros_like({x}))",
)  # fmt: skip
BINARY = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / {y}", "{x} // {y}", "{x} % {y}", "torch.maximum({x}, {y})", "torch.minimum({x}, {y})", "{x}.fmax({y})", "torch.where({x} > {y}, {x}, {y})", "{x} > {y}",
    "{x} == {y}", "{x} & {y}", "{x} | {y}", "torch.atan2({x}, {y})", "{x}.fmod({y})", "torch.div({x}, {y}, rounding_mode='trunc')", "torch.lerp({x}, {y}, 0.3)", "torch.addcmul({x}, {x}, {y}, value=2)", "{x}.pow({y}.clamp(0, 2))",
    "{x}.add({y}, alpha=2)", "{x}.sub({y}, alpha=3)", "{x}.logical_and({y})", "{x} + {y}.unsqueeze(0)", "{x} * {y}.unsqueeze(-1)", "{x}.expand_as({y})", "{x}.to({y}.dtype)", "{x}.type_as({y})", "torch.hypot({x}, {y})",
    "{x} @ {y}", "{x} @ {y}.t()", "{x}.t() @ {y}", "torch.matmul({x}, {y}.transpose(-1, -2))", "torch.outer({x}.reshape(-1), {y}.reshape(-1))", "F.linear({x}, {y})", "torch.cat([{x}, {y}])", "torch.cat([{x}, {y}], -1)",
    "torch.stack([{x}, {y}])", "torch.stack([{x}, {y}], -1)", "{x}[{y} > 0]", "torch.where({y} > 0, {x}, 0)", "{x}.masked_fill({y} > 0, {c})", "{x}.gather(0, {y}.long().clamp(0, 0))", "torch.broadcast_tensors({x}, {y})[0]",
    "torch.einsum('...i,...i->...', {x}, {y})", "{x}.copysign({y})", "{x}.view_as({y})", "{x}.reshape_as({y})", "{x}.index_select(0, {y}.reshape(-1).long() % {x}.shape[0])", "{x}[{y}.reshape(-1).long() % {x}.size(0)]",
)  # fmt: skip
VIEWS = (
    "{x}.t()", "{x}.transpose(0, -1)", "{x}.reshape(-1)", "{x}.unsqueeze(0)", "{x}.unsqueeze(-1)", "{x}.squeeze()", "{x}.squeeze(0)", "{x}[0]", "{x}[-1]", "{x}[1:]", "{x}[:, 1:]", "{x}[..., ::2]", "{x}[::2]", "{x}[:-1]",
    "{x}[:, 0]", "{x}[:, None]", "{x}.flip(0)", "{x}.roll(1, 0)", "{x}.diagonal()", "{x}.unfold(0, 2, 1)", "{x}.narrow(0, 0, 1)", "{x}.select(-1, 0)", "{x}.expand(2, *{x}.shape)", "{x}.flatten()", "{x}.movedim(0, -1)",
    "{x}.chunk(2)[0]", "{x}.chunk(2, -1)[-1]", "{x}.split(2)[-1]", "{x}.unbind(0)[0]", "{x}.view(-1)", "{x}.view({x}.shape[0], -1)", "{x}.permute(*range({x}.dim() - 1, -1, -1))", "{x}.reshape({x}.shape[-1], -1)", "{x}[[0, 0]]",
    "{x}[..., [0]]", "{x}.repeat(2, *[1] * ({x}.dim() - 1))", "{x}.tril()", "{x}.triu(1)", "F.pad({x}, (1, 0))", "F.pad({x}, (0, 2), value=1.5)", "{x}.repeat_interleave(2, 0)", "{x}.tile(2)", "{x}.as_strided((2,), (1,))",
    "{x}.view(*{x}.shape, 1)", "{x}.unflatten(0, (-1, 1))", "torch.diag_embed({x})", "{x}.rot90()", "{x}.swapaxes(0, -1)", "{x}.ravel()", "{x}[{x}.shape[0] // 2 :]", "{x}[: {x}.shape[0] // 2]", "{x}.expand(-1, *{x}.shape[1:])", "{x}.mT",
    "{x}[:, :, 0]", "{x}.flatten(0, 1)", "torch.atleast_2d({x})",
)  # fmt: skip
REDUCE = (
    "{x}.sum()", "{x}.sum(0)", "{x}.sum(-1, keepdim=True)", "{x}.mean(0)", "{x}.mean(-1, keepdim=True)", "{x}.amax(0)", "{x}.amin(-1, keepdim=True)", "{x}.max(0).values", "{x}.min(-1).values", "{x}.max()", "{x}.argmax(0)",
    "{x}.argmin(-1)", "{x}.prod(0)", "{x}.var(0)", "{x}.std(-1, keepdim=True)", "{x}.any(0)", "{x}.all()", "{x}.norm()", "{x}.logsumexp(0)", "{x}.softmax(-1)", "{x}.softmax(0)", "{x}.log_softmax(-1)", "{x}.cumsum(0)", "{x}.cumsum(-1)",
    "{x}.cumprod(0)", "{x}.sort(0).values", "{x}.topk(1, 0).values", "{x}.count_nonzero(0)", "{x}.nansum(-1)", "{x}.mean()", "{x}.sum((0, -1))", "{x}.cummax(0).values", "{x}.sum(0, dtype=torch.{t})", "{x}.mean(0, dtype=torch.float64)", "{x}.argsort(0)",
    "{x}.median()", "torch.linalg.vector_norm({x}, dim=0)", "{x}.aminmax(dim=0).max", "F.layer_norm({x}, {x}.shape[-1:])", "{x}.logcumsumexp(0)", "{x}.diff(dim=0)", "F.normalize({x}, dim=-1)", "{x}.flip(0).cumsum(0).flip(0)",
)  # fmt: skip
CREATE = (
    "torch.arange({x}.shape[0])", "torch.arange({x}.shape[0], dtype=torch.float32)", "torch.zeros_like({x})", "torch.ones({x}.shape)", "{x}.new_zeros({x}.shape[0])", "torch.full({x}.shape, {c})", "torch.eye({x}.shape[0])",
    "torch.empty_like({x}).fill_({c})", "torch.linspace(0, 1, {x}.size(-1))", "{x} * {x}.shape[0]", "{x} + {x}.size(-1)", "{x} / {x}.numel()", "{x} * ({x}.shape[0] // 2)", "torch.tensor({c})", "torch.full_like({x}, {c}, dtype=torch.{t})",
    "torch.arange({x}.numel()).reshape({x}.shape)", "{x} - torch.tensor([{c}])", "torch.ones(1, dtype=torch.{t})", "{x}.new_tensor([1.5, 2])", "torch.zeros(0, dtype=torch.{t})",
)  # fmt: skip
WRITES = (
    "{x}.add_({c})", "{x}.mul_(2)", "{x}.add_({y})", "{x}.mul_({y})", "{x} += {y}", "{x} *= {c}", "{x} -= 1", "{x}[0] = {c}", "{x}[..., 0] = {c}", "{x}[1:] = {c}", "{x}[0].mul_(3)", "{x}[..., ::2].add_(1)", "{x}[{x} > 0] = {c}", "{x}[0] += 1",
    "{x}[:, 0] = {y}", "{x}.copy_({y})", "{x}.fill_({c})", "{x}.zero_()", "{x}.clamp_(-1, 1)", "{x}.relu_()", "{x}.masked_fill_({x} > 0, {c})", "{x}.t().add_(1)", "{x}.view(-1)[::2] = {c}", "{x}.view(-1)[1:].copy_({x}.view(-1)[:-1].clone())",
    "{x}.diagonal().fill_({c})", "{x}.diagonal().add_(1)", "{x}.select(0, 0).add_({y})", "{x}[[0, -1]] += 1", "{x}.index_add_(0, torch.tensor([0, 0]), torch.ones_like({x}[:1]).expand(2, *{x}.shape[1:]))", "{x}.sin_()", "{x}.neg_()", "{x}.unsqueeze_(0)",
    "{x}.t_()", "{x}.transpose_(0, -1)", "{x}.squeeze_()", "{x}[0] = {x}[-1]", "{x}[-1] = {x}[0] * 2", "{x}[1:] += {x}[:-1].clone()", "{x}.sub_({y}, alpha=2)", "{x}.div_(2)", "{x}.copy_({x}.flip(0))", "{x}.index_fill_(0, torch.tensor([0]), {c})",
    "{x}.scatter_(0, torch.zeros_like({x}, dtype=torch.long), {c})", "{x}.scatter_add_(0, torch.zeros_like({x}, dtype=torch.long), torch.ones_like({x}))", "{x}.cumsum_(0)", "{x}.expand(2, *{x}.shape)[0].add_(1)", "{x}.chunk(2)[0].mul_(2)", "{x}.unbind(0)[0].add_(1)",
    "{x}.narrow(0, 0, 1).zero_()", "{x}[..., None].add_(1)", "{x}[:, :1] = {x}[:, -1:]", "{x}.tril_()", "{x}[torch.arange({x}.shape[0])] = {c}", "torch.add({x}, 1, out={x})", "{x}.flatten()[0] = {c}", "{x}.reshape(-1).add_(1)", "{x}.mul_({x})", "{x}.add_({x}.t())",
    "{x}.view(-1).sort()[0]", "{x}.detach().add_(1)", "{x}.data.mul_(2)", "{x}.index_put_((torch.tensor([0]),), {y}.sum().to({x}.dtype), accumulate=True)", "{x}.square_()", "{x}.lerp_({y}, 0.5)", "{x}.addcmul_({x}, {y})", "{x}.bitwise_and_(3)",
    "with torch.no_grad(): {x}.add_(1)", "torch.relu_({x})", "{x}.pow_(2)", "{x}.fill_diagonal_({c})", "{x}.swapaxes(0, -1)[0].copy_({c} * torch.ones(1))",
)  # fmt: skip
BLOCKS = (
    "if {x}.shape[0] > 3:\n    {z} = {x} * 2\nelse:\n    {z} = {x} + 1", "if {x}.dim() > 1:\n    {z} = {x}.sum(0)\nelse:\n    {z} = {x}.sin()", "{z} = 0\nfor i in range({x}.shape[0]):\n    {z} = {z} + {x}[i] * i",
    "{z} = []\nfor row in {x}:\n    {z}.append(row.sum())\n{z} = torch.stack({z})", "if {x}.sum() > 0:\n    {z} = {x} * 3\nelse:\n    {z} = {x} - 1", "n = {x}.shape[0] * 2 + 1\n{z} = {x} * n", "{z} = {x}\nwhile {z}.dim() > 1:\n    {z} = {z}.sum(-1)",
    "for i in range({x}.shape[0]):\n    {x}[i] *= i\n{z} = {x} + 0", "{z} = {x}.clone()\nfor i in range(1, {z}.shape[0]):\n    {z}[i] += {z}[i - 1]", "with torch.no_grad():\n    {z} = {x} * 2", "v = {x}[0]\n{x}.mul_(2)\n{z} = v + 1", "v = {x}.view(-1)\nv.add_(1)\n{z} = {x} * v.sum()",
    "v, w = {x}[:1], {x}[-1:]\nv.add_(w)\nw.mul_(2)\n{z} = {x} - v", "{z} = {x}.sum().item() * 2 + {x}", "n, m = {x}.shape[0], {x}.shape[-1]\n{z} = {x}.reshape(n, -1, m).sum(1) if n else {x}", "{z} = dict(a={x}, b={x} + 1)['b']", "{z} = torch.autograd.grad({x}.sin().sum(), {x}, create_graph=True)[0]",
    "{z} = ({x} * 2).requires_grad_() if not {x}.requires_grad else {x} * 2", "{z}, w = {x}.sort(0)\n{z} = {z} + w", "{z}, w = {x}.max(0)\n{z} = {z} * w", "{z} = torch.zeros({x}.shape[0] + 1)\n{z}[1:] += 1", "{z} = {x}.t().contiguous()\n{z}.add_(1)\n{z} = {z} - {x}.t()",
    "{z} = {x}.float()\n{z}.add_(1)", "{z} = {x}.to({x}.dtype)\n{z}.add_(1)", "{z} = {x}.contiguous()\n{z}.mul_(2)", "{z} = {x}.reshape({x}.shape)\n{z}.add_(1)", "if not {x}.is_contiguous():\n    {z} = {x} + 1\nelse:\n    {z} = {x} - 1", "{z} = {x}.expand({x}.shape)\n{z} = {z} + {x}.stride()[0]",
)  # fmt: skip
TYPES = ("float32", "float64", "int64", "int32", "uint8", "int8", "bool", "float16", "bfloat16", "int16")
CONSTANTS = ("2", "0.5", "-1", "3", "-1.5", "100", "0", "True", "1e10", "float('nan')", "float('inf')", "7", "200")
SHAPES = ("n, m", "m", "n, 1", "1, m", "n", "k, n, m", "n, m, k", "m, m", "", "n, 4", "2, n", "k, 1, m")


def _inputs(stream: random.Random) -> list[str]:
    """Lines that make the arguments, of sizes n, m and k."""
    made = []
    for _ in range(stream.randint(1, 3)):
        shape = stream.choice(SHAPES[:6] * 2 + SHAPES)
        kind = stream.random()
        if kind < 0.6:
            text = f"torch.randn([{shape}])"
            if stream.random() < 0.2:
                text += ".mul(4).round().div(2)"
        elif kind < 0.8:
            text = f"torch.randint(-5, 9, [{shape}])"
        else:
            text = f"torch.randint(0, 9, [{shape}]).to(torch.{stream.choice(TYPES)})"
        layout = stream.random()
        if layout < 0.12 and shape.count(",") == 1:
            text += ".t().contiguous().t()"
        elif layout < 0.2 and shape:
            text = (
                f"torch.cat([{text}, {text}], -1)[..., ::2]"
                if stream.random() < 0.5
                else f"torch.cat([{text}, {text}])[{shape.split(',')[0]}:]"
            )
        made.append(text)
    return made


def _line(stream: random.Random, names: list[str], new: str) -> str:
    """One random line (or block) on the names there are; it makes ``new`` or writes into a name."""
    kind = stream.random()
    written = kind >= 0.72 and kind < 0.92
    options = (
        UNARY
        if kind < 0.22
        else BINARY
        if kind < 0.4
        else VIEWS
        if kind < 0.56
        else REDUCE
        if kind < 0.67
        else CREATE
        if kind < 0.72
        else WRITES
        if written
        else BLOCKS
    )
    recent = lambda: names[-1] if stream.random() < 0.5 else stream.choice(names)
    text = stream.choice(options)
    for key, value in (
        ("{x}", recent()),
        ("{y}", stream.choice(names)),
        ("{z}", new),
        ("{c}", stream.choice(CONSTANTS)),
        ("{t}", stream.choice(TYPES)),
    ):
        text = text.replace(key, value)
    return text if written or options is BLOCKS else f"{new} = {text}"


def chain(stream: random.Random, torch: Any, length: int = 8) -> str:
    """A chain as a program; the package is the one in which it is grown."""
    made = _inputs(stream)
    arguments = [f"a{at}" for at in range(len(made))]
    gradients = stream.random() < 0.6
    scope: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "n": SIZES[0][0], "m": SIZES[0][1], "k": SIZES[0][2]}
    torch.manual_seed(0)
    lines: list[str] = []
    names = list(arguments)
    for name, text in zip(arguments, made):
        scope[name] = eval(text, scope)
        if gradients and scope[name].is_floating_point():
            scope[name] = scope[name].requires_grad_() * 1
    for step in range(stream.randint(length // 2, length)):
        for _ in range(12):
            new = f"x{step}"
            line = _line(stream, names, new)
            trial = dict(scope)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(line, trial)
                value = trial.get(new)
                if value is not None and (not isinstance(value, torch.Tensor) or value.numel() > 3000):
                    continue
            except Exception:
                continue
            scope = trial
            lines.append(line)
            if value is not None:
                names.append(new)
            break
    results = [name for name in names if name.startswith("x")][-3:] or [names[-1]]
    if stream.random() < 0.3:
        results.append(arguments[0])
    body = "\n".join("    " + part for line in lines for part in line.split("\n")) or "    pass"
    sizes = [SIZES[0], *stream.sample(SIZES, 3), SIZES[0]]
    return f"""
def f({", ".join(arguments)}):
{body}
    return ({", ".join(results)},)
f, results = form(f), []
for n, m, k in {sizes}:
    torch.manual_seed(0)
    leaves = [{", ".join(made)}]
    leaves = [leaf.requires_grad_() if {gradients} and leaf.is_floating_point() else leaf for leaf in leaves]
    given = [leaf * 1 if leaf.requires_grad else leaf for leaf in leaves]
    outcome = guarded(lambda: f(*given))
    if isinstance(outcome[0], str):
        results += outcome
        continue
    results += outcome + given
    roots = [each for each in outcome if isinstance(each, torch.Tensor) and each.requires_grad]
    if roots:
        weights = [torch.arange(each.numel()).reshape(each.shape).cos().to(each.dtype) for each in roots]
        results += guarded(lambda: torch.autograd.grad(roots, [leaf for leaf in leaves if leaf.requires_grad], weights, allow_unused=True))
"""


def on_device(source: str, device: str) -> str:
    """The program with arguments, and tensors that its function makes, on a device; the numbers are those of the CPU."""
    made, moved = "    leaves = [leaf.requires_grad_()", f"    leaves = [leaf.to({device!r}) for leaf in leaves]\n"
    return (
        source.replace(made, moved + made, 1)
        .replace("guarded(lambda: f(*given))", f"guarded(lambda: on(torch.device({device!r}), f, *given))", 1)
        .replace("weights = [", f"weights = [each.to({device!r}) for each in [", 1)
        .replace(" for each in roots]\n", " for each in roots]]\n", 1)
        .replace("f, results = form(f)", "def on(place, f, *given):\n    with place:\n        return f(*given)\nf, results = form(f)", 1)
    )


def smaller(source: str) -> list[str]:
    """The program without one line or block of its function, or with fewer sizes."""
    head, _, tail = source.partition("f, results = form(f)")
    lines = head.strip("\n").split("\n")
    starts = [at for at in range(1, len(lines) - 1) if not lines[at].startswith("     ") and not lines[at].startswith("    else")] + [
        len(lines) - 1
    ]
    found = ["\n".join(["", *lines[:start], *lines[end:], ""]) + "f, results = form(f)" + tail for start, end in zip(starts, starts[1:])]
    names = lines[-1].strip().removeprefix("return (").removesuffix(",)").split(", ")
    if len(names) > 1:
        found += ["\n".join(["", *lines[:-1], f"    return ({name},)", ""]) + "f, results = form(f)" + tail for name in names]
    before, _, rest = tail.partition("for n, m, k in ")
    sizes, _, rest = rest.partition(":")
    chosen = eval(sizes)
    found += [
        head + "f, results = form(f)" + before + f"for n, m, k in {chosen[:at] + chosen[at + 1 :]}:" + rest
        for at in range(len(chosen))
        if len(chosen) > 1
    ]
    return found
