"""Random programs whose world changes between the calls of a compiled function: what guards are for.

A program is made of statements that read and change globals, containers, classes, closures, Modules, custom Functions and their like, each inside of
a loop, a branch, a context, an inner function or a generator.  Between the calls of ``program`` something is changed that one of its statements depends
on, or a mode is set; inputs differ in size, strides, dtype and gradient, and may share memory.  Each call appends to ``results`` what it returns or
raises, and the state of the world after it.
"""

from __future__ import annotations

import random
import textwrap

PRELUDE = """
import collections, contextlib, dataclasses, enum, functools, itertools, math, operator, types, typing
nn = torch.nn
LOG = []
G = 2
GT = torch.full((2,), 0.5, dtype=torch.float64)
TABLE = {"a": 1, "b": 2.5, "c": [1, 2]}
LST = [1, 2, 3]
TL = [torch.ones(2, dtype=torch.float64), torch.full((2,), 3., dtype=torch.float64)]
SET = {1, 2}
FLAG = True
NAME = "sin"
DEF = []
class Color(enum.Enum):
    RED = 1
    BLUE = 2
class Bits(enum.IntFlag):
    A = 1
    B = 2
    C = 4
MODE = Color.RED
BITS = Bits.A
class Prop:
    klass = 3
    def __init__(self): self._v = 1.5; self.count = 0
    @property
    def v(self):
        self.count += 1
        return self._v
    @v.setter
    def v(self, new):
        LOG.append(("set", new)); self._v = new
    @functools.cached_property
    def cached(self):
        LOG.append("cached"); return self._v * 2
    def meth(self, t): return t * self._v
PROP = Prop()
class Lazy:
    def __init__(self): self.store = {"k": 2.0}; self.misses = 0
    def __getattr__(self, name):
        if name in ("store", "misses") or name.startswith("__"): raise AttributeError(name)
        self.misses += 1
        try: return self.store[name]
        except KeyError: raise AttributeError(name) from None
LAZY = Lazy()
class Every:
    def __init__(self): object.__setattr__(self, "d", {"p": 1.25}); object.__setattr__(self, "reads", 0)
    def __getattribute__(self, name):
        if name == "p": object.__setattr__(self, "reads", object.__getattribute__(self, "reads") + 1)
        if name == "p": return object.__getattribute__(self, "d")["p"]
        return object.__getattribute__(self, name)
    def __setattr__(self, name, value):
        LOG.append(("setattr", name)); self.d[name] = value
EVERY = Every()
class Slots:
    __slots__ = ("a", "t")
    def __init__(self): self.a = 2; self.t = torch.ones(2, dtype=torch.float64)
SLOTS = Slots()
class Desc:
    def __get__(self, obj, owner): return (obj.__dict__.get("_d", 4) if obj is not None else 7)
    def __set__(self, obj, value): LOG.append(("desc", value)); obj.__dict__["_d"] = value
class HasDesc:
    d = Desc()
HD = HasDesc()
@dataclasses.dataclass
class DC:
    a: float = 1.5
    t: typing.Any = None
    tags: list = dataclasses.field(default_factory=list)
    def __post_init__(self): LOG.append("post")
@dataclasses.dataclass(frozen=True)
class FDC:
    k: int = 2
    w: float = 0.5
DCO = DC(2.0)
FD = FDC()
class NT(typing.NamedTuple):
    a: float
    b: typing.Any = 2
NTV = NT(1.5)
class Vec:
    def __init__(self, t): self.t = t
    def __add__(self, o): return Vec(self.t + (o.t if isinstance(o, Vec) else o))
    __radd__ = __add__
    def __iadd__(self, o): self.t = self.t + o; LOG.append("iadd"); return self
    def __mul__(self, o): return NotImplemented
    def __rmul__(self, o): return Vec(self.t * o)
    def __bool__(self): LOG.append("bool"); return True
    def __iter__(self): return iter([self.t, self.t * 2])
    def __lt__(self, o): return bool((self.t.sum() < o.t.sum()))
def default_list(t, acc=DEF, *, k=2):
    acc.append(k); return t * len(acc)
def default_num(t, k=2): return t * k
CACHED_CALLS = []
@functools.lru_cache(maxsize=None)
def cached_fn(k):
    CACHED_CALLS.append(k); return k * G
PART = functools.partial(default_num, k=3)
def counter():
    n = 0
    def inc(t):
        nonlocal n
        n += 1
        return t * n
    def get(): return n
    return inc, get
INC, GET = counter()
def cell():
    v = 2.0
    def read(t): return t * v
    def write(new):
        nonlocal v
        v = new
    return read, write
CREAD, CWRITE = cell()
def gen(t, n):
    try:
        for i in range(n):
            got = yield t * (i + 1)
            if got is not None: t = t + got
    except ValueError as e:
        LOG.append(f"gen {e}")
        yield t * 100
    finally:
        LOG.append("gen end")
def breaker(t):
    torch.compiler.graph_break() if BRK else None
    return t
BRK = True
@contextlib.contextmanager
def ctx(tag, swallow=False):
    LOG.append(("in", tag))
    try: yield tag
    except KeyError as e:
        LOG.append(("caught", str(e)))
        if not swallow: raise
    finally: LOG.append(("out", tag))
@contextlib.contextmanager
def setting(k):
    global G
    old = G; G = k
    try: yield
    finally: G = old
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(2, 2).double()
        self.bn = nn.BatchNorm1d(2).double()
        self.drop = nn.Dropout(0.0)
        self.register_buffer("buf", torch.ones(2, dtype=torch.float64))
        self.scale = 2
        self.cfg = {"p": 1.5, "act": "tanh"}
        self.layers = nn.ModuleList([nn.Linear(2, 2).double() for _ in range(2)])
        self.pd = nn.ParameterDict({"w": nn.Parameter(torch.full((2,), .7, dtype=torch.float64))})
        self.calls = 0
        self.last = None
    def forward(self, t):
        self.calls += 1
        t = self.lin(t) * self.scale + self.buf
        for l in self.layers: t = l(t)
        t = getattr(torch, self.cfg["act"])(t) * self.cfg["p"] * self.pd["w"]
        self.last = t.detach()
        return self.drop(t)
NET = Net()
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k, flag=True, tag="a"):
        ctx.k = k; ctx.flag = flag; ctx.save_for_backward(x); LOG.append(("fwd", tag))
        return x * k
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        LOG.append(("bwd", ctx.flag))
        return (g * ctx.k if ctx.flag else g * 10 + x), None, None, None
class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.mark_dirty(x); ctx.k = k
        return x.mul_(k)
    @staticmethod
    def backward(ctx, g): return g * ctx.k, None
class NonDiff(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        i = (x > 0).to(torch.float64); ctx.mark_non_differentiable(i); ctx.save_for_backward(i)
        return x * 2, i
    @staticmethod
    def backward(ctx, g, _):
        (i,) = ctx.saved_tensors
        return g * 2 + i
class Early(Exception): pass
def early(t, k):
    if k % 2: raise Early(f"odd {k}")
    return t + k
def deep(t, n):
    if n == 0:
        if FLAG: raise Early("deep")
        return t
    try: return deep(t * 2, n - 1)
    finally: LOG.append(("deep", n))
HOOKS = {}
def hook(m, a, out): LOG.append("hook"); return out * 2
def prehook(m, a): return (a[0] + 1,)
POINT = types.SimpleNamespace(x=1.0, y=torch.ones(2, dtype=torch.float64))
class Meta(type):
    factor = 3
    def __call__(cls, *a): LOG.append(cls.__name__); return super().__call__(*a)
class Made(metaclass=Meta):
    def __init__(self, t): self.t = t * type(self).factor
class Callable_:
    def __init__(self): self.k = 2
    def __call__(self, t): return t * self.k
CALL = Callable_()
class Sub(dict):
    def __missing__(self, key): LOG.append(("missing", key)); return 1.5
SUB = Sub(a=2.0)
DD = collections.defaultdict(lambda: G)
OD = collections.OrderedDict(a=1.0, b=2.0)
CNT = collections.Counter()
DQ = collections.deque(maxlen=3)
class Place:
    def __init__(self, at): self.at = at
    def __index__(self): LOG.append(("at", self.at)); return self.at
PLACE = Place(1)
class Steps:
    def __init__(self, n): self.n = n; self.at = 0
    def __iter__(self): LOG.append("iter"); return self
    def __next__(self):
        if self.at >= self.n: raise StopIteration
        self.at += 1
        LOG.append(("step", self.at)); return self.at * G
def noted(v): LOG.append(("noted", v)); return v * G
def order(a, b): LOG.append(("order", a, b)); return (a - b) * G
LAST = [None]
KEEP = []
"""

