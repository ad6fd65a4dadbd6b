"""The classes of results with names: ``return_types.topk`` is the class of what ``topk`` returns."""

from __future__ import annotations

from typing import Any

from .core.declare import table
from .core.missing import missing as _missing
from .core.named_results import named_result

_absent = _missing(__name__)


def __getattr__(name: str) -> Any:
    for key in [each for each in table if each.startswith(name)]:
        op = table[key]
        if len(op.returns or ()) > 1 and (op.public_name if op.namespace is None else op.name) == name:
            found = globals()[name] = named_result(op)
            return found
    return _absent(name)
