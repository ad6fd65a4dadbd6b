"""Small programs with side effects, custom Functions and Modules, each with two calls between which something changes."""

from __future__ import annotations

from compile_programs import TWICE, X, program

# -- effects -------------------------------------------------------------------------------------------------------

program(
    "order_of_effects",
    """
class A: pass
a = A(); a.log = []
D = {}
def f(x):
    a.log.append('one'); LOG.append('two'); D['k'] = len(LOG); a.count = D['k'] + len(a.log)
    del D['k']
    D.setdefault('z', []).append(a.count)
    LOG.insert(0, 'zero'); LOG.extend(['e', 'f']); LOG.pop(); LOG[0] = 'Z'; LOG.reverse()
    a.log += [3]
    return x * a.count
""",
    TWICE * 2,
)
program(
    "closure_counter",
    "def make():\n    n = 0\n    def f(x):\n        nonlocal n\n        n += 1\n        return x * n\n    return f\nf = make()",
    TWICE * 2,
)
program(
    "inner_closure_counter",
    "def make():\n    n = [0]\n    k = 0\n    def up():\n        nonlocal k\n        k += 1\n        n[0] += k\n    def get(): return k\n    return up, get\nup, get = make()\ndef f(x):\n    up()\n    y = x * get()\n    up()\n    return y + get()",
    TWICE * 2,
)
program("global_counter", "N = 0\ndef f(x):\n    global N, M\n    N += 1\n    M = N * 2\n    del M\n    return x * N", TWICE * 2)
program(
    "set_then_read_other_key",
    "D = {'a': 1, 'b': 2}\ndef f(x):\n    D['a'] = 5\n    return x * D['b'] + len(D)",
    [("", X), ("D['b'] = 9", X), ("D['c'] = 1", X)],
)
program(
    "attribute_deleted",
    "class A: pass\na = A()\ndef f(x):\n    a.k = 2\n    y = x * a.k\n    del a.k\n    return y, hasattr(a, 'k')",
    TWICE,
)
program(
    "setattr_hook",
    "class A:\n    def __setattr__(self, n, v):\n        LOG.append(n)\n        object.__setattr__(self, n, v)\n    def __delattr__(self, n):\n        LOG.append(('del', n))\n        object.__delattr__(self, n)\na = A()\ndef f(x):\n    a.k = 2\n    b = A()\n    b.z = x\n    y = b.z * a.k\n    del a.k\n    return y, b",
    TWICE * 2,
)
program(
    "list_sort_and_slices",
    "L = [3, 1, 2]\ndef f(x):\n    L.sort(key=lambda v: -v)\n    L[1:] = [7, 8]\n    del L[0]\n    return x * L[0], L.index(8), L.count(7), L * 2, L[::-1]",
    [("", X), ("", X), ("L[:] = [3, 1, 2]", X)],
)
program(
    "requires_grad_",
    "def f(x):\n    y = x * 2\n    x.requires_grad_()\n    z = x * 3\n    return y.requires_grad, z, x.requires_grad",
    [("", "torch.ones(2)"), ("", "torch.ones(2)"), ("", "torch.ones(2).requires_grad_()")],
)
program("hooks", "def f(x):\n    y = x * 2\n    y.register_hook(lambda g: LOG.append('hook') or g * 10)\n    return y * 3", TWICE)
program("hook_on_input", "def f(x):\n    x.register_hook(lambda g: g * 10)\n    return x * 3", TWICE)
program("retain_grad", "def f(x):\n    y = x * 2\n    y.retain_grad()\n    return y, y * 3, y.retains_grad", TWICE)
program("backward_inside", "def f(x):\n    y = (x * 2).sum()\n    y.backward()\n    return x.grad * 2, y", TWICE * 2)
program(
    "autograd_grad_inside",
    "def f(x):\n    y = (x ** 3).sum()\n    g, = torch.autograd.grad(y, x, create_graph=True)\n    return g * 2",
    TWICE * 2,
)
program(
    "grad_attribute",
    "w = torch.ones(3, requires_grad=True)\ndef f(x):\n    y = x * 2 if w.grad is None else x * w.grad\n    w.grad = None\n    return y",
    [("", X), ("w.grad = torch.ones(3) * 4", X), ("w.grad = torch.ones(3) * 5", X), ("", X)],
)
program(
    "data_attribute",
    "w = torch.ones(3, requires_grad=True)\ndef f(x):\n    w.data.mul_(2)\n    y = x * w\n    w.data = w.data * 3\n    return y",
    TWICE * 2,
)
program(
    "user_attribute_of_tensor",
    "def f(x):\n    y = x * x.scale\n    y.scale = 5\n    return y, y.scale",
    [("t = torch.ones(2); t.scale = 2", "t"), ("t.scale = 3", "t"), ("t = torch.ones(2); t.scale = 2", "t")],
)
program(
    "random_ops",
    "def f(x):\n    y = x * torch.rand(3) + torch.randn_like(x)\n    torch.manual_seed(3)\n    return y, F.dropout(x, 0.5), torch.randperm(3)",
    TWICE * 2,
)
program(
    "generator_argument",
    "def f(x, g): return x * torch.rand(3, generator=g)",
    [("", X + ", torch.Generator().manual_seed(1)"), ("", X + ", torch.Generator().manual_seed(2)")],
)
program(
    "modes",
    "def f(x):\n    with torch.no_grad():\n        y = x * 2\n        print('in')\n        z = x * 3\n    with torch.inference_mode():\n        w = x * 2\n    return y, z + x, torch.is_grad_enabled(), w.is_inference()",
    TWICE * 2,
)
program(
    "inference_with_break",
    "def f(x):\n    with torch.inference_mode():\n        w = x * 2\n        print('in')\n        w = w + 1\n    return w.is_inference(), w, x * 2",
    TWICE * 2,
)
program(
    "autocast",
    "def f(x, w):\n    with torch.autocast('cpu'):\n        y = x @ w\n        print('in')\n        z = y @ w\n    return y, z, (x @ w).dtype",
    [("", "torch.ones(2, 2).requires_grad_(), torch.ones(2, 2)")] * 3,
)
program(
    "autocast_around",
    "def f(x, w): return x @ w",
    [
        ("", "torch.ones(2, 2), torch.ones(2, 2)"),
        ("torch.set_autocast_enabled('cpu', True)", "torch.ones(2, 2), torch.ones(2, 2)"),
        ("torch.set_autocast_enabled('cpu', False)", "torch.ones(2, 2), torch.ones(2, 2)"),
    ],
)
program(
    "grad_mode_around",
    "def f(x): return x * 2, torch.is_grad_enabled()",
    [("", X), ("torch.set_grad_enabled(False)", X), ("torch.set_grad_enabled(True)", X)],
)
program(
    "set_grad_enabled_stays",
    "def f(x):\n    torch.set_grad_enabled(False)\n    y = x * 2\n    torch.set_grad_enabled(True)\n    return y, x * 3",
    TWICE,
)
program(
    "default_dtype",
    "def f(x): return x * torch.ones(3) + torch.tensor([1.5]).dtype.itemsize, torch.get_default_dtype()",
    [("", X), ("torch.set_default_dtype(torch.float64)", X), ("torch.set_default_dtype(torch.float32)", X)],
)
program("decorated_no_grad", "@torch.no_grad()\ndef g(x): return x * K\nK = 2\ndef f(x): return g(x), x * 2", [("", X), ("K = 3", X)])
program(
    "contextmanager",
    "K = 1\n@contextlib.contextmanager\ndef scope(n):\n    LOG.append(('in', n, K))\n    try:\n        yield n + K\n    finally:\n        LOG.append('out')\ndef f(x):\n    with scope(2) as k:\n        y = x * k\n    with contextlib.suppress(KeyError):\n        {}['a']\n    return y",
    [("", X), ("K = 5", X), ("K = 1", X)],
)
program(
    "manager_class",
    "class M:\n    def __enter__(self):\n        LOG.append('enter')\n        return K\n    def __exit__(self, *e):\n        LOG.append(('exit', e[0]))\n        return True\nK = 2\ndef f(x):\n    with M() as k:\n        y = x * k\n        print('mid')\n        raise ValueError\n    return y",
    [("", X), ("K = 3", X), ("K = 2", X)],
)
program(
    "exceptions_around_ops",
    "def f(x, w):\n    try:\n        y = x @ w\n    except RuntimeError as e:\n        LOG.append(type(e).__name__)\n        y = x * 2\n    return y",
    [("", "torch.ones(2, 3), torch.ones(3, 2)"), ("", "torch.ones(2, 3), torch.ones(2, 2)"), ("", "torch.ones(2, 3), torch.ones(3, 2)")],
)
program(
    "break_in_handler",
    "def f(x):\n    try:\n        raise ValueError('a')\n    except ValueError as e:\n        print('caught', e)\n        y = x * 2\n    finally:\n        LOG.append('done')\n    return y",
    TWICE * 2,
)
program(
    "break_in_generator",
    "def g(x):\n    for i in range(3):\n        print('turn', i)\n        yield x * i\ndef f(x):\n    total = 0\n    for v in g(x): total = total + v\n    return total + sum(g(x)), list(g(x))[1]",
    TWICE * 2,
)
program(
    "raises_sometimes",
    "def f(x, k):\n    LOG.append('a')\n    y = x * 2\n    if k > 1: raise KeyError(k)\n    LOG.append('b')\n    return y",
    [("", X + ", 1"), ("", X + ", 2"), ("", X + ", 1"), ("", X + ", 3")],
)
program(
    "recursion",
    "def g(x, n): return x if n == 0 else g(x * 2, n - 1) + n\ndef f(x, n): return g(x, n)",
    [("", X + ", 3"), ("", X + ", 2"), ("", X + ", 3")],
)
program(
    "star_arguments",
    "def g(*a, k=1, **kw): return sum(a) * k + sum(kw.values())\ndef f(*args, **kw): return g(*args, *args[:1], **{'k': 3, 'z': 1}), len(args)",
    [("", f"{X}, {X}"), ("", X), ("", f"{X}, {X}")],
)
program(
    "print_of_values",
    "def f(x):\n    print(x.sum().item())\n    y = x * 2\n    print(y.tolist(), flush=True)\n    return y",
    [("", X), ("", X + " * 3")],
)
program(
    "item_in_the_middle",
    "def f(x):\n    k = x.sum().item()\n    if k > 3: LOG.append(k)\n    return x * k, int(x[0]), float(x[1])",
    [("", X), ("", X + " * 3"), ("", X + " * 5")],
)
program(
    "value_in_loop",
    "def f(x):\n    n = 0\n    while x.sum() < 50:\n        x = x * 2\n        n += 1\n    return x, n",
    [("", X), ("", X + " * 3"), ("", X + " * 100")],
)
program("loop_counter", "def f(x):\n    for i in range(12):\n        x = x + i\n        print(i)\n    return x", TWICE)
program(
    "import_inside",
    "def f(x):\n    import math as m\n    from functools import reduce\n    return x * m.pi + reduce(lambda a, b: a + b, [1, 2])",
    TWICE,
)
program(
    "class_inside",
    "def f(x):\n    class A:\n        k = 2\n        def go(self, v): return v * self.k\n    return A().go(x), A.__name__",
    TWICE,
)
program(
    "match",
    "def f(x, v):\n    match v:\n        case {'k': k, **rest}: return x * k, rest\n        case [a, *b]: return x * a, b\n        case int(n) if n > 2: return x * n\n        case _: return x",
    [
        ("", X + ", {'k': 2, 'z': 1}"),
        ("", X + ", {'k': 2, 'z': 3}"),
        ("", X + ", [1, 2, 3]"),
        ("", X + ", 5"),
        ("", X + ", 1"),
        ("", X + ", [4]"),
    ],
)
program(
    "strings",
    "NAME = 'abc'\ndef f(x, s): return x * len(s.upper() + NAME), f'{s!r:>5}{NAME}', s.split(','), s % () if '%' not in s else s",
    [("", X + ", 'a,b'"), ("NAME = 'abcd'", X + ", 'a,b'"), ("", X + ", 'q'")],
)
program(
    "walrus_and_chains",
    "def f(x, n):\n    if (m := n + 1) > 2 and 0 < m <= 5: return x * m\n    return x - m",
    [("", X + f", {n}") for n in (0, 2, 9, 2, 0)],
)
program(
    "unpacking",
    "def f(t):\n    (a, b), *c = t\n    d, e = b\n    return a * d + e, c",
    [("", "[(torch.ones(2), (2, 3)), 4, 5]"), ("", "[(torch.ones(2), (2, 4)), 4, 5]"), ("", "[(torch.ones(2), (2, 3)), 4]")],
)

