"""Resize and Upsample: interpolation along each axis.

The weights of an axis depend on sizes and scales alone, so they are numbers of the capture.  What PyTorch's ``interpolate`` computes, too, goes
there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....capture.control.python_functions import as_tensor, is_traced, item
from ....core.state import state
from ....core.symbolic import is_symbolic
from ....nn import functional as F
from .. import calls as rl
from ..registry import Floats, Ints, NodeContext, importer
from .values import moves_elements, positive_axes


@dataclass
class ResizedAxis:
    """What happens to one axis: its sizes before and after, its scale, and its region of interest."""

    axis: int
    size: int
    wanted: int
    scale: float
    start: float = 0.0
    end: float = 1.0


@dataclass
class Interpolation:
    """How values between elements come about."""

    mode: str
    coordinates: str
    nearest: str = "round_prefer_floor"
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation: float = 0.0


@importer("Resize", since=11)
@moves_elements
def resize(node: NodeContext, x: Any, roi: Floats | None = None, scales: Floats | None = None, sizes: Ints | None = None) -> Any:
    axes = positive_axes(node.get("axes") or range(x.dim()), x.dim())
    how = Interpolation(
        node["mode"], node["coordinate_transformation_mode"], node["nearest_mode"], node["cubic_coeff_a"], bool(node["exclude_outside"]),
        bool(node.get("antialias", 0)), node["extrapolation_value"],
    )  # fmt: skip
    if not sizes and follows_from_inputs(scales):
        return resized_by_tensors(node, x, axes, scales, how)
    if any(map(is_symbolic, x.shape)) and (done := for_any_size(node, x, axes, scales, sizes)) is not None:
        return done
    plan = axes_by_sizes(node, x, axes, sizes) if sizes else axes_by_scales(x, axes, scales, roi_of(node, axes, roi))
    for index, each in enumerate(plan):
        each.start, each.end = roi_of(node, axes, roi)[index]
    return resized(x, plan, how)


def for_any_size(node: NodeContext, x: Any, axes: list[int], scales: Any, sizes: Any) -> Any:
    """The images of a batch resized by ``interpolate``, which a capture follows for any size; None where it does not do what is asked for."""
    given = sizes or scales
    first = [each for axis, each in zip(axes, given) if axis < 2]
    whole = (1.0,) * 2 if not sizes else tuple(x.shape[:2])
    beyond = [each for axis, each in zip(axes, given) if axis >= 2]
    if tuple(first) not in ((), whole) or len(beyond) != x.dim() - 2 or node.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return None
    how = (node["mode"], node["coordinate_transformation_mode"])
    options: dict[str, Any] = {"size": beyond} if sizes else {"scale_factor": beyond}
    if how == ("nearest", "asymmetric") and node["nearest_mode"] == "floor":
        return F.interpolate(x, mode="nearest", **options)
    mode = INTERPOLATE.get((how[0], x.dim() - 2))
    if mode is None or node.get("antialias") or node["exclude_outside"] or (how[0] == "cubic" and node["cubic_coeff_a"] != -0.75):
        return None
    if how[1] == "align_corners" and sizes:
        return F.interpolate(x, mode=mode, align_corners=True, **options)
    return F.interpolate(x, mode=mode, align_corners=False, **options) if how[1] in ("half_pixel", "pytorch_half_pixel") else None


@importer("Resize", since=10)
@moves_elements
def resize_10(node: NodeContext, x: Any, scales: Floats) -> Any:
    return upsampled(node, x, scales)


@importer("Upsample")
@moves_elements
def upsample(node: NodeContext, x: Any, scales: Floats | None = None) -> Any:
    if scales is None:
        scales = node.get("scales") or [1.0, 1.0, node["height_scale"], node["width_scale"]]
    return upsampled(node, x, scales)


def upsampled(node: NodeContext, x: Any, scales: Any) -> Any:
    """What older versions mean: positions are scaled from zero, and the nearest is the one before."""
    how = Interpolation("linear" if node["mode"] == "bilinear" else node["mode"], "asymmetric", "floor")
    axes = list(range(x.dim()))
    if follows_from_inputs(scales):
        return resized_by_tensors(node, x, axes, scales, how)
    return resized(x, axes_by_scales(x, axes, scales, [(0.0, 1.0)] * x.dim()), how)


def roi_of(node: NodeContext, axes: list[int], roi: Any) -> list[tuple[float, float]]:
    """The region of interest of each axis, of which there is one in one mode alone."""
    if node["coordinate_transformation_mode"] != "tf_crop_and_resize" or not roi:
        return [(0.0, 1.0)] * len(axes)
    return list(zip(roi[: len(axes)], roi[len(axes) :]))


def axes_by_scales(x: Any, axes: list[int], scales: Any, rois: list[tuple[float, float]]) -> list[ResizedAxis]:
    """The axes, by how much each is scaled: in float32, in which 5 elements times 1.8 are 9."""
    return [
        ResizedAxis(axis, x.shape[axis], math.floor(np.float32(x.shape[axis]) * np.float32(end - start) * np.float32(scale)), scale)
        for axis, scale, (start, end) in zip(axes, scales, rois, strict=True)
    ]


def axes_by_sizes(node: NodeContext, x: Any, axes: list[int], sizes: Any) -> list[ResizedAxis]:
    """The axes, by the sizes they are to have; a policy may keep their ratio."""
    policy = node.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return [ResizedAxis(axis, x.shape[axis], size, size / x.shape[axis]) for axis, size in zip(axes, sizes, strict=True)]
    choose = min if policy == "not_larger" else max
    scale = choose(size / x.shape[axis] for axis, size in zip(axes, sizes, strict=True))
    return [ResizedAxis(axis, x.shape[axis], math.floor(scale * x.shape[axis] + 0.5), scale) for axis in axes]


def resized(x: Any, plan: list[ResizedAxis], how: Interpolation) -> Any:
    """All axes interpolated, one after the other."""
    plan = [each for each in plan if each.size != each.wanted or each.scale != 1 or (each.start, each.end) != (0, 1)]
    if (done := interpolated(x, plan, how)) is not None:
        return done
    dtype, outside = x.dtype, None
    for each in plan:
        positions = source_positions(each, how.coordinates)
        if how.mode == "nearest":
            x = rl.index_select(x, each.axis, rl.from_numpy(nearest_positions(positions, each.size, how.nearest)))
        else:
            x = weighted(x if x.is_floating_point() else x.to(rl.float32), each.axis, weight_matrix(positions, each, how))
        if how.coordinates == "tf_crop_and_resize":
            along = [-1 if axis == each.axis else 1 for axis in range(x.dim())]
            beyond = rl.from_numpy((positions < 0) | (positions > each.size - 1)).reshape(along)
            outside = beyond if outside is None else outside | beyond
    return (x if outside is None else rl.where(outside, rl.full_like(x, how.extrapolation), x)).to(dtype)


def weighted(x: Any, axis: int, matrix: np.ndarray) -> Any:
    """An axis times a matrix."""
    weights = rl.from_numpy(matrix).to(x.dtype)
    return rl.matmul(weights, x) if x.dim() == 1 else rl.matmul(weights, x.movedim(axis, -2)).movedim(-2, axis)


def source_positions(each: ResizedAxis, coordinates: str) -> np.ndarray:
    """The source coordinates of the output's elements along an axis; in float32, in which scales are given, so that halves are exact."""
    x = np.arange(each.wanted, dtype=np.float32)
    size, wanted = each.size, each.wanted
    if coordinates != "tf_crop_and_resize":
        return positions_by_scale(x, size, wanted, np.float32(each.scale), coordinates)  # type: ignore[no-any-return]
    start, end = np.float32(each.start), np.float32(each.end)
    if wanted > 1:
        return start * (size - 1) + x * (end - start) * (size - 1) / (wanted - 1)
    return x * 0 + (start + end) * (size - 1) / 2


