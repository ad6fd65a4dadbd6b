"""``interpolate`` as functions of an archive: one for each mode and the types of its size and factor, which may be None or computed."""

from __future__ import annotations

from typing import Any

from ....core.errors import CaptureError
from ....graph import Node
from ....ops.nn.interpolation import interpolate, upsample, upsample_bilinear, upsample_nearest
from ..frontend.types import FLOAT, INT, NUMBER, STR, ListType, OptionalType, TupleType
from .aten_text import bound
from .graph_text import FORMS, GraphText

_FIXED: dict[Any, dict[str, Any]] = {
    interpolate: {},
    upsample: {},
    upsample_nearest: {"mode": "nearest"},
    upsample_bilinear: {"mode": "bilinear", "align_corners": True},
}  # functions that resize, and what they fix
_SMOOTH = {"linear": "linear1d", "bilinear": "bilinear2d", "trilinear": "trilinear3d", "bicubic": "bicubic2d"}
_BY_RANK = {"nearest": "upsample_nearest", "nearest-exact": "_upsample_nearest_exact", "area": "adaptive_avg_pool"}
_ANTIALIASED = ("bilinear", "bicubic")


def _listed(name: str, parameter: str, kind: str, element: str) -> list[str]:
    """A size or factor as a list with an element for each spatial dimension."""
    value = f"unchecked_cast({kind}, {parameter})"
    if not kind.startswith("List"):
        value = f"torch.mul([{value if kind == element else f'{element}({value})'}], spatial)"
    return [
        f"  if torch.__isnot__({parameter}, None):",
        f"    {name} : Optional[List[{element}]] = {value}",
        "  else:",
        f"    {name} = None",
    ]


def _call(mode: str, antialias: bool, depth: int) -> list[str]:
    """The lines that resize in one mode."""
    indent = "  " * depth
    if mode in _SMOOTH:
        name = f"_upsample_{_SMOOTH[mode]}_aa" if antialias and mode in _ANTIALIASED else f"upsample_{_SMOOTH[mode]}"
        return [f"{indent}out = torch.{name}(input, sizes, align, scales)"]
    name = _BY_RANK[mode]
    rest = "unchecked_cast(List[int], sizes)" if mode == "area" else "sizes, scales"
    return [
        f"{indent}if torch.eq(spatial, 1):",
        f"{indent}  out = torch.{name}1d(input, {rest})",
        f"{indent}else:",
        f"{indent}  if torch.eq(spatial, 2):",
        f"{indent}    out = torch.{name}2d(input, {rest})",
        f"{indent}  else:",
        f"{indent}    out = torch.{name}3d(input, {rest})",
    ]


def _chosen(modes: list[str], antialias: bool, depth: int) -> list[str]:
    """The lines that resize in one of several modes, by the parameter of that name."""
    if len(modes) == 1:
        return _call(modes[0], antialias, depth)
    indent = "  " * depth
    return [
        f'{indent}if torch.eq(mode, "{modes[0]}"):',
        *_call(modes[0], antialias, depth + 1),
        f"{indent}else:",
        *_chosen(modes[1:], antialias, depth + 1),
    ]


def resizing_text(name: str, size: str, factor: str, modes: list[str], antialias: bool) -> str:
    """A function that resizes the dimensions after batch and channels."""
    area = 'torch.__or__(recompute0, torch.eq(mode, "area"))' if "area" in modes else "recompute0"
    lines = [
        f"def {name}(input: Tensor, size: Optional[{size}], scale_factor: Optional[{factor}], mode: str, align_corners: Optional[bool], "
        "recompute_scale_factor: Optional[bool]) -> Tensor:",
        "  spatial = torch.sub(torch.dim(input), 2)",
        "  if torch.__isnot__(align_corners, None):",
        "    align = unchecked_cast(bool, align_corners)",
        "  else:",
        "    align = False",
        "  if torch.__isnot__(recompute_scale_factor, None):",
        "    recompute0 = unchecked_cast(bool, recompute_scale_factor)",
        "  else:",
        "    recompute0 = False",
        *_listed("sizes", "size", size, "int"),
        *_listed("scales", "scale_factor", factor, "float"),
        "  if torch.__isnot__(scales, None):",
        f"    recompute = {area}",
        "  else:",
        "    recompute = False",
        "  if recompute:",
        "    factors = unchecked_cast(List[float], scales)",
        "    computed = annotate(List[int], [])",
        "    for i in range(spatial):",
        "      _0 = torch.append(computed, torch.floor(torch.mul(torch.size(input, torch.add(i, 2)), factors[i])))",
        "    sizes = computed",
        "    scales = None",
        "  else:",
        "    pass",
        *_chosen(modes, antialias, 1),
        "  return out",
    ]
    return "\n".join(lines) + "\n"


def _given(text: GraphText, value: Any, element: Any) -> tuple[str, str]:
    """A size or factor as text, and its type without ``Optional``."""
    shown = repr(element)
    if isinstance(value, Node):
        kind = text.type_of(value)
        kind = kind.inner if isinstance(kind, OptionalType) else kind
        if isinstance(kind, TupleType) and not isinstance(text.type_of(value), OptionalType):
            parts = [f"({text.value(value)})[{at}]" for at in range(len(kind.elements))]
            return f"[{', '.join(parts if element == INT else map('float({})'.format, parts))}]", f"List[{shown}]"
        if kind not in (INT, FLOAT, NUMBER, ListType(element)):
            raise CaptureError(f"interpolate() with a size or factor of type {kind} is not written to archives")
        return text.value(value), repr(kind)
    if value is None:
        return "None", f"List[{shown}]"
    if not isinstance(value, (list, tuple)):
        return text.value(float(value) if element == FLOAT else value), shown
    parts = [text.value(each) for each in value]
    return f"[{', '.join(parts if element == INT else map('float({})'.format, parts))}]", f"List[{shown}]"


def _resized(text: GraphText, node: Node, depth: int) -> None:
    """A call of ``interpolate``, as a function of the archive."""
    given = {**bound(node.target.op, node.args, dict(node.kwargs)), **_FIXED[node.target]}
    mode, antialias = given.get("mode", "nearest"), given.get("antialias", False)
    if isinstance(antialias, Node):
        raise CaptureError("interpolate() whose antialias is computed is not written to archives")
    if isinstance(mode, Node) and text.type_of(mode) != STR:
        raise CaptureError(f"interpolate() whose mode is of type {text.type_of(mode)} is not written to archives")
    if not isinstance(mode, Node) and mode not in (*_SMOOTH, *_BY_RANK):
        raise CaptureError(f"interpolate() has no mode {mode!r}")
    modes = [*_BY_RANK, *_SMOOTH] if isinstance(mode, Node) else [mode]
    size, size_kind = _given(text, given.get("size"), INT)
    factor, factor_kind = _given(text, given.get("scale_factor"), FLOAT)
    function = text.writer.shared("interpolate", resizing_text, size_kind, factor_kind, modes, bool(antialias))
    flags = [text.value(given.get(name)) for name in ("align_corners", "recompute_scale_factor")]
    parts = [text.used(given["input"]), size, factor, text.value(mode), *flags]
    text.assign(node, f"{function}({', '.join(parts)}, )", depth)


FORMS.update(dict.fromkeys(_FIXED, _resized))
