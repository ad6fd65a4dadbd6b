"""Classic machine learning (``ai.onnx.ml``): features, linear models and support vector machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....capture.control.python_functions import is_traced
from ....core.state import state
from .. import calls as rl
from ..registry import NodeContext, importer, ops
from ..strings import Strings
from .values import is_text, moves_elements

ML = "ai.onnx.ml"


# -- features ----------------------------------------------------------------------------------------------------------------------


@importer("ArrayFeatureExtractor", domain=ML)
@moves_elements
def array_feature_extractor(node: NodeContext, x: Any, indices: Any) -> Any:
    chosen = rl.index_select(x, -1, indices.reshape(-1))
    return chosen.reshape(1, -1) if x.dim() == 1 else chosen


@importer("Binarizer", domain=ML)
def binarizer(node: NodeContext, x: Any) -> Any:
    return (x > node["threshold"]).to(x.dtype)


@importer("FeatureVectorizer", domain=ML)
def feature_vectorizer(node: NodeContext, *features: Any) -> Any:
    rows = [each.reshape(1, -1) if each.dim() == 1 else each for each in features]
    widths = node.get("inputdimensions") or [each.shape[1] for each in rows]
    return rl.cat([each[:, :width].to(rl.float32) for each, width in zip(rows, widths)], 1)


@importer("Imputer", domain=ML)
def imputer(node: NodeContext, x: Any) -> Any:
    if x.is_floating_point():
        values, replaced = node["imputed_value_floats"], node["replaced_value_float"]
    else:
        values, replaced = node["imputed_value_int64s"], node["replaced_value_int64"]
    missing = rl.isnan(x) if replaced != replaced else x == replaced
    return rl.where(missing, rl.tensor(values, dtype=x.dtype), x)


@importer("Normalizer", domain=ML)
def normalizer(node: NodeContext, x: Any) -> Any:
    x = x.to(rl.float32)
    match node["norm"]:
        case "MAX":
            divisor = rl.amax(x, -1, True)
        case "L1":
            divisor = rl.sum(rl.abs(x), -1, True)
        case "L2":
            divisor = rl.sqrt(rl.sum(rl.square(x), -1, True))
        case other:
            raise node.error(f"norm is {other!r}")
    return x / rl.where(divisor == 0, rl.ones_like(divisor), divisor)


@importer("Scaler", domain=ML)
def scaler(node: NodeContext, x: Any) -> Any:
    return (x.to(rl.float32) - rl.tensor(node["offset"])) * rl.tensor(node["scale"])


@importer("OneHotEncoder", domain=ML)
def one_hot_encoder(node: NodeContext, x: Any) -> Any:
    if is_text(x):
        hits = rl.from_numpy(x.array[..., None] == np.array(node["cats_strings"], object))
    else:
        hits = x.to(rl.int64).unsqueeze(-1) == rl.tensor(node["cats_int64s"], dtype=rl.int64)
    if not node["zeros"] and not bool(hits.any(-1).all()):
        raise node.error("a value is in none of the categories")
    return hits.to(rl.float32)


# -- tables ------------------------------------------------------------------------------------------------------------------------


def looked_up(x: Any, keys: list[Any], values: Any, default: Any) -> Any:
    """Each element by a table; the last of equal keys counts, and nan is equal to nan."""
    array = x.array if is_text(x) else x.numpy()
    table = {"nan" if each != each else each: value for each, value in zip(keys, values)}
    found = [table.get("nan" if each != each else each, default) for each in array.reshape(-1).tolist()]
    result = np.empty(len(found), object)
    result[:] = found
    return result.reshape(array.shape)


def of_type(found: np.ndarray, like: Any) -> Any:
    """Values of a table as texts, or as a tensor of a dtype."""
    return Strings(found) if like is None else rl.from_numpy(found.astype(like.numpy))


@importer("LabelEncoder", domain=ML)
def label_encoder(node: NodeContext, x: Any) -> Any:
    if node.opset < 2:
        return category_mapper(node, x)
    keys = (
        next(found for name in ("strings", "int64s", "floats") if (found := node.get(f"keys_{name}")))
        if "keys_tensor" not in node
        else node["keys_tensor"].tolist()
    )
    if "values_tensor" in node:
        values = node["values_tensor"]
        kind, default = (None, "_Unused") if is_text(values) else (values.dtype, -0.0 if values.is_floating_point() else -1)
        if "default_tensor" in node:
            (default,) = node["default_tensor"].tolist() or [default]
        return of_type(looked_up(x, keys, values.tolist(), default), kind)
    for name, one, kind in (("strings", "string", None), ("int64s", "int64", rl.int64), ("floats", "float", rl.float32)):
        if given := node.get(f"values_{name}"):
            return of_type(looked_up(x, keys, given, node[f"default_{one}"]), kind)
    raise node.error("there are no values")


@importer("CategoryMapper", domain=ML)
def category_mapper(node: NodeContext, x: Any) -> Any:
    texts = node.get("cats_strings") or node["classes_strings"]
    whole = node.get("cats_int64s") or list(range(len(texts)))
    if is_text(x):
        return of_type(looked_up(x, texts, whole, node["default_int64"]), rl.int64)
    return of_type(looked_up(x, whole, texts, node["default_string"]), None)


@importer("DictVectorizer", domain=ML)
def dict_vectorizer(node: NodeContext, x: Any) -> Any:
    words = node.get("string_vocabulary") or node["int64_vocabulary"]
    values = [x.get(each) for each in words]
    if any(isinstance(each, str) for each in values):
        return Strings(np.array(["" if each is None else each for each in values], object))
    return rl.tensor([0 if each is None else each for each in values])


@importer("CastMap", domain=ML)
def cast_map(node: NodeContext, x: Any) -> Any:
    if node["map_form"] == "DENSE":
        values = [value for _, value in sorted(x.items())]
    else:
        values = [x.get(each, 0) for each in range(node["max_map"])]
    match node["cast_to"]:
        case "TO_STRING":
            return Strings(np.array([[str(each) for each in values]], object))
        case "TO_INT64":
            return rl.tensor([[int(each) for each in values]], dtype=rl.int64)
    return rl.tensor([[float(each) for each in values]], dtype=rl.float32)


@importer("ZipMap", domain=ML)
def zip_map(node: NodeContext, x: Any) -> Any:
    keys = node.get("classlabels_strings") or node["classlabels_int64s"]
    if state.capture is not None and state.capture.refusing and is_traced(x):
        raise node.not_supported("it gives a dict for each row, which an exported graph has no value for: take its input (zipmap=False)")
    return [dict(zip(keys, row, strict=True)) for row in x.reshape(-1, len(keys)).tolist()]


# -- linear models -------------------------------------------------------------------------------------------------------------------


def after(scores: Any, transform: str) -> Any:
    """Scores as a model's last step makes them."""
    match transform:
        case "NONE":
            return scores
        case "LOGISTIC":
            return rl.sigmoid(scores)
        case "SOFTMAX":
            return rl.softmax(scores, -1)
        case "SOFTMAX_ZERO":  # zeros stay, and count for nothing
            zero = scores == 0
            return rl.where(zero, rl.zeros_like(scores), rl.softmax(rl.where(zero, rl.full_like(scores, float("-inf")), scores), -1))
        case "PROBIT":
            return 2**0.5 * rl.erfinv(2 * scores - 1)
    raise ValueError(f"post_transform {transform!r} is not known")


