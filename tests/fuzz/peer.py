"""PyTorch in a process of its own, which gets calls and gives outcomes; one that a call ends is started anew."""

from __future__ import annotations

import pickle
import struct
import subprocess
from pathlib import Path
from typing import Any

from .outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent.parent

WORKER = """
import os, pickle, signal, struct, sys, torch
sys.path[:0] = {path!r}
torch.set_num_threads(1)
from fuzz.outcome import outcome, run_program
from fuzz.run_script import run_script
source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what LAPACK prints goes elsewhere
while True:
    size = source.read(8)
    if len(size) < 8:
        break
    calls = pickle.loads(source.read(struct.unpack("<q", size)[0]))
    signal.alarm(20 if len(calls) == 1 else 120)  # a call that does not end (a random one of infinity) ends the process
    found = pickle.dumps([
        run_script(torch, *call) if isinstance(call, tuple) else run_program(torch, call) if isinstance(call, str) else outcome(torch, call) for call in calls
    ])
    signal.alarm(0)
    sink.write(struct.pack("<q", len(found)) + found)
    sink.flush()
"""


class PyTorch:
    """A process of PyTorch that runs calls."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.start()

    def start(self) -> None:
        """A fresh process; it imports the fuzzer's own modules and no rushlight."""
        program = WORKER.format(path=[str(ROOT / "tests"), str(ROOT)])
        self.process = subprocess.Popen([self.python, "-W", "ignore", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask_script(self, source: str, form: str, file: bytes | None) -> list[str]:
        """What a random TorchScript program says of itself; one that ends the process is told as refused."""
        found: Any = self.ask([(source, form, file)])[0]
        return found if isinstance(found, list) else ["refused: crash", ""]

    def ask(self, calls: list[Any]) -> list[Outcome]:
        """The outcomes of calls; of one that ends the process, an error of that name."""
        data = pickle.dumps(calls)
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(struct.pack("<q", len(data)) + data)
            self.process.stdin.flush()
            size = self.process.stdout.read(8)
            if len(size) == 8:
                return pickle.loads(self.process.stdout.read(struct.unpack("<q", size)[0]))  # type: ignore[no-any-return]
        except BrokenPipeError:
            pass  # as when nothing is read: the process has ended
        self.process.wait()
        self.start()
        if len(calls) == 1:
            return [Outcome(error="crash")]
        return [self.ask([call])[0] for call in calls]
