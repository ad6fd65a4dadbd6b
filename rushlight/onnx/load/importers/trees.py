"""Ensembles of decision trees (``ai.onnx.ml``): all rows walk down all trees at once, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import calls as rl
from ..registry import NodeContext, importer
from .classic import ML, after, labelled

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"]
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
AGGREGATES = ["AVERAGE", "SUM", "MIN", "MAX"]
LEAF = -1  # as a mode


@dataclass
class Forest:
    """The nodes of all trees in one list; a leaf leads to itself, and its row of ``votes`` says what it is worth for each target."""

    features: np.ndarray
    thresholds: np.ndarray
    modes: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    missing_is_yes: np.ndarray
    members: dict[int, list[float]]
    roots: np.ndarray
    votes: np.ndarray  # (nodes, targets)
    voted: np.ndarray  # whether a leaf votes for a target

    def depth(self) -> int:
        """How many decisions there are at most from a root to a leaf."""
        level, depth = set(self.roots.tolist()), 0
        while level := {child for each in level if self.modes[each] != LEAF for child in (self.yes[each], self.no[each])}:
            depth += 1
            if depth > len(self.modes):
                raise ValueError("the nodes of a tree lead back to themselves")
        return depth


def leaves(forest: Forest, x: Any) -> Any:
    """The leaf that each row reaches in each tree: (rows, trees)."""
    features, thresholds, yes, no = (rl.from_numpy(each) for each in (forest.features, forest.thresholds, forest.yes, forest.no))
    modes, missing = rl.from_numpy(forest.modes), rl.from_numpy(forest.missing_is_yes)
    used = sorted(set(forest.modes.tolist()) - {LEAF})
    at = rl.from_numpy(forest.roots).reshape(1, -1).expand(x.shape[0], len(forest.roots))
    for _ in range(forest.depth()):
        value = rl.gather(x, 1, features[at])
        threshold, mode = thresholds[at].to(x.dtype), modes[at]
        holds = rl.isnan(value) & missing[at]
        for each in used:
            holds = holds | ((mode == each) & compared(forest, each, value, threshold, at))
        at = rl.where(mode == LEAF, at, rl.where(holds, yes[at], no[at]))
    return at


def compared(forest: Forest, mode: int, value: Any, threshold: Any, at: Any) -> Any:
    """The outcome of a comparison."""
    match MODES[mode]:
        case "BRANCH_LEQ":
            return value <= threshold
        case "BRANCH_LT":
            return value < threshold
        case "BRANCH_GTE":
            return value >= threshold
        case "BRANCH_GT":
            return value > threshold
        case "BRANCH_EQ":
            return value == threshold
        case "BRANCH_NEQ":
            return value != threshold
    found = value != value
    for each, members in forest.members.items():
        among = rl.zeros_like(found)
        for member in members:
            among = among | (value == member)
        found = found | ((at == each) & among)
    return found


def aggregated(forest: Forest, x: Any, how: str) -> Any:
    """What the trees say of each row for each target."""
    reached = leaves(forest, x)
    votes = rl.from_numpy(forest.votes).to(x.dtype)[reached]  # (rows, trees, targets)
    match how:
        case "SUM":
            return rl.sum(votes, 1)
        case "AVERAGE":
            return rl.sum(votes, 1) / len(forest.roots)
    voted = rl.from_numpy(forest.voted)[reached]
    neutral = float("inf") if how == "MIN" else float("-inf")
    best = (rl.amin if how == "MIN" else rl.amax)(rl.where(voted, votes, rl.full_like(votes, neutral)), 1)
    return rl.where(voted.any(1), best, rl.zeros_like(best))


# -- TreeEnsemble, of opset 5 ------------------------------------------------------------------------------------------------------------


@importer("TreeEnsemble", domain=ML)
def tree_ensemble(node: NodeContext, x: Any) -> Any:
    inner, count, targets = len(node["nodes_featureids"]), len(node["leaf_targetids"]), node["n_targets"]
    total = inner + count
    modes = np.full(total, LEAF, np.int64)
    modes[:inner] = node["nodes_modes"].numpy()
    own = np.arange(total)

    def child(side: str) -> np.ndarray:
        result = own.copy()
        result[:inner] = np.array(node[f"nodes_{side}nodeids"]) + inner * np.array(node[f"nodes_{side}leafs"])
        return result

    votes, voted = np.zeros((total, targets)), np.zeros((total, targets), bool)
    votes[own[inner:], node["leaf_targetids"]] = node["leaf_weights"].to(rl.float64).numpy()
    voted[own[inner:], node["leaf_targetids"]] = True
    forest = Forest(
        widened(node["nodes_featureids"], total, np.int64), widened(node["nodes_splits"].tolist(), total, np.float64), modes, child("true"), child("false"),
        widened(node.get("nodes_missing_value_tracks_true") or [0] * inner, total, bool), membership(node, modes), np.array(node["tree_roots"]), votes, voted,
    )  # fmt: skip
    return after(aggregated(forest, x, AGGREGATES[node["aggregate_function"]]), TRANSFORMS[node["post_transform"]])


def widened(values: Sequence[Any], total: int, dtype: Any) -> np.ndarray:
    """Values of inner nodes, with zeros for the leaves."""
    result = np.zeros(total, dtype)
    result[: len(values)] = values
    return result


def membership(node: NodeContext, modes: np.ndarray) -> dict[int, list[float]]:
    """The sets of nodes that ask for membership."""
    if "membership_values" not in node:
        return {}
    groups: list[list[float]] = [[]]
    for each in node["membership_values"].tolist():
        if each != each:
            groups.append([])
        else:
            groups[-1].append(each)
    return dict(zip(np.flatnonzero(modes == MODES.index("BRANCH_MEMBER")).tolist(), groups))


# -- its forerunners ---------------------------------------------------------------------------------------------------------------------


def old_forest(node: NodeContext, kind: str, targets: int) -> Forest:
    """The trees of the older operators, whose nodes have the numbers of their tree and of themselves."""
    where = {key: index for index, key in enumerate(zip(node["nodes_treeids"], node["nodes_nodeids"]))}
    total = len(where)
    modes = np.array([MODES.index(each) if each != "LEAF" else LEAF for each in node["nodes_modes"]])
    own = np.arange(total)

    def child(side: str) -> np.ndarray:
        given = node[f"nodes_{side}nodeids"]
        return np.array([index if modes[index] == LEAF else where[tree, given[index]] for index, tree in enumerate(node["nodes_treeids"])])

    def floats(name: str) -> list[float]:
        return node[f"{name}_as_tensor"].tolist() if f"{name}_as_tensor" in node else node[name]

    votes, voted = np.zeros((total, targets)), np.zeros((total, targets), bool)
    for tree, place, target, weight in zip(
        node[f"{kind}_treeids"], node[f"{kind}_nodeids"], node[f"{kind}_ids"], floats(f"{kind}_weights")
    ):
        votes[where[tree, place], target] += weight
        voted[where[tree, place], target] = True
    yes, no = child("true"), child("false")
    reached = {int(each) for side in (yes, no) for index, each in enumerate(side) if each != index}
    return Forest(
        np.array(node["nodes_featureids"]), np.array(floats("nodes_values"), np.float64), modes, yes, no,
        np.array(node.get("nodes_missing_value_tracks_true") or [0] * total, bool), {}, np.array([each for each in own.tolist() if each not in reached]), votes, voted,
    )  # fmt: skip


def base_values(node: NodeContext) -> Any:
    """What is added to the trees' sum; None for nothing."""
    given = node["base_values_as_tensor"].tolist() if "base_values_as_tensor" in node else node.get("base_values")
    return rl.tensor(given, dtype=rl.float32) if given else None


