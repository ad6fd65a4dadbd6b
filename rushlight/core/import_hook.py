"""Import hooks: set up rushlight's part of an optional package when, and only if, a program imports that package."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class ImportHook:
    """A finder that finds nothing itself: it lets the module be found as ever, and has ``provider.install(module)`` called when it is loaded."""

    def __init__(self, module: str, provider: str) -> None:
        self.module, self.provider = module, provider

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of the module with a loader that calls the provider afterwards; None for all others."""
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self.run(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def run(self, module: Any) -> None:
        """Call the provider."""
        importlib.import_module(self.provider).install(module)


def when_imported(module: str, provider: str) -> None:
    """Have ``provider.install(module)`` called as soon as a module is loaded: now, or whenever the program imports it."""
    hook = ImportHook(module, provider)
    if module in sys.modules:
        hook.run(sys.modules[module])
    else:
        sys.meta_path.insert(0, hook)
