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
