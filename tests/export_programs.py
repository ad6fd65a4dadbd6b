"""Models and example inputs for ``torch.export``, run by PyTorch when results are recorded and by rushlight in the tests."""

from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops import scan
from torch._higher_order_ops.map import map as map_rows
from torch.export import Dim

Pair = namedtuple("Pair", ["left", "right"])


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 3)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        x = self.body(x)
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.head(x)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("total", torch.zeros(3), persistent=False)

    def forward(self, x):
        self.count += 1
        self.total.add_(x.sum(0))
        return x * self.count + self.total


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (each.view(batch, length, 2, 4).transpose(1, 2) for each in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(batch, length, 8))


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.rnn = nn.LSTM(4, 5, batch_first=True)
        self.out = nn.Linear(5, 10)

    def forward(self, ids):
        y, (h, c) = self.rnn(self.table(ids))
        return {"logits": self.out(y), "state": (h, c)}


class Branch(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() + 1, (x,))


class BranchWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, flag, x):
        return torch.cond(flag, lambda x: self.layer(x), lambda x: -x, (x,))


class Loop(nn.Module):
    def forward(self, n, x):
        return torch._higher_order_ops.while_loop(lambda n, x: n < 4, lambda n, x: (n + 1, x * 2), (n, x))


class LoopWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, n, x):
        return torch._higher_order_ops.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, self.layer(x)), (n, x))


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x):
        mapped = map_rows(lambda row, shift: self.layer(row) + shift, x, self.shift)
        last, steps = scan(lambda carry, row: (self.layer(carry) + row, carry * row), torch.zeros(4), x)
        other, rest = scan(lambda carry, row: (carry + row, [carry * row, carry.sum()]), torch.zeros(3), x, dim=1, reverse=True)
        return mapped, last, steps, other, rest


class BranchNested(nn.Module):
    def forward(self, x):
        def deeper(x):
            return torch.cond(x.mean() > 1, lambda x: {"a": x + 1, "b": (x.sum(),)}, lambda x: {"a": x + 2, "b": (x.mean(),)}, (x,))

        return torch.cond(x.sum() > 0, deeper, lambda x: {"a": x - 1, "b": (x.amax(),)}, (x,))


class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.tensor([2.0, 3.0, 4.0])

    def forward(self, x):
        return x * self.scale + torch.tensor([1.0, 2.0, 3.0])


class Nested(nn.Module):
    def forward(self, pair, options, *, scale):
        return {"sum": pair[0] + pair[1], "rest": [options["a"] * scale, options["b"]]}


class Shadowing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, input, list, sum):  # names that mean something in Python
        return self.layer(input) + list + sum.sum()


class Named(nn.Module):
    def forward(self, pair):
        return Pair(pair.right, pair.left * 2)


class Numbers(nn.Module):
    def forward(self, x, factor, text, flag, nothing=None):
        y = x * factor if text == "mul" else x + factor
        return (y if flag else -y), factor, nothing


class Indexing(nn.Module):
    def forward(self, x, index):
        a = x[:, 1:, None]
        b = x[index]
        c = x[..., 0]
        d = x[1]
        e = x[::2, :-1]
        return a, b, c, d, e


class Writes(nn.Module):
    def forward(self, x):
        x.add_(1)
        y = x.clone()
        y[0] = 5
        y[:, 1].mul_(2)
        return y


class Shapes(nn.Module):
    def forward(self, x):
        y = x.reshape(x.shape[0], -1).permute(1, 0)
        z = torch.cat([y, y], 0).unsqueeze(1).expand(-1, 2, -1)
        return z.squeeze().contiguous(), torch.stack([x, x]).split(1), x.t(), x.flatten(), x.unbind(0)


class Reductions(nn.Module):
    def forward(self, x):
        return (
            x.sum(), x.mean(1, keepdim=True), x.max(), tuple(x.max(1)), x.argmax(-1), x.var(0), x.std(), x.norm(), x.prod(1), x.any(), x.cumsum(0),
            torch.logsumexp(x, 1), x.amax((0, 1)), tuple(x.topk(2)), tuple(x.sort()), torch.softmax(x, 1), x.log_softmax(-1), x.softmax(0, dtype=torch.float64),
        )  # fmt: skip


