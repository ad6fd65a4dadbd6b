"""Rotations and poses, minimizers, wavelets, optimal transport, survival, attacks, pruning: one small program each."""

# libraries: pypose roma pytorch-minimize ptwt geomloss torch-dct torchsurv torchattacks torch-pruning lightly hypll torch-ema pytorch-warmup adam-atan2-pytorch nngeometry
import geomloss
import ptwt
import pypose as pp
import pytorch_warmup
import pywt
import roma
import torch
import torch_dct
import torch_pruning
import torchattacks
import torchvision
from adam_atan2_pytorch import AdamAtan2
from hypll import nn as hnn
from hypll.manifolds.poincare_ball import Curvature, PoincareBall
from hypll.tensors import TangentTensor
from lightly.loss import BarlowTwinsLoss, NTXentLoss, VICRegLoss
from nngeometry.metrics import FIM
from nngeometry.object import PMatKFAC
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch_ema import ExponentialMovingAverage
from torchmin import minimize
from torchsurv.loss.cox import neg_partial_log_likelihood
from torchsurv.metrics.cindex import ConcordanceIndex


def show(name, *values):
    torch.manual_seed(0)
    print(name, *(f"{tuple(value.shape)} {value.detach().double().abs().mean():.4f}" for value in values))


torch.manual_seed(0)


class Pose(nn.Module):
    def __init__(self):
        super().__init__()
        self.pose = pp.Parameter(pp.SE3(torch.tensor([0.1, 0.2, 0.3, 0, 0, 0, 1.0])))

    def forward(self, x):
        return (self.pose @ x).Log().tensor()


rotations = pp.so3(torch.randn(3, 3)).Exp()
show("pypose", rotations.matrix(), rotations.Log().tensor(), (rotations @ rotations.Inv()).tensor())
model, target = Pose(), pp.randn_SE3(2)
show("pypose's Jacobian", pp.optim.functional.modjac(model, input=(target,), flatten=True))
optimizer = pp.optim.LM(model)
print("Levenberg-Marquardt", [f"{optimizer.step(target):.4f}" for _ in range(3)])
quaternions = roma.rotvec_to_unitquat(torch.randn(4, 3))
show(
    "roma",
    roma.unitquat_to_rotmat(quaternions),
    roma.rotmat_geodesic_distance(roma.unitquat_to_rotmat(quaternions), torch.eye(3).expand(4, 3, 3)),
)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


for method in ("bfgs", "l-bfgs", "newton-cg", "newton-exact", "trust-ncg"):
    found = minimize(rosenbrock, torch.tensor([1.2, 0.8, 1.1]), method=method, max_iter=30)
    print(f"minimize {method} {found.x.mean():.3f}")
signal = torch.randn(1, 32, dtype=torch.float64)
parts = ptwt.wavedec(signal, pywt.Wavelet("db2"), level=2, mode="zero")
show("wavelets", *parts)
print("back", torch.allclose(ptwt.waverec(parts, pywt.Wavelet("db2"))[:, :32], signal))
x, y = torch.randn(10, 2, requires_grad=True), torch.randn(12, 2)
for kind in ("sinkhorn", "gaussian", "energy"):
    value = geomloss.SamplesLoss(kind, p=2, blur=0.1, backend="tensorized")(x, y)
    show(f"geomloss {kind}", value, *torch.autograd.grad(value, [x]))
show("dct", torch_dct.dct(torch.randn(3, 8)), torch_dct.dct_2d(torch.randn(4, 4)))
hazards, events, times = torch.randn(8, 1), torch.tensor([1, 0, 1, 1, 0, 1, 0, 1]).bool(), torch.arange(8.0) + 1
show("survival", neg_partial_log_likelihood(hazards, events, times), ConcordanceIndex()(hazards, events, times))

network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)).eval()
images, labels = torch.rand(2, 3, 8, 8), torch.tensor([0, 2])
for attack in (
    torchattacks.FGSM(network, eps=0.03),
    torchattacks.PGD(network, eps=0.03, alpha=0.01, steps=3, random_start=False),
    torchattacks.CW(network, steps=3),
    torchattacks.DeepFool(network, steps=3),
):
    show(type(attack).__name__, attack(images, labels))

resnet, example = torchvision.models.resnet18(num_classes=4).eval(), torch.randn(1, 3, 32, 32)
pruner = torch_pruning.pruner.MagnitudePruner(
    resnet, example, importance=torch_pruning.importance.MagnitudeImportance(p=2), pruning_ratio=0.5, ignored_layers=[resnet.fc]
)
print("before", *torch_pruning.utils.count_ops_and_params(resnet, example))
pruner.step()
print("after", *torch_pruning.utils.count_ops_and_params(resnet, example))
show("pruned", resnet(example))

first, second = torch.randn(4, 8), torch.randn(4, 8)
for loss in (NTXentLoss(), BarlowTwinsLoss(), VICRegLoss()):
    show(type(loss).__name__, loss(first, second))
ball = PoincareBall(Curvature(requires_grad=True))
layer = hnn.HLinear(4, 3, manifold=ball)
out = layer(ball.expmap(TangentTensor(torch.randn(2, 4) * 0.1, man_dim=1, manifold=ball)))
out.tensor.sum().backward()
show("hyperbolic", out.tensor, layer.bias.grad)

linear = nn.Linear(4, 4)
average, optimizer = ExponentialMovingAverage(linear.parameters(), 0.9), AdamAtan2(linear.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
warmup, rates = pytorch_warmup.LinearWarmup(optimizer, 4), []
for _ in range(4):
    linear(torch.ones(2, 4)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update()
    with warmup.dampening():
        schedule.step()
    rates.append(f"{optimizer.param_groups[0]['lr']:.5f}")
with average.average_parameters():
    show("averaged", linear.weight)
show("trained", linear.weight)
print("rates", rates)

net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
loader = DataLoader(TensorDataset(torch.randn(8, 4), torch.randint(0, 3, (8,))), batch_size=4)
print(f"Fisher {float(FIM(model=net, loader=loader, representation=PMatKFAC, variant='classif_logits', device='cpu').trace()):.4f}")
