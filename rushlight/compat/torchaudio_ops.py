"""The compiled ops of torchaudio, written anew: recursive filters, overdrive, the RNN transducer loss, and the alignment of labels with emissions.

torchaudio asks `torch.ops.load_library` for its binaries, which are linked with PyTorch; these take their place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch

from ..library import Library

_SCHEMAS = """
_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> ()
_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor last_in, Tensor last_out, Tensor(a!) output_waveform) -> ()
rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, bool fused_log_softmax) -> (Tensor, Tensor)
forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor, Tensor)
"""

library = Library("torchaudio", "DEF")
for _schema in _SCHEMAS.strip().splitlines():
    library.define(_schema)
about = Library("_torchaudio", "DEF")
about.define("is_align_available() -> bool")
about.define("cuda_version() -> int?")


def filter_loop(input_signal_windows: Any, a_coeff_flipped: Any, padded_output_waveform: Any) -> None:
    """A recursive filter, sample by sample: each output is the input less a weighted sum of the outputs before it; written in place."""
    samples = np.moveaxis(input_signal_windows.detach().numpy(), 2, 0)
    weights = a_coeff_flipped.detach().numpy()[:, :-1]
    output = padded_output_waveform.detach().numpy()  # its memory: written in place
    order = weights.shape[1]
    for at, sample in enumerate(samples):
        output[:, :, at + order] = sample - (output[:, :, at : at + order] * weights).sum(-1)


def overdrive_loop(waveform: Any, temp: Any, last_in: Any, last_out: Any, output_waveform: Any) -> None:
    """The feedback of torchaudio's overdrive, sample by sample; written in place."""
    source, driven, output = waveform.detach().numpy(), temp.detach().numpy(), output_waveform.detach().numpy()
    before, made = last_in.detach().numpy(), last_out.detach().numpy()
    for at in range(source.shape[-1]):
        made = driven[:, at] - before + 0.995 * made
        before = driven[:, at]
        output[:, at] = source[:, at] * 0.5 + made * 0.75


def transducer_loss(
    logits: Any, targets: Any, logit_lengths: Any, target_lengths: Any, blank: int, clamp: float, fused_log_softmax: bool
) -> tuple[Any, Any]:
    """The loss of each sequence, and its gradient with respect to the logits.

    The probability of a label sequence is the sum over all paths through a lattice of steps in time (a blank) and in labels.
    """
    with torch.enable_grad():
        given = logits.detach().requires_grad_()
        scores = given.log_softmax(-1) if fused_log_softmax else given
        costs = []
        for number in range(logits.shape[0]):
            frames, labels = int(logit_lengths[number]), int(target_lengths[number])
            part = scores[number, :frames, : labels + 1]
            blanks = part[..., blank]
            emits = part[:, :labels].gather(2, targets[number, :labels].long().reshape(1, labels, 1).expand(frames, labels, 1)).squeeze(2)
            # Along a frame the lattice only goes up in labels: a sum of steps, then a logarithm of a running sum of exponentials.
            steps = torch.cat([torch.zeros(frames, 1, dtype=part.dtype), emits.cumsum(1)], 1)
            reached = steps[0]
            for frame in range(1, frames):
                reached = (reached + blanks[frame - 1] - steps[frame]).logcumsumexp(0) + steps[frame]
            costs.append(-(reached[labels] + blanks[frames - 1, labels]))
        total = torch.stack(costs)
        (gradient,) = torch.autograd.grad(total.sum(), given)
    return total.detach(), gradient.clamp(-clamp, clamp) if clamp > 0 else gradient


def align(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> tuple[Any, Any]:
    """The most likely path of labels and blanks through emissions that reads as the targets (Viterbi), and the emissions."""
    if log_probs.shape[0] != 1:
        raise RuntimeError("log_probs, targets, input_lengths and target_lengths must be of one sequence: the batch size must be 1")
    emissions = log_probs.detach().numpy()[0, : int(input_lengths[0])]
    labels = targets.numpy()[0, : int(target_lengths[0])]
    states = np.full(2 * len(labels) + 1, blank, np.int64)
    states[1::2] = labels
    repeats = int((labels[1:] == labels[:-1]).sum())
    if len(emissions) < len(labels) + repeats:
        raise RuntimeError(
            f"targets length is too long for CTC. Found log_probs length: {len(emissions)}, targets length: {len(labels)}, and number of repeats: {repeats}"
        )
    skips = np.zeros(len(states), bool)  # whether the blank before a label may be left out
    skips[3::2] = labels[1:] != labels[:-1]
    best = np.full(len(states), -np.inf, emissions.dtype)
    best[:2] = emissions[0, states[:2]]
    came = np.zeros((len(emissions), len(states)), np.int8)
    for at in range(1, len(emissions)):
        one = np.concatenate(([-np.inf], best[:-1]))
        two = np.where(skips, np.concatenate(([-np.inf, -np.inf], best[:-2])), -np.inf)
        ways = np.stack([best, one, two])
        came[at] = ways.argmax(0)
        best = (ways.max(0) + emissions[at, states]).astype(emissions.dtype)
    place = len(states) - 1 if len(states) < 2 or best[-1] > best[-2] else len(states) - 2
    path = np.empty(len(emissions), np.int64)
    for at in range(len(emissions) - 1, -1, -1):
        path[at] = states[place]
        place -= came[at, place]
    return torch.from_numpy(path)[None].to(targets.dtype), log_probs


library.impl("_lfilter_core_loop", filter_loop, "CPU")
library.impl("_overdrive_core_loop", overdrive_loop, "CPU")
library.impl("rnnt_loss_forward", transducer_loss, "CPU")
library.impl("forced_align", align, "CPU")
about.impl("is_align_available", lambda: True, "CompositeExplicitAutograd")
about.impl("cuda_version", lambda: None, "CompositeExplicitAutograd")