class Pointwise(nn.Module):
    def forward(self, x, y):
        a = x + y - 2 * x / y + (1 - x) ** 2
        b = (x > 0) & (y <= 1) | ~(x == y)
        c = torch.where(b, x, y).clamp(-1, 1).clamp(min=0)
        d = x // 2 + x % 3 - torch.rsqrt(y.abs() + 1)
        return a, b, c, d, x.to(torch.float64), x.float(), x.int(), 2**x, -x, 1 / x, x.masked_fill(b, 0.0), torch.atan2(x, y)


class Activations(nn.Module):
    def forward(self, x):
        return (
            F.relu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.leaky_relu(x, 0.1), F.elu(x), F.softplus(x), F.hardtanh(x), F.relu6(x), torch.sigmoid(x),
            torch.tanh(x), F.mish(x), F.hardswish(x), F.hardsigmoid(x), F.glu(x), F.logsigmoid(x), F.selu(x), F.softsign(x), F.normalize(x), F.celu(x), F.prelu(x, torch.ones(1)),
        )  # fmt: skip


class Losses(nn.Module):
    def forward(self, x, y, labels):
        return (
            F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum"), F.cross_entropy(x, labels), F.smooth_l1_loss(x, y), F.binary_cross_entropy_with_logits(x, y),
            F.nll_loss(x, labels), F.kl_div(x, y.sigmoid(), reduction="batchmean"), F.huber_loss(x, y), F.cosine_similarity(x, y), F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        )  # fmt: skip


class Products(nn.Module):
    def forward(self, a, b, c):
        return (
            a @ b, torch.mm(a, b), torch.bmm(c, c), torch.addmm(a, a, b), torch.einsum("ij,jk->ik", a, b), c @ a, torch.dot(a[0], b[0]), a @ b[0], F.linear(a, b), torch.outer(a[0], b[0]),
            torch.baddbmm(c, c, c), a.T @ b, a.mT, F.bilinear(a, b, c),
        )  # fmt: skip


class Created(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return (
            x + torch.arange(3), torch.zeros(2, 3) + x, torch.ones_like(x), torch.full((2,), 7), torch.eye(3), x.new_zeros(2), torch.linspace(0, 1, 3), torch.zeros(n, 2), torch.full_like(x, 2),
            torch.tril(x), torch.triu(x, 1), torch.empty(0), torch.ones(2, dtype=torch.int64), torch.arange(1, 7, 2), torch.scalar_tensor(3.0), torch.tensor(2.0) * x,
        )  # fmt: skip


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(2, 2, 2, stride=2)
        self.norm = nn.GroupNorm(2, 2)
        self.instance = nn.InstanceNorm2d(2, affine=True)

    def forward(self, x):
        y = self.instance(self.norm(self.up(x)))
        return (
            y, F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=(5, 5), mode="bilinear", align_corners=False), F.pad(x, (1, 1)), F.pad(x, (1, 1, 1, 1), mode="reflect"), F.avg_pool2d(x, 2),
            F.max_pool2d(x, 2, return_indices=True), F.adaptive_max_pool2d(x, 1), F.pixel_shuffle(y.repeat(1, 2, 1, 1), 2), F.unfold(x, 2), F.conv1d(x[:, :, 0], torch.ones(1, 2, 2)), x.flip(-1), x.roll(1, 0), F.grid_sample(x, torch.zeros(1, 2, 2, 2)),
        )  # fmt: skip


