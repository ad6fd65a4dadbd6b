"""Classic machine learning in ONNX files (``ai.onnx.ml``) against ONNX Runtime: linear models, support vector machines, trees, features."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import rushlight
from rushlight.onnx.load.arrays import to_array, to_value

onnxruntime.set_default_logger_severity(4)
STREAM = np.random.RandomState(0)
X = STREAM.randn(5, 4).astype(np.float32)
LABELS = {"labels": TensorProto.INT64, "scores": TensorProto.FLOAT}
SCORES = {"y": TensorProto.FLOAT}
# Two trees: of three leaves (nodes 2, 3, 4) and of two (1, 2).
TREES = dict(
    nodes_treeids=[0] * 5 + [1] * 3, nodes_nodeids=[0, 1, 2, 3, 4, 0, 1, 2], nodes_featureids=[0, 1, 0, 0, 0, 2, 0, 0],
    nodes_modes=["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"], nodes_values=[0.1, 0.2, 0, 0, 0, -0.3, 0, 0],
    nodes_truenodeids=[1, 3, 0, 0, 0, 1, 0, 0], nodes_falsenodeids=[2, 4, 0, 0, 0, 2, 0, 0], nodes_hitrates=[1.0] * 8,
    nodes_missing_value_tracks_true=[0, 1, 0, 0, 0, 1, 0, 0],
)  # fmt: skip


def floats(*shape: int) -> list[float]:
    return STREAM.randn(*shape).reshape(-1).tolist()


def agrees(
    operator: str, outputs: dict[str, int], inputs: dict[str, Any] | None = None, tolerance: float = 1e-4, **attributes: Any
) -> None:
    """An operator gives what ONNX Runtime gives."""
    inputs = {"x": X} if inputs is None else inputs
    node = helper.make_node(operator, list(inputs), list(outputs), domain="ai.onnx.ml", **attributes)
    given = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape) for name, each in inputs.items()]
    made = [helper.make_tensor_value_info(name, number, None) for name, number in outputs.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(helper.make_graph([node], "one", given, made), opset_imports=opsets, ir_version=8)
    wanted = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    result = rushlight.onnx.load(model)(*(to_value(each, value.type) for each, value in zip(inputs.values(), model.graph.input)))
    results = result if isinstance(result, tuple) else (result,)
    for value, one, other in zip(model.graph.output, results, wanted, strict=True):
        found = to_array(one, value.type)
        if other.dtype == object:
            assert found.tolist() == other.tolist()
        else:
            assert found.dtype == other.dtype
            np.testing.assert_allclose(found, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_linear_models(transform: str) -> None:
    agrees("LinearRegressor", SCORES, coefficients=floats(8), intercepts=[0.1, 0.2], targets=2, post_transform=transform)
    agrees(
        "LinearClassifier",
        LABELS,
        coefficients=floats(12),
        intercepts=[0.1, 0.2, 0.3],
        classlabels_ints=[3, 5, 7],
        post_transform=transform,
    )
    named = {"labels": TensorProto.STRING, "scores": TensorProto.FLOAT}
    agrees(
        "LinearClassifier", named, coefficients=floats(8), intercepts=[0.1, -0.1], classlabels_strings=["a", "b"], post_transform=transform
    )
    if transform != "SOFTMAX":
        agrees("LinearClassifier", LABELS, coefficients=floats(4), intercepts=[0.1], classlabels_ints=[0, 1], post_transform=transform)


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vector_machines(kernel: str) -> None:
    """Probabilities of pairs are joined exactly here, and up to a tolerance by ONNX Runtime."""
    common: dict[str, Any] = dict(kernel_type=kernel, kernel_params=[0.5, 0.1, 2.0])
    for one_class in (0, 1):
        machine = dict(coefficients=floats(3), support_vectors=floats(3, 4), n_supports=3, rho=[0.2], one_class=one_class)
        agrees("SVMRegressor", SCORES, **common, **machine)
    three = dict(
        coefficients=floats(2, 6),
        support_vectors=floats(6, 4),
        vectors_per_class=[2, 1, 3],
        rho=[0.2, 0.1, -0.3],
        classlabels_ints=[4, 5, 6],
    )
    agrees("SVMClassifier", LABELS, **common, **three)
    agrees("SVMClassifier", LABELS, None, 3e-3, **common, **three, prob_a=[-1.0, -1.2, -0.8], prob_b=[0.1, 0.0, -0.1])
    two = dict(coefficients=floats(6), support_vectors=floats(6, 4), vectors_per_class=[2, 4], rho=[0.2], classlabels_ints=[0, 1])
    agrees("SVMClassifier", LABELS, **common, **two)
    agrees("SVMClassifier", LABELS, None, 3e-3, **common, **two, prob_a=[-1.0], prob_b=[0.1])


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_trees(transform: str) -> None:
    inputs = {"x": np.where(X > 1.5, np.nan, X).astype(np.float32)}
    leaves = {"treeids": [0, 0, 0, 1, 1], "nodeids": [2, 3, 4, 1, 2]}
    votes = {f"class_{name}": each for name, each in leaves.items()} | {
        "class_ids": [0, 1, 2, 0, 1],
        "class_weights": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
    agrees("TreeEnsembleClassifier", LABELS, inputs, classlabels_int64s=[4, 5, 6], post_transform=transform, **votes, **TREES)
    if transform == "SOFTMAX":
        return  # ONNX Runtime leaves the scores of two classes as they are
    for weights in ([0.1, 0.2, 0.3, 0.4, 0.2], [-0.1, 0.2, -0.3, 0.4, -0.2]):
        votes |= {"class_ids": [0] * 5, "class_weights": weights}
        agrees("TreeEnsembleClassifier", LABELS, inputs, classlabels_int64s=[0, 1], post_transform=transform, **votes, **TREES)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regression_trees(aggregate: str) -> None:
    targets = dict(target_treeids=[0, 0, 0, 1, 1], target_nodeids=[2, 3, 4, 1, 2], target_weights=[1.0, 2.0, 3.0, 4.0, 5.0])
    agrees("TreeEnsembleRegressor", SCORES, n_targets=2, aggregate_function=aggregate, target_ids=[0, 1, 0, 0, 1], **targets, **TREES)
    agrees(
        "TreeEnsembleRegressor",
        SCORES,
        n_targets=1,
        aggregate_function=aggregate,
        target_ids=[0] * 5,
        base_values=[0.5],
        **targets,
        **TREES,
    )


def test_features() -> None:
    agrees("Scaler", SCORES, offset=[0.1, 0.2, 0.3, 0.4], scale=[1.0, 2.0, 3.0, 4.0])
    for norm in ("MAX", "L1", "L2"):
        agrees("Normalizer", SCORES, norm=norm)
    missing = {"x": np.where(X > 1, np.nan, X).astype(np.float32)}
    agrees("Imputer", SCORES, missing, imputed_value_floats=[9.0, 8.0, 7.0, 6.0], replaced_value_float=float("nan"))
    agrees("OneHotEncoder", SCORES, {"x": np.array([[0, 2], [1, 5]])}, cats_int64s=[0, 1, 2], zeros=1)
    agrees("FeatureVectorizer", SCORES, {"a": X, "b": X[:, :2].copy()}, inputdimensions=[4, 2])
    agrees("Binarizer", SCORES, threshold=0.3)