def labelled(node: NodeContext, positions: Any, names: tuple[str, str]) -> Any:
    """The labels of classes by their positions."""
    texts, whole = (node.get(each) for each in names)
    if texts:
        return Strings(np.array(texts, object)[positions.numpy()])
    return rl.tensor(whole, dtype=rl.int64)[positions] if whole else positions


def linear(node: NodeContext, x: Any, rows: int) -> Any:
    """A linear map of features."""
    weights = rl.tensor(node["coefficients"], dtype=rl.float32).reshape(rows, -1)
    scores = rl.matmul(x.to(rl.float32), weights.t())
    return scores + rl.tensor(node["intercepts"], dtype=rl.float32) if node.get("intercepts") else scores


@importer("LinearRegressor", domain=ML)
def linear_regressor(node: NodeContext, x: Any) -> Any:
    return after(linear(node, x, node["targets"]), node["post_transform"])


@importer("LinearClassifier", domain=ML)
def linear_classifier(node: NodeContext, x: Any) -> Any:
    names = ("classlabels_strings", "classlabels_ints")
    classes = len(node.get(names[0]) or node.get(names[1]) or node.get("intercepts") or [0])
    rows = len(node["coefficients"]) // x.shape[-1]
    scores = linear(node, x, rows)
    return decided(node, scores, classes, names)


def decided(node: NodeContext, scores: Any, classes: int, names: tuple[str, str]) -> Any:
    """The best class and all scores; one score for two classes is that of the second."""
    transform = node["post_transform"]
    if scores.shape[-1] == 1 and classes == 2:
        best = (scores[:, 0] > 0).to(rl.int64)
        first = 1 - (rl.sigmoid(scores) if transform == "LOGISTIC" else scores)
        both = rl.cat([first, rl.sigmoid(scores) if transform == "LOGISTIC" else scores], -1)
        return labelled(node, best, names), both if transform == "LOGISTIC" else after(both, transform)
    return labelled(node, rl.argmax(scores, -1), names), after(scores, transform)


# -- support vector machines -----------------------------------------------------------------------------------------------------------


