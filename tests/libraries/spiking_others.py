"""Spiking networks of other libraries: cells with surrogate gradients, and networks that learn by the times of spikes."""

# libraries: norse sinabs bindsnet
import norse.torch as norse
import sinabs
import sinabs.layers as spiking
import torch
from bindsnet.learning import PostPre
from bindsnet.network import Network
from bindsnet.network.monitors import Monitor
from bindsnet.network.nodes import Input, LIFNodes
from bindsnet.network.topology import Connection
from shared.reporting import show
from torch import nn


def steps(name, model, loss):
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        show(name, value)


torch.manual_seed(0)
cells, x = norse.SequentialState(nn.Linear(10, 20), norse.LIFCell(), nn.Linear(20, 5), norse.LICell()), torch.rand(4, 10) * 5


def leaky():
    state, total = None, 0
    for _ in range(5):
        y, state = cells(x, state)
        total = total + y
    return total.pow(2).mean()


steps("norse", cells, leaky)
spikes, state = norse.LIF()(torch.rand(6, 2, 4) * 10)
show("norse LIF", spikes, state.v)

layers, events = nn.Sequential(nn.Linear(8, 16), spiking.LIF(tau_mem=10.0), nn.Linear(16, 4), spiking.IAF()), torch.rand(2, 10, 8) * 3


def rates():
    sinabs.reset_states(layers)
    return layers(events).sum(1).sub(1).pow(2).mean()


steps("sinabs", layers, rates)

network, source, target = Network(), Input(n=20, traces=True), LIFNodes(n=10, traces=True)
network.add_layer(source, "X")
network.add_layer(target, "Y")
network.add_connection(Connection(source, target, w=torch.rand(20, 10), update_rule=PostPre, nu=(1e-3, 1e-2)), "X", "Y")
monitor = Monitor(target, ["s", "v"], time=30)
network.add_monitor(monitor, "Y")
network.run({"X": torch.bernoulli(0.3 * torch.ones(30, 20)).byte()}, time=30)
show("bindsnet", monitor.get("s").float(), monitor.get("v"), network.connections["X", "Y"].w)
