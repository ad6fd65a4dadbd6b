"""Which nodes and names an exported file has, where tools look for them."""

import io

import numpy as np
import onnx
import onnxruntime
import pytest

import rushlight as torch
from rushlight.onnx.symbolic_helper import parse_args


class Normalized(torch.nn.Module):
    """A convolution and a batch normalization with statistics that are not trivial."""

    def __init__(self, bias=True, both=False):
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 6, 3, groups=2, bias=bias)
        self.norm = torch.nn.BatchNorm2d(6)
        self.both = both
        for each in (self.norm.weight, self.norm.bias, self.norm.running_mean):
            torch.nn.init.normal_(each)
        torch.nn.init.uniform_(self.norm.running_var, 0.5, 2.0)

    def forward(self, x):
        y = self.conv(x)
        return (y, self.norm(y)) if self.both else self.norm(y)


def exported(model, *args, **options):
    stream = io.BytesIO()
    torch.onnx.export(model, args, stream, dynamo=False, opset_version=17, **options)
    return onnx.load_from_string(stream.getvalue())


def kinds(file):
    return [each.op_type for each in file.graph.node]


@pytest.mark.parametrize("bias", [True, False])
def test_a_batch_norm_is_part_of_the_convolution_before_it(bias):
    model, x = Normalized(bias).eval(), torch.randn(2, 4, 5, 5)
    file = exported(model, x)
    assert kinds(file) == ["Conv"]
    session = onnxruntime.InferenceSession(file.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": x.numpy()})[0], model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_a_batch_norm_stays_where_weights_must_not_change():
    x = torch.randn(2, 4, 5, 5)
    assert kinds(exported(Normalized(both=True), x)) == ["Conv", "BatchNormalization"]
    assert kinds(exported(Normalized(), x, do_constant_folding=False)) == ["Conv", "BatchNormalization"]
    assert "BatchNormalization" in kinds(exported(Normalized(), x, training=torch.onnx.TrainingMode.TRAINING))


def test_copies_of_an_output_follow_what_makes_it():
    class Copies(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(30, 2)

        def forward(self, a, b):
            first, second = self.layer(a), self.layer(b)
            return first, first, second, first, second

    file = exported(Copies(), torch.ones(1, 30), torch.zeros(1, 30))
    assert kinds(file) == ["Gemm", "Identity", "Identity", "Gemm", "Identity"]


class Slices(torch.nn.Module):
    """Takes all of its weights by slices."""

    def __init__(self):
        super().__init__()
        self.in_weight = torch.nn.Parameter(torch.randn(3, 3))
        self.in_bias = torch.nn.Parameter(torch.randn(3))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.in_weight[0:None, :], self.in_bias[0:None])


def test_a_slice_of_all_elements_keeps_the_name_of_the_parameter():
    file = exported(Slices(), torch.ones(3, 3), keep_initializers_as_inputs=True)
    assert [each.name for each in file.graph.input] == ["x", "in_weight", "in_bias"]


def test_data_parallel_is_refused():
    with pytest.raises(ValueError, match="please use 'attribute' module"):
        exported(torch.nn.DataParallel(torch.nn.ReLU()), torch.ones(2))


def test_too_few_descriptors_of_a_symbolic_function():
    @parse_args("v")
    def symbolic(g, x, dim):
        return x

    with pytest.raises(AssertionError, match=r"number of arguments \(2\) and their descriptors \(1\)"):
        symbolic(None, None, 0)


def test_upsampling_before_opset_9_has_its_factors_as_an_attribute():
    stream = io.BytesIO()
    model = torch.nn.Upsample(scale_factor=2)
    torch.onnx.export(model, torch.ones(1, 2, 3, 3), stream, dynamo=False, opset_version=8)
    (node,) = onnx.load_from_string(stream.getvalue()).graph.node
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    assert node.op_type == "Upsample" and len(node.input) == 1 and attributes["scales"] == [1.0, 1.0, 2.0, 2.0]


class Clips(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        return x.clamp(-limit, limit)


class Doubles(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


def test_a_form_for_all_custom_functions_is_told_their_names():
    told = []

    def symbolic(g, *args, **kwargs):
        told.append((kwargs["name"], kwargs["module"]))
        return g.op("Neg" if kwargs["name"] == "Clips" else "Abs", args[0])

    torch.onnx.register_custom_op_symbolic("prim::PythonOp", symbolic, 1)
    try:
        file = exported(lambda x: Doubles.apply(Clips.apply(x, 2)), torch.ones(2))
    finally:
        torch.onnx.unregister_custom_op_symbolic("prim::PythonOp", 1)
    assert kinds(file) == ["Neg", "Abs"]
    assert told == [("Clips", __name__), ("Doubles", __name__)]


def test_outputs_are_compared_by_private_functions_too():
    from rushlight.compat import onnx_verification as private

    session = private._ort_session(io.BytesIO(exported(lambda x, y: (x + y, x - y), torch.ones(2), torch.ones(2)).SerializeToString()))
    found = private._run_onnx(session, (torch.ones(2), {"y": torch.zeros(2)}))
    options = torch.onnx.verification.VerificationOptions()
    private._compare_onnx_pytorch_outputs(found, (torch.ones(2), torch.ones(2)), options)
    with pytest.raises(AssertionError, match="Tensor-likes are not close!"):
        private._compare_onnx_pytorch_outputs(found, (torch.ones(2), torch.zeros(2)), options)
    with pytest.raises(ValueError, match="too many positional inputs"):
        private._run_onnx(session, (torch.ones(2), torch.ones(2), torch.ones(2)))
