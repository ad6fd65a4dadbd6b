"""Programs in which a capture may go wrong: (name, source, calls); a call is a statement before it, and arguments.

They read values in ways that are easily left without a guard, change what was there before, and share objects.
"""

from __future__ import annotations

X = "torch.arange(3.).requires_grad_()"
TWICE = [("", X), ("", X)]

PROGRAMS: dict[str, tuple[str, list[tuple[str, str]]]] = {}


def program(name: str, source: str, calls: list[tuple[str, str]]) -> None:
    PROGRAMS[name] = (source, calls)


# -- reading -------------------------------------------------------------------------------------------------------

program(
    "init_reads_global",
    """
K = 2
class Box:
    def __init__(self, v): self.v = v * K
def f(x): return Box(x).v
""",
    [("", X), ("K = 3", X), ("", X)],
)
program(
    "init_has_effects",
    """
class Box:
    made = 0
    def __init__(self, v):
        Box.made += 1
        LOG.append(Box.made)
        self.v = v
def f(x): return Box(x).v + Box.made
""",
    TWICE * 2,
)
program(
    "new_and_init",
    """
class Box:
    def __new__(cls, *a):
        LOG.append("new")
        return super().__new__(cls)
    def __init__(self, v): self.v = v
def f(x): return Box(x)
""",
    TWICE,
)
program(
    "dataclass_default_and_post_init",
    """
S = 2
@dataclasses.dataclass
class D:
    a: object
    b: list = dataclasses.field(default_factory=list)
    def __post_init__(self):
        self.a = self.a * S
def f(x):
    d = D(x)
    d.b.append(S)
    return d
""",
    [("", X), ("S = 3", X), ("S = 2", X)],
)
program(
    "dataclass_of_before",
    """
@dataclasses.dataclass
class D:
    a: object
    k: int = 2
Z = D(1, 2)
def f(x):
    new = dataclasses.replace(Z, a=x)
    return new.a * new.k, dataclasses.asdict(Z)["k"], Z == D(1, 2)
""",
    [("", X), ("Z.k = 5", X), ("Z.k = 2", X)],
)
program(
    "partial_of_before",
    """
def g(x, k): return x * k
P = functools.partial(g, k=2)
def f(x): return P(x)
""",
    [("", X), ("P.keywords['k'] = 4", X), ("P = functools.partial(g, k=7)", X)],
)
program(
    "partial_argument",
    "def g(x, k): return x * k\ndef f(p, x): return p(x)",
    [("", f"functools.partial(g, k=2), {X}"), ("", f"functools.partial(g, k=3), {X}")],
)
program("mutable_default", "def g(x, seen=[]):\n    seen.append(1)\n    return x * len(seen)\ndef f(x): return g(x)", TWICE * 2)
program("own_mutable_default", "def f(x, seen=[]):\n    seen.append(1)\n    return x * len(seen)", TWICE * 2)
program("default_changed", "def g(x, k=2): return x * k\ndef f(x): return g(x)", [("", X), ("g.__defaults__ = (5,)", X)])
program("kwdefault_changed", "def g(x, *, k=2): return x * k\ndef f(x): return g(x)", [("", X), ("g.__kwdefaults__['k'] = 5", X)])
program("code_changed", "def g(x): return x * 2\ndef h(x): return x * 3\ndef f(x): return g(x)", [("", X), ("g.__code__ = h.__code__", X)])
program("function_attribute", "def g(x): return x * g.k\ng.k = 2\ndef f(x): return g(x)", [("", X), ("g.k = 3", X)])
program(
    "class_attribute",
    "class A:\n    k = 2\n    def go(self, x): return x * self.k\na = A()\ndef f(x): return a.go(x) + A.k",
    [("", X), ("A.k = 3", X), ("a.k = 9", X)],
)
program(
    "method_replaced",
    "class A:\n    def go(self, x): return x * 2\na = A()\ndef f(x): return a.go(x)",
    [("", X), ("A.go = lambda self, x: x * 5", X), ("a.go = lambda x: x * 7", X)],
)
program(
    "method_of_fresh_replaced",
    "class A:\n    def go(self, x): return x * 2\ndef f(x): return A().go(x)",
    [("", X), ("A.go = lambda self, x: x * 5", X)],
)
program(
    "property_and_getattr",
    """
class A:
    def __init__(self): self.k = 2
    @property
    def twice(self): return self.k * 2
    def __getattr__(self, name):
        LOG.append(name)
        return self.k + len(name)
a = A()
def f(x): return x * a.twice + a.abc + getattr(a, 'zz', 1)
""",
    [("", X), ("a.k = 3", X), ("a.abc = 100", X)],
)
program(
    "property_raises",
    """
class A:
    ok = False
    @property
    def p(self):
        if not self.ok: raise AttributeError('p')
        return 5
a = A()
def f(x): return x * getattr(a, 'p', 3), hasattr(a, 'p')
""",
    [("", X), ("A.ok = True", X), ("A.ok = False", X)],
)
program(
    "cached_property",
    """
class A:
    k = 2
    @functools.cached_property
    def p(self):
        LOG.append('computed')
        return self.k * 2
a = A()
def f(x):
    b = A()
    return x * a.p + b.p + b.p
""",
    [("", X), ("", X), ("a = A()", X), ("a = A(); A.k = 5", X)],
)
program(
    "descriptor",
    """
class D:
    def __get__(self, obj, owner): return obj.base * 3
    def __set__(self, obj, v): obj.base = v
class A:
    v = D()
a = A()
a.v = 2
def f(x):
    y = x * a.v
    a.v = a.base + 1
    return y
""",
    [("", X), ("", X), ("a.base = 2", X)],
)
program(
    "slots",
    "class A:\n    __slots__ = ('k', 'm')\n    def __init__(self, k): self.k = k\na = A(2)\ndef f(x):\n    b = A(x)\n    a.m = 5\n    return b, b.k * a.k, hasattr(b, 'm')",
    [("", X), ("a.k = 3", X), ("a = A(2)", X)],
)
program(
    "enum_members",
    "class C(enum.Enum):\n    A = 1\n    B = 2\n    @property\n    def half(self): return self.value / 2\ndef f(x, c): return x * c.half if c is C.A else x + c.value, c.name, C['A'], list(C)[1]",
    [("", f"{X}, C.A"), ("", f"{X}, C.B"), ("", f"{X}, C.A")],
)
program(
    "named_tuple",
    "P = collections.namedtuple('P', 'a b')\ndef f(p):\n    q = p._replace(a=p.b)\n    return q, q.a + p[0]",
    [("", f"P({X}, {X})"), ("", f"P({X}, {X} * 2)")],
)
program(
    "isinstance_of_argument",
    "class A: k = 1\nclass B(A): k = 2\ndef f(x, o): return x * 2 if isinstance(o, B) else x + 1",
    [("", f"{X}, A()"), ("", f"{X}, B()"), ("", f"{X}, A()"), ("", f"{X}, 3")],
)
program(
    "metaclass",
    "class M(type):\n    def __instancecheck__(cls, o):\n        LOG.append('asked')\n        return K > 1\n    @property\n    def size(cls): return K\nK = 1\nclass A(metaclass=M): pass\ndef f(x): return x * (2 if isinstance(x, A) else 3) + A.size",
    [("", X), ("K = 2", X), ("K = 1", X)],
)
program(
    "zip_enumerate_views",
    """
def f(xs, d):
    total = 0
    for i, (a, b) in enumerate(zip(xs, reversed(xs))): total = total + i * a * b
    for k, v in d.items(): total = total + v * len(k)
    for v in list(d.values())[1:]: total = total - v
    return total, sorted(d), sorted(d.items()), 'a' in d, max(d.values())
""",
    [
        ("", "[torch.ones(2), torch.ones(2) * 2], {'a': 1, 'bb': 2}"),
        ("", "[torch.ones(2), torch.ones(2) * 3], {'a': 1, 'bb': 2}"),
        ("", "[torch.ones(2), torch.ones(2) * 3], {'a': 1, 'bb': 5}"),
        ("", "[torch.ones(2)] * 3, {'a': 1, 'ccc': 5}"),
    ],
)
program(
    "nested_containers",
    "def f(t): return t['a'][1]['b'] * t['n'], len(t['a'])",
    [
        ("", "{'a': [0, {'b': torch.ones(2)}], 'n': 2}"),
        ("", "{'a': [0, {'b': torch.ones(2) * 2}], 'n': 3}"),
        ("", "{'a': [0, {'b': torch.ones(2)}, 4], 'n': 2}"),
    ],
)
program(
    "odd_keys",
    "class C(enum.Enum):\n    A = 1\nT = {C.A: 2, (1, 2): 3, None: 4, 2.5: 5}\ndef f(x): return x * T[C.A] * T[1, 2] * T[None] * T[2.5] * sum(T.values())",
    [("", X), ("T[(1, 2)] = 30", X), ("T[C.A] = 7", X)],
)
program(
    "sets",
    "S = {1, 2}\ndef f(x, k):\n    S.add(k)\n    return x * len(S), k in S, S | {9}",
    [("", X + ", 3"), ("", X + ", 3"), ("S.clear()", X + ", 3"), ("", X + ", 4")],
)
program(
    "deque_of_before",
    "Q = collections.deque([1, 2], maxlen=3)\ndef f(x):\n    Q.append(len(Q))\n    return x * Q[0] + sum(Q), Q.popleft()",
    [("", X)] * 4,
)
program(
    "defaultdict_of_before",
    "D = collections.defaultdict(list)\ndef f(x, k):\n    D[k].append(1)\n    return x * len(D[k]), len(D)",
    [("", X + ", 'a'"), ("", X + ", 'a'"), ("", X + ", 'b'")],
)
program(
    "counter_and_ordered",
    "C = collections.Counter('aab')\nO = collections.OrderedDict(a=1, b=2)\ndef f(x):\n    C['a'] += 1\n    O.move_to_end('a')\n    return x * C['a'] * C['zz'], list(O), C.most_common(1)",
    TWICE * 2,
)
program(
    "global_array",
    "A = np.array([1., 2., 3.])\ndef f(x): return x * torch.tensor(A) + float(A.sum())",
    [("", X), ("A[0] = 10", X), ("A = np.array([1., 2., 3.])", X)],
)
program("array_argument", "def f(x, a): return x * float(a[0]) + a.mean().item()", [("", X + ", np.ones(3)"), ("", X + ", np.ones(3) * 2")])
program("numpy_random", "def f(x): return x * float(np.random.RandomState(0).rand()), np.sqrt(4.0)", TWICE)
program(
    "object_given_to_native",
    "class A: pass\na = A(); a.k = 2\ndef f(x): return x * operator.attrgetter('k')(a) + vars(a)['k'], copy.copy(a), a.__dict__['k']",
    [("", X), ("a.k = 3", X)],
)
program(
    "dict_of_object",
    "class A: pass\na = A(); a.k = 2\ndef f(x):\n    d = a.__dict__\n    d['k'] = d['k'] + 1\n    return x * a.k",
    [("", X), ("", X), ("a.k = 2", X)],
)
program(
    "globals_function",
    "K = 2\ndef f(x):\n    y = x * globals()['K']\n    globals()['K'] += 1\n    return y + K",
    [("", X), ("", X), ("K = 2", X)],
)
program("locals_function", "def f(x):\n    k = 3\n    return sorted(locals()), x * locals()['k']", TWICE)
program(
    "user_operators",
    """
K = 2
class A:
    def __init__(self, v): self.v = v
    def __add__(self, o): return A(self.v + o.v * K)
    def __radd__(self, o): return A(self.v + o)
    def __eq__(self, o): LOG.append('eq'); return K == 2
    def __hash__(self): return 1
    def __len__(self): return K
    def __bool__(self): LOG.append('bool'); return K > 2
    def __contains__(self, i): return i == K
    def __getitem__(self, i): return self.v * (i + K)
    def __neg__(self): return A(-self.v)
    def __lt__(self, o): return K < 3
    def __iadd__(self, o): self.v = self.v + K; return self
    def __str__(self): return f'A{K}'
    def __call__(self, z): return z * K
    def __index__(self): return K
def f(x):
    a = A(x)
    b = 1 + (a + a)
    if a: LOG.append('true')
    if not (a == b): LOG.append('different')
    a += 1
    return (-b).v, len(a), 2 in a, a[1], a < b, f'{a}', str(a), a(x), [5, 6, 7, 8][a], max([1, 2]), {a: 1}[a], a in [b], range(9)[a]
""",
    [("", X), ("K = 3", X), ("K = 2", X)],
)
program(
    "sorted_with_key",
    "K = 1\ndef f(x):\n    LOG.append('start')\n    return x * K, sorted([3, 1, 2], key=lambda v: LOG.append(v) or v * K), max([1, 5, 2], key=lambda v: -v * K), list(map(lambda v: v * K, [1, 2])), list(filter(lambda v: v > K, [1, 2])), functools.reduce(lambda a, b: a + b * K, [1, 2, 3])",
    [("", X), ("K = -1", X), ("K = 1", X)],
)
program(
    "iterator_class",
    """
class It:
    def __init__(self, n): self.n = n
    def __iter__(self): return self
    def __next__(self):
        LOG.append(self.n)
        if self.n == STOP: raise StopIteration
        self.n -= 1
        return self.n
STOP = 0
def f(x):
    a, b = It(STOP + 2)
    return x * sum(It(3)) + a, list(It(2)), tuple(zip(It(2), 'ab')), max(It(3)), dict(enumerate(It(2))), [*It(2)], set(It(2)), any(It(2))
""",
    [("", X), ("STOP = 1", X), ("STOP = 0", X)],
)
program(
    "argument_iterator",
    "def f(x, it): return x * next(it) + sum(it)",
    [("", X + ", iter([1, 2, 3])"), ("", X + ", iter([5, 2])"), ("", X + ", (i for i in range(4))")],
)
program("global_generator", "def g():\n    yield from range(100)\nG = g()\ndef f(x): return x * next(G)", TWICE * 2)
program(
    "lru_cache",
    "K = 2\n@functools.lru_cache\ndef g(k):\n    LOG.append(k)\n    return k * K\ndef f(x): return x * g(3)",
    [("", X), ("", X), ("K = 5; g.cache_clear()", X)],
)
program(
    "wrapped",
    "def deco(g):\n    @functools.wraps(g)\n    def inner(*a, **k):\n        LOG.append(len(a))\n        return g(*a, **k) * FACTOR\n    return inner\nFACTOR = 2\n@deco\ndef h(x, k=1): return x + k\ndef f(x): return h(x, k=3)",
    [("", X), ("FACTOR = 3", X)],
)

