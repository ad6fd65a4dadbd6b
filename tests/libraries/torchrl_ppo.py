# ruff: noqa
"""Proximal policy optimization by torchrl: actor, advantages through vmap, clipped loss, replay buffer."""

# libraries: torchrl tensordict
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show

warnings.simplefilter("ignore")
torch.manual_seed(0)

import logging

logging.disable(logging.INFO)
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.modules import MLP, NormalParamExtractor, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

net = nn.Sequential(MLP(4, 4, num_cells=[8]), NormalParamExtractor())
actor = ProbabilisticActor(
    TensorDictModule(net, ["observation"], ["loc", "scale"]), in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True
)
value = ValueOperator(MLP(4, 1, num_cells=[8]), in_keys=["observation"])
ends = torch.zeros(2, 6, 1, dtype=torch.bool)
after = TensorDict({"observation": torch.randn(2, 6, 4), "reward": torch.randn(2, 6, 1), "done": ends, "terminated": ends.clone()}, [2, 6])
data = TensorDict({"observation": torch.randn(2, 6, 4), "next": after}, [2, 6])
with torch.no_grad():
    data = actor(data)
GAE(gamma=0.9, lmbda=0.95, value_network=value)(data)
show("advantage", data["advantage"], data["value_target"])
loss = ClipPPOLoss(actor, value)
optimizer = torch.optim.Adam(loss.parameters(), 1e-2)
for _ in range(3):
    given = loss(data)
    total = given["loss_objective"] + given["loss_critic"] + given["loss_entropy"]
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    show("step", given["loss_objective"], given["loss_critic"])
buffer = ReplayBuffer(storage=LazyTensorStorage(20), batch_size=4)
buffer.extend(data.reshape(-1))
print(len(buffer), buffer.sample()["observation"].shape)
print(torch.vmap(lambda d: d["observation"].sum(), chunk_size=1)(data).shape)
