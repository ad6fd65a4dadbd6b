# ruff: noqa
"""tensordict: containers, modules, tensor classes."""

# libraries: tensordict
import torch, torch.nn as nn, warnings

warnings.simplefilter("ignore")
from tensordict import TensorDict, tensorclass, TensorDictParams, LazyStackedTensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential, ProbabilisticTensorDictModule, InteractionType

torch.manual_seed(0)
t = TensorDict({"a": torch.arange(6).reshape(3, 2), "n": {"b": torch.rand(3, 4)}}, batch_size=[3])
print(t)
print(
    t[1]["a"].tolist(),
    t["n", "b"].shape,
    t.to(torch.float64)["a"].dtype,
    t.reshape(3, 1).batch_size,
    torch.stack([t, t]).batch_size,
    torch.cat([t, t]).batch_size,
    t.unsqueeze(0).expand(2, 3).batch_size,
)
print(
    sorted(t.keys(True, True), key=str),
    t.flatten_keys(".").keys().__class__.__name__,
    t.select("a").to_dict(),
    (t.apply(lambda x: x * 2)["a"]).tolist(),
    t.sum().__class__.__name__ if hasattr(t, "sum") else 0,
)
print(
    t.split(2)[0].batch_size,
    t.gather(0, torch.tensor([2, 0]))["a"].tolist(),
    t.masked_select(torch.tensor([True, False, True]))["a"].tolist(),
    (t == t).all(),
    t.clone().zero_()["a"].sum().item(),
)
t.memmap_("mm")
l = TensorDict.load_memmap("mm")
print(l["a"].tolist())
m = TensorDictSequential(
    TensorDictModule(nn.Linear(4, 8), ["x"], ["h"]), TensorDictModule(nn.Sequential(nn.Tanh(), nn.Linear(8, 2)), ["h"], ["y"])
)
d = TensorDict({"x": torch.rand(5, 4)}, [5])
o = m(d)
o["y"].sum().backward()
print(f"{o['y'].sum().item():.5f} {sum(p.grad.abs().sum() for p in m.parameters()).item():.4f}")
params = TensorDict.from_module(m)
print(sorted(params.keys(True, True), key=str)[:3])
with params.data.apply(torch.zeros_like).to_module(m):
    print(m(d.select("x"))["y"].sum().item())


@tensorclass
class Data:
    image: torch.Tensor
    label: torch.Tensor


c = Data(image=torch.zeros(4, 3, 2), label=torch.arange(4), batch_size=[4])
print(c[:2].label.tolist(), c.batch_size, torch.stack([c, c]).image.shape)
torch.save(t.to_tensordict(), "t.pt")
print(torch.load("t.pt", weights_only=False)["a"].sum().item())
