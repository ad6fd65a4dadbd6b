# ruff: noqa
"""snntorch and spikingjelly: neurons, surrogate gradients."""

# libraries: snntorch spikingjelly
import torch, torch.nn as nn, warnings

warnings.simplefilter("ignore")
import snntorch as snn
from snntorch import surrogate, functional as SF, spikegen, utils

torch.manual_seed(0)
x = torch.rand(5, 3, 8)
for n, c in {
    "leaky": snn.Leaky(0.9, spike_grad=surrogate.fast_sigmoid()),
    "syn": snn.Synaptic(0.9, 0.8),
    "lap": snn.Lapicque(0.9),
    "alpha": snn.Alpha(0.9, 0.8),
    "rleaky": snn.RLeaky(0.9, linear_features=8),
}.items():
    try:
        torch.manual_seed(1)
        st = [
            s
            for s in (
                (
                    c.init_leaky()
                    if n == "leaky"
                    else c.init_synaptic()
                    if n == "syn"
                    else c.init_lapicque()
                    if n == "lap"
                    else c.init_alpha()
                    if n == "alpha"
                    else c.init_rleaky()
                ),
            )
        ]
        st = st[0] if isinstance(st[0], tuple) else tuple(st)
        tot = 0
        lin = nn.Linear(8, 8)
        for t in range(5):
            out = c(lin(x[t]), *st)
            st = out[1:] if n != "rleaky" else out
            tot = tot + out[0].sum()
        tot.backward()
        print(n, tot.item(), f"{lin.weight.grad.abs().sum().item():.4f}")
    except Exception as e:
        print(n, type(e).__name__, str(e)[:150])
print(
    spikegen.rate(torch.rand(2, 3), num_steps=5).sum().item(),
    spikegen.latency(torch.rand(2, 3), num_steps=5).sum().item(),
    f"{SF.ce_rate_loss()(torch.rand(5, 3, 4), torch.tensor([0, 1, 2])).item():.4f}",
)
from spikingjelly.activation_based import neuron, layer, functional, surrogate as sg

torch.manual_seed(0)
net = nn.Sequential(layer.Linear(8, 16), neuron.LIFNode(tau=2.0, surrogate_function=sg.ATan()), layer.Linear(16, 4), neuron.IFNode())
functional.set_step_mode(net, "m")
opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(3):
    y = net(x).mean(0)
    l = nn.functional.mse_loss(y, torch.ones(3, 4) * 0.5)
    opt.zero_grad()
    l.backward()
    opt.step()
    functional.reset_net(net)
    print(f"{l.item():.5f}")
