"""``FakeTensorProp``: shapes of all values, without data."""

from __future__ import annotations

from typing import Any

from ...core.base import TensorBase
from ...core.state import fake_mode
from ..interpreter import Interpreter


class FakeTensorProp(Interpreter):
    """Runs a module on meta tensors and notes each node's as ``val``."""

    def __init__(self, module: Any, mode: Any = None) -> None:
        super().__init__(module)

    def run_node(self, n: Any) -> Any:
        """Run a node, and note what it gave."""
        result = super().run_node(n)
        n.meta["val"] = result
        return result

    def fetch_attr(self, target: str) -> Any:
        """An attribute, without its data."""
        found = super().fetch_attr(target)
        return found.to("meta") if isinstance(found, TensorBase) else found

    def propagate(self, *args: Any) -> Any:
        """Run the module on the shapes of inputs."""
        with fake_mode():
            return super().run(*[each.to("meta") if isinstance(each, TensorBase) else each for each in args])

    propagate_dont_convert_inputs = propagate
