# ruff: noqa
"""Small libraries, a few lines each."""

# libraries: geoopt zuko entmax pytorch-crf tensorly torchcde piq lpips pytorch-msssim julius auraloss higher pytorch-tabnet torchinfo torchsummary ttach backpack-for-pytorch neuraloperator pykan ptflops unfoldNd torchquad facenet-pytorch torchbnn nnAudio pytorch-revgrad
import torch, torch.nn as nn, warnings, traceback, io, contextlib

warnings.simplefilter("ignore")


def part(f):
    torch.manual_seed(0)
    try:
        r = f()
        print(f.__name__, *[f"{v:.5f}" if isinstance(v, float) else v for v in (r if isinstance(r, (list, tuple)) else [r])])
    except Exception as e:
        print(f.__name__, type(e).__name__, str(e)[:150].replace("\n", " "))


def geoopt_():
    import geoopt

    b = geoopt.PoincareBall()
    p = geoopt.ManifoldParameter(b.random(4, 3), manifold=b)
    o = geoopt.optim.RiemannianAdam([p], lr=0.1)
    for _ in range(3):
        o.zero_grad()
        l = b.dist0(p).sum()
        l.backward()
        o.step()
    s = geoopt.Stiefel()
    q = geoopt.ManifoldParameter(s.random(4, 2), manifold=s)
    o = geoopt.optim.RiemannianSGD([q], lr=0.1)
    (q**3).sum().backward()
    o.step()
    return l.item(), p.sum().item(), (q.T @ q - torch.eye(2)).abs().max().item() < 1e-4


def zuko_():
    import zuko

    out = []
    for f in (
        zuko.flows.MAF(3, 2, transforms=2, hidden_features=(16,)),
        zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16,)),
        zuko.flows.NICE(3, 2, transforms=2, hidden_features=(16,)),
        zuko.flows.CNF(3, 2, hidden_features=(16,)),
    ):
        c = torch.randn(5, 2)
        d = f(c)
        x = d.sample()
        l = -d.log_prob(torch.randn(5, 3)).mean()
        l.backward()
        out += [tuple(x.shape), l.item()]
    return out


def entmax_():
    from entmax import sparsemax, entmax15, entmax_bisect, Entmax15Loss

    x = torch.randn(3, 5, requires_grad=True)
    y = entmax15(x)
    (y**2).sum().backward()
    return (
        sparsemax(x).max().item(),
        y.max().item(),
        x.grad.abs().sum().item(),
        entmax_bisect(x, 1.3).max().item(),
        Entmax15Loss()(x, torch.tensor([0, 1, 2])).item(),
    )


def crf_():
    from torchcrf import CRF

    c = CRF(4, batch_first=True)
    e = torch.randn(2, 5, 4)
    t = torch.randint(0, 4, (2, 5))
    l = -c(e, t)
    l.backward()
    return l.item(), c.decode(e)


def tensorly_():
    import tensorly as tl

    tl.set_backend("pytorch")
    from tensorly.decomposition import parafac, tucker, tensor_train

    x = torch.randn(4, 5, 6)
    w, f = parafac(x, 3, init="svd", n_iter_max=20)
    c, g = tucker(x, [2, 2, 2], n_iter_max=5)
    return (
        tl.norm(tl.cp_to_tensor((w, f)) - x).item(),
        float(tl.norm(tl.tucker_to_tensor((c, g)) - x)),
        [tuple(k.shape) for k in tensor_train(x, [1, 2, 3, 1]).factors],
    )


