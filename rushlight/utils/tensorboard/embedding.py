"""Points for TensorBoard's projector: files beside the events, and the list of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from .summary import _eight_bits, as_array


def write_embedding(folder: Path, points: Any, metadata: Any, images: Any, step: int, tag: str, header: Any) -> None:
    """Write points with their labels and pictures to ``folder/<step>/<tag>``, and enter them in ``projector_config.pbtxt``."""
    place = f"{str(step).zfill(5)}/{tag}"
    target = folder / place
    target.mkdir(parents=True, exist_ok=True)
    if metadata is not None and len(metadata) != len(points):
        raise AssertionError("#labels should equal with #data points")
    if images is not None and len(images) != len(points):
        raise AssertionError("#images should equal with #data points")
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    (target / "tensors.tsv").write_bytes(b"".join(("\t".join(map(str, row.tolist())) + "\n").encode() for row in points))
    entry = [f'  tensor_name: "{tag}:{str(step).zfill(5)}"', f'  tensor_path: "{place}/tensors.tsv"']
    if metadata is not None:
        lines = [str(each) for each in metadata] if not header else ["\t".join(map(str, row)) for row in [header, *metadata]]
        (target / "metadata.tsv").write_text("\n".join(lines) + "\n", encoding="utf8")
        entry.append(f'  metadata_path: "{place}/metadata.tsv"')
    if images is not None:
        pictures = as_array(images)
        _write_sprite(target, pictures)
        height, width = pictures.shape[2:]
        entry.append(
            f'  sprite {{\n    image_path: "{place}/sprite.png"\n    single_image_dim: {width}\n    single_image_dim: {height}\n  }}'
        )
    with open(folder / "projector_config.pbtxt", "a", encoding="utf8") as file:
        file.write("embeddings {\n" + "\n".join(entry) + "\n}\n")


def _write_sprite(target: Path, pictures: Any) -> None:
    """All pictures (NCHW) in one square, row by row; it is as high as it is wide, as the projector wants it."""
    from PIL import Image

    side = math.ceil(math.sqrt(len(pictures)))
    count, colours, height, width = pictures.shape
    sheet = np.zeros((side * max(height, width), side * width, colours), np.float32 if pictures.dtype != np.uint8 else np.uint8)
    for number, each in enumerate(pictures):
        row, column = divmod(number, side)
        sheet[row * height : (row + 1) * height, column * width : (column + 1) * width] = each.transpose(1, 2, 0)
    image = _eight_bits(sheet)
    Image.fromarray(image[:, :, 0] if colours == 1 else image).save(target / "sprite.png")