def kernel(node: NodeContext, x: Any, vectors: Any) -> Any:
    """How near inputs are to support vectors: (inputs, vectors)."""
    gamma, coefficient, degree = node.get("kernel_params") or (0.0, 0.0, 0.0)
    products = rl.matmul(x, vectors.t())
    match node["kernel_type"]:
        case "LINEAR":
            return products
        case "POLY":
            return rl.pow(gamma * products + coefficient, degree)
        case "SIGMOID":
            return rl.tanh(gamma * products + coefficient)
        case "RBF":
            distances = rl.sum(rl.square(x), -1, True) - 2 * products + rl.sum(rl.square(vectors), -1)
            return rl.exp(-gamma * rl.clamp(distances, 0))
    raise node.error(f"kernel_type is {node['kernel_type']!r}")


@importer("SVMRegressor", domain=ML)
def svm_regressor(node: NodeContext, x: Any) -> Any:
    x = x.to(rl.float32)
    weights = rl.tensor(node["coefficients"], dtype=rl.float32)
    if node["n_supports"] > 0:
        vectors = rl.tensor(node["support_vectors"], dtype=rl.float32).reshape(node["n_supports"], -1)
        scores = rl.matmul(kernel(node, x, vectors), weights.reshape(-1, 1)) + node["rho"][0]
    else:
        scores = rl.matmul(x, weights.reshape(-1, 1)) + node["rho"][0]
    if node["one_class"]:
        return rl.where(scores > 0, rl.ones_like(scores), -rl.ones_like(scores))
    return after(scores, node["post_transform"])


@importer("SVMClassifier", domain=ML)
def svm_classifier(node: NodeContext, x: Any) -> Any:
    """One machine for each pair of classes: the class with most votes, or with the largest probability."""
    names = ("classlabels_strings", "classlabels_ints")
    classes = len(node.get(names[0]) or node.get(names[1]) or [])
    counts = node.get("vectors_per_class")
    x = x.to(rl.float32)
    weights = rl.tensor(node["coefficients"], dtype=rl.float32)
    if not counts:  # a linear machine for each class
        scores = rl.matmul(x, weights.reshape(classes, -1).t()) + rl.tensor(node["rho"], dtype=rl.float32)[:1]
        return labelled(node, rl.argmax(scores, -1), names), after(scores, node["post_transform"])
    vectors = rl.tensor(node["support_vectors"], dtype=rl.float32).reshape(sum(counts), -1)
    near = kernel(node, x, vectors).split(counts, 1)
    parts = weights.reshape(classes - 1, -1).split(counts, 1)
    pairs = [(first, second) for first in range(classes) for second in range(first + 1, classes)]
    margins = rl.stack(
        [
            rl.matmul(near[first], parts[first][second - 1]) + rl.matmul(near[second], parts[second][first]) + node["rho"][index]
            for index, (first, second) in enumerate(pairs)
        ],
        1,
    )
    votes = [
        sum(
            (margins[:, index] > 0 if each == first else margins[:, index] <= 0).to(rl.int64)
            for index, (first, second) in enumerate(pairs)
            if each in (first, second)
        )
        for each in range(classes)
    ]
    best = rl.argmax(rl.stack(votes, 1), -1)
    if node.get("prob_a"):
        slopes, offsets = rl.tensor(node["prob_a"]), rl.tensor(node["prob_b"])
        probabilities = coupled(rl.sigmoid(-(margins * slopes + offsets)), pairs, classes)
        return labelled(node, best, names), after(probabilities, node["post_transform"])
    return labelled(node, best, names), after(rl.cat([-margins, margins], 1) if classes == 2 else margins, node["post_transform"])


def coupled(pairwise: Any, pairs: list[tuple[int, int]], classes: int) -> Any:
    """Probabilities of classes that agree best with those of each pair, as the solution of a linear system (Wu, Lin and Weng's second method)."""
    pairwise = rl.clamp(pairwise, 1e-7, 1 - 1e-7)
    matrix = [[rl.zeros_like(pairwise[:, 0]) for _ in range(classes + 1)] for _ in range(classes + 1)]
    for index, (first, second) in enumerate(pairs):
        ahead, behind = pairwise[:, index], 1 - pairwise[:, index]
        matrix[first][first] = matrix[first][first] + rl.square(behind)
        matrix[second][second] = matrix[second][second] + rl.square(ahead)
        matrix[first][second] = matrix[second][first] = -ahead * behind
    for each in range(classes):
        matrix[each][classes] = matrix[classes][each] = rl.ones_like(pairwise[:, 0])
    system = rl.stack([rl.stack(row, -1) for row in matrix], -2)
    wanted = rl.zeros_like(system[:, :, 0])
    wanted = rl.cat([wanted[:, :classes], wanted[:, classes:] + 1], 1)
    return rl.clamp(ops.linalg_solve(system, wanted)[:, :classes], 0, 1)
