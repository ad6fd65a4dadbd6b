"""The processes that native.py measures in: one for each package, form and kind of a case, all alive at once and asked in turn."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

HERE = pathlib.Path(__file__).parent


def progress(text: str) -> None:
    """Say what is going on, to someone who looks on."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def installed(package: str) -> bool:
    """Whether a package takes part: JAX does where ``JAX_PYTHON`` names the Python of an environment that has it."""
    return bool(os.environ.get("JAX_PYTHON")) if package == "jax" else importlib.util.find_spec(package) is not None


class Peer:
    """A process that does one thing: what it says of its first calls, and what it answers later."""

    def __init__(self, package: str, form: str, kind: str, case: str, folder: str, tree: str | None = None) -> None:
        progress(f"{case}, {kind}: the first calls of {package} ({form})")
        self.results = pathlib.Path(folder) / f"{package} {form} {kind}.npy"
        command = [sys.executable, str(HERE / "worker.py"), package, form, kind, case, folder]
        environment = {
            **os.environ,
            "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",  # the first calls are those of a program that is new
            "RUSHLIGHT_CACHE_DIR": str(pathlib.Path(folder) / f"cache {form} {kind}"),  # empty for the first process
        }
        if tree is not None:  # the package of another checkout
            environment["PYTHONPATH"] = tree
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        if package == "jax":
            command = [os.environ["JAX_PYTHON"], str(HERE / "jax_peer.py"), kind, case, folder]
            environment.pop("PYTHONPATH", None)
        self.said = self.results.with_suffix(".txt")
        with self.said.open("w") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        begun = self.answer()
        self.loading, self.first = begun["loading"], begun["first"]

    def answer(self) -> dict[str, float]:
        """The next line it says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.results.stem} ended:\n{self.said.read_text()}")
        return json.loads(line)  # type: ignore[no-any-return]

    def ask(self, request: str, seconds: float) -> float:
        """The time of a call, measured for about so many seconds."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{request} {seconds}\n")
        self.process.stdin.flush()
        return self.answer()["time"]

    def values(self) -> np.ndarray:
        """Its first results: losses, or outputs."""
        return np.load(self.results)

    def close(self) -> None:
        """End it."""
        self.process.communicate()


@contextlib.contextmanager
def closing(peers: dict[Any, Peer]) -> Iterator[dict[Any, Peer]]:
    """End processes at the end, come what may."""
    try:
        yield peers
    finally:
        for each in peers.values():
            each.close()


@contextlib.contextmanager
def busy_core() -> Iterator[None]:
    """Another process, of ordinary priority, that keeps one core busy."""
    program = "import os\nos.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))\nos.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        yield
    finally:
        process.kill()
        process.wait()
