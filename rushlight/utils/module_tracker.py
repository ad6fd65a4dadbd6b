"""Which Modules are running: by name, forward and backward, while a ``with`` block lasts.

>>> import rushlight
>>> tracker, seen = ModuleTracker(), []
>>> layer = rushlight.nn.Sequential(rushlight.nn.ReLU())
>>> _ = layer[0].register_forward_hook(lambda *_: seen.append(sorted(tracker.parents)))
>>> with tracker:
...     _ = layer(rushlight.ones(1))
>>> seen
[['Global', 'Sequential', 'Sequential.0']]
"""

from __future__ import annotations

import logging
from typing import Any
from weakref import WeakKeyDictionary

from ..autograd.graph import register_multi_grad_hook
from ..core.base import TensorBase
from ..nn.modules.module_hooks import register_module_forward_hook, register_module_forward_pre_hook
from .trees import flatten

logger = logging.getLogger(__name__)
__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context that knows which Modules are running.  ``parents`` are their names, with ``"Global"``; ``is_bw`` says whether backward runs."""

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._seen: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._backward = 0
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether the backward of a Module is running."""
        return self._backward > 0

    def _name(self, module: Any) -> str:
        if module not in self._known:
            self._known[module] = type(module).__name__
        name = self._known[module]
        if module not in self._seen:
            for child_name, child in module.named_children():
                self._known[child] = f"{name}.{child_name}"
        self._seen[module] = self._seen.get(module, 0) + 1
        return name

    def _push(self, name: str, backward: bool) -> None:
        if name in self.parents:
            logger.info("The module hierarchy tracking seems to be broken as this Module was already entered: %s", name)
        self._backward += backward
        self.parents.add(name)

    def _pop(self, name: str, backward: bool) -> None:
        if name in self.parents:
            self.parents.remove(name)
            self._backward -= backward
        elif not backward:
            raise RuntimeError(f"The Module hierarchy tracking is wrong: {name} was never entered. Report a bug")

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self._push(name, False)
        inputs = [each for each in flatten(args)[0] if isinstance(each, TensorBase) and each._requires_grad]
        if inputs:
            register_multi_grad_hook(inputs, lambda gradients: self._pop(name, True))

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self._known[module]
        self._pop(name, False)
        outputs = [each for each in flatten(output)[0] if isinstance(each, TensorBase) and each._requires_grad]
        if outputs:
            register_multi_grad_hook(outputs, lambda gradients: self._push(name, True), mode="any")

    def __enter__(self) -> ModuleTracker:
        self._handles = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after, always_call=True)]
        return self

    def __exit__(self, *error: Any) -> None:
        for handle in self._handles:
            handle.remove()
