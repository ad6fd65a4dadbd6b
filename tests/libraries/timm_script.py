"""Models of timm, traced and scripted: what they compute, saved and loaded again."""

import io

import timm
import torch

pictures = torch.linspace(-2, 2, 2 * 3 * 64 * 64).reshape(2, 3, 64, 64).sin()
for name, options in (
    ("resnet18", {}),
    ("vit_tiny_patch16_224", {"img_size": 64, "depth": 2}),
    ("beit_base_patch16_224", {"img_size": 64, "depth": 2, "embed_dim": 96, "num_heads": 3}),
    ("convnext_atto", {"depths": (1, 1, 1, 1)}),
    ("levit_128s", {"img_size": 64}),
    ("mobilenetv3_small_050", {}),
):
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=10, **options).eval()
    with torch.no_grad():
        wanted = model(pictures)
        for way in ("trace", "script"):
            made = torch.jit.trace(model, pictures) if way == "trace" else torch.jit.script(model)
            buffer = io.BytesIO()
            torch.jit.save(made, buffer)
            buffer.seek(0)
            again = torch.jit.load(buffer)
            near = [torch.allclose(each(pictures), wanted, atol=1e-4) for each in (made, again)]
            print(f"{name} {way}: {near} {wanted.std().item():.5f}")
