# ruff: noqa
"""pytorch-metric-learning: losses and miners."""

# libraries: pytorch-metric-learning
import torch
from pytorch_metric_learning import losses, miners, distances, reducers, samplers, regularizers

torch.manual_seed(0)
e = torch.randn(32, 16, requires_grad=True)
y = torch.randint(0, 6, (32,))
for n, kw in {
    "TripletMarginLoss": {},
    "ContrastiveLoss": {},
    "NTXentLoss": {},
    "SupConLoss": {},
    "MultiSimilarityLoss": {},
    "CircleLoss": {},
    "AngularLoss": {},
    "NPairsLoss": {},
    "LiftedStructureLoss": {},
    "MarginLoss": {},
    "ArcFaceLoss": dict(num_classes=6, embedding_size=16),
    "CosFaceLoss": dict(num_classes=6, embedding_size=16),
    "ProxyAnchorLoss": dict(num_classes=6, embedding_size=16),
    "ProxyNCALoss": dict(num_classes=6, embedding_size=16),
    "SoftTripleLoss": dict(num_classes=6, embedding_size=16),
    "FastAPLoss": {},
    "TupletMarginLoss": {},
    "SphereFaceLoss": dict(num_classes=6, embedding_size=16),
    "IntraPairVarianceLoss": {},
    "SignalToNoiseRatioContrastiveLoss": {},
    "VICRegLoss": None,
    "NCALoss": {},
    "SmoothAPLoss": None,
    "RankedListLoss": dict(margin=1, Tn=0),
    "ManifoldLoss": None,
    "InstanceLoss": None,
    "ThresholdConsistentMarginLoss": {},
}.items():
    if kw is None:
        continue
    try:
        torch.manual_seed(1)
        L = getattr(losses, n)(**kw)
        l = L(e, y)
        (g,) = torch.autograd.grad(l, e, allow_unused=True)
        print(n, f"{l.item():.5f}", f"{g.abs().sum().item():.4f}" if g is not None else None)
    except Exception as ex:
        print(n, type(ex).__name__, str(ex)[:150])
for n in ("MultiSimilarityMiner", "BatchHardMiner", "TripletMarginMiner", "UniformHistogramMiner", "BatchEasyHardMiner", "PairMarginMiner"):
    torch.manual_seed(1)
    out = getattr(miners, n)()(e, y)
    print(n, [int(o.sum()) for o in out])
print(samplers.MPerClassSampler(y, 2, 12).__iter__() is not None)
xb = losses.CrossBatchMemory(losses.NTXentLoss(), 16, 64)
print(f"{xb(e, y).item():.5f} {xb(e * 1.1, y).item():.5f}")