# -- identity and sharing ------------------------------------------------------------------------------------------

program(
    "same_list_twice",
    "def f(a, b, x):\n    a.append(1)\n    return x * len(b)",
    [("s = []", f"s, s, {X}"), ("", f"[], [], {X}"), ("s = []", f"s, s, {X}")],
)
program(
    "different_lists_first",
    "def f(a, b, x):\n    a.append(1)\n    b.append(2)\n    return x * len(a)",
    [("", f"[], [], {X}"), ("s = []", f"s, s, {X}")],
)
program(
    "is_comparisons",
    "def f(a, b, c):\n    return a * 2 if a is b else a + 1, c is a, a is not b",
    [("t = torch.ones(2)", "t, t, t"), ("u = torch.ones(2)", "t, u, t"), ("", "u, t, t"), ("", "t, t, u")],
)
program(
    "objects_is",
    "class A: pass\ndef f(a, b, x): return x if a is b else x * 2",
    [("s = A()", f"s, s, {X}"), ("", f"A(), A(), {X}"), ("", f"s, s, {X}")],
)
program(
    "input_returned",
    "def f(x, l):\n    y = x.view(-1)\n    return x, [x, l], y, (x, y), l",
    [("", "torch.ones(2, 2), [1]"), ("", "torch.ones(2, 2), [2]")],
)
program(
    "in_place_on_input",
    "def f(x):\n    y = x[0]\n    x.mul_(2)\n    y += 1\n    return y, x.sum()",
    [("", "torch.ones(2, 3)"), ("", "torch.ones(2, 3)")],
)
program(
    "fresh_shared_with_old",
    "H = []\ndef f(x):\n    new = [x]\n    H.append(new)\n    new.append(len(H))\n    return new, H[-1] is new",
    TWICE * 2,
)
program(
    "old_in_fresh",
    "H = {'k': 1}\ndef f(x):\n    box = [H]\n    box[0]['k'] += 1\n    return x * H['k'], box",
    [("", X), ("", X), ("H['k'] = 1", X)],
)
program("cycles", "def f(x):\n    a = [x]\n    a.append(a)\n    d = {'a': a}\n    d['d'] = d\n    return a, d", TWICE)
program("tuple_identity", "def f(x):\n    t = (x, [1])\n    return t, t, t[1]", TWICE)
program(
    "fresh_function_returned",
    "def f(x):\n    n = 0\n    def g(v):\n        nonlocal n\n        n += 1\n        return v * n\n    g(x)\n    return g, g(x)",
    TWICE,
)
program(
    "fresh_objects_returned",
    "class A:\n    def __init__(self, v): self.v = v\n    def m(self): return self.v\ndef f(x):\n    a = A(x)\n    a.me = a\n    return a, a.m, [a], a.m()",
    TWICE,
)
program(
    "tensor_made_natively",
    "def f(x):\n    t = torch.tensor([1., 2., 3.])\n    t += x.detach()\n    u = torch.zeros(3)\n    u[0] = 5\n    return t, u, torch.as_tensor([1, 2])",
    TWICE * 2,
)
program("constant_tensor_written", "C = torch.zeros(3)\ndef f(x):\n    C.add_(1)\n    return x * C", TWICE * 2)
program(
    "constant_replaced", "C = torch.ones(3)\ndef f(x): return x * C", [("", X), ("C = torch.ones(3) * 5", X), ("C = torch.ones(1) * 5", X)]
)
program(
    "views_of_inputs",
    "def f(x):\n    a, b = x.split(2)\n    a.add_(1)\n    return a, b.t(), x[::2]",
    [("", "torch.ones(4, 2)"), ("", "torch.ones(4, 2)")],
)
program(
    "strides_matter",
    "def f(x): return x.is_contiguous(), x.stride(), x * 2",
    [("", "torch.ones(2, 3)"), ("", "torch.ones(3, 2).t()"), ("", "torch.ones(2, 3)")],
)

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
