# ruff: noqa
"""captum: attributions of a small network by its methods."""

# libraries: captum
import torch, torch.nn as nn
from captum.attr import *

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(s):
        super().__init__()
        s.conv = nn.Conv2d(1, 4, 3)
        s.relu = nn.ReLU()
        s.pool = nn.MaxPool2d(2)
        s.fc = nn.Linear(36, 3)

    def forward(s, x):
        return s.fc(s.pool(s.relu(s.conv(x))).flatten(1))


net = Net().eval()
x = torch.randn(2, 1, 8, 8, requires_grad=True)
base = torch.zeros_like(x)


def show(n, t):
    for a in t if isinstance(t, tuple) else (t,):
        print(n, tuple(a.shape), f"{a.abs().mean().item():.6f} {a.flatten()[3].item():.6f}")


for n, f in {
    "ig": lambda: IntegratedGradients(net).attribute(x, base, target=1, n_steps=20),
    "saliency": lambda: Saliency(net).attribute(x, target=0),
    "ixg": lambda: InputXGradient(net).attribute(x, target=0),
    "deeplift": lambda: DeepLift(net).attribute(x, base, target=1),
    "deepliftshap": lambda: DeepLiftShap(net).attribute(x, torch.randn(3, 1, 8, 8), target=1),
    "guided": lambda: GuidedBackprop(net).attribute(x, target=2),
    "deconv": lambda: Deconvolution(net).attribute(x, target=2),
    "occl": lambda: Occlusion(net).attribute(x, (1, 3, 3), target=1, strides=(1, 2, 2)),
    "ablation": lambda: FeatureAblation(net).attribute(x, target=1, feature_mask=torch.arange(16).repeat_interleave(4).reshape(1, 1, 8, 8)),
    "shapley": lambda: ShapleyValueSampling(net).attribute(
        x, target=1, feature_mask=torch.arange(4).repeat_interleave(16).reshape(1, 1, 8, 8), n_samples=3
    ),
    "kernelshap": lambda: KernelShap(net).attribute(
        x[:1], target=1, feature_mask=torch.arange(4).repeat_interleave(16).reshape(1, 1, 8, 8), n_samples=20
    ),
    "lime": lambda: Lime(net).attribute(
        x[:1], target=1, feature_mask=torch.arange(4).repeat_interleave(16).reshape(1, 1, 8, 8), n_samples=20
    ),
    "lrp": lambda: LRP(net).attribute(x, target=1),
    "gradcam": lambda: LayerGradCam(net, net.conv).attribute(x, target=1),
    "lc": lambda: LayerConductance(net, net.conv).attribute(x, base, target=1, n_steps=10),
    "la": lambda: LayerActivation(net, net.conv).attribute(x),
    "lig": lambda: LayerIntegratedGradients(net, net.conv).attribute(x, base, target=1, n_steps=10),
    "ldl": lambda: LayerDeepLift(net, net.conv).attribute(x, base, target=1),
    "nc": lambda: NeuronConductance(net, net.conv).attribute(x, (1, 2, 2), target=1, n_steps=10),
    "ng": lambda: NeuronGradient(net, net.conv).attribute(x, (1, 2, 2)),
    "nt": lambda: NoiseTunnel(Saliency(net)).attribute(x, nt_samples=4, nt_type="smoothgrad_sq", target=1),
    "intinf": lambda: InternalInfluence(net, net.conv).attribute(x, base, target=1, n_steps=8),
}.items():
    try:
        show(n, f())
    except Exception as e:
        print(n, type(e).__name__, str(e)[:150])
from captum.metrics import infidelity, sensitivity_max

print("sens", sensitivity_max(Saliency(net).attribute, x, target=1).shape)
from captum.influence import TracInCP
