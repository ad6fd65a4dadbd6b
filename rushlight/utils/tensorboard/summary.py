"""Summaries: what an event says about a tag."""

from __future__ import annotations

import io
import json
import math
import wave
from typing import Any

import numpy as np

from ...core.base import TensorBase
from .messages import Double, Message, field, optional, packed, repeated

_FLOAT, _DOUBLE, _STRING = 1, 2, 7  # TensorFlow's numbers of types
_TYPES = {"float16": 19, "float32": _FLOAT, "bfloat16": 14, "float64": _DOUBLE, "uint8": 4, "int8": 6, "int16": 5, "int32": 3, "int64": 9}
_COUNTS = 1e-7  # what precision and recall are divided by at least


def as_array(x: Any) -> np.ndarray[Any, Any]:
    """Numbers, arrays or tensors as an array; lists are refused, as by PyTorch."""
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, TensorBase):
        found = x.detach().cpu()  # type: ignore[attr-defined]
        return np.asarray((found.float() if str(found.dtype) == "torch.bfloat16" else found).numpy())
    if np.isscalar(x):
        return np.array([x])
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")


make_np = as_array


# -- parts -------------------------------------------------------------------------------------------------------


def _summary(*values: bytes) -> Message:
    return Message(repeated(1, values))


def _value(tag: str, number: int, content: Any, metadata: bytes | None = None) -> bytes:
    return field(1, tag) + field(number, content) + field(9, metadata)


def _metadata(plugin: str, content: bytes = b"", description: str | None = None, display_name: str | None = None) -> bytes:
    data = field(1, plugin) + optional(2, content)
    return field(1, data) + optional(2, display_name) + optional(3, description)


def _shape(sizes: Any) -> bytes:
    return repeated(2, (field(1, size) for size in sizes))


def _strings(strings: list[bytes], sizes: Any) -> bytes:
    return field(1, _STRING) + field(2, _shape(sizes)) + repeated(8, strings)


def _floats(array: Any) -> bytes:
    return field(1, _FLOAT) + field(2, _shape(array.shape)) + packed(5, array.astype(np.float32).ravel().tolist(), "f")


# -- numbers -----------------------------------------------------------------------------------------------------


def scalar(name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False) -> Message:
    """One number: in the old form, or as a tensor, which may have double precision."""
    array = as_array(tensor).squeeze()
    if array.ndim != 0:
        raise AssertionError(f"Tensor should contain one element (0 dimensions). Was given size: {array.size} and {array.ndim} dimensions.")
    number = float(array)
    if not new_style:
        return _summary(_value(name, 2, number))
    kept = packed(6, [number], "d") if double_precision else packed(5, [number], "f")
    return _summary(_value(name, 8, field(1, _DOUBLE if double_precision else _FLOAT) + kept, _metadata("scalars")))


def tensor_proto(tag: str, tensor: Any) -> Message:
    """A tensor with all its elements."""
    array = as_array(tensor)
    if array.dtype.name not in _TYPES:
        raise ValueError(f"{tag} has unsupported tensor dtype {array.dtype}")
    content = field(1, _TYPES[array.dtype.name]) + field(2, _shape(array.shape))
    place, form = {"float32": (5, "f"), "float64": (6, "d"), "int64": (10, "")}.get(array.dtype.name, (7, ""))
    numbers = array.view(np.uint16) if array.dtype == np.float16 else array
    content += packed(13 if array.dtype == np.float16 else place, numbers.ravel().tolist(), form)
    return _summary(_value(tag, 8, content, _metadata("tensor")))


def _default_bins() -> Any:
    bins, edge = [], 1e-12
    while edge < 1e20:
        bins.append(edge)
        edge *= 1.1
    return np.array([*(-each for each in reversed(bins)), 0.0, *bins])