# -- Functions -----------------------------------------------------------------------------------------------------

FUNCTION = """
K = 2
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        LOG.append('forward')
        ctx.k = k * K
        ctx.save_for_backward(x)
        return x * ctx.k
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ctx.k + x, None
"""
program("function_reads_global", FUNCTION + "def f(x, k=3): return Fn.apply(x, k) + 1", [("", X), ("K = 5", X), ("", X + ", 4")])
program(
    "function_with_break_outside", FUNCTION + "def f(x):\n    y = Fn.apply(x, 2)\n    print('mid')\n    return Fn.apply(y, 3)", TWICE * 2
)
program("function_prints", FUNCTION.replace("LOG.append('forward')", "print('forward')") + "def f(x): return Fn.apply(x, 2) * 2", TWICE)
program(
    "function_counts_in_backward",
    FUNCTION.replace("x, = ctx", "LOG.append('backward')\n        x, = ctx") + "def f(x): return Fn.apply(x, 2) * 2",
    TWICE,
)
program(
    "function_with_objects",
    """
@dataclasses.dataclass
class C:
    k: float
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, c, ts):
        ctx.c = c
        ctx.save_for_backward(*ts)
        return x * c.k, ts[0] * 2
    @staticmethod
    def backward(ctx, g, h):
        return g * ctx.c.k * ctx.saved_tensors[0], None, None
def f(x, c, ts):
    a, b = Fn.apply(x, c, ts)
    return a + b
""",
    [("", X + ", C(2.0), [torch.ones(3)]"), ("", X + ", C(3.0), [torch.ones(3) * 2]")],
)
program(
    "function_dirty",
    """
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x
    @staticmethod
    def backward(ctx, g): return g * 2
def f(x):
    y = x * 1
    z = Fn.apply(y)
    return z, z is y
""",
    TWICE * 2,
)

