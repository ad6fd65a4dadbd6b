"""Networks for super-resolution and restoration, found by the names in their states."""

# libraries: spandrel
import torch
from shared.reporting import show
from spandrel import ModelLoader
from spandrel.architectures.Compact import Compact
from spandrel.architectures.ESRGAN import ESRGAN
from spandrel.architectures.HAT import HAT
from spandrel.architectures.SwinIR import SwinIR

image = torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))
for kind, options in (
    (ESRGAN, {"num_filters": 8, "num_blocks": 2, "scale": 2}),
    (Compact, {"num_feat": 8, "num_conv": 2, "upscale": 2}),
    (SwinIR, {"embed_dim": 12, "depths": [2, 2], "num_heads": [2, 2], "window_size": 4, "upscale": 2, "upsampler": "pixelshuffle", "img_size": 16}),
    (HAT, {"embed_dim": 12, "depths": [2], "num_heads": [2], "window_size": 4, "upscale": 2, "upsampler": "pixelshuffle", "img_size": 16, "compress_ratio": 3, "squeeze_factor": 4}),
):  # fmt: skip
    torch.manual_seed(0)
    net = kind(**options)
    out = net(image)
    out.square().mean().backward()
    show(kind.__name__, tuple(out.shape), out, sum(p.grad.norm() for p in net.parameters() if p.grad is not None))
    found = ModelLoader().load_from_state_dict(net.eval().state_dict())
    with torch.no_grad():
        show("found", found.architecture.name, found.scale, found.input_channels, found(image))