def positions_by_scale(x: Any, size: Any, wanted: Any, scale: Any, coordinates: str) -> Any:
    """The places before of places ``x`` after; arrays and numbers, or tensors."""
    match coordinates:
        case "half_pixel":
            return (x + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            return size / 2 * (1 - wanted / (scale * size)) + (x + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return ((x + 0.5) / scale - 0.5) * (wanted > 1)
        case "align_corners":
            return x * (size - 1) / (scale * size - 1 + (wanted <= 1))  # a length by scale may have a fraction
        case "asymmetric":
            return x / scale
        case "tf_half_pixel_for_nn":
            return (x + 0.5) / scale
    raise ValueError(f"Resize: coordinate_transformation_mode {coordinates!r} is not known")


def nearest_positions(positions: np.ndarray, size: int, mode: str) -> np.ndarray:
    """The elements nearest to positions."""
    return np.clip(rounded(np, positions, mode), 0, size - 1).astype(np.int64)


def rounded(xp: Any, positions: Any, mode: str) -> Any:
    """Positions as whole numbers."""
    match mode:
        case "round_prefer_floor":
            return xp.ceil(positions - 0.5)
        case "round_prefer_ceil":
            return xp.floor(positions + 0.5)
        case "floor":
            return xp.floor(positions)
        case "ceil":
            return xp.ceil(positions)
    raise ValueError(f"Resize: nearest_mode {mode!r} is not known")


def weight_matrix(positions: np.ndarray, each: ResizedAxis, how: Interpolation) -> np.ndarray:
    """How much each element before counts for each one after: (after, before)."""
    shrink = min(each.scale, 1.0) if how.antialias else 1.0
    reach = (1 if how.mode == "linear" else 2) / shrink
    first = np.floor(positions - reach).astype(np.int64)
    taps = first[:, None] + np.arange(2 * math.ceil(reach) + 2)
    weights = filter_weights(np, (taps - positions[:, None]) * shrink, how)
    if how.exclude_outside:
        weights = np.where((taps >= 0) & (taps < each.size), weights, 0)
    if how.exclude_outside or how.antialias:
        weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((each.wanted, each.size))
    np.add.at(matrix, (np.arange(each.wanted)[:, None], np.clip(taps, 0, each.size - 1)), weights)
    return matrix


def filter_weights(xp: Any, distance: Any, how: Interpolation) -> Any:
    """The weight of an element by its distance."""
    d = xp.abs(distance)
    if how.mode == "linear":
        return xp.clip(1 - d, 0, 1)
    if how.mode != "cubic":
        raise ValueError(f"Resize: mode {how.mode!r} is not nearest, linear or cubic")
    a = how.cubic
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return xp.where(d <= 1, near, xp.where(d < 2, far, 0.0 * d))


# -- scales that follow from the inputs of an export ---------------------------------------------------------------------------


def follows_from_inputs(scales: Any) -> bool:
    """Whether scales are others for other inputs of a model that is exported, so that no number can stand for them in the file."""
    capture = state.capture
    return capture is not None and bool(capture.refusing) and any(is_symbolic(each) or is_traced(each) for each in scales or ())


def resized_by_tensors(node: NodeContext, x: Any, axes: list[int], scales: Any, how: Interpolation) -> Any:
    """Axes resized by scales that are known when the model runs: positions and weights are tensors, too."""
    if how.antialias or how.coordinates == "tf_crop_and_resize":
        raise node.not_supported("its scales follow from the inputs, with antialias or a region of interest: give it sizes instead")
    dtype = x.dtype
    for axis, scale in zip(axes, scales, strict=True):
        if not is_symbolic(scale) and not is_traced(scale) and scale == 1:
            continue
        size, factor = as_tensor(x.shape[axis]).to(rl.float32), as_tensor(scale).to(rl.float32)
        wanted = rl.floor(size * factor)
        places = rl.arange(item(wanted.to(rl.int64)), dtype=rl.float32)
        positions = positions_by_scale(places, size, wanted, factor, how.coordinates)
        last = size - 1
        if how.mode == "nearest":
            x = rl.index_select(x, axis, rl.minimum(rl.relu(rounded(rl, positions, how.nearest)), last).to(rl.int64))
            continue
        x = x if x.is_floating_point() else x.to(rl.float32)
        first, along = rl.floor(positions), [-1 if each == axis else 1 for each in range(x.dim())]
        taps = [first + each for each in ((0, 1) if how.mode == "linear" else (-1, 0, 1, 2))]
        weights = [filter_weights(rl, tap - positions, how) for tap in taps]
        if how.exclude_outside:
            weights = [weight * ((tap >= 0) & (tap <= last)) for tap, weight in zip(taps, weights)]
            total = sum(weights)
            weights = [weight / total for weight in weights]
        x = sum(
            rl.index_select(x, axis, rl.minimum(rl.relu(tap), last).to(rl.int64)) * weight.to(x.dtype).reshape(along)
            for tap, weight in zip(taps, weights)
        )
    return x.to(dtype)


# -- PyTorch's interpolate ---------------------------------------------------------------------------------------------------------

INTERPOLATE = {("linear", 1): "linear", ("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic"}


def interpolated(x: Any, plan: list[ResizedAxis], how: Interpolation) -> Any:
    """The same by ``interpolate``, where that has this way of doing it; None elsewhere."""
    spatial = x.dim() - 2
    if [each.axis for each in plan] != list(range(2, x.dim())) or not 1 <= spatial <= 3 or not x.is_floating_point():
        return None
    sizes = [each.wanted for each in plan]
    by_sizes = all(each.scale == each.wanted / each.size for each in plan)
    if (
        how.mode == "nearest"
        and how.coordinates == "asymmetric"
        and how.nearest == "floor"
        and all(each.scale == int(each.scale) for each in plan)
    ):
        return F.interpolate(x, sizes, mode="nearest")
    mode = INTERPOLATE.get((how.mode, spatial))
    if mode is None or how.antialias or how.exclude_outside or (how.mode == "cubic" and how.cubic != -0.75) or not all(sizes):
        return None
    if how.coordinates == "align_corners" and by_sizes:
        return F.interpolate(x, sizes, mode=mode, align_corners=True)
    half = how.coordinates == "half_pixel" or (how.coordinates == "pytorch_half_pixel" and min(sizes) > 1)
    return F.interpolate(x, sizes, mode=mode, align_corners=False) if half and by_sizes else None
