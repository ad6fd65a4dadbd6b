"""Feature extraction and rewriting with torch.fx: torchvision's extractor, timm's fx features, and passes by hand."""

import timm
import torch
import torch.nn.functional as F
import torchvision
from torch import fx, nn
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

torch.manual_seed(0)
x = torch.randn(1, 3, 64, 64)


def show(name, value):
    print(name, tuple(value.shape), f"{value.double().abs().mean().item():.5f}")


resnet = torchvision.models.resnet18(weights=None).eval()
train, evaluated = get_graph_node_names(resnet)
print(len(train), len(evaluated), evaluated[:6], evaluated[-3:])
with torch.no_grad():
    for name, value in create_feature_extractor(resnet, return_nodes={"layer1": "one", "layer3.1.relu": "three", "flatten": "flat"})(
        x
    ).items():
        show(name, value)
    for name, value in create_feature_extractor(
        torchvision.models.mobilenet_v2(weights=None).eval(), ["features.3", "features.18", "classifier"]
    )(x).items():
        show(name, value)
    vit = torchvision.models.VisionTransformer(image_size=64, patch_size=16, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64).eval()
    for name, value in create_feature_extractor(vit, ["encoder.layers.encoder_layer_1.add", "heads"])(x).items():
        show(name, value)
    model = timm.create_model("resnet10t", pretrained=False).eval()
    print(get_graph_node_names(model)[1][:5])
    for name, value in timm.models._features_fx.create_feature_extractor(model, {"layer2": "two", "global_pool": "pool"})(x).items():
        show(name, value)


class Count(fx.Interpreter):
    """Counts the nodes that run, by kind."""

    def __init__(self, module):
        super().__init__(module)
        self.counts = {}

    def run_node(self, n):
        self.counts[n.op] = self.counts.get(n.op, 0) + 1
        return super().run_node(n)


traced = fx.symbolic_trace(resnet)
counter = Count(traced)
with torch.no_grad():
    print(torch.allclose(counter.run(x), resnet(x), atol=1e-5), sorted(counter.counts.items()))
for node in traced.graph.nodes:
    if node.op == "call_module" and isinstance(traced.get_submodule(node.target), nn.ReLU):
        with traced.graph.inserting_after(node):
            new = traced.graph.call_function(F.silu, node.args)
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
traced.delete_all_unused_submodules()
traced.recompile()
traced.graph.lint()
print("relu" in traced.code, traced.code.count("silu("))
with torch.no_grad():
    show("silu", traced(x))
