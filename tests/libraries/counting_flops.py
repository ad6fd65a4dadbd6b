"""Operations and activations counted in traces: fvcore by module and operator, torchprofile by operator."""

# libraries: fvcore torchprofile
import logging
import warnings

import torch
import torchvision
from fvcore.nn import ActivationCountAnalysis, FlopCountAnalysis, parameter_count
from torch import nn
from torchprofile import profile_macs

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.layer = nn.LayerNorm(8)
        self.end = nn.Linear(32, 4)

    def forward(self, x):
        x = self.pool(self.up(torch.relu(self.norm(self.conv(x)))))
        x = self.layer(x.flatten(2).transpose(1, 2))
        y = torch.einsum("bij,bkj->bik", x, x)
        return self.end(x.flatten(1)), torch.bmm(y, y)


torch.manual_seed(0)
model, x = Net().eval(), torch.randn(2, 3, 16, 16)
flops = FlopCountAnalysis(model, x)
print(flops.total(), dict(flops.by_operator()))
print({name: dict(counts) for name, counts in flops.by_module_and_operator().items()})
activations = ActivationCountAnalysis(model, x)
print(activations.total(), dict(activations.by_operator()))
print(dict(parameter_count(model)))
print(FlopCountAnalysis(torchvision.models.resnet18(), torch.randn(1, 3, 64, 64)).total())
print(FlopCountAnalysis(torchvision.models.mobilenet_v3_small(), torch.randn(1, 3, 64, 64)).total())
print(profile_macs(torchvision.models.resnet18(), torch.randn(1, 3, 64, 64)))
