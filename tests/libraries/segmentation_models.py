# ruff: noqa
"""segmentation-models-pytorch: architectures, losses, metrics."""

# libraries: segmentation_models_pytorch
import torch, segmentation_models_pytorch as smp

x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
t = (torch.rand(2, 1, 64, 64, generator=torch.Generator().manual_seed(2)) > 0.5).float()
for arch in ["Unet", "UnetPlusPlus", "FPN", "Linknet", "PSPNet", "DeepLabV3Plus", "Segformer"]:
    try:
        torch.manual_seed(0)
        m = smp.create_model(arch, encoder_name="resnet18", encoder_weights=None, classes=1)
        m.train()
        y = m(x)
        l = smp.losses.DiceLoss("binary")(y, t) + smp.losses.FocalLoss("binary")(y, t)
        l.backward()
        print(
            arch, tuple(y.shape), f"{l.item():.4f}", f"{sum(p.grad.abs().sum() for p in m.parameters() if p.grad is not None).item():.2f}"
        )
    except Exception as e:
        print(arch, type(e).__name__, str(e)[:200])
tp, fp, fn, tn = smp.metrics.get_stats(t.long(), (t.flip(-1)).long(), mode="binary")
print(f"{smp.metrics.iou_score(tp, fp, fn, tn, reduction='micro').item():.5f}")
for L in (
    smp.losses.JaccardLoss("binary"),
    smp.losses.TverskyLoss("binary"),
    smp.losses.LovaszLoss("binary"),
    smp.losses.SoftBCEWithLogitsLoss(),
    smp.losses.MCCLoss(),
):
    print(type(L).__name__, f"{L(x[:, :1], t).item():.5f}")