# A statement on ``t`` (with the arguments ``x``, ``n`` and ``o``), and statements that change what it depends on.
STATEMENTS: list[tuple[str, list[str]]] = [
    ('t = t * G', ['G = {i}', 'G = {f}', 'G = torch.tensor({f}, dtype=torch.float64)', 'G = True']),
    ('t = t + GT', ['GT = torch.full((2,), {f}, dtype=torch.float64)', 'GT.mul_(2)', 'GT = torch.ones(1, dtype=torch.float64)', 'GT = GT.float()', 'GT = GT.clone().requires_grad_()', 'GT = GT.flip(0)', 'GT = torch.ones((1, 2), dtype=torch.float64).expand(1, 2)[0]']),
    ("t = t * TABLE['a'] + TABLE['b']", ["TABLE['a'] = {i}", "TABLE['b'] = {f}", 'TABLE = dict(TABLE, a={i})']),
    ("for k, v in TABLE.items():\n    if k != 'c': t = t + v", ["TABLE['z{i}'] = {i}", "TABLE.pop('b', None)", "TABLE['b'] = {f}"]),
    ('t = t * len(TABLE)', ["TABLE['y{i}'] = 1"]),
    ("t = t + (1 if 'q' in TABLE else 5)", ["TABLE['q'] = 1", "TABLE.pop('q', None)"]),
    ("t = t + TABLE.get('w', 9)", ["TABLE['w'] = {i}", "TABLE.pop('w', None)"]),
    ('t = t * sum(LST)', ['LST.append({i})', 'LST = [{i}]', 'LST[0] = {i}', 'LST.reverse()']),
    ('t = t * LST[-1] + len(LST)', ['LST.append({i})', 'LST.insert(0, {i})', 'LST[-1] = {f}']),
    ('t = t + (TL[0] * TL[-1])', ['TL.append(torch.full((2,), {f}, dtype=torch.float64))', 'TL.reverse()', 'TL[0].add_(1)', 'TL = TL[:1]', 'TL[0] = TL[-1]']),
    ('t = t + (1 if n in SET else 2)', ['SET.add({i})', 'SET.discard({i})', 'SET = set()']),
    ('SET.add(n % 3); t = t * len(SET)', ['SET.clear()', 'SET.add({i})']),
    ('t = t + 1 if FLAG else t * 2', ['FLAG = not FLAG', 'FLAG = 0', 'FLAG = []', 'FLAG = torch.tensor(True)']),
    ('t = getattr(torch, NAME)(t)', ["NAME = '{fn}'"]),
    ('t = default_list(t)', ['default_list.__defaults__[0].clear()', "default_list.__kwdefaults__['k'] = {i}", 'DEF.append({i})']),
    ('t = default_num(t)', ['default_num.__defaults__ = ({i},)', 'default_num.__code__ = (lambda t, k=2: t - k).__code__']),
    ('t = t * cached_fn(n % 2)', ['cached_fn.cache_clear()', 'G = {i}']),
    ('t = PART(t)', ['PART = functools.partial(default_num, k={i})', "PART.keywords['k'] = {i}"]),
    ('t = functools.partial(operator.mul, t)(LST[0])', ['LST[0] = {i}']),
    ('t = INC(t)', ['INC(torch.ones(1))', 'INC, GET = counter()']),
    ('t = CREAD(t)', ['CWRITE({f})', 'CWRITE({i})', 'CWRITE(torch.tensor({f}, dtype=torch.float64))']),
    ('t = t * PROP.v', ['PROP.v = {f}', 'PROP._v = {i}', 'Prop.v = property(lambda self: {f})', 'PROP = Prop()']),
    ('t = PROP.meth(t) * PROP.klass', ['Prop.klass = {i}', 'PROP.klass = {i}', 'Prop.meth = lambda self, t: t - {i}', 'PROP.meth = lambda t: t * {i}', 'PROP._v = {f}']),
    ('t = t + PROP.cached', ["PROP.__dict__.pop('cached', None)", 'PROP._v = {f}', 'PROP.cached = {f}']),
    ('PROP.v = PROP._v + 1; t = t * PROP._v', ['PROP._v = {f}']),
    ('t = t * LAZY.k', ["LAZY.store['k'] = {f}", 'LAZY.k = {f}', "LAZY.__dict__.pop('k', None)"]),
    ("t = t * getattr(LAZY, 'zz', 3)", ["LAZY.store['zz'] = {f}", "LAZY.store.pop('zz', None)", 'Lazy.zz = {i}']),
    ("t = t + (1 if hasattr(LAZY, 'hh') else 2)", ["LAZY.store['hh'] = 1", 'LAZY.hh = 1', "LAZY.store.pop('hh', None)"]),
    ('t = t * EVERY.p', ['EVERY.p = {f}', "EVERY.d['p'] = {i}"]),
    ("EVERY.q = n; t = t + EVERY.d['q']", ["EVERY.d['q'] = {i}"]),
    ('t = t * SLOTS.a + SLOTS.t', ['SLOTS.a = {f}', 'SLOTS.t = torch.full((2,), {f}, dtype=torch.float64)', 'SLOTS.t.add_(1)']),
    ('SLOTS.a = SLOTS.a + 1; SLOTS.t = SLOTS.t * 2; t = t + SLOTS.t', ['SLOTS.a = {i}']),
    ('t = t * HD.d', ['HD.d = {f}', "HD.__dict__['_d'] = {i}", 'HasDesc.d = {i}']),
    ('HD.d = HD.d + n; t = t + HD.d', []),
    ('t = t * DCO.a; DCO.tags.append(n); DCO.t = t.detach()', ['DCO.a = {f}', 'DCO = DC({f})', 'DCO.tags = []']),
    ('d = DC({f}, t); t = d.t * d.a; d.a += 1; t = t * dataclasses.replace(d, a={f}).a', ['DC.__init__.__defaults__ and None']),
    ('t = t * FD.k * FD.w', ['FD = FDC({i})', 'FD = dataclasses.replace(FD, w={f})']),
    ('t = t + (1 if FD == FDC({i}) else 2) + hash(FD) % 2', ['FD = FDC({i})']),
    ('t = t * NTV.a + NTV.b', ['NTV = NT({f}, {i})', 'NTV = NTV._replace(b=torch.tensor({f}, dtype=torch.float64))']),
    ('p = NT(t, n); q, r = p; t = q * p._replace(b={i}).b + r', []),
    ('t = t * MODE.value if MODE is Color.RED else t - 1', ['MODE = Color.BLUE', 'MODE = Color.RED']),
    ('t = t * {{Color.RED: 2, Color.BLUE: 3}}[MODE] + len(MODE.name)', ['MODE = Color.BLUE', 'MODE = Color.RED', 'MODE = Color(2)']),
    ('t = t * int(BITS | Bits.B) + (1 if Bits.C in BITS else 0)', ['BITS = Bits.A | Bits.C', 'BITS ^= Bits.A']),
    ('v = Vec(t) + 1; v += 2; t = (v + Vec(t)).t', []),
    ('t = (t.sum().detach() * 0 + 2.0).item() * t', []),
    ('a, b = Vec(t); t = a + b if Vec(t) else a', []),
    ('t = min(Vec(t), Vec(t + 1)).t', []),
    ('g_ = gen(t, 3); t = next(g_) + g_.send(1.0); t = t + sum(g_)', []),
    ("g_ = gen(t, 3); next(g_); t = g_.throw(ValueError('v')); g_.close()", []),
    ("g_ = gen(t, 2); next(g_); g_.close(); LOG.append('closed')", []),
    ('t = [*gen(t, 2)][-1]', []),
    ('t = breaker(t)', ['BRK = not BRK']),
    ('torch.compiler.graph_break()', []),
    ("with ctx('a'):\n    t = t * 2", ['ctx = contextlib.contextmanager(lambda *a, **k: iter([1]))']),
    ("with ctx('b', True) as tag:\n    t = t * len(tag)\n    TABLE['nokey' if n % 2 else 'a']\n    t = t + 100", ["TABLE['nokey'] = 1", "TABLE.pop('nokey', None)"]),
    ('with setting(n):\n    t = t * G', ['G = {i}']),
    ("with contextlib.ExitStack() as st:\n    st.enter_context(ctx('s')); st.callback(LOG.append, 'cb')\n    t = t - 1", []),
    ('with contextlib.suppress(Early):\n    t = early(t, n)', []),
    ('with torch.no_grad():\n    t = t * 2\nt = t + x.sum()', []),
    ('with torch.set_grad_enabled(FLAG is True):\n    t = t * 3', ['FLAG = not FLAG']),
    ("with torch.autocast('cpu', dtype=torch.bfloat16):\n    t = t + (t.float() @ torch.ones(2, 2)).double()", []),
    ('NET(x.detach()); t = t + NET.last', ['NET.scale = {i}', 'NET.last = None']),
    ('t = NET(t)', ['NET.scale = {f}', "NET.cfg['p'] = {f}", "NET.cfg['act'] = '{fn}'", 'NET.buf = torch.full((2,), {f}, dtype=torch.float64)', 'NET.buf.add_(1)', 'NET.eval()', 'NET.train()', 'NET.layers.append(nn.Identity())', 'NET.layers[0] = nn.Identity()', 'NET.lin.weight.data.mul_(2)', 'NET.lin.weight = nn.Parameter(torch.eye(2, dtype=torch.float64))', 'NET.lin.bias = None', 'NET.lin.weight.requires_grad_(False)', "HOOKS['h'] = NET.lin.register_forward_hook(hook)", "HOOKS['h'].remove() if 'h' in HOOKS else None", "HOOKS['p'] = NET.register_forward_pre_hook(prehook)", "HOOKS['p'].remove() if 'p' in HOOKS else None", "NET.pd['w'] = nn.Parameter(torch.full((2,), {f}, dtype=torch.float64))", 'NET.drop.p = 1.0', 'NET.lin = nn.Identity()', 'NET.forward = lambda t: t * {i}', 'Net.forward = lambda self, t: t * {i}', "NET.register_buffer('buf', torch.zeros(2, dtype=torch.float64))", 'NET.double()', 'NET.load_state_dict({{k: v * 0.5 for k, v in NET.state_dict().items()}}, strict=False)', "HOOKS['g'] = nn.modules.module.register_module_forward_hook(lambda m, a, o: o + 1 if isinstance(m, nn.Linear) else o)", "HOOKS['g'].remove() if 'g' in HOOKS else None", "HOOKS['b'] = NET.lin.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))", "HOOKS['b'].remove() if 'b' in HOOKS else None", 'NET.zero_grad()', 'NET.lin.weight.grad = None']),
    ('t = NET.bn(t.reshape(-1, 2)).reshape(t.shape)', ['NET.bn.eval()', 'NET.bn.train()', 'NET.bn.momentum = {f}', 'NET.bn.momentum = None', 'NET.bn.track_running_stats = False', 'NET.bn.eps = 0.1', 'NET.bn.reset_running_stats()']),
    ('t = t + sum(p.sum() for p in NET.parameters())', ['NET.lin.weight.data.mul_(2)', "NET.register_parameter('np{i}', nn.Parameter(torch.full((1,), {f}, dtype=torch.float64)))"]),
    ('NET.scale += 1; t = t * NET.scale', ['NET.scale = {i}']),
    ('NET.buf += 1; t = t * NET.buf', ['NET.buf.zero_()']),
    ('NET.buf = NET.buf * 2; t = t + NET.buf', []),
    ('t = Scale.apply(t, G)', ['G = {f}', 'G = {i}']),
    ('t = Scale.apply(t, 2.0, FLAG, NAME)', ['FLAG = not FLAG', "NAME = 'cos'", "Scale.forward = staticmethod(lambda ctx, x, k, flag=True, tag='a': (ctx.save_for_backward(x), setattr(ctx, 'k', k), setattr(ctx, 'flag', flag), x - k)[-1])"]),
    ('t = Dirty.apply(t.clone(), n)', []),
    ('y_ = t * 1; z_ = Dirty.apply(y_, 3.0); t = y_ + z_', []),
    ('a, b = NonDiff.apply(t); t = a * (1 + b); LOG.append((a.requires_grad, b.requires_grad))', []),
    ('try:\n    t = early(t, n)\nexcept Early as e:\n    LOG.append(str(e)); t = t * 2\nelse:\n    t = t * 3\nfinally:\n    t = t - 1', ['early = lambda t, k: t / (k or 1)']),
    ('try:\n    t = deep(t, 3)\nexcept Early as e:\n    LOG.append(repr(e)); t = t + 1', ['FLAG = False', 'FLAG = True']),
    ("try:\n    torch.compiler.graph_break()\n    t = early(t, n)\nexcept Early:\n    torch.compiler.graph_break()\n    t = t * 4\nfinally:\n    LOG.append('fin')", []),
    ('for i_ in range(3):\n    try:\n        if i_ == n: break\n        if i_ == 1: continue\n        t = t * 2\n    finally:\n        LOG.append(i_)\nelse:\n    t = t + 7', []),
    ("try:\n    try:\n        raise KeyError(n)\n    except KeyError as e:\n        raise Early('chained') from e\nexcept Early as e:\n    LOG.append(repr(e.__cause__)); t = t + 1", []),
    ('t = t * POINT.x + POINT.y', ['POINT.x = {f}', 'POINT.y = torch.full((2,), {f}, dtype=torch.float64)', 'POINT = types.SimpleNamespace(x={f}, y=1)']),
    ('POINT.x += 1; POINT.y = POINT.y + t.detach().sum(); t = t + POINT.y', []),
    ('t = Made(t).t', ['Meta.factor = {i}', 'Made.factor = {f}']),
    ('t = CALL(t)', ['CALL.k = {f}', 'Callable_.__call__ = lambda self, t: t + self.k', 'CALL = torch.sin', 'CALL = nn.Tanh()', 'CALL = lambda t: t * G']),
    ("t = t * SUB['a'] * SUB['b']", ["SUB['b'] = {f}", "SUB.pop('a', None)", 'Sub.__missing__ = lambda self, k: {f}']),
    ('t = t * DD[n]; DD[n + 1] += 1', ['G = {i}', 'DD.default_factory = lambda: 5']),
    ("for k in OD: t = t * OD[k] + (k == 'a')\nOD.move_to_end('a')", ["OD['c'] = {f}", "OD.move_to_end('b')"]),
    ('CNT[n] += 1; CNT.update([n, 1]); t = t * CNT[n] + CNT.most_common(1)[0][1]', []),
    ('it = iter(Steps(3)); t = t * next(it); LOG.append(it.at); t = t + sum(it)', ['Steps.__next__ = lambda self: (_ for _ in ()).throw(StopIteration)']),
    ('e = enumerate(Steps(2)); LOG.append("made"); t = t + sum(i * v for i, v in e)', ['Steps.__iter__ = lambda self: iter([{i}, 2])']),
    ('t = t + sum(k * len(list(g)) for k, g in itertools.groupby(LST, key=noted))', ['LST.append({i})', 'noted = lambda v: v + {i}']),
    ('t = t * list(itertools.accumulate(LST, lambda a, b: a + noted(b)))[-1]', ['LST[0] = {i}', 'noted = lambda v: v + {i}']),
    ('t = t * sorted(LST, key=functools.cmp_to_key(order))[0]', ['LST.reverse()', 'order = lambda a, b: b - a']),
    ('t = t[PLACE:] * LST[PLACE] + len(LST[:PLACE])', ['PLACE.at = 0', 'PLACE = Place(0)', 'Place.__index__ = lambda self: 0']),
    ('DQ.append(n); t = t * len(DQ) + DQ[0]', ['DQ.appendleft({i})', 'DQ = collections.deque([1, 2, {i}])']),
    ('DQ.append(t.detach()); t = t + sum(d.sum() if isinstance(d, torch.Tensor) else d for d in DQ)', ['DQ.clear()']),
    ('LAST[0] = t.detach() if LAST[0] is None else LAST[0] + 1; t = t + LAST[0].sum()', ['LAST[0] = None']),
    ('KEEP.append(t); t = t + len(KEEP)', ['KEEP.clear()']),
    ('LOG.append(t.requires_grad); LOG.append(tuple(t.shape)); LOG.append(str(t.dtype))', []),
    ('LOG.append(t.is_contiguous()); LOG.append(t.stride())', []),
    ('x.mul_(2) if not x.requires_grad else None; t = t + x', []),
    ('o.add_(1); t = t + o.sum()', []),
    ('o[0:1].mul_(3); t = t + x.sum() + o.sum()', []),
    ('o.t_() if o.dim() == 2 and o.shape[0] == o.shape[1] else None; t = t + o.sum()', []),
    ('w_ = o.view(-1); w_.mul_(2); t = t + (o is x) + o.sum()', []),
    ('t = t + (5 if o is x else 6)', []),
    ('t = t + (1 if o.data_ptr() == x.data_ptr() else 2)', []),
    ('o.fill_(n); t = t + o.sum()', []),
    ('o.requires_grad_() if not o.requires_grad and o.is_leaf else None; t = t + o.sum()', []),
    ('t = t.unsqueeze(0).squeeze(0) if x.shape[0] != 1 else t * 2', []),
    ('t = t * x.shape[0] + x.numel()', []),
    ('t = t.sum(0) if x.dim() == 2 and x.shape[0] > 2 else t', []),
    ('t = torch.cat([t, t]) if t.dim() and t.shape[0] < 3 else t[:2] if t.dim() else t', []),
    ('t = t + torch.ones(2).to(t.dtype).sum() + torch.tensor(1.5).to(t.dtype); LOG.append(str(torch.ones(1).dtype)); LOG.append(str(torch.tensor(1.5).dtype)); LOG.append(torch.is_grad_enabled()); LOG.append(torch.get_default_dtype() is torch.float64)', []),
    ('t = torch.func.vmap(lambda a: a * G)(t) if t.dim() and t.shape[0] else t', ['G = {i}', 'G = {f}']),
    ('t = t + torch.func.grad(lambda a: (a * a * G).sum())(t)', ['G = {f}']),
    ('t = t + torch.func.jvp(lambda a: a.sin() * CALL.k, (t,), (torch.ones_like(t),))[1]', ['CALL.k = {f}']),
    ('t = t + torch.func.vjp(lambda a: a.sin() * G, t)[1](torch.ones_like(t))[0]', ['G = {f}']),
    ('t = t + torch.func.functional_call(NET.lin, dict(NET.lin.named_parameters()), (t,)).sum()', ['NET.lin.weight.data.mul_(2)']),
    ('t = torch.utils.checkpoint.checkpoint(lambda a: a.sin() * G, t, use_reentrant=False)', ['G = {f}']),
    ('t = torch.cond(t.sum() > 0, lambda a: a * 2, lambda a: a - 1, (t,))', []),
    ('t = torch.where(t > G, t, -t)', ['G = {f}', 'G = {i}']),
    ('t = t * math.sqrt(abs(n) + 1) + round(G if not isinstance(G, torch.Tensor) else 1)', ['G = {f}', 'G = {i}']),
    ('t = t + (t.sum().item() > 0)', []),
    ('if t.sum() > 0: t = t * 2\nelse: t = t - 3', []),
    ('while t.abs().sum() < 3 and t.numel(): t = t * 2 + 1', []),
    ('k_ = int(t.detach().abs().sum().item()) % 3; t = t * (k_ + 1); LOG.append(k_)', []),
    ('t = functools.reduce(lambda a, b: a * b, [t, n + 1, G])', ['G = {i}']),
    ('t = sum(map(lambda p: p[0] * p[1], zip([t, t], LST)), t * 0)', ['LST.append(1)', 'LST = LST[:1]', 'LST[0] = {i}']),
    ('t = sorted([(n, t), (G if isinstance(G, (int, float)) else 0, t * 2)], key=lambda p: p[0])[0][1]', ['G = {i}', 'G = {f}']),
    ("t = t * len(f'{{n}}{{NAME:>5}}') + ord(NAME[0])", ["NAME = 'cos'"]),
    ('match n:\n    case 0: t = t + 1\n    case 1 | 2: t = t * 2\n    case int(q) if q > 3: t = t * q\n    case _: t = -t', []),
    ("match TABLE:\n    case {{'a': a_, **rest}}: t = t * a_ + len(rest)\n    case _: t = t - 1", ["TABLE['a'] = {i}", "TABLE.pop('a', None)", "TABLE['r{i}'] = 2"]),
    ('if (h := n * 2) > 2: t = t * h', []),
    ('global G\nG = G + 1\nt = t * G', ['G = {i}']),
    ('global GT\nGT = t.detach().sum() * 0.01\nt = t + GT', []),
    ('LST.append(len(LST)); t = t + LST.pop(0) + LST[0]', ['LST = [1, 2, 3]']),
    ("TABLE['cnt'] = TABLE.get('cnt', 0) + 1; t = t * TABLE['cnt']", ["TABLE['cnt'] = {i}"]),
    ("TABLE.setdefault('sd', []).append(n); t = t + len(TABLE['sd']); del TABLE['sd'][:1]", []),
    ("TABLE.update(u=t.detach().sum()); t = t + TABLE['u']", []),
    ('TL.append(t.detach()); t = t + sum(a.sum() for a in TL); TL.pop()', []),
    ('TL[0] += 1; t = t + TL[0].sum()', []),
    ('TL[0][0] = n; t = t + TL[0].sum()', []),
    ('o2 = torch.empty_like(o); o2.copy_(o); o2[..., 0] = n; t = t + o2.sum()', []),
    ('x.detach().mul_(2) if x.numel() else None; t = t + x.sum()', []),
    ('t.register_hook(lambda g: g * 2) if t.requires_grad else None; t = t * 1', []),
    ("x.register_hook(lambda g: LOG.append('xh')) if x.requires_grad else None", []),
    ('t.retain_grad() if t.requires_grad else None; t = t * 1', []),
    ('t = t + torch.autograd.grad((t * t).sum(), t, create_graph=True)[0] if t.requires_grad else t', []),
    ('t = t.to(torch.float32).to(torch.float64) if t.dtype == torch.float64 else t.double()', []),
    ('t = t + torch.arange(n % 4, dtype=torch.float64).sum()', []),
    ('t = t * (yy := [a for a in range(n % 3)].__len__() + 1); t = t + yy', []),
    ('print_ = LOG.append; print_(type(t).__name__)', []),
    ('t = t + id(x) * 0 + (x is LAST[0])', []),
    ('t = t * isinstance(G, int) + isinstance(CALL, Callable_) + callable(CALL)', ['G = {f}', 'G = {i}', 'CALL = 3']),
    ('t = t + type(PROP).__name__.__len__()', ['PROP = Slots()']),
    ("t = t * vars(PROP).get('_v', 1) + len(PROP.__dict__)", ['PROP._v = {f}', 'setattr(PROP, "extra{i}", 1)']),
    ("setattr(PROP, 'dyn', getattr(PROP, 'dyn', 0) + 1); t = t * PROP.dyn; delattr(PROP, 'dyn') if PROP.dyn > 2 else None", []),
    ('t = Prop.meth(PROP, t); t = PROP.__class__.klass * t', ['Prop.klass = {i}']),
]  # fmt: skip

