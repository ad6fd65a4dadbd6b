"""Attacks on classifiers, relevances, and models read from ONNX files."""

# libraries: foolbox cleverhans zennit onnx2torch onnx2pytorch
import foolbox
import numpy as np
import onnx.helper as make
import onnx2torch
import torch
from cleverhans.torch.attacks.fast_gradient_method import fast_gradient_method
from cleverhans.torch.attacks.projected_gradient_descent import projected_gradient_descent
from onnx import TensorProto, numpy_helper
from onnx2pytorch import ConvertModel
from shared.reporting import show, train
from torch import nn
from zennit.attribution import Gradient
from zennit.composites import EpsilonPlusFlat

torch.manual_seed(0)
np.random.seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(48, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
images = torch.rand(6, 3, 4, 4)
labels = model(images).argmax(1)
bounded = foolbox.PyTorchModel(model, bounds=(0, 1))
for attack in (
    foolbox.attacks.LinfPGD(steps=5, random_start=False),
    foolbox.attacks.FGSM(),
    foolbox.attacks.L2DeepFoolAttack(steps=5),
    foolbox.attacks.L2CarliniWagnerAttack(steps=10, binary_search_steps=2),
):
    _, clipped, success = attack(bounded, images, labels, epsilons=0.1)
    show(type(attack).__name__, clipped, int(success.sum()))
show("fast gradient", fast_gradient_method(model, images, 0.1, np.inf))
show("projected", projected_gradient_descent(model, images, 0.1, 0.02, 5, np.inf, rand_init=False))

convolution = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
with Gradient(model=convolution, composite=EpsilonPlusFlat()) as attributor:
    show("relevance", *attributor(torch.randn(1, 3, 8, 8), torch.eye(5)[[1]]))

arrays = {"w": np.random.randn(4, 3, 3, 3).astype("f"), "l": np.random.randn(4, 5).astype("f")}
graph = make.make_graph(
    [
        make.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        make.make_node("Relu", ["a"], ["b"]),
        make.make_node("GlobalAveragePool", ["b"], ["c"]),
        make.make_node("Flatten", ["c"], ["d"]),
        make.make_node("MatMul", ["d", "l"], ["e"]),
        make.make_node("Softmax", ["e"], ["y"], axis=1),
    ],
    "graph",
    [make.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
    [make.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
    [numpy_helper.from_array(array, name) for name, array in arrays.items()],
)
file = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)])
read, x = onnx2torch.convert(file), torch.randn(1, 3, 8, 8)
show("onnx2torch", read(x), *train(read, x, lambda y: y.pow(2).sum()))
show("onnx2pytorch", ConvertModel(file)(x))
