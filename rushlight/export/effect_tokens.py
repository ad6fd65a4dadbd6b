"""Tokens of effects in files: PyTorch's decomposed programs pass one from operator to operator whose order matters.

Our graphs keep the order of operators that have effects without them, so a file is read as if it had none: ``with_effects(token, operator, ...)`` is the
operator, and tokens are neither inputs nor outputs.
"""

from __future__ import annotations

from typing import Any

from .errors import ArchiveError

_WITH_EFFECTS = "torch.ops.higher_order.with_effects"


def without_tokens(module: dict[str, Any]) -> dict[str, Any]:
    """The data of a graph module without tokens; itself where it has none."""
    graph, signature = module.get("graph"), module.get("signature")
    specs = [spec for key in ("input_specs", "output_specs") for spec in _rows(signature, key)]
    if not any("token" in spec for spec in specs if isinstance(spec, dict)):
        return module
    if not isinstance(graph, dict) or not isinstance(signature, dict):
        raise ArchiveError("the graph module has tokens, and no graph or no signature")
    kept = {
        key: [isinstance(spec, dict) and "token" not in spec for spec in _rows(signature, key)] for key in ("input_specs", "output_specs")
    }
    made = {**graph, "nodes": [_plain(node) for node in _rows(graph, "nodes")]}
    for key, specs_key in (("inputs", "input_specs"), ("outputs", "output_specs")):
        rows = _rows(graph, key)
        if len(rows) != len(kept[specs_key]):
            raise ArchiveError(f"the graph has {len(rows)} {key}, and its signature {len(kept[specs_key])}")
        made[key] = [row for row, stays in zip(rows, kept[specs_key]) if stays]
    plain = {**signature, **{key: [spec for spec, stays in zip(_rows(signature, key), flags) if stays] for key, flags in kept.items()}}
    return {**module, "graph": made, "signature": plain}


def _rows(data: Any, key: str) -> list[Any]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, list) else []


def _plain(node: Any) -> Any:
    """A node without its token."""
    if not isinstance(node, dict) or node.get("target") != _WITH_EFFECTS:
        return node
    inputs, outputs = _rows(node, "inputs"), _rows(node, "outputs")
    operator = inputs[1].get("arg") if len(inputs) > 1 and isinstance(inputs[1], dict) else None
    if not isinstance(operator, dict) or not isinstance(operator.get("as_operator"), str) or not outputs:
        raise ArchiveError("a node with effects names no operator, or gives no token")
    results = [each for each in outputs[1:] if isinstance(each, dict) and "as_none" not in each]
    return {**node, "target": operator["as_operator"], "inputs": inputs[2:], "outputs": results}
