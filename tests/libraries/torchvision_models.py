# libraries: torchvision
"""Models and transforms of torchvision: forward, backward, and the ops that its binary holds."""

import torch
import torchvision
from torchvision.transforms import v2

torch.manual_seed(0)
x = torch.randn(2, 3, 64, 64)
for name in ("resnet18", "mobilenet_v3_small", "vit_b_16", "convnext_tiny"):
    torch.manual_seed(1)
    size = 224 if name.startswith("vit") else 64
    model = torchvision.models.get_model(name, num_classes=5)
    model.eval()
    images = torch.nn.functional.interpolate(x, size=size) if size != 64 else x
    out = model(images)
    out.square().sum().backward()
    grads = sum(p.grad.abs().sum().item() for p in model.parameters() if p.grad is not None)
    print(name, [round(v, 4) for v in out.flatten().tolist()], f"{grads:.4e}", sum(p.numel() for p in model.parameters()))

transform = v2.Compose([v2.Resize(32, antialias=True), v2.CenterCrop(24), v2.Normalize([0.5] * 3, [0.2] * 3)])
shown = transform(x)
print("transforms", tuple(shown.shape), f"{shown.sum().item():.4f} {shown.std().item():.6f}")
flipped = v2.functional.horizontal_flip(x)
print("flip", bool((flipped == x.flip(-1)).all()), f"{v2.functional.adjust_brightness(x.sigmoid(), 1.3).mean().item():.6f}")
