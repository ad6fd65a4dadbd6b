"""Models of timm, compiled: logits, gradients, features of a ResNet and of a vision transformer."""

import os

import timm
import torch

BACKEND = os.environ.get("COMPILE_BACKEND", "inductor")
pictures = torch.linspace(-2, 2, 2 * 3 * 64 * 64).reshape(2, 3, 64, 64).sin()
for name, options in (
    ("resnet18", {}),
    ("vit_tiny_patch16_224", {"img_size": 64, "depth": 2}),
    ("convnext_atto", {"depths": (1, 1, 1, 1)}),
):
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=10, **options).eval()
    compiled = torch.compile(model, backend=BACKEND)
    for call in range(2):
        model.zero_grad()
        out = compiled(pictures)
        out.square().mean().backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
        print(f"{name} {call}: {out.std().item():.5f} gradient {norm.item():.4f}")
    with torch.no_grad():
        print(torch.allclose(out, model(pictures), atol=1e-4), tuple(model.forward_features(pictures).shape))