PLACES = [
    "{b}",
    "{b}",
    "{b}",
    "try:\n{i}\nfinally:\n    LOG.append('F')",
    "try:\n{i}\nexcept (Early, KeyError, ZeroDivisionError) as e:\n    LOG.append(type(e).__name__)",
    "with ctx('w'):\n{i}",
    "with torch.enable_grad():\n{i}",
    "for _r in range(2):\n{i}",
    "if n % 2 == 0:\n{i}\nelse:\n    t = t + n",
    "if t.numel() > 2:\n{i}",
    "def inner_{k}(t):\n{i}\n    return t\nt = inner_{k}(t)",
    "def genr_{k}(t):\n{i}\n    yield t\nfor t in genr_{k}(t): pass",
    "if FLAG is True:\n{i}",
]

MODES = [
    "torch.set_default_dtype(torch.float64)",
    "torch.set_default_dtype(torch.float32)",
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(True)",
    "torch.set_grad_enabled(True)",
]

INPUTS = [
    "mk(3, 2)",
    "mk(3, 2)",
    "mk(3, 2)",
    "mk(3, 2, rg=False)",
    "mk(3, 2, rg=False)",
    "mk(4, 2)",
    "mk(1, 2)",
    "mk(0, 2)",
    "mk(2, 2)",
    "mk(2, 3).t().detach().requires_grad_()",
    "mk(6, 2)[::2]",
    "mk(2)",
    "mk(3, 2).float().detach().requires_grad_()",
    "mk(1, 2, rg=False).expand(3, 2)",
    "mk(2, 3, 2)",
    "nn.Parameter(mk(3, 2, rg=False))",
    "mk(3, 4, rg=False)[:, 1:3]",
]

