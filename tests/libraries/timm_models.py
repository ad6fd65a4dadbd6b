# libraries: timm
"""timm: models of several kinds, forward and backward, features, and an optimizer of its own."""

import timm
import timm.optim
import torch

for name in ("resnet18", "vit_tiny_patch16_224", "mobilenetv3_small_050", "convnext_atto", "efficientnet_b0", "mixer_s32_224"):
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=4)
    model.train()
    x = torch.randn(2, 3, *model.default_cfg["input_size"][1:])
    torch.manual_seed(1)
    loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([1, 3]))
    loss.backward()
    grads = sum(p.grad.square().sum().item() for p in model.parameters() if p.grad is not None) ** 0.5
    print(name, f"{loss.item():.4f} {grads:.3e}", sum(p.numel() for p in model.parameters()))
torch.manual_seed(0)
model = timm.create_model("resnet18", features_only=True)
print([tuple(each.shape) for each in model(torch.randn(1, 3, 64, 64))])
net = torch.nn.Linear(4, 2)
optimizer = timm.optim.create_optimizer_v2(net, opt="lamb", lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(1, 4)).square().sum().backward()
    optimizer.step()
print(f"{net.weight.sum().item():.5f}")