class Gathered(nn.Module):
    def forward(self, x, index):
        return (
            x.gather(1, index), x.scatter(1, index, 1.0), x.scatter_add(1, index, x), x.index_select(0, index[0]), x.take_along_dim(index, 1), F.one_hot(index, 4), x.masked_select(x > 0), torch.nonzero(x), x.index_add(0, index[0], x), F.embedding(index, x),
            torch.searchsorted(x[0], x), x.scatter_reduce(1, index, x, "sum"), x.index_put((index[0],), x[0]), x.tile(2), x.repeat_interleave(2, 0), x.diagonal(), torch.diag_embed(x),
        )  # fmt: skip


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(self.drop(x))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 3, bias=False)
        self.two = nn.Linear(3, 3, bias=False)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.two(self.one(x))


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(3, 3)
        self.idle = nn.Linear(2, 2)

    def forward(self, x, y):
        return self.used(x), x


class Repeated(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        with torch.no_grad():
            y = x * 2
        return x + y


class Sizes(nn.Module):
    def forward(self, x, y):
        return x.reshape(-1, x.shape[0]).sum(1) + y.shape[0] * 2, torch.zeros(x.shape[0] + 1), x.shape[1]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)

    def forward(self, x):
        return self.layer(x)


class Items(nn.Module):
    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k <= 5)
        return x.sum() + torch.ones(k).sum()


class Scripted(nn.Module):
    def forward(self, x):
        if x.shape[0] > 2:
            return x + 1
        return x - 1


class Autocast(nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return (x @ x).float()


class Regions(nn.Module):
    """Regions without gradients, with several results, and one in autocast between them."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        a = x + 1
        with torch.no_grad():
            b = a * 2
            c = b.sin()
            d = c.cos()
        e = b + d
        with torch.no_grad():
            f = e * torch.tensor(3.0)
        return e, f + c


class Precisions(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        y = x + 1
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = self.layer(y)
            with torch.autocast("cpu", enabled=False):
                w = z.float() @ y.t()
        return w + 1


class Assigned(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))
        self.register_buffer("m", torch.zeros(3))

    def forward(self, x):
        self.n += x
        self.m = self.m * 2 + x
        self.n.mul_(2)
        return self.n + self.m


class Written(nn.Module):
    def forward(self, x, y):
        z = x.clone()
        z[0] = 5
        z[1] = 2.5
        z[:, 1] = x[:, 0]
        z[1, 2] = True
        a, b = torch.broadcast_tensors(x, y)
        return z, a + b, x.contiguous(), x.expand(2, 3), x.squeeze(), x.to(torch.float64), x.float(), x + 1


class Checked(nn.Module):
    def forward(self, x, n):
        k = n.item()
        torch._check(k > 1)
        torch._check(k < x.shape[0])
        return torch.ones(k).sum()


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x, y, mask):
        a, weights = self.attention(x, y, y)
        b, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        return a, weights, b


class Solved(nn.Module):
    """Operators that check what they did: PyTorch's decomposed programs have tokens for those."""

    def forward(self, x, y):
        square = x @ x.T + torch.eye(3)
        return torch.linalg.solve(square, y), torch.linalg.inv(square), torch.linalg.det(square)


class Joined(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y])[: x.shape[0]], x.view(x.shape[0] * 3)


def numbers(*shape, dtype=None):
    """Numbers that are the same everywhere."""
    count = 1
    for each in shape:
        count *= each
    made = ((torch.arange(count) * 7) % 11).reshape(shape)
    return made.to(dtype) if dtype is not None else made.float() / 5 - 1


