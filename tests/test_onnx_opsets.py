"""Operators of ONNX at older opsets: the ONNX project's cases with their nodes as an older version has them, against ONNX Runtime.

Where ONNX Runtime does not run a case, the reference evaluator of the ``onnx`` package does, which leaves the versions before opset 7 to it.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnx_cases
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import rushlight
from rushlight.onnx.load.arrays import to_array, to_value

onnxruntime.set_default_logger_severity(4)
CASES_OF_VERSION = 2
NOT_COMPARED = ("Bernoulli", "Scan")  # random numbers; a body for each version


@functools.cache
def versions() -> dict[str, list[Any]]:
    """The schemas of each standard operator, oldest first."""
    found = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            found[schema.name].append(schema)
    return {name: sorted(each, key=lambda schema: schema.since_version) for name, each in found.items()}


@functools.cache
def cases_by_operator() -> dict[str, list[Any]]:
    """The cases of one node, by its operator."""
    found = collections.defaultdict(list)
    for name, case in onnx_cases.cases().items():
        if name.startswith("node/") and "_expanded" not in name:
            nodes = onnx_cases.model_of(case).graph.node
            if len(nodes) == 1 and not nodes[0].domain and nodes[0].op_type not in NOT_COMPARED:
                found[nodes[0].op_type].append(case)
    return found


def as_older(case: Any, model: Any, inputs: list[Any], schema: Any, last: int) -> tuple[Any, list[Any]] | None:
    """A case's model at the last opset of an older version, with inputs that were attributes then as attributes; None where it has no such form."""
    node = model.graph.node[0]
    newer = onnx.defs.get_schema(node.op_type, model.opset_import[0].version)
    given = dict(zip([each.name for each in model.graph.input], inputs))
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    kept = []
    for position, name in enumerate(node.input):
        formal = newer.inputs[min(position, len(newer.inputs) - 1)]
        attribute = formal.name if formal.name in schema.attributes else formal.name.lower()
        if attribute not in schema.attributes:
            kept.append(name)
        elif name and np.size(given[name]):
            listed = str(schema.attributes[attribute].type).endswith("S")
            attributes[attribute] = np.reshape(given[name], -1).tolist() if listed else np.reshape(given[name], -1)[0].item()
    for name in set(attributes) - set(schema.attributes):
        default = newer.attributes[name].default_value
        if not default.type or helper.get_attribute_value(default) != attributes.pop(name):
            return None
    made = helper.make_node(node.op_type, kept, node.output, **attributes)
    graph = helper.make_graph([made], "older", [each for each in model.graph.input if each.name in kept], model.graph.output)
    older = helper.make_model(graph, opset_imports=[helper.make_opsetid("", last)], ir_version=8)
    try:
        onnx.checker.check_model(older)
    except onnx.checker.ValidationError:
        return None
    return older, [given[each] for each in kept if each]


def older_cases(operator: str) -> Iterator[tuple[Any, Any, list[Any]]]:
    """Cases of an operator at each of its older versions, with model and inputs."""
    history = versions()[operator]
    for schema, following in zip(history, history[1:]):
        found = 0
        for case in cases_by_operator()[operator]:
            model = onnx_cases.model_of(case)
            if model.opset_import[0].version < following.since_version or schema.deprecated:
                continue
            inputs, _ = next(iter(onnx_cases.data_of(case, model)))
            older = as_older(case, model, inputs, schema, following.since_version - 1)
            if older is not None:
                yield case, *older
                found += 1
            if found == CASES_OF_VERSION:
                break


def expected(model: Any, inputs: list[Any]) -> Any:
    """What ONNX Runtime, or the reference evaluator, computes; None where neither does."""
    named = dict(zip([each.name for each in model.graph.input], inputs))
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, named)
    except Exception:
        try:
            return ReferenceEvaluator(model).run(None, named)
        except Exception:
            return None


def computed(model: Any, inputs: list[Any]) -> list[Any]:
    """What we compute."""
    result = rushlight.onnx.load(model)(*(to_value(each, value.type) for each, value in zip(inputs, model.graph.input)))
    results = result if isinstance(result, tuple) else (result,)
    return [to_array(each, value.type) for each, value in zip(results, model.graph.output)]


