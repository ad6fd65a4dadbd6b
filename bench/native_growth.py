"""How the time of a training step, and the time to compile it, grow with the number of layers."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack

from cases import GROWING, LAYERS
from peers import Peer, progress
from tables import header, line, shown

ALLOWED = 4.4  # 16 layers against 4: four times, and a tenth for the scatter of the times
HEAD = header("model", "what", *(f"{layers} x" for layers in LAYERS), "for each layer", "16 x to 4 x", "allowed", "")


def rows(model: str, rounds: int, budget: float) -> list[str]:
    """The times of models that differ in their number of layers alone, the best of interleaved rounds."""
    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in LAYERS]
        peers = [Peer("rushlight", "step", "training", f"{layers} x {model}", folder) for layers, folder in zip(LAYERS, folders)]
        times = [[peer.ask("time", budget) for peer in peers] for _ in range(rounds)]
        compiling = [peer.first for peer in peers]
        for peer in peers:
            peer.close()
    progress("")
    return [row(model, "step", list(map(min, zip(*times)))), row(model, "compiling, cold", compiling)]


def row(model: str, what: str, times: list[float]) -> str:
    """The times, as they are and for each layer."""
    each = ", ".join(shown(time / layers) for time, layers in zip(times, LAYERS))
    ratio = times[2] / times[1]
    missed = "**missed**" if ratio > ALLOWED else ""
    return line(model, what, *map(shown, times), each, f"{ratio:.2f}", f"{ALLOWED:g}", missed)


MODELS = tuple(GROWING)