def _histogram_message(low: float, high: float, count: float, total: float, squares: float, limits: Any, counts: Any) -> bytes:
    numbers = (low, high, count, total, squares)
    fields = b"".join(field(place, Double(each)) for place, each in enumerate(numbers, 1) if each != 0)
    return fields + packed(6, limits, "d") + packed(7, counts, "d")


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Message:
    """A histogram of values between limits; limits beyond all values are left out."""
    array = as_array(values).astype(float).reshape(-1)
    if array.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(array, bins=_default_bins() if isinstance(bins, str) and bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        rest = len(counts) % step
        if rest:
            counts = np.pad(counts, [[0, step - rest]])
        counts = counts.reshape(-1, step).sum(axis=-1)
        limits = np.append(limits[:-1][::step], limits[-1])
    filled = np.flatnonzero(counts > 0)
    if filled.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = int(filled[0]), int(filled[-1])
    # The first count is that of an empty bin below the first limit, as TensorBoard draws it.
    kept = counts[first - 1 : last + 1] if first > 0 else np.concatenate([[0], counts[: last + 1]])
    limits = limits[first : last + 2]
    content = _histogram_message(
        float(array.min()), float(array.max()), array.size, float(array.sum()), float(array.dot(array)), limits.tolist(), kept.tolist()
    )
    return _summary(_value(name, 5, content))


def histogram_raw(
    name: str, min: float, max: float, num: int, sum: float, sum_squares: float, bucket_limits: Any, bucket_counts: Any
) -> Message:
    """A histogram that was counted elsewhere."""
    return _summary(_value(name, 5, _histogram_message(min, max, num, sum, sum_squares, bucket_limits, bucket_counts)))


# -- pictures and sound ------------------------------------------------------------------------------------------


def _grid(images: np.ndarray[Any, Any], columns: int = 8) -> np.ndarray[Any, Any]:
    """Images (NCHW) side by side, as one (CHW) of three colours."""
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise AssertionError(f"a grid of images has the form NCHW with 1 or 3 channels, not {images.shape}")
    if images.shape[1] == 1:
        images = np.concatenate([images] * 3, 1)
    count, _, height, width = images.shape
    columns = min(count, columns)
    canvas = np.zeros((3, height * math.ceil(count / columns), width * columns), dtype=images.dtype)
    for number, each in enumerate(images):
        row, column = divmod(number, columns)
        canvas[:, row * height : (row + 1) * height, column * width : (column + 1) * width] = each
    return canvas


def to_HWC(array: np.ndarray[Any, Any], dataformats: str) -> np.ndarray[Any, Any]:
    """Images in a given order of dimensions as one image: height, width, colours."""
    order = dataformats.upper()
    if len(set(order)) != len(order):
        raise AssertionError(f"You can not use the same dimension shordhand twice. input_format: {dataformats}")
    if array.ndim != len(order):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {array.shape}, input_format: {dataformats}"
        )
    if len(order) == 4:
        return _grid(array.transpose([order.find(each) for each in "NCHW"])).transpose(1, 2, 0)
    if len(order) == 3:
        array = array.transpose([order.find(each) for each in "HWC"])
        return np.concatenate([array] * 3, 2) if array.shape[2] == 1 else array
    array = array.transpose([order.find(each) for each in "HW"])
    return np.stack([array] * 3, 2)


convert_to_HWC = to_HWC


def _eight_bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (array.astype(np.float32) * (1 if array.dtype == np.uint8 else 255)).clip(0, 255).astype(np.uint8)


def _png(picture: Any, rescale: float = 1, boxes: Any = None, labels: Any = None) -> bytes:
    """An image (height, width, colours) as a file, perhaps with boxes drawn on it."""
    from PIL import Image, ImageDraw

    height, width, _ = picture.shape
    image = Image.fromarray(picture)
    if boxes is not None:
        draw = ImageDraw.Draw(image)
        for number, (left, top, right, bottom) in enumerate(boxes):
            draw.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill="Red")
            if labels is not None:
                draw.rectangle([(left, top - 15), (left + 7 * len(labels[number]) + 10, top)], fill="Red")
                draw.text((left + 5, top - 14), labels[number], fill="black")
    image = image.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, format="PNG")
    return field(1, height) + field(2, width) + field(3, picture.shape[2]) + field(4, out.getvalue())


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Message:
    """An image, or several as one."""
    return _summary(_value(tag, 4, _png(_eight_bits(to_HWC(as_array(tensor), dataformats)), rescale)))


def image_boxes(
    tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW", labels: Any = None
) -> Message:
    """An image with boxes."""
    array = _eight_bits(to_HWC(as_array(tensor_image), dataformats))
    return _summary(_value(tag, 4, _png(array, rescale, as_array(tensor_boxes).tolist(), labels)))


