"""Which hand-written machine-level parts calls use; each has a plain Python form.

``bench/call_overhead.py`` measures what they buy.  They are read when a call is generated: later changes affect new launchers and guards.
"""

from __future__ import annotations

import os


def _enabled(name: str) -> bool:
    return os.environ.get(name, "1") not in ("", "0")


class CallSettings:
    """Switches, from the environment."""

    def __init__(self) -> None:
        self.trampoline = _enabled("RUSHLIGHT_TRAMPOLINE")  # else python_trampoline.py
        self.guard_vm = _enabled("RUSHLIGHT_GUARD_VM")  # else capture/compile/guards/python_guards.py


settings = CallSettings()
