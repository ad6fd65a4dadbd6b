# ruff: noqa
"""Data and training helpers of timm: loaders that repeat their sampler, mixup, schedulers, weight averages."""

# libraries: timm
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show

warnings.simplefilter("ignore")
torch.manual_seed(0)

import timm
from timm.data import Mixup
from timm.data.loader import MultiEpochsDataLoader
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, accuracy, dispatch_clip_grad

data = torch.utils.data.TensorDataset(torch.randn(12, 3, 16, 16), torch.randint(0, 5, (12,)))
loader = MultiEpochsDataLoader(data, batch_size=4, num_workers=0)
model = timm.create_model("resnet10t", num_classes=5, in_chans=3)
optimizer = create_optimizer_v2(model, "lamb", lr=1e-2, weight_decay=0.01)
schedule = CosineLRScheduler(optimizer, t_initial=4, warmup_t=1, warmup_lr_init=1e-3)
average = ModelEmaV3(model, decay=0.9)
import numpy as np

np.random.seed(0)
mixup = Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, num_classes=5)
for epoch in range(2):
    for images, labels in loader:
        images, soft = mixup(images, labels)
        loss = torch.sum(-soft * F.log_softmax(model(images), -1), -1).mean()
        optimizer.zero_grad()
        loss.backward()
        dispatch_clip_grad(model.parameters(), 1.0)
        optimizer.step()
        average.update(model)
    schedule.step(epoch + 1)
    show("epoch", loss, optimizer.param_groups[0]["lr"])
model.eval()
with torch.no_grad():
    out = model(data.tensors[0])
show("end", out, average.module.eval()(data.tensors[0]), *accuracy(out, data.tensors[1], topk=(1, 3)))