def video(tag: str, tensor: Any, fps: int = 4) -> Message:
    """Frames (batch, time, colours, height, width) as an animation, the videos of a batch side by side."""
    from PIL import Image

    array = _eight_bits(as_array(tensor))
    batch, time, colours, height, width = array.shape
    columns = 2 ** ((batch - 1).bit_length() // 2 + (batch - 1).bit_length() % 2)
    rows = math.ceil(batch / columns)
    sheet = np.zeros((time, rows * height, columns * width, colours), np.uint8)
    for number, each in enumerate(array):
        row, column = divmod(number, columns)
        sheet[:, row * height : (row + 1) * height, column * width : (column + 1) * width] = each.transpose(0, 2, 3, 1)
    frames = [Image.fromarray(frame if colours == 3 else frame[:, :, 0]) for frame in sheet]
    out = io.BytesIO()
    frames[0].save(out, format="GIF", save_all=True, append_images=frames[1:], duration=1000 // fps, loop=0)
    sizes = field(1, sheet.shape[1]) + field(2, sheet.shape[2]) + field(3, colours)
    return _summary(_value(tag, 4, sizes + field(4, out.getvalue())))


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Message:
    """Sound between -1 and 1, of one channel."""
    array = as_array(tensor).squeeze()
    if np.abs(array).max() > 1:
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((array * np.iinfo(np.int16).max).astype("<i2").tobytes())
    content = field(1, float(sample_rate)) + field(2, 1) + field(3, array.shape[-1]) + field(4, out.getvalue()) + field(5, "audio/wav")
    return _summary(_value(tag, 6, content))


# -- plugins -----------------------------------------------------------------------------------------------------


def text(tag: str, text: str) -> Message:
    """Text."""
    return _summary(_value(f"{tag}/text_summary", 8, _strings([text.encode()], (1,)), _metadata("text")))


def compute_curve(labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Any:
    """Counts of right and wrong answers, precision and recall by threshold: six rows."""
    places = np.floor(predictions * (num_thresholds - 1)).astype(np.int32)
    labels = labels.astype(float)
    weights = 1.0 if weights is None else weights
    rows = []
    for answers in (labels, 1.0 - labels):
        counted = np.histogram(places, bins=num_thresholds, range=(0, num_thresholds - 1), weights=answers * weights)[0]
        rows.append(np.cumsum(counted[::-1])[::-1])
    right, wrong = rows
    precision = right / np.maximum(_COUNTS, right + wrong)
    recall = right / np.maximum(_COUNTS, right[0])
    return np.stack((right, wrong, wrong[0] - wrong, right[0] - right, precision, recall))


def _curve(tag: str, rows: Any, num_thresholds: int) -> Message:
    return _summary(_value(tag, 8, _floats(rows), _metadata("pr_curves", optional(2, num_thresholds))))


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Message:
    """Precision and recall by threshold."""
    num_thresholds = min(num_thresholds, 127)  # more can't be shown
    return _curve(tag, compute_curve(labels, predictions, num_thresholds, weights), num_thresholds)


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any, num_thresholds: int = 127, weights: Any = None
) -> Message:
    """Precision and recall that were counted elsewhere."""
    return _curve(tag, np.stack((tp, fp, tn, fn, precision, recall)), min(num_thresholds, 127))


def custom_scalars(layout: dict[str, Any]) -> Message:
    """Which charts show which tags."""
    categories = []
    for title, charts in layout.items():
        made = []
        for chart_title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"A margin chart has three tags, not {len(tags)}")
                content = field(3, field(1, b"".join(field(place, tag) for place, tag in enumerate(tags, 1))))
            else:
                content = field(2, repeated(1, tags))
            made.append(field(1, chart_title) + content)
        categories.append(field(1, title) + repeated(2, made))
    content = field(1, _STRING) + field(2, b"") + field(8, repeated(2, categories))
    return _summary(_value("custom_scalars__config__", 8, content, _metadata("custom_scalars")))


def mesh(
    tag: str, vertices: Any, colors: Any, faces: Any, config_dict: Any, display_name: str | None = None, description: str | None = None
) -> Message:
    """Points in space, their colours, and the triangles between them."""
    parts = [(1, "VERTEX", vertices), (2, "FACE", faces), (3, "COLOR", colors)]
    parts = [
        (kind, name, as_array(each) if isinstance(each, TensorBase) else np.asarray(each)) for kind, name, each in parts if each is not None
    ]
    components = sum(1 << kind for kind, _, _ in parts)
    values = []
    for kind, name, array in parts:
        data = field(2, tag) + field(3, kind) + field(5, json.dumps(config_dict, sort_keys=True) if config_dict is not None else "{}")
        data += packed(6, array.shape, "") + field(7, components)
        metadata = _metadata("mesh", data, description=description, display_name=display_name)
        values.append(_value(f"{tag}_{name}", 8, _floats(array), metadata))
    return _summary(*values)


def hparams(
    hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: dict[str, list[Any]] | None = None
) -> tuple[Message, Message, Message]:
    """A run with its settings and the metrics to compare: what was tried, the beginning, the end."""
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for name, values in domains.items():
        if name not in hparam_dict or not isinstance(values, list) or not all(isinstance(each, type(hparam_dict[name])) for each in values):
            raise TypeError(f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}].")
    infos, settings = [], []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        kind, content = _setting(name, value)
        settings.append(field(1, name) + field(2, content))
        domain = field(5, repeated(1, (_setting(name, each)[1] for each in domains[name]))) if name in domains else b""
        infos.append(field(1, name) + field(4, kind) + domain)
    metrics = [field(1, field(2, name)) for name in metric_dict]
    experiment = repeated(4, infos) + repeated(5, metrics)
    return (
        _run("_hparams_/experiment", field(2, experiment)), _run("_hparams_/session_start_info", field(3, repeated(1, settings))),
        _run("_hparams_/session_end_info", field(4, field(1, 1))),
    )  # fmt: skip


def _run(tag: str, content: bytes) -> Message:
    return _summary(field(1, tag) + field(9, _metadata("hparams", content)))


def _setting(name: str, value: Any) -> tuple[int, bytes]:
    """The kind of a setting, and the setting as a message."""
    if isinstance(value, TensorBase):
        return 3, field(2, Double(float(as_array(value).item())))
    if isinstance(value, (int, float)):  # booleans with them, as PyTorch writes them
        return 3, field(2, Double(value))
    if isinstance(value, str):
        return 1, field(3, value)
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
