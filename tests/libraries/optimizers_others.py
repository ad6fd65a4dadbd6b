# ruff: noqa
"""Optimizers of other libraries."""

# libraries: pytorch-optimizer schedulefree torch-optimizer prodigyopt dadaptation madgrad lion-pytorch
import torch, warnings, importlib, inspect

warnings.simplefilter("ignore")


def run(name, make):
    torch.manual_seed(0)
    m = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    x = torch.randn(16, 6)
    y = torch.randn(16, 2)
    try:
        o = make(m.parameters())
        if hasattr(o, "train") and callable(getattr(o, "train")):
            o.train()
        for _ in range(4):

            def closure():
                o.zero_grad()
                l = ((m(x) - y) ** 2).mean()
                l.backward(create_graph=name in ("adahessian", "AdaHessian", "SophiaH"))
                return l

            l = closure()
            o.step(closure if name in ("shampoo_c", "Alig", "SAM") else None) if True else None
        sd = o.state_dict()
        o.load_state_dict(sd)
        print(name, f"{l.item():.5f} {sum(p.abs().sum() for p in m.parameters()).item():.4f}")
    except Exception as e:
        print(name, type(e).__name__, str(e)[:110].replace("\n", " "))


import pytorch_optimizer as po

for n in sorted(po.get_supported_optimizers()) if hasattr(po, "get_supported_optimizers") else []:
    if (
        n
        in (
            "bsam",
            "sam",
            "gsam",
            "wsam",
            "looksam",
            "friendlysam",
            "lookahead",
            "trac",
            "pcgrad",
            "adammini",
            "lomo",
            "adalomo",
            "spectralsphere",
            "muon",
            "adamuon",
            "demo",
            "lbfgs",
            "lorarite",
            "muonclip",
            "normuon",
            "ranger21",
            "soap",
            "adago",
            "distributedmuon",
            "alig",
            "adahessian",
            "sophiah",
            "bitsandbytes",
        )
        or "bnb" in n
        or "ao" in n
    ):
        continue
    run("po." + n, lambda p: po.load_optimizer(n)(p, lr=1e-2))
import schedulefree

run("sf.adamw", lambda p: schedulefree.AdamWScheduleFree(p, lr=1e-2))
run("sf.sgd", lambda p: schedulefree.SGDScheduleFree(p, lr=1e-1))
run("sf.radam", lambda p: schedulefree.RAdamScheduleFree(p, lr=1e-2))
import torch_optimizer as to

for n in (
    "AccSGD",
    "AdaBelief",
    "AdaBound",
    "AdaMod",
    "Adafactor",
    "AdamP",
    "AggMo",
    "Apollo",
    "DiffGrad",
    "Lamb",
    "LARS",
    "MADGRAD",
    "NovoGrad",
    "PID",
    "QHAdam",
    "QHM",
    "RAdam",
    "Ranger",
    "RangerQH",
    "RangerVA",
    "SGDP",
    "SGDW",
    "Shampoo",
    "SWATS",
    "Yogi",
):
    run("to." + n, lambda p: getattr(to, n)(p, lr=1e-2))
for mod, cls, kw in (
    ("prodigyopt", "Prodigy", {}),
    ("dadaptation", "DAdaptAdam", {}),
    ("dadaptation", "DAdaptSGD", {}),
    ("madgrad", "MADGRAD", dict(lr=1e-2)),
    ("madgrad", "MirrorMADGRAD", dict(lr=1e-2)),
    ("lion_pytorch", "Lion", dict(lr=1e-3)),
):
    try:
        c = getattr(importlib.import_module(mod), cls)
    except Exception as e:
        print(mod, type(e).__name__, str(e)[:100])
        continue
    run(mod + "." + cls, lambda p: c(p, **kw))