@pytest.mark.parametrize("operator", sorted(cases_by_operator()))
@pytest.mark.filterwarnings("ignore")
def test_older_versions(operator: str) -> None:
    for case, model, inputs in older_cases(operator):
        found, wanted = computed(model, inputs), expected(model, inputs)
        if wanted is None:
            continue
        try:
            onnx_cases.compare(list(wanted), found, case)
        except AssertionError:  # the runtimes differ where a later version made a meaning clear: then that one is right
            _, newer = next(iter(onnx_cases.data_of(case, onnx_cases.model_of(case))))
            onnx_cases.compare(newer, found, case)


# -- operators whose older versions look different, and those without cases ------------------------------------------------------------


def agrees(opset: int, operator: str, inputs: dict[str, Any], outputs: int = 1, **attributes: Any) -> None:
    """A node gives what ONNX Runtime gives."""
    names = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(operator, list(inputs), names, **attributes)
    values = {name: each for name, each in inputs.items() if name}
    given = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape) for name, each in values.items()]
    made = [helper.make_value_info(name, onnx.TypeProto()) for name in names]
    model = helper.make_model(helper.make_graph([node], "one", given, made), opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    model = onnx.shape_inference.infer_shapes(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for found, wanted in zip(computed(model, list(values.values())), session.run(None, values), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


STREAM = np.random.RandomState(0)
IMAGE = STREAM.randn(2, 3, 6, 8).astype(np.float32)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 3), (1, 1, 1.5, 2.5)])
def test_enlarging_before_opset_11(mode: str, scales: tuple[float, ...]) -> None:
    agrees(7, "Upsample", {"x": IMAGE}, mode=mode, scales=[float(each) for each in scales])
    agrees(9, "Upsample", {"x": IMAGE, "scales": np.array(scales, np.float32)}, mode=mode)
    agrees(10, "Resize", {"x": IMAGE, "scales": np.array(scales, np.float32)}, mode=mode)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"])
@pytest.mark.parametrize("opset", [11, 13, 18])
def test_resizing(opset: int, coordinates: str, mode: str) -> None:
    """By scales and by sizes, larger and smaller."""
    if mode == "cubic" and coordinates == "tf_crop_and_resize":
        pytest.skip("ONNX Runtime differs from the standard there")
    roi = np.array([0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9], np.float32)
    none = np.zeros(0, np.float32)
    for sizes in ((2, 3, 9, 20), (2, 3, 4, 5)):
        inputs = {"x": IMAGE, "roi": roi, "scales": none, "sizes": np.array(sizes, np.int64)}
        if opset >= 13:
            inputs = {"x": IMAGE, "roi": roi, "": none, "sizes": np.array(sizes, np.int64)}
        agrees(opset, "Resize", inputs, mode=mode, coordinate_transformation_mode=coordinates)
    if coordinates in ("half_pixel", "asymmetric"):
        for scales in ((1, 1, 0.6, 0.5), (1, 1, 2, 1.3)):
            agrees(
                opset,
                "Resize",
                {"x": IMAGE, "roi": roi, "scales": np.array(scales, np.float32)},
                mode=mode,
                coordinate_transformation_mode=coordinates,
            )


def test_resizing_whole_numbers() -> None:
    agrees(
        13,
        "Resize",
        {
            "x": np.arange(24, dtype=np.int32).reshape(1, 1, 4, 6),
            "roi": np.zeros(0, np.float32),
            "scales": np.array([1, 1, 2, 2], np.float32),
        },
        mode="linear",
    )


def test_pools_of_regions_and_of_everything() -> None:
    rois = np.array([[0, 0, 0, 5, 4], [1, 2, 1, 7, 5], [0, 3, 3, 3, 3]], np.float32)
    for scale in (1.0, 0.5):
        agrees(7, "MaxRoiPool", {"x": IMAGE, "rois": rois}, pooled_shape=[2, 3], spatial_scale=scale)
    for p in (1, 2, 3):
        agrees(7, "GlobalLpPool", {"x": IMAGE}, p=p)
        agrees(11, "LpPool", {"x": IMAGE}, p=p, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])


