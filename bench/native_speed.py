"""The times of native.py: of calls, of first calls, and of calls while another process keeps a core busy."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field

import numpy as np
from peers import Peer, busy_core, closing, installed, progress
from tables import cell, header, line, shown

Form = tuple[str, str]
# rushlight's eager comes first: it writes the numbers that JAX starts from.
FORMS: dict[str, list[Form]] = {
    "inference": [
        ("rushlight", "eager"), ("rushlight", "model"), ("torch", "eager"), ("torch", "model"), ("jax", "step"), ("onnxruntime", "model"),
    ],
    "training": [
        ("rushlight", "eager"), ("rushlight", "model"), ("rushlight", "step"),
        ("torch", "eager"), ("torch", "model"), ("torch", "step"), ("jax", "step"),
    ],
}  # fmt: skip
SHOWN: list[Form] = [
    FORMS["training"][0],
    *FORMS["training"][3:],
    ("onnxruntime", "model"),
]  # in the columns after ours
WHOLE = "training as compile(train_step)"
OURS = {"inference": "model", "training": "model", WHOLE: "step"}  # the rows, and the form of ours in each
# How much of a peer's time is allowed; where nothing is said, ours is to be the least.
TORCH = {
    "MLP, batch 32": {"training": 0.25, WHOLE: 0.06},
    "20 Functions, 128 elements": {WHOLE: 0.1},
    "pointwise, 4M floats": {"training": 0.35, WHOLE: 0.35},
    "CNN, batch 32": {"training": 0.8, WHOLE: 0.8},
    "GPT, 4 layers": {"training": 0.85, WHOLE: 0.85},
    "LSTM, length 50": {"training": 0.8, WHOLE: 0.8},
}
JAX = {"MLP, batch 32": {WHOLE: 0.5}, "20 Functions, 128 elements": {WHOLE: 0.3}}
ONNX_RUNTIME = {"LSTM, length 50": {"inference": 1.2}}
COLD_TORCH, COLD_JAX = 0.05, 1.0  # of the time to compile
UNCOMPILED = {("LSTM, length 50", "model")}  # torch.compile leaves a recurrent layer as it is: there is no time to compare with
CACHED = {"MLP, batch 32": 0.05}  # seconds, from the disk cache
BUSY = 3.0  # times slower, beside a process that keeps a core busy


@dataclass
class Figures:
    """What was measured of a case, inference or training, for each form of each package: seconds."""

    times: dict[Form, float] = field(default_factory=dict)
    first: dict[Form, float] = field(default_factory=dict)
    loading: dict[Form, float] = field(default_factory=dict)
    cached: dict[Form, float] = field(default_factory=dict)
    busy: dict[Form, float] = field(default_factory=dict)

    def best(self, package: str) -> float | None:
        """The least time of a package in any form."""
        return min((time for (name, _), time in self.times.items() if name == package), default=None)


def check_equal(case: str, kind: str, peers: dict[Form, Peer]) -> None:
    """Outputs, or the losses of several steps and how they change, are those of PyTorch (of our eager mode where it takes no part)."""
    standard = peers.get(("torch", "eager"), peers["rushlight", "eager"]).values()
    for form, peer in peers.items():
        values = peer.values()
        name = f"{case}, {kind}: {' '.join(form)}"
        np.testing.assert_allclose(values, standard, 1e-3, 1e-4, err_msg=name)
        if kind == "training":
            change, expected = values - values[0], standard - standard[0]
            np.testing.assert_allclose(change, expected, 0.02, 1e-5 * abs(standard[0]), err_msg=name)


def measure(case: str, kind: str, packages: list[str], rounds: int, budget: float, busy: bool) -> Figures:
    """First calls one after the other, then rounds in turn, then again beside a busy process."""
    found = Figures()
    with tempfile.TemporaryDirectory() as folder, closing({}) as peers:
        for form in FORMS[kind]:
            if form[0] in packages and installed(form[0]):
                peers[form] = peer = Peer(*form, kind, case, folder)
                found.first[form], found.loading[form] = peer.first, peer.loading
                if form[0] == "rushlight" and form[1] != "eager":
                    again = Peer(*form, kind, case, folder)
                    found.cached[form] = again.first
                    again.close()
        check_equal(case, kind, peers)
        for number in range(rounds):
            for form, peer in peers.items():
                progress(f"{case}, {kind}: round {number + 1} of {rounds}, {' '.join(form)}")
                found.times[form] = min(peer.ask("time", budget), found.times.get(form, np.inf))
        if busy:
            with busy_core():
                for form, peer in peers.items():
                    if form[0] in ("rushlight", "torch") and form != ("rushlight", "eager"):
                        progress(f"{case}, {kind}: beside a busy process, {' '.join(form)}")
                        found.busy[form] = peer.ask("disturbed", 1.0)
    progress("")
    return found


def against(ours: float, theirs: float | None, allowed: float | None) -> tuple[str, str, bool]:
    """A ratio, what is allowed, and whether that is missed."""
    if theirs is None:
        return "–", "–", False
    ratio = ours / theirs
    return f"{ratio:.2f}", "–" if allowed is None else f"{allowed:g}", allowed is not None and ratio > allowed


def rows_of(kind: str) -> list[str]:
    """The rows that a kind of work has."""
    return [row for row in OURS if (row == "inference") == (kind == "inference")]


SPEED = header(
    "case", "native", "eager", "PyTorch", "torch.compile", "torch.compile of the step", "JAX", "ONNX Runtime", "native to the best of PyTorch", "allowed",
    "to JAX", "allowed", "to ONNX Runtime", "allowed", "",
)  # fmt: skip


def speed_rows(case: str, kind: str, found: Figures) -> list[str]:
    """The times of calls.  PyTorch's best is the same for all our forms."""
    lines = []
    for row in rows_of(kind):
        ours = found.times["rushlight", OURS[row]]
        peers = {
            "PyTorch": against(ours, found.best("torch"), TORCH[case].get(row, 1.0)),
            # JAX compiles whole steps: the limit stands for ours that does so too.
            "JAX": against(ours, found.best("jax"), None if row == "training" else JAX.get(case, {}).get(row, 1.0)),
            "ONNX Runtime": against(ours, found.best("onnxruntime"), ONNX_RUNTIME.get(case, {}).get(row, 1.0)),
        }
        missed = [name for name, (_, _, miss) in peers.items() if miss]
        cells = [shown(ours), *(cell(found.times.get(form)) for form in SHOWN)]
        cells += [each for ratio, allowed, _ in peers.values() for each in (ratio, allowed)]
        lines.append(line(f"{case}, {row}", *cells, f"**missed** {', '.join(missed)}" if missed else ""))
    return lines


