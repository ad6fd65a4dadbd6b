# ruff: noqa
"""Data pipes: steps, their errors, and loaders of them."""

# libraries: torch.utils.data.datapipes
import torch, warnings, os

warnings.simplefilter("ignore")
import torch.utils.data as d
from torch.utils.data.datapipes.iter import *
from torch.utils.data.datapipes.map import SequenceWrapper
from torch.utils.data import IterDataPipe, MapDataPipe, functional_datapipe, DataLoader

torch.manual_seed(0)
a = IterableWrapper(range(10))
print(
    list(a.map(lambda x: x * x).filter(lambda x: x % 2 == 0).batch(2)), len(a.batch(3)), list(a.shuffle()), list(a.shuffle(buffer_size=3))
)
print(
    list(a.sharding_filter()),
    list(a.zip(a.map(str)) if False else IterableWrapper([1, 2]).zip(IterableWrapper("ab"))),
    list(IterableWrapper([1, 2]).concat(IterableWrapper([3]))),
    list(IterableWrapper([1, 2, 5]).mux(IterableWrapper([3, 4]))),
)
x, y = a.demux(2, lambda v: v % 2)
print(list(x), list(y))
x, y = a.fork(2)
print(list(x)[:3], list(y)[:3])
print(
    list(a.groupby(lambda v: v % 3, group_size=2)),
    list(IterableWrapper([[1, [2]], [3]]).unbatch(-1)),
    list(IterableWrapper([(1, 2), (3, 4)]).map(lambda u: u + 1, input_col=1)),
    list(IterableWrapper([(1, 2), (3, 4)]).map(lambda u, v: u + v, input_col=[0, 1], output_col=-1)),
    list(IterableWrapper([{"a": 1}]).map(lambda u: u + 1, input_col="a", output_col="b")),
)
print([t.tolist() for t in a.batch(4).collate()])
m = SequenceWrapper([5, 6, 7, 8])
print(m.map(lambda v: v + 1)[2], list(m.batch(3)), list(m.shuffle().set_seed(3)), m.zip(m)[1], len(m.concat(m)))


@functional_datapipe("triple")
class T(IterDataPipe):
    def __init__(s, dp):
        s.dp = dp

    def __iter__(s):
        for v in s.dp:
            yield v * 3


print(list(a.triple()), T(a).batch(5))
for f in (
    lambda: functional_datapipe("map")(T),
    lambda: functional_datapipe("q")(int),
    lambda: a.batch(0),
    lambda: a.nothing,
    lambda: len(a.filter(len)),
    lambda: list(a.map(lambda q: 1 / 0)),
    lambda: a.map(lambda p, q: p),
    lambda: list(IterableWrapper(range(10)).fork(2, buffer_size=2)[0]),
    lambda: list(IterableWrapper([5]).demux(2, lambda v: v)[0]),
):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e))
i = iter(a)
next(i)
j = iter(a)
next(j)
try:
    next(i)
except RuntimeError as e:
    print(e)
torch.manual_seed(1)
for kw in (dict(), dict(shuffle=True), dict(shuffle=False), dict(num_workers=2)):
    print([b.tolist() for b in DataLoader(IterableWrapper(list(range(8))).shuffle().sharding_filter(), batch_size=3, **kw)])
print(
    [b.tolist() for b in DataLoader(SequenceWrapper(list(range(5))), batch_size=2)],
    [b.tolist() for b in DataLoader(SequenceWrapper(list(range(5))).shuffle(), batch_size=2, shuffle=True)],
)
os.makedirs("f/g", exist_ok=True)
open("f/a.txt", "w").write("hi")
open("f/g/b.json", "w").write('{"x":1}')
print(
    list(FileLister("f", recursive=True)),
    [(n, s) for n, s in FileLister("f", recursive=True).open_files("b").routed_decode()],
    list(FileLister("f", masks="*.txt").open_files().read_from_stream()),
)
from torch.utils.data.graph import traverse_dps
from torch.utils.data.graph_settings import *

g = traverse_dps(a.shuffle().map(str).batch(2))
print([type(p).__name__ for p in get_all_graph_pipes(g)])
import pickle

print(list(pickle.loads(pickle.dumps(IterableWrapper([1, 2]).batch(2)))))
with d.guaranteed_datapipes_determinism():
    pass
