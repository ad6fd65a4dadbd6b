# ruff: noqa
"""Libraries of research groups: filter banks that are scripted, simulators, constrained optimization, flows, wavelets, curvature."""

# libraries: asteroid-filterbanks cooper-optim lampe came-pytorch galore-torch pyhessian pytorch-wavelets dynamic-network-architectures nerfacc torchdyn
import warnings

import torch
import torch.nn as nn

warnings.simplefilter("ignore")


def shown(value):
    if isinstance(value, float):
        return f"{value:.5f}"
    if isinstance(value, torch.Tensor):
        return f"{tuple(value.shape)} {value.detach().double().abs().sum().item():.4f}"
    return value


def part(function):
    torch.manual_seed(0)
    result = function()
    print(function.__name__, *[shown(each) for each in result])


def steps(model, loss, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def filter_banks():
    from asteroid_filterbanks import make_enc_dec, transforms

    encode, decode = make_enc_dec("stft", n_filters=64, kernel_size=64, stride=32)
    learned, _ = make_enc_dec("param_sinc", n_filters=16, kernel_size=33, stride=16)
    x = torch.randn(2, 1, 640)
    made = learned(x)
    made.square().mean().backward()
    return decode(encode(x)), transforms.mag(encode(x)), torch.jit.script(encode)(x), made, *[each.grad for each in learned.parameters()]


def constrained():
    import cooper

    class Problem(cooper.ConstrainedMinimizationProblem):
        def __init__(self):
            super().__init__()
            self.sum = cooper.Constraint(
                multiplier=cooper.multipliers.DenseMultiplier(num_constraints=1),
                constraint_type=cooper.ConstraintType.INEQUALITY,
                formulation_type=cooper.formulations.Lagrangian,
            )

        def compute_cmp_state(self, x):
            return cooper.CMPState(loss=(x**2).sum(), observed_constraints={self.sum: cooper.ConstraintState(violation=1 - x.sum())})

    problem = Problem()
    x = nn.Parameter(torch.zeros(2))
    optimizer = cooper.optim.SimultaneousOptimizer(
        cmp=problem,
        primal_optimizers=torch.optim.SGD([x], lr=0.1),
        dual_optimizers=torch.optim.SGD(problem.dual_parameters(), lr=0.1, maximize=True),
    )
    for _ in range(20):
        optimizer.roll(compute_cmp_state_kwargs={"x": x})
    return x, *problem.dual_parameters()


def inference():
    from lampe.inference import NPE, NRE, NPELoss, NRELoss

    flow, ratio = NPE(3, 4, transforms=2, hidden_features=[16]), NRE(3, 4, hidden_features=[16])
    theta, x = torch.randn(8, 3), torch.randn(8, 4)
    flow_loss, ratio_loss = NPELoss(flow), NRELoss(ratio)
    return *steps(flow, lambda _: flow_loss(theta, x)), *steps(ratio, lambda _: ratio_loss(theta, x)), flow.flow(x).sample((2,))


def optimizers():
    from came_pytorch import CAME
    from galore_torch import GaLoreAdamW

    x, first, second = torch.randn(5, 16), nn.Linear(16, 12), nn.Linear(16, 12)
    low_rank = {"params": [second.weight], "rank": 4, "update_proj_gap": 2, "scale": 0.25, "proj_type": "std"}
    return [
        *steps(first, lambda model: model(x).square().mean(), CAME(first.parameters(), lr=1e-2)),
        *steps(second, lambda model: model(x).square().mean(), GaLoreAdamW([low_rank, {"params": [second.bias]}], lr=1e-2)),
    ]


def curvature():
    from pyhessian import hessian

    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    found = hessian(model, nn.CrossEntropyLoss(), data=(torch.randn(8, 4), torch.randint(0, 3, (8,))), cuda=False)
    values, _ = found.eigenvalues(top_n=1, tol=1e-7, maxIter=500)
    return values[0], sum(found.trace(maxIter=5)) / 5


def wavelets():
    from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWTForward, DWTInverse

    x = torch.randn(1, 2, 16, 16, requires_grad=True)
    low, high = DWTForward(J=2, wave="db2", mode="symmetric")(x)
    back = DWTInverse(wave="db2", mode="symmetric")((low, high))
    back.square().sum().backward()
    low_tree, high_tree = DTCWTForward(J=2)(x.detach())
    return low, back, x.grad, low_tree, *high_tree, DTCWTInverse()((low_tree, high_tree))


def segmentation():
    from dynamic_network_architectures.architectures.unet import PlainConvUNet, ResidualEncoderUNet

    common = {"conv_bias": True, "nonlin": nn.LeakyReLU}
    flat = PlainConvUNet(
        1, 3, (4, 8, 16), nn.Conv2d, 3, (1, 2, 2), (1, 1, 1), 2, (1, 1), norm_op=nn.InstanceNorm2d,
        norm_op_kwargs={"affine": True}, deep_supervision=True, **common,
    )  # fmt: skip
    solid = ResidualEncoderUNet(1, 3, (4, 8, 16), nn.Conv3d, 3, (1, 2, 2), (1, 1, 1), 2, (1, 1), norm_op=nn.InstanceNorm3d, **common)
    x = torch.randn(2, 1, 16, 16)
    return *steps(flat, lambda model: sum(each.square().mean() for each in model(x))), solid(torch.randn(1, 1, 8, 8, 8))


def rendering():
    import nerfacc

    starts = torch.linspace(0, 0.9, 10)[None]
    density = torch.rand(1, 10, requires_grad=True)
    weights, transmittance, _ = nerfacc.render_weight_from_density(starts, starts + 0.1, density)
    weights.sum().backward()
    return weights, transmittance, density.grad


def neural_ode():
    from torchdyn.core import NeuralODE

    field = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    model = NeuralODE(field, sensitivity="adjoint", solver="dopri5")
    x = torch.randn(5, 2)
    return steps(model, lambda m: m(x, torch.linspace(0, 1, 3))[1][-1].square().mean())


for each in (filter_banks, constrained, inference, optimizers, curvature, wavelets, segmentation, rendering, neural_ode):
    part(each)
