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
from weakref import WeakKeyDictionary, WeakSet

from ..autograd.engine import queue_callback
from ..autograd.graph import register_multi_grad_hook
from ..core.base import TensorBase
from ..core.state import state
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
        self._seen: WeakSet[Any] = WeakSet()
        self._resets = False  # whether the end of the running backward empties the set
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether backward is running."""
        return state.backward_pass is not None

    def _name(self, module: Any) -> str:
        """The full name of a Module: that of the first one that was called, and the names of attributes down to this one."""
        name = self._known.setdefault(module, type(module).__name__)
        if module not in self._seen:
            self._seen.add(module)
            for child_name, child in module.named_children():  # a ModuleList is never called, but those in it are
                self._known[child] = f"{name}.{child_name}"
                self._name(child)
        return name

    def _push(self, name: str, backward: bool) -> None:
        if name in self.parents:
            logger.info("The module hierarchy tracking seems to be broken as this Module was already entered: %s", name)
        self.parents.add(name)
        if backward and not self._resets:
            self._resets = True
            queue_callback(self._reset)

    def _pop(self, name: str) -> None:
        if name not in self.parents:  # a Module that calls itself, or an input that needs no gradient
            logger.info("The module hierarchy tracking is confused: this Module was never entered: %s", name)
        self.parents.discard(name)

    def _reset(self) -> None:
        """At the end of backward nothing runs any more."""
        self.parents, self._resets = {"Global"}, False

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self._push(name, False)
        inputs = [each for each in flatten(args)[0] if isinstance(each, TensorBase) and each._requires_grad]
        if inputs:
            self._handles.append(register_multi_grad_hook(inputs, lambda gradients: self._pop(name)))

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self._name(module)
        self._pop(name)
        outputs = [each for each in flatten(output)[0] if isinstance(each, TensorBase) and each._requires_grad]
        if outputs:
            self._handles.append(register_multi_grad_hook(outputs, lambda gradients: self._push(name, True), mode="any"))

    def __enter__(self) -> ModuleTracker:
        self._handles = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after, always_call=True)]
        return self

    def __exit__(self, *error: Any) -> None:
        for handle in self._handles:
            handle.remove()