CALLS = """
def mk(*s, rg=True):
    n = math.prod(s)
    t = torch.linspace(-1, 1.5, n, dtype=torch.float64).reshape(s) if n else torch.zeros(s, dtype=torch.float64)
    return t.requires_grad_() if rg else t
def R(v, d=0):
    if d > 4: return "..."
    if isinstance(v, torch.Tensor):
        if v.dtype == torch.bool: vals = v.tolist()
        else: vals = [float(f'{e:.4g}') + 0.0 for e in v.detach().double().reshape(-1).tolist()]
        return f"T{tuple(v.shape)}{str(v.dtype)[6:]}{'g' if v.requires_grad else ''}{vals}"
    if isinstance(v, float): return f"{v:.5g}"
    if isinstance(v, (int, str, bool, type(None), enum.Enum)): return repr(v)
    if isinstance(v, dict): return type(v).__name__ + "{" + ", ".join(f"{k!r}: {R(e, d+1)}" for k, e in v.items()) + "}"
    if isinstance(v, (list, tuple, collections.deque)): return type(v).__name__ + "[" + ", ".join(R(e, d+1) for e in v) + "]"
    if isinstance(v, set): return "set" + str(sorted(map(R, v)))
    if isinstance(v, nn.Module): return "M" + R({**dict(v.named_parameters()), **dict(v.named_buffers())}, d+1) + R([p.grad for p in v.parameters()])
    if isinstance(v, types.SimpleNamespace): return R(vars(v), d+1)
    if type(v).__module__ == "program" and hasattr(v, "__dict__"): return type(v).__name__ + R(dict(v.__dict__), d+1)
    return type(v).__name__
WORLD = "LOG G GT TABLE LST TL SET PROP LAZY SLOTS HD DCO NTV POINT SUB DD OD CNT DQ LAST KEEP CACHED_CALLS DEF EVERY".split()
def call(x, n, same):
    torch.manual_seed(0)
    o = x.detach().clone() if same == 0 else x if same == 1 else x.detach() if same == 2 else torch.ones(2, 2, dtype=torch.float64)
    out = []
    if not x.is_leaf and x.requires_grad: x.retain_grad()
    try:
        r = compiled(x, n, o)
        out.append(R(r))
        if isinstance(r, torch.Tensor) and r.requires_grad and r.grad_fn is not None:
            (r * r).sum().backward()
    except Exception as e:
        out.append(f"{type(e).__name__}: {'' if isinstance(e, (RuntimeError, TypeError, ValueError, AttributeError, AssertionError, IndexError)) else e}")
        if isinstance(e, RuntimeError) and "internal" in str(e): out.append(str(e))
        ERRORS.append(e)
    out.append("x=" + R(x) + " grad=" + R(x.grad) + " o=" + R(o))
    g = globals()
    for w in WORLD: out.append(w + "=" + R(g[w]))
    out.append("GET=" + R(GET())); out.append("NET=" + R(NET) + R({k: v for k, v in NET.__dict__.items() if not k.startswith("_") and k != "forward"}))
    out.append(R([torch.is_grad_enabled(), str(torch.get_default_dtype()), torch.is_autocast_enabled()]))
    results.append(out)
ERRORS = []
compiled = form(program)
"""

