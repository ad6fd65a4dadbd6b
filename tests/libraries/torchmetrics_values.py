# libraries: torchmetrics
"""torchmetrics: accumulated metrics of classes and of numbers, and a collection of them."""

import torch
import torchmetrics
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassAUROC, MulticlassConfusionMatrix, MulticlassF1Score
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, R2Score

torch.manual_seed(0)
metrics = MetricCollection({"accuracy": MulticlassAccuracy(4), "f1": MulticlassF1Score(4), "auroc": MulticlassAUROC(4)})
matrix = MulticlassConfusionMatrix(4)
numbers = MetricCollection([MeanSquaredError(), R2Score(), PearsonCorrCoef()])
for _ in range(3):
    scores, target = torch.randn(32, 4).softmax(-1), torch.randint(4, (32,))
    metrics.update(scores, target)
    matrix.update(scores, target)
    a = torch.randn(32)
    numbers.update(a + 0.1 * torch.randn(32), a)
for name, value in {**metrics.compute(), **numbers.compute()}.items():
    print(name, f"{value.item():.5f}")
print(matrix.compute().tolist())
metrics.reset()
mean = torchmetrics.MeanMetric()
for value in (1.0, 2.0, 4.0):
    mean(value)
print(mean.compute().item(), mean.state_dict())
print(
    torchmetrics.functional.image.peak_signal_noise_ratio(torch.ones(1, 3, 8, 8) * 0.5, torch.ones(1, 3, 8, 8) * 0.4, data_range=1.0).item()
)