def cases():
    """Name, Module, args, kwargs, dynamic shapes."""
    f, i = numbers, lambda *shape: numbers(*shape, dtype=torch.int64)
    batch, length = Dim("batch"), Dim("length", min=2, max=64)
    return [
        ("mlp", Mlp(), (f(2, 4),), {}, None),
        ("mlp_dynamic", Mlp(), (f(2, 4),), {}, ({0: batch},)),
        ("mlp_auto", Mlp(), (f(2, 4),), {}, {"x": {0: Dim.AUTO}}),
        ("convolutional", Convolutional().eval(), (f(2, 3, 8, 8),), {}, None),
        ("convolutional_train", Convolutional(), (f(2, 3, 8, 8),), {}, None),
        ("counter", Counter(), (f(2, 3),), {}, None),
        ("attention", Attention(), (f(2, 5, 8),), {}, None),
        ("attention_dynamic", Attention(), (f(2, 5, 8),), {}, {"x": {0: batch, 1: length}}),
        ("embedded", Embedded(), (i(2, 4) % 10,), {}, None),
        ("branch", Branch(), (f(3),), {}, None),
        ("branch_weights", BranchWeights(), (torch.tensor(True), f(2, 3)), {}, None),
        ("loop", Loop(), (torch.tensor(0), f(3)), {}, None),
        ("loop_weights", LoopWeights(), (torch.tensor(0), f(2, 3)), {}, None),
        ("rows", Rows(), (f(3, 4),), {}, None),
        ("branch_nested", BranchNested(), (f(2, 3),), {}, None),
        ("constants", Constants(), (f(2, 3),), {}, None),
        ("nested", Nested(), ((f(2), f(2)), {"a": f(3), "b": f(1)}), {"scale": f(3)}, None),
        (
            "nested_dynamic",
            Nested(),
            ((f(2), f(2)), {"a": f(3), "b": f(1)}),
            {"scale": f(3)},
            {"pair": ({0: batch}, {0: batch}), "options": {"a": {0: length}, "b": None}, "scale": {0: length}},
        ),
        ("shadowing", Shadowing(), (f(2, 3), f(2, 3), f(3)), {}, None),
        ("numbers", Numbers(), (f(2), 3, "mul", True), {}, None),
        ("indexing", Indexing(), (f(3, 4), i(2) % 3), {}, None),
        ("writes", Writes(), (f(2, 3),), {}, None),
        ("shapes", Shapes(), (f(2, 3),), {}, None),
        ("reductions", Reductions(), (f(3, 4),), {}, None),
        ("pointwise", Pointwise(), (f(2, 3), f(2, 3)), {}, None),
        ("activations", Activations(), (f(2, 4),), {}, None),
        ("losses", Losses(), (f(2, 3), f(2, 3), i(2) % 3), {}, None),
        ("products", Products(), (f(3, 3), f(3, 3), f(3, 3, 3)), {}, None),
        ("created", Created(), (f(2, 3),), {}, None),
        ("images", Images(), (f(1, 2, 4, 4),), {}, None),
        ("gathered", Gathered(), (f(2, 2), i(2, 2) % 2), {}, None),
        ("dropped", Dropped(), (f(2, 3),), {}, None),
        ("dropped_eval", Dropped().eval(), (f(2, 3),), {}, None),
        ("tied", Tied(), (f(2, 3),), {}, None),
        ("unused", Unused(), (f(2, 3), f(2)), {}, None),
        ("repeated", Repeated(), (f(2, 3),), {}, None),
        ("sizes", Sizes(), (f(4, 6), f(3)), {}, ({0: batch}, {0: length})),
        ("encoder", Encoder().eval(), (f(2, 3, 8),), {}, None),
        ("encoder_train", Encoder(), (f(2, 3, 8),), {}, None),
        ("items", Items(), (f(3), torch.tensor(3)), {}, None),
        ("scripted", Scripted(), (f(4),), {}, None),
        ("autocast", Autocast(), (f(2, 2),), {}, None),
        ("regions", Regions(), (f(2, 3),), {}, None),
        ("precisions", Precisions(), (f(2, 3),), {}, None),
        ("assigned", Assigned(), (f(3),), {}, None),
        ("written", Written(), (f(2, 3), f(2, 3)), {}, None),
        ("checked", Checked(), (f(4), torch.tensor(3)), {}, None),
        ("heads", Heads().eval(), (f(2, 3, 4), f(2, 5, 4), torch.ones(3, 3).tril() == 0), {}, None),
        ("solved", Solved(), (f(3, 3), f(3, 2)), {}, None),
        ("joined", Joined(), (f(4, 3), f(5, 3)), {}, ({0: batch}, {0: length})),
    ]


