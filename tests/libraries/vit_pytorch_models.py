# ruff: noqa
"""vit-pytorch: variants of vision transformers."""

# libraries: vit-pytorch
import torch, importlib

img = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
base = dict(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=4, mlp_dim=64)
for mod, cls, kw in [
    ("vit", "ViT", base),
    ("simple_vit", "SimpleViT", base),
    ("deepvit", "DeepViT", base),
    ("cait", "CaiT", dict(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, cls_depth=1, heads=4, mlp_dim=64)),
    ("t2t", "T2TViT", dict(image_size=32, dim=32, depth=1, heads=4, mlp_dim=64, num_classes=5, t2t_layers=((3, 2), (3, 2)))),
    (
        "cct",
        "CCT",
        dict(
            img_size=32,
            embedding_dim=32,
            n_conv_layers=1,
            kernel_size=3,
            stride=2,
            padding=1,
            pooling_kernel_size=3,
            pooling_stride=2,
            pooling_padding=1,
            num_layers=2,
            num_heads=4,
            mlp_ratio=2.0,
            num_classes=5,
            positional_embedding="learnable",
        ),
    ),
    ("levit", "LeViT", dict(image_size=64, num_classes=5, stages=3, dim=(16, 24, 32), depth=1, heads=(2, 3, 4), mlp_mult=2, dropout=0.0)),
    (
        "cvt",
        "CvT",
        dict(
            num_classes=5,
            s1_emb_dim=16,
            s1_heads=1,
            s1_depth=1,
            s2_emb_dim=24,
            s2_heads=2,
            s2_depth=1,
            s3_emb_dim=32,
            s3_heads=2,
            s3_depth=1,
        ),
    ),
    ("pit", "PiT", dict(image_size=32, patch_size=8, dim=32, num_classes=5, depth=(1, 1), heads=4, mlp_dim=64)),
    ("regionvit", "RegionViT", dict(dim=(16, 32, 48, 64), depth=(1, 1, 1, 1), window_size=2, num_classes=5)),
    ("max_vit", "MaxViT", dict(num_classes=5, dim_conv_stem=16, dim=16, dim_head=8, depth=(1, 1), window_size=4)),
    ("nest", "NesT", dict(image_size=32, patch_size=4, dim=16, heads=2, num_hierarchies=2, block_repeats=(1, 1), num_classes=5)),
    (
        "mobile_vit",
        "MobileViT",
        dict(image_size=(32, 32), dims=[16, 24, 32], channels=[8, 8, 16, 16, 24, 24, 32, 32, 40, 40, 48], num_classes=5),
    ),
    ("xcit", "XCiT", dict(image_size=32, patch_size=8, num_classes=5, dim=32, depth=1, cls_depth=1, heads=4, mlp_dim=64)),
    ("vit_for_small_dataset", "ViT", base),
    ("parallel_vit", "ViT", dict(num_parallel_branches=2, **base)),
    (
        "scalable_vit",
        "ScalableViT",
        dict(
            num_classes=5,
            dim=16,
            heads=(1, 2, 2, 2),
            depth=(1, 1, 1, 1),
            ssa_dim_key=(8, 8, 8, 8),
            reduction_factor=(4, 2, 1, 1),
            window_size=(4, 4, 2, 1),
        ),
    ),
    ("rvt", "RvT", base),
    ("na_vit", "NaViT", base),
    (
        "look_vit",
        "LookViT",
        dict(
            dim=32,
            image_size=32,
            num_classes=5,
            depth=2,
            patch_size=8,
            heads=2,
            mlp_factor=2,
            dim_head=8,
            highres_patch_size=4,
            highres_mlp_factor=2,
            cross_attn_heads=2,
            cross_attn_dim_head=8,
        ),
    ),
]:
    try:
        torch.manual_seed(0)
        m = getattr(importlib.import_module("vit_pytorch." + mod), cls)(**kw)
        m.eval()
        x = (
            [[img[0], img[1]]]
            if mod == "na_vit"
            else torch.nn.functional.interpolate(img, size=(64, 64))
            if mod in ("levit", "mobile_vit", "twins_svt", "crossformer", "regionvit", "cvt", "sep_vit", "scalable_vit")
            else img
        )
        y = m(x)
        y.square().sum().backward()
        g = sum(p.grad.abs().sum() for p in m.parameters() if p.grad is not None).item()
        print(mod, tuple(y.shape), f"{y.abs().sum().item():.4f} {g:.2f}")
    except Exception as e:
        print(mod, type(e).__name__, str(e)[:150])
from vit_pytorch.mae import MAE
from vit_pytorch import ViT
