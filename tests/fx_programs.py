"""Programs over ``torch.fx`` that print graphs and generated code: the same text under PyTorch, which records it, and here.

``python tests/fx_programs.py`` runs them under PyTorch; imported by a test, they run here.
"""

import importlib
import math
import operator

NAME = "torch" if __name__ in ("__main__", "fx_programs_recorded") else "rushlight"
torch = importlib.import_module(NAME)
fx = importlib.import_module(f"{NAME}.fx")
nn, F = torch.nn, importlib.import_module(f"{NAME}.nn.functional")


class Mixed(nn.Module):
    """Layers, parameters, buffers, indexing, functions, methods, operators."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 5)
        self.p = nn.Parameter(torch.ones(5))
        self.seq = nn.Sequential(nn.ReLU(), nn.Linear(5, 2))
        self.register_buffer("b", torch.ones(5))

    def forward(self, x, y=None, *, k: float = 2.0):
        z = self.lin(x) + self.p * k
        z = F.relu(z, inplace=False).add(self.b, alpha=2)
        z = torch.cat([z[:, :3], z[..., 3:]], dim=1)
        a, _ = z.shape[0], z.size(1)
        z = z.view(a, -1)
        z = self.seq(z)
        c = -z + 1 / (z**2 + 1.5)
        t = z.T
        return {"o": c.sum(dim=-1), "l": [z, a], "t": (t, torch.float32)}


class Block(nn.Module):
    """A residual block with a constant and a nested container."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)) for _ in range(2)])
        self.scale = torch.ones(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = F.silu(layer(x)) + x * self.scale
        x = F.max_pool2d(x, 2, stride=1)
        x = F.dropout(x, p=0.1, training=self.training)
        return torch.nn.functional.softmax(torch.flatten(x, start_dim=1), dim=-1)


def variadic(x: torch.Tensor, *args, **kw):
    return torch.relu(x) + x.neg() @ args[0] - kw["a"]


@fx.wrap
def helper(a, b):
    return a * b


fx.wrap("len")


def wrapped(x):
    return helper(x, len(x)) + math.sqrt(2)


def chosen(x, flag, other=3):
    return x + other if flag else x - other


def several(x, y):
    a, b = torch.chunk(x, 2, dim=1)
    values, indices = torch.max(y, 1)
    c = torch.sum(a * b, dim=[1], keepdim=False)
    return (
        torch.where(c > 0, c, values),
        indices,
        torch.stack((a, b)),
        x.masked_fill(x > 1, float("inf")),
        torch.zeros(2, dtype=torch.int64),
    )


def assigned(x):
    x += 1
    y = x.unsqueeze(0).expand(2, -1)
    y = y.to(torch.float64).to(device="cpu")
    return operator.itemgetter(0)(y), abs(y), ~(y > 1), 2**y, y // 2, y % 2, 5 - y


def pattern(x):
    return torch.relu(x) + 1


def replacement(x):
    return torch.sigmoid(x)


def program(x, y):
    return torch.relu(x + y) + 1, torch.relu(y) + 1


BAD = (
    lambda x: 1 if x else 2, lambda x: [i * 2 for i in x], lambda x: len(x) if False else (x, *x), lambda x: int(x), lambda x: {**x}, lambda x: x in [1],
    lambda x: 3 in x, lambda x: float(x), lambda x: range(x), lambda x: x.shape[0] if x.shape[0] > 1 else 2, lambda x: operator.index(x),
)  # fmt: skip


def error(call):
    """What a call raises."""
    try:
        return call()
    except ValueError as found:
        return f"ValueError {found}"
    except TypeError as found:
        return f"TypeError {found}"
    except RuntimeError as found:
        return f"RuntimeError {found}"
    except AssertionError as found:
        return f"AssertionError {found}"


def texts():
    """All texts, one after the other."""
    for root in (Mixed(), Block(), Block().eval(), variadic, wrapped, several, assigned):
        traced = fx.symbolic_trace(root)
        yield traced.code
        yield str(traced.graph)
        traced.graph.lint()
    traced = fx.symbolic_trace(Mixed())
    yield repr(traced)
    yield str(traced)
    yield traced.print_readable(print_output=False)
    for concrete in ({"flag": True}, {"flag": False, "other": 4}, {"flag": True, "other": fx.PH}):
        yield fx.symbolic_trace(chosen, concrete_args=concrete).code
    for each in BAD:
        yield error(lambda: fx.symbolic_trace(each).code)  # noqa: B023
    yield from edits()
    yield from passes()


def edits():
    """Graphs that are changed."""
    traced = fx.symbolic_trace(wrapped)
    nodes = list(traced.graph.nodes)
    yield error(lambda: traced.graph.erase_node(nodes[0]))
    yield error(lambda: traced.graph.create_node("bad", "x"))
    replaced = fx.symbolic_trace(program)
    yield str(fx.replace_pattern(replaced, pattern, replacement))
    yield replaced.code
    graph = fx.Graph()
    a = graph.placeholder("a")
    b = graph.placeholder("input", type_expr=int, default_value=3)
    c = graph.call_function(torch.add, (a, b), {"alpha": 2})
    with graph.inserting_after(c):
        d = graph.call_method("clamp", (c,), {"min": 0})
    e = graph.call_function(operator.getitem, (d, (slice(None), None, ..., 0)))
    graph.call_function(torch.sum, (e,))
    graph.output({"r": (e, [d, None, 1.5, "s", torch.float16])})
    module = fx.GraphModule({}, graph)
    yield module.code
    yield str(graph)
    yield str(graph.eliminate_dead_code()) + str([node.name for node in graph.nodes])
    yield str([list(node.users) for node in graph.nodes]) + str([node.all_input_nodes for node in graph.nodes])
    copied = fx.Graph()
    copied.output(copied.graph_copy(graph, {}))
    yield str(copied)
    d.replace_all_uses_with(c)
    graph.erase_node(d)
    yield str(graph)
    yield str(graph.find_nodes(op="call_function", target=torch.add)) + str(graph.output_node())

    class Swap(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_method("sigmoid", args, kwargs) if target is torch.relu else super().call_function(target, args, kwargs)

    yield Swap(fx.symbolic_trace(program)).transform().code


def passes():
    """Splitting, shapes, ops of functions."""
    split = importlib.import_module(f"{NAME}.fx.passes.split_module").split_module
    mixed = fx.symbolic_trace(Mixed())
    place = {node: 0 if at < 12 else 1 for at, node in enumerate(mixed.graph.nodes)}
    made = split(mixed, mixed, place.__getitem__)
    yield made.code + made.submod_0.code + made.submod_1.code
    shapes = importlib.import_module(f"{NAME}.fx.passes.shape_prop").ShapeProp
    sequence = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3)))
    shapes(sequence).propagate(torch.ones(1, 2))
    yield str([(node.name, node.meta.get("tensor_meta")) for node in sequence.graph.nodes])
    make_fx = importlib.import_module(f"{NAME}.fx.experimental.proxy_tensor").make_fx
    yield make_fx(lambda x: torch.sin(x) * 2 + x.sum())(torch.ones(3)).code
    yield make_fx(lambda x, y: (x @ y).relu().mean(1))(torch.ones(3, 2), torch.ones(2, 3)).code
    fold = importlib.import_module(f"{NAME}.fx.node").map_aggregate
    yield str(fold({"a": [1, (2, slice(3, None))]}, lambda value: value if value is None else value + 1))


if __name__ == "__main__":
    print("\n=====\n".join(map(str, texts())))