# -- Modules -------------------------------------------------------------------------------------------------------

MODULE = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(3, 3)
        self.bn = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(0.5)
        self.calls = 0
        self.register_buffer('count', torch.zeros(1))
        self.items = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.table = nn.ModuleDict({'a': nn.Tanh()})
        self.ps = nn.ParameterList([torch.ones(3)])
    def forward(self, x):
        self.calls += 1
        self.count += 1
        self.last = x.shape[0]
        x = self.bn(self.lin(x))
        for each in self.items: x = each(x)
        for n, p in self.named_parameters():
            if n.endswith('weight'): x = x + p.sum() * 0.01
        return self.drop(self.table['a'](x)) * self.ps[0] * self.calls
m = M()
"""
program(
    "module_state",
    MODULE + "def f(x): return m(x)",
    [
        ("", "torch.randn(4, 3)"),
        ("", "torch.randn(4, 3)"),
        ("m.eval()", "torch.randn(4, 3)"),
        ("m.lin.bias = None", "torch.randn(4, 3)"),
        ("m.items.append(nn.Linear(3, 3))", "torch.randn(5, 3)"),
    ],
)
program(
    "module_hooks",
    MODULE + "def f(x): return m(x)",
    [
        ("", "torch.randn(4, 3)"),
        ("h = m.lin.register_forward_hook(lambda mod, i, o: LOG.append('hook') or o * 2)", "torch.randn(4, 3)"),
        ("", "torch.randn(4, 3)"),
        ("h.remove()", "torch.randn(4, 3)"),
        ("m.lin.register_forward_pre_hook(lambda mod, i: (i[0] * 3,))", "torch.randn(4, 3)"),
    ],
)
program(
    "module_break",
    MODULE.replace("self.last =", "print('in forward')\n        self.last =") + "def f(x): return m(x) + m.calls",
    [("", "torch.randn(4, 3)")] * 3,
)
program(
    "parameters_changed_inside",
    "w = nn.Parameter(torch.ones(3))\ndef f(x):\n    with torch.no_grad():\n        w.add_(1)\n    return x * w",
    TWICE * 2,
)
program(
    "optimizer_inside",
    "w = nn.Parameter(torch.ones(3))\nopt = torch.optim.SGD([w], lr=0.1, momentum=0.9)\ndef f(x):\n    opt.zero_grad()\n    l = (x * w).sum()\n    l.backward()\n    opt.step()\n    return l, w.sum()",
    TWICE * 2,
)
program("module_made_inside", "def f(x):\n    torch.manual_seed(0)\n    m = nn.Linear(3, 2)\n    return m(x)", TWICE * 2)
program(
    "module_argument",
    "class M(nn.Module):\n    def __init__(self, k):\n        super().__init__()\n        self.k = k\n    def forward(self, x): return x * self.k\ndef f(m, x): return m(x)",
    [("", f"M(2), {X}"), ("", f"M(3), {X}"), ("m = M(4)", f"m, {X}"), ("m.k = 6", f"m, {X}")],
)
program(
    "module_getattr",
    "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.lin = nn.Linear(3, 3)\n        self.k = 2\n    def __getattr__(self, n):\n        if n == 'twice': return self.k * 2\n        return super().__getattr__(n)\n    def forward(self, x): return self.lin(x) * self.twice\ntorch.manual_seed(0)\nm = M()\ndef f(x): return m(x)",
    [("", X), ("m.k = 5", X)],
)
