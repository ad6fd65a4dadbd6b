# ruff: noqa
"""kornia: colours, filters, geometry, augmentations, features, losses."""

# libraries: kornia
import torch, kornia as K

torch.manual_seed(0)


def show(name, t):
    print(
        name,
        tuple(t.shape),
        *[
            f"{v:.5f}"
            for v in (t.double().mean().item(), t.double().std().item(), t.double().flatten()[:: max(1, t.numel() // 5)][:5].sum().item())
        ],
    )


x = torch.rand(2, 3, 32, 32, requires_grad=True)
for name, f in {
    "gray": K.color.rgb_to_grayscale,
    "hsv": K.color.rgb_to_hsv,
    "lab": K.color.rgb_to_lab,
    "yuv": K.color.rgb_to_yuv,
    "blur": lambda t: K.filters.gaussian_blur2d(t, (5, 5), (1.5, 1.5)),
    "sobel": K.filters.sobel,
    "median": lambda t: K.filters.median_blur(t, (3, 3)),
    "laplacian": lambda t: K.filters.laplacian(t, 5),
    "canny": lambda t: K.filters.canny(t)[0],
    "unsharp": lambda t: K.filters.unsharp_mask(t, (3, 3), (1.0, 1.0)),
    "rotate": lambda t: K.geometry.transform.rotate(t, torch.tensor([30.0, 45.0])),
    "resize": lambda t: K.geometry.transform.resize(t, (20, 24)),
    "pyr": K.geometry.transform.pyrdown,
    "hflip": K.geometry.transform.hflip,
    "eq": lambda t: K.enhance.equalize(t),
    "clahe": lambda t: K.enhance.equalize_clahe(t),
    "gamma": lambda t: K.enhance.adjust_gamma(t, 0.7),
    "ssim": lambda t: K.metrics.ssim(t, t.flip(-1), 5),
    "psnr": lambda t: K.metrics.psnr(t, t * 0.9, 1.0),
    "dilate": lambda t: K.morphology.dilation(t, torch.ones(3, 3)),
    "open": lambda t: K.morphology.opening(t, torch.ones(3, 3)),
    "harris": lambda t: K.feature.harris_response(t),
    "gftt": K.feature.gftt_response,
    "bilateral": lambda t: K.filters.bilateral_blur(t, (3, 3), 0.1, (1.5, 1.5)),
    "tv": lambda t: K.losses.total_variation(t),
    "focal": lambda t: K.losses.focal_loss(t, torch.randint(0, 3, (2, 32, 32)), alpha=0.5, reduction="mean"),
    "dice": lambda t: K.losses.dice_loss(t, torch.randint(0, 3, (2, 32, 32))),
}.items():
    try:
        y = f(x)
        show(name, y)
        if y.requires_grad:
            (g,) = torch.autograd.grad(y.sum(), x)
            show(" grad", g)
    except Exception as e:
        print(name, type(e).__name__, str(e)[:200])
src = torch.tensor([[[0.0, 0.0], [31.0, 0.0], [31.0, 31.0], [0.0, 31.0]]])
dst = src + torch.tensor([[[2.0, 3.0], [-1.0, 2.0], [-3.0, -2.0], [1.0, -1.0]]])
M = K.geometry.transform.get_perspective_transform(src, dst)
show("persp", M)
show("warp", K.geometry.transform.warp_perspective(x[:1], M, (32, 32)))
pts = torch.rand(1, 8, 2) * 30
show("homography", K.geometry.homography.find_homography_dlt(pts, pts @ torch.tensor([[0.9, 0.1], [-0.1, 0.95]]) + 2))
q = K.geometry.quaternion.Quaternion.random(2) if hasattr(K.geometry, "quaternion") else None
if q is not None:
    show("quat", q.matrix())
show("aa", K.geometry.conversions.axis_angle_to_rotation_matrix(torch.rand(4, 3)))
torch.manual_seed(3)
aug = K.augmentation.AugmentationSequential(
    K.augmentation.RandomHorizontalFlip(p=0.5),
    K.augmentation.RandomAffine(20.0, (0.1, 0.1), (0.8, 1.2), p=1.0),
    K.augmentation.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0),
    K.augmentation.RandomGaussianNoise(0.0, 0.05, p=1.0),
    K.augmentation.RandomErasing(p=0.5),
    data_keys=["input", "mask"],
)
a, m = aug(x.detach(), (x.detach()[:, :1] > 0.5).float())
show("aug", a)
show("mask", m)
lf = K.feature.SIFTDescriptor(32)
show("sift", lf(torch.rand(3, 1, 32, 32)))
show("laf", K.feature.laf_from_center_scale_ori(torch.rand(1, 4, 2) * 30))