END = """
torch.set_default_dtype(torch.float32)
torch.set_grad_enabled(True)
for handle in HOOKS.values():
    handle.remove()
"""


# What is changed may be gone since an earlier change.
CHANGE = """
try:
    {}
except (AttributeError, LookupError, TypeError, RuntimeError) as error:
    results.append([type(error).__name__])
"""


def world_program(seed: int) -> str:
    """The text of a random program."""
    rng = random.Random(f"world {seed}")

    def filled(text: str) -> str:
        return text.format(i=rng.randint(-1, 5), f=rng.choice([0.5, 1.25, -0.75, 2.0, 3.5]), fn=rng.choice(["sin", "cos", "tanh"]))

    body: list[str] = []
    changes: list[str] = []
    declared: set[str] = set()
    for at, (statement, changing) in enumerate(rng.sample(STATEMENTS, rng.randint(1, 5))):
        lines = filled(statement).split("\n")
        declared |= {line for line in lines if line.startswith("global ")}
        text = "\n".join(line for line in lines if not line.startswith("global "))
        body.append(rng.choice(PLACES).replace("{k}", str(at)).replace("{i}", textwrap.indent(text, "    ")).replace("{b}", text))
        changes += changing
    outer = "".join(f"{line}\n" for line in sorted(declared))
    for at, text in enumerate(body):
        if text.startswith("def "):
            first, rest = text.split("\n", 1)
            body[at] = f"{first}\n{textwrap.indent(outer, '    ')}{rest}"
    text = f"{outer}t = x * 1\n" + "\n".join(body) + "\nreturn t"
    lines = [PRELUDE, "def program(x, n, o):\n" + textwrap.indent(text, "    "), CALLS]
    usual, number = rng.choice(INPUTS), rng.randint(0, 4)
    for call in range(rng.randint(5, 9)):
        if call >= 2 and changes and rng.random() < 0.6:
            lines += [CHANGE.format(filled(rng.choice(changes))) for _ in range(rng.choice([1, 1, 1, 2]))]
        if call >= 2 and rng.random() < 0.15:
            lines.append(rng.choice(MODES))
        given = usual if rng.random() < 0.65 else rng.choice(INPUTS)
        n = number if rng.random() < 0.6 else rng.randint(0, 5)
        lines.append(f"call({given}, {n}, {rng.choice([0, 0, 0, 1, 2, 3])})")
    return "\n".join([*lines, END])
