"""torchaudio's compiled ops, written anew: compared with the definitions that they compute faster."""

from __future__ import annotations

import itertools
import math

import rushlight as torch
from rushlight.compat import torchaudio_ops


def test_a_recursive_filter_is_its_difference_equation_and_writes_in_place() -> None:
    torch.manual_seed(0)
    x, a = torch.randn(2, 3, 20), torch.tensor([[1.0, 0.4, -0.2]]).repeat(3, 1)
    padded = torch.zeros(2, 3, 22)
    torch.ops.torchaudio._lfilter_core_loop(x, a.flip(1).contiguous(), padded)
    y = padded[:, :, 2:]
    for at in range(20):
        wanted = x[:, :, at] - 0.4 * padded[:, :, at + 1] + 0.2 * padded[:, :, at]
        assert torch.allclose(y[:, :, at], wanted)


def path_sum(scores: torch.Tensor, labels: list[int], blank: int) -> float:
    """The logarithm of the sum over all paths of a transducer."""
    frames, count = scores.shape[0], len(labels)
    total = 0.0
    for places in itertools.combinations_with_replacement(range(frames), count):  # the frame that each label is emitted in
        found, frame = 0.0, 0
        for row, (at, label) in enumerate(zip(places, labels)):
            found += sum(float(scores[each, row, blank]) for each in range(frame, at)) + float(scores[at, row, label])
            frame = at
        total += math.exp(found + sum(float(scores[each, count, blank]) for each in range(frame, frames)))
    return math.log(total)


def test_the_transducer_loss_is_the_sum_over_paths_and_has_a_gradient() -> None:
    torch.manual_seed(1)
    logits = torch.randn(2, 4, 3, 5, dtype=torch.float64)
    targets = torch.tensor([[1, 2], [3, 0]], dtype=torch.int32)
    frames, labels = torch.tensor([4, 3], dtype=torch.int32), torch.tensor([2, 1], dtype=torch.int32)
    costs, gradient = torch.ops.torchaudio.rnnt_loss_forward(logits, targets, frames, labels, 4, -1.0, True)
    scores = logits.log_softmax(-1)
    assert math.isclose(float(costs[0]), -path_sum(scores[0], [1, 2], 4), rel_tol=1e-9)
    assert math.isclose(float(costs[1]), -path_sum(scores[1, :3], [3], 4), rel_tol=1e-9)
    assert gradient.shape == logits.shape and float(gradient[1, 3].abs().max()) == 0  # beyond the length
    moved = logits.clone()
    moved[0, 1, 1, 2] += 1e-6
    other, _ = torchaudio_ops.transducer_loss(moved, targets, frames, labels, 4, -1.0, True)
    assert math.isclose(float((other - costs)[0]) / 1e-6, float(gradient[0, 1, 1, 2]), rel_tol=1e-4)


def test_the_alignment_is_the_best_of_all_paths() -> None:
    torch.manual_seed(2)
    emissions = torch.randn(1, 6, 4).log_softmax(-1)
    targets = torch.tensor([[2, 2, 1]], dtype=torch.int32)
    path, scores = torch.ops.torchaudio.forced_align(emissions, targets, torch.tensor([6]), torch.tensor([3]), 0)
    assert scores is not None and path.shape == (1, 6)

    def reads(labels: tuple[int, ...]) -> list[int]:
        return [each for each, _ in itertools.groupby(labels) if each != 0]

    paths = [each for each in itertools.product(range(4), repeat=6) if reads(each) == [2, 2, 1]]
    best = max(paths, key=lambda each: sum(float(emissions[0, at, label]) for at, label in enumerate(each)))
    assert path[0].tolist() == list(best)