def test_regions_aligned() -> None:
    rois, batch = np.array([[0, 0, 5, 4], [2.3, 1.2, 7.4, 5.1]], np.float32), np.array([0, 1])
    for opset, more in ((10, {}), (16, {"coordinate_transformation_mode": "half_pixel"})):
        for ratio in (0, 2):
            agrees(
                opset, "RoiAlign", {"x": IMAGE, "rois": rois, "batch": batch},
                output_height=3, output_width=2, sampling_ratio=ratio, spatial_scale=0.9, **more,
            )  # fmt: skip


@pytest.mark.parametrize("opset", [7, 14])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers(operator: str, direction: str, opset: int) -> None:
    """With sequences of different lengths, states, clipping, other activations and peepholes, and without any of these."""
    both, gates, hidden = 1 + (direction == "bidirectional"), {"RNN": 1, "GRU": 3, "LSTM": 4}[operator], 5
    names = {"x": (4, 3, 2), "w": (both, gates * hidden, 2), "r": (both, gates * hidden, hidden), "b": (both, 2 * gates * hidden)}
    inputs: dict[str, Any] = {name: STREAM.randn(*shape).astype(np.float32) * 0.5 for name, shape in names.items()}
    outputs = 3 if operator == "LSTM" else 2
    plain = dict(hidden_size=hidden, direction=direction)
    more = {"linear_before_reset": 1} if operator == "GRU" else {}
    agrees(opset, operator, inputs, outputs, **plain, **more)
    inputs["lengths"] = np.array([4, 1, 3], np.int32)
    inputs["h"] = STREAM.randn(both, 3, hidden).astype(np.float32)
    acts = {"RNN": ["LeakyRelu"], "GRU": ["HardSigmoid", "Softsign"], "LSTM": ["HardSigmoid", "Tanh", "Relu"]}[operator]
    if operator == "LSTM":
        inputs["c"] = STREAM.randn(both, 3, hidden).astype(np.float32)
        inputs["p"] = STREAM.randn(both, 3 * hidden).astype(np.float32)
    agrees(opset, operator, inputs, outputs, **plain)
    agrees(
        opset,
        operator,
        inputs,
        outputs,
        **plain,
        clip=0.7,
        activations=acts * both,
        activation_alpha=[0.3] * both,
        activation_beta=[0.4] * both,
    )


def test_samples_of_a_line() -> None:
    """As of an image of one row, whose samples lie in it; ONNX Runtime takes images alone."""
    for mode in ("bilinear", "nearest"):
        line, at = STREAM.randn(2, 3, 8).astype(np.float32), STREAM.uniform(-1.2, 1.2, (2, 5, 1)).astype(np.float32)
        node = helper.make_node("GridSample", ["x", "at"], ["y"], mode="linear" if mode == "bilinear" else mode)
        given = [helper.make_tensor_value_info(name, 1, each.shape) for name, each in (("x", line), ("at", at))]
        graph = helper.make_graph([node], "one", given, [helper.make_tensor_value_info("y", 1, (2, 3, 5))])
        (found,) = computed(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), [line, at])
        (wanted,) = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])).run(
            None, {"x": line, "at": at}
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_scatter_and_transforms() -> None:
    at = np.array([[0, 2], [1, 1]])
    agrees(9, "Scatter", {"x": np.zeros((3, 3), np.float32), "at": at, "new": np.ones((2, 2), np.float32)}, axis=0)
    signal = STREAM.randn(2, 8, 3, 1).astype(np.float32)
    for attributes in ({"axis": 1}, {"axis": 2}, {"axis": 1, "onesided": 1}):
        agrees(17, "DFT", {"x": signal}, **attributes)
    agrees(10, "Dropout", {"x": IMAGE}, ratio=0.3)
    agrees(7, "Dropout", {"x": IMAGE}, ratio=0.3)