class Calls(nn.Module):
    """Calls a function with itself and its inputs."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.layer = nn.Linear(4, 3)

    def forward(self, x, y=None):
        return self.function(self, x, y)


def mistakes():
    """Name, function, args, dynamic shapes: what is said of sizes, and refused where it can't be."""
    r = torch.zeros
    batch, other = Dim("batch"), Dim("other")
    return [
        ("specialized", lambda s, x, y: s.layer(x), (r(2, 4),), ({0: batch, 1: Dim("feat")},)),
        ("specialized auto", lambda s, x, y: s.layer(x), (r(2, 4),), ({0: batch, 1: Dim.AUTO},)),
        ("specialized dynamic", lambda s, x, y: s.layer(x), (r(2, 4),), ({0: batch, 1: Dim.DYNAMIC},)),
        ("equal", lambda s, x, y: x + y, (r(2, 4), r(2, 4)), ({0: batch}, {0: other})),
        ("equal auto", lambda s, x, y: x + y, (r(2, 4), r(2, 4)), ({0: Dim.AUTO}, {0: Dim.AUTO})),
        ("offset", lambda s, x, y: x + y[1:], (r(3, 4), r(4, 4)), ({0: batch}, {0: other})),
        ("derived", lambda s, x, y: x + y[1:], (r(3, 4), r(4, 4)), ({0: batch}, {0: batch + 1})),
        ("branch", lambda s, x, y: x + 1 if x.shape[0] > 2 else x - 1, (r(3, 4),), ({0: batch},)),
        ("branch auto", lambda s, x, y: x + 1 if x.shape[0] > 2 else x - 1, (r(3, 4),), ({0: Dim.AUTO},)),
        ("branch below", lambda s, x, y: x + 1 if x.shape[0] < 20 else x - 1, (r(3, 4),), ({0: batch},)),
        ("out of range", lambda s, x, y: x + 1, (r(3, 4),), ({0: Dim("k", min=5)},)),
        ("one", lambda s, x, y: x + 1, (r(1, 4),), ({0: batch},)),
        ("one auto", lambda s, x, y: x + 1, (r(1, 4),), ({0: Dim.AUTO},)),
        ("count", lambda s, x, y: x + 1, (r(4, 4),), ({0: batch}, None)),
        ("name", lambda s, x, y: x + 1, (r(4, 4),), {"z": {0: batch}}),
        ("kind", lambda s, x, y: x + 1, (r(4, 4),), {"x": {0: "a"}}),
        ("length", lambda s, x, y: x + 1, (r(4, 4),), {"x": (batch,)}),
        ("tuple", lambda s, x, y: x + 1, (r(4, 4),), {"x": (Dim.AUTO, Dim.STATIC)}),
        ("range", lambda s, x, y: sum(x[i] for i in range(x.shape[0])), (r(4, 4),), {"x": {0: batch}}),
        ("range auto", lambda s, x, y: sum(x[i] for i in range(x.shape[0])), (r(4, 4),), {"x": {0: Dim.AUTO}}),
        ("static", lambda s, x, y: x + 1, (r(4, 4),), {"x": (4, None)}),
        ("static wrong", lambda s, x, y: x + 1, (r(4, 4),), {"x": (5, None)}),
        ("number", lambda s, x, y: x + y, (r(4, 4), 3), ({0: batch}, Dim.DYNAMIC)),
        ("number dim", lambda s, x, y: x + y, (r(4, 4), 3), ({0: batch}, batch)),
        ("twice", lambda s, x, y: x.sum() + y.sum(), (r(4, 4), r(5, 4)), ({0: batch}, {0: batch})),
        ("multiple", lambda s, x, y: x.view(-1, 8), (r(4, 4),), ({0: 2 * Dim("half")},)),
        ("two auto", lambda s, x, y: torch.cat([x, y]), (r(4, 4), r(5, 4)), ({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO, 1: Dim.AUTO})),
        ("flatten", lambda s, x, y: x.reshape(x.shape[0], -1).sum(0), (r(4, 4, 3),), ({0: batch},)),
    ]