COLD = header(
    "case", "native", "torch.compile", "ratio", "allowed", "JAX", "ratio", "allowed", "native from the disk cache", "allowed",
    "compile() before it: native, PyTorch", "",
)  # fmt: skip


def cold_rows(case: str, kind: str, found: Figures) -> list[str]:
    """The times of the first two calls in a new process."""
    lines = []
    for row in rows_of(kind):
        form, jax = OURS[row], ("jax", "step")
        ours, cached = found.first["rushlight", form], found.cached["rushlight", form]
        torch = against(ours, found.first.get(("torch", form)), None if (case, form) in UNCOMPILED else COLD_TORCH)
        other = against(ours, found.first.get(jax), COLD_JAX)
        limit = CACHED.get(case)
        missed = torch[2] or other[2] or (limit is not None and cached > limit)
        lines.append(
            line(
                f"{case}, {row}", shown(ours), cell(found.first.get(("torch", form))), *torch[:2], cell(found.first.get(jax)), *other[:2], shown(cached),
                cell(limit), f"{shown(found.loading['rushlight', form])}, {cell(found.loading.get(('torch', form)))}", "**missed**" if missed else "",
            )
        )  # fmt: skip
    return lines


BESIDE = header("case", "native, quiet", "beside", "slower by", "allowed", "PyTorch's best, quiet", "beside", "slower by", "")


def busy_rows(case: str, kind: str, found: Figures) -> list[str]:
    """How much slower calls are while another process keeps a core busy."""
    lines = []
    for row in rows_of(kind):
        ours = ("rushlight", OURS[row])
        slower = found.busy[ours] / found.times[ours]
        cells = [shown(found.times[ours]), shown(found.busy[ours]), f"{slower:.1f}", f"{BUSY:g}"]
        torch = min((form for form in found.times if form[0] == "torch"), key=found.times.__getitem__, default=None)
        if torch is None:
            cells += ["–"] * 3
        else:
            cells += [
                shown(found.times[torch]),
                shown(found.busy[torch]),
                f"{found.busy[torch] / found.times[torch]:.1f}",
            ]
        lines.append(line(f"{case}, {row}", *cells, "**missed**" if slower > BUSY else ""))
    return lines
