"""Softmax over many classes, of which few are frequent."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from ...ops.shape.concat import cat
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-likelihood of classes that are sorted from frequent to rare.

    The frequent ones have scores of their own in the head; the others are in clusters, whose scores are computed from fewer
    features, the fewer the rarer they are.  The head has one score for each cluster.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        found = list(cutoffs)
        if not found:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if any(int(each) != each for each in found) or found != sorted(set(found)) or found[0] <= 0 or found[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                "between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*found, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for number, (first, last) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            width = int(in_features // div_value ** (number + 1))
            self.tail.append(
                Sequential(Linear(in_features, width, bias=False, **options), Linear(width, last - first, bias=False, **options))
            )

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        self.head.reset_parameters()
        for narrow, wide in self.tail:
            narrow.reset_parameters()
            wide.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> _ASMoutput:
        """The log-likelihood of each target, and the loss: the mean of their negatives."""
        if target_.dim() == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input_.size()}")
        elif target_.dim() == 0:
            if input_.dim() != 1:
                raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input_.size()}")
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        low, high = (int(target.min()), int(target.max())) if target.numel() else (0, 0)
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were found. ")
        output = input.new_zeros(target.size(0))
        in_head = target.clone()  # each target's place in the head: its own, or that of its cluster
        for number, (first, last) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            rows = ((target >= first) & (target < last)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            in_head = in_head.index_fill(0, rows, self.shortlist_size + number)
            within = F.log_softmax(self.tail[number](input.index_select(0, rows)), 1)
            relative = (target - first).index_select(0, rows).unsqueeze(1)
            output = output.index_copy(0, rows, within.gather(1, relative).squeeze(1))
        head = F.log_softmax(self.head(input), 1)
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Any, head_output: Any) -> Any:
        """The log-probabilities of all classes, given the scores of the head."""
        head = F.log_softmax(head_output, 1)
        parts = [head[:, : self.shortlist_size]]
        for number in range(self.n_clusters):
            within = F.log_softmax(self.tail[number](input), 1)
            parts.append(within + head[:, self.shortlist_size + number].unsqueeze(1))
        return cat(parts, 1)

    def log_prob(self, input: Any) -> Any:
        """The log-probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Any:
        """The most likely class of each row; clusters are looked into only where they are the most likely."""
        head = self.head(input)
        best = head.argmax(1)
        in_shortlist = best < self.shortlist_size
        if in_shortlist.all():
            return best
        rows = (~in_shortlist).nonzero().squeeze(1)
        found = self._get_full_log_prob(input.index_select(0, rows), head.index_select(0, rows)).argmax(1)
        return best.index_copy(0, rows, found)


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