def floating(x: Any) -> Any:
    """Features as floating numbers."""
    return x if x.is_floating_point() else x.to(rl.float32)


@importer("TreeEnsembleRegressor", domain=ML)
def tree_ensemble_regressor(node: NodeContext, x: Any) -> Any:
    scores = aggregated(old_forest(node, "target", node["n_targets"]), floating(x), node["aggregate_function"])
    base = base_values(node)
    return after(scores if base is None else scores + base, node["post_transform"]).to(rl.float32)


@importer("TreeEnsembleClassifier", domain=ML)
def tree_ensemble_classifier(node: NodeContext, x: Any) -> Any:
    names = ("classlabels_strings", "classlabels_int64s")
    classes = len(node.get(names[0]) or node[names[1]])
    single = classes == 2 and len(set(node["class_ids"])) == 1  # the trees say how much speaks for one of two classes
    scores = aggregated(old_forest(node, "class", classes), floating(x), "SUM").to(rl.float32)
    base = base_values(node)
    transform = node["post_transform"]
    if not single:
        scores = scores if base is None else scores + base
        return labelled(node, rl.argmax(scores, -1), names), after(scores, transform)
    (used,) = set(node["class_ids"])
    score = scores[:, used : used + 1]
    score = score if base is None else score + base[-1]
    weights = node["class_weights_as_tensor"].tolist() if "class_weights_as_tensor" in node else node["class_weights"]
    between = 0.5 if min(weights) >= 0 else 0.0  # weights of one sign are probabilities
    if transform == "LOGISTIC":
        both = rl.cat([rl.sigmoid(-score), rl.sigmoid(score)], 1)
    else:
        both = after(rl.cat([1 - score if between and transform == "NONE" else -score, score], 1), transform)
    return labelled(node, (score[:, 0] > between).to(rl.int64), names), both
