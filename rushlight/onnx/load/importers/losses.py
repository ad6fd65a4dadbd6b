"""Losses of classes."""

from __future__ import annotations

from typing import Any

from ....nn import functional as F
from .. import calls as rl
from ..registry import NodeContext, importer

NO_CLASS = -100  # a class that is ignored where the file names none: no target has it


def loss_of(node: NodeContext, log_probabilities: Any, target: Any, weight: Any) -> Any:
    """The negative logarithm of each target's probability, reduced as the node says."""
    ignored = node.get("ignore_index", NO_CLASS)
    return F.nll_loss(log_probabilities, target.to(rl.int64), weight, ignore_index=ignored, reduction=node["reduction"])


@importer("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(node: NodeContext, x: Any, target: Any, weight: Any = None) -> Any:
    return loss_of(node, x, target, weight)


@importer("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(node: NodeContext, scores: Any, labels: Any, weight: Any = None) -> Any:
    log_probabilities = rl.log_softmax(scores, 1)
    return loss_of(node, log_probabilities, labels, weight), log_probabilities
