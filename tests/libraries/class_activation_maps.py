"""Maps of what convolutional networks look at."""

# libraries: grad-cam torchcam timm
import torch
from pytorch_grad_cam import EigenCAM, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, ScoreCAM, XGradCAM
from pytorch_grad_cam.metrics.cam_mult_image import CamMultImageConfidenceChange
from pytorch_grad_cam.utils.model_targets import ClassifierOutputSoftmaxTarget, ClassifierOutputTarget
from shared.reporting import show
from torch import nn
from torchcam.methods import CAM, SmoothGradCAMpp
from torchcam.methods import GradCAM as TorchcamGradCAM
from torchcam.methods import LayerCAM as TorchcamLayerCAM


class Net(nn.Module):
    """A small network with named parts."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, padding=1), nn.ReLU()
        )
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(self.pool(self.features(x)).flatten(1))


torch.manual_seed(0)
model = Net().eval()
images = torch.randn(2, 3, 16, 16)
targets = [ClassifierOutputTarget(1), ClassifierOutputSoftmaxTarget(2)]
for kind in (GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, XGradCAM, EigenCAM, ScoreCAM):
    with kind(model=model, target_layers=[model.features[4]]) as cam:
        maps = cam(input_tensor=images, targets=targets)
    show(kind.__name__, torch.from_numpy(maps), tuple(maps.shape))
scores = CamMultImageConfidenceChange()(images, maps, targets, model)
show("confidence", *map(float, scores))

for kind in (TorchcamGradCAM, TorchcamLayerCAM):
    with kind(model, target_layer="features.4") as extract:
        out = model(images)
        show(f"torchcam {kind.__name__}", *extract([0, 3], out))
with CAM(model, target_layer="features.5", fc_layer="fc") as extract:
    show("torchcam CAM", *extract([0, 3], model(images)))
with SmoothGradCAMpp(model, target_layer="features.4", num_samples=2, std=0.1) as extract:
    show("torchcam smooth", *extract([1, 1], model(images)))