def torchcde_():
    import torchcde

    t = torch.linspace(0, 1, 7)
    x = torch.cumsum(torch.randn(2, 7, 3), 1)
    X = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))

    class F(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(4, 12)

        def forward(s, t, z):
            return s.l(z).view(2, 4, 3).tanh()

    z = torchcde.cdeint(X=X, z0=torch.ones(2, 4), func=F(), t=X.interval, adjoint=False, method="rk4")
    z.sum().backward()
    return z[:, -1].sum().item(), torchcde.natural_cubic_coeffs(x).sum().item()


def piq_():
    import piq

    a, b = torch.rand(2, 3, 64, 64), torch.rand(2, 3, 64, 64)
    return [
        getattr(piq, n)(a, b, data_range=1.0).item() for n in ("psnr", "ssim", "gmsd", "vif_p", "fsim", "srsim", "vsi", "mdsi", "haarpsi")
    ] + [piq.total_variation(a).item()]


def msssim_():
    from pytorch_msssim import ssim, ms_ssim

    a = torch.rand(1, 3, 200, 200, requires_grad=True)
    l = ms_ssim(a, a.detach() * 0.8, data_range=1.0)
    l.backward()
    return l.item(), a.grad.abs().sum().item()


def lpips_():
    import lpips

    return lpips.LPIPS(net="alex", pretrained=False, pnet_rand=True, verbose=False)(
        torch.rand(1, 3, 64, 64), torch.rand(1, 3, 64, 64)
    ).item()


def julius_():
    import julius

    x = torch.randn(1, 1000)
    return (
        julius.resample_frac(x, 4, 5).abs().sum().item(),
        julius.lowpass_filter(x, 0.2).abs().sum().item(),
        julius.split_bands(x, 8000, 3).abs().sum().item(),
        julius.fft_conv1d(x[None], torch.randn(1, 1, 64)).abs().sum().item(),
    )


def auraloss_():
    import auraloss

    a, b = torch.randn(1, 1, 8000), torch.randn(1, 1, 8000)
    return [
        auraloss.freq.MultiResolutionSTFTLoss()(a, b).item(),
        auraloss.time.SISDRLoss()(a, b).item(),
        auraloss.time.SNRLoss()(a, b).item(),
    ]


def higher_():
    import higher

    m = nn.Linear(3, 1)
    o = torch.optim.Adam(m.parameters(), 0.1)
    x = torch.randn(8, 3)
    with higher.innerloop_ctx(m, o, copy_initial_weights=False) as (f, d):
        for _ in range(3):
            d.step((f(x) ** 2).mean())
        (f(x) ** 2).mean().backward()
    return m.weight.grad.abs().sum().item()


def tabnet_():
    from pytorch_tabnet.tab_model import TabNetClassifier
    import numpy as np

    r = np.random.RandomState(0)
    X = r.rand(64, 5).astype("f")
    y = (X[:, 0] > 0.5).astype(int)
    c = TabNetClassifier(verbose=0, seed=0, n_d=4, n_a=4)
    c.fit(X, y, max_epochs=2, batch_size=32, virtual_batch_size=16)
    return float(c.predict_proba(X).sum()), float(c.history["loss"][-1])


def info_():
    import torchinfo, torchsummary

    m = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    s = str(torchinfo.summary(m, (1, 3, 8, 8), verbose=0))
    b = io.StringIO()
    with contextlib.redirect_stdout(b):
        torchsummary.summary(m, (3, 8, 8), device="cpu")
    return s, b.getvalue()


def ttach_():
    import ttach as t

    m = nn.Conv2d(3, 1, 3, padding=1)
    return t.SegmentationTTAWrapper(m, t.aliases.d4_transform())(torch.rand(1, 3, 8, 8)).sum().item()


def backpack_():
    from backpack import extend, backpack
    from backpack.extensions import BatchGrad, DiagGGNExact, KFAC, Variance, BatchL2Grad

    m = extend(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)))
    lf = extend(nn.CrossEntropyLoss())
    l = lf(m(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
    with backpack(BatchGrad(), DiagGGNExact(), KFAC(), Variance(), BatchL2Grad()):
        l.backward()
    p = m[0].weight
    return p.grad_batch.sum().item(), p.diag_ggn_exact.sum().item(), p.variance.sum().item(), p.batch_l2.sum().item()


def neuralop_():
    from neuralop.models import FNO

    m = FNO(n_modes=(4, 4), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)
    y = m(torch.randn(1, 1, 16, 16))
    y.sum().backward()
    return y.abs().sum().item()


def kan_():
    from kan import KAN

    m = KAN(width=[2, 3, 1], grid=3, k=3, seed=0, auto_save=False)
    y = m(torch.rand(5, 2))
    y.sum().backward()
    return y.sum().item()


def ptflops_():
    from ptflops import get_model_complexity_info as g

    return g(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), (3, 8, 8), as_strings=False, print_per_layer_stat=False, verbose=False)


def unfold_():
    import unfoldNd

    return unfoldNd.unfoldNd(torch.rand(1, 2, 6, 6), kernel_size=3).sum().item(), unfoldNd.UnfoldNd(2)(torch.rand(1, 2, 5)).sum().item()


def revgrad_():
    from pytorch_revgrad import RevGrad

    x = torch.ones(2, requires_grad=True)
    RevGrad(alpha=2.0)(x).sum().backward()
    return x.grad.tolist()


def torchquad_():
    from torchquad import MonteCarlo, Simpson, set_up_backend

    set_up_backend("torch", data_type="float32")
    return Simpson().integrate(lambda x: torch.sin(x[:, 0]), dim=1, N=101, integration_domain=[[0, 1]], backend="torch").item()


def facenet_():
    from facenet_pytorch import InceptionResnetV1

    m = InceptionResnetV1(pretrained=None, classify=False).eval()
    return m(torch.rand(1, 3, 96, 96)).abs().sum().item()


def bayes_():
    import torchbnn as bnn

    m = nn.Sequential(bnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=3, out_features=2))
    l = m(torch.rand(2, 3)).sum() + bnn.BKLLoss()(m)
    l = l.sum()
    l.backward()
    return l.item()


def encodec_():
    from nnAudio.features import STFT, MelSpectrogram, CQT1992v2

    x = torch.rand(1, 8000)
    return MelSpectrogram(sr=8000, n_fft=256, n_mels=16, verbose=False)(x).sum().item(), STFT(
        n_fft=256, verbose=False, output_format="Magnitude"
    )(x).sum().item()


for f in [v for k, v in list(globals().items()) if k.endswith("_") and not k.startswith("_")]:
    part(f)
