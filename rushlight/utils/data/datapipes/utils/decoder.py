"""Decoders of files, chosen by the endings of their names."""

from __future__ import annotations

import io
import json
import os.path
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from .....core.errors import NotSupported
from .....serialization import load
from .....tensor.construct import from_numpy
from .common import StreamWrapper

_IMAGE_FORMS = {  # array, type of elements, colours
    "l8": ("numpy", "uint8", "L"), "rgb8": ("numpy", "uint8", "RGB"), "rgba8": ("numpy", "uint8", "RGBA"),
    "l": ("numpy", "float", "L"), "rgb": ("numpy", "float", "RGB"), "rgba": ("numpy", "float", "RGBA"),
    "torchl8": ("torch", "uint8", "L"), "torchrgb8": ("torch", "uint8", "RGB"), "torchrgba8": ("torch", "uint8", "RGBA"),
    "torchl": ("torch", "float", "L"), "torchrgb": ("torch", "float", "RGB"), "torch": ("torch", "float", "RGB"),
    "torchrgba": ("torch", "float", "RGBA"), "pill": ("pil", None, "L"), "pil": ("pil", None, "RGB"), "pilrgb": ("pil", None, "RGB"),
    "pilrgba": ("pil", None, "RGBA"),
}  # fmt: skip


def basichandlers(extension: str, data: Any) -> Any:
    """Text, JSON, pickles, numbers and tensors."""
    if extension in ("txt", "text", "transcript"):
        return data.decode("utf-8")
    if extension in ("cls", "cls2", "class", "count", "index", "inx", "id"):
        try:
            return int(data)
        except ValueError:
            return None
    if extension in ("json", "jsn"):
        return json.loads(data)
    if extension in ("pyd", "pickle"):
        return pickle.loads(data)
    if extension == "pt":
        return load(io.BytesIO(data))
    return None


def handle_extension(extensions: str, f: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """A decoder for files with one of the endings."""
    endings = [each.split(".") for each in extensions.lower().split()]

    def handler(key: str, data: Any) -> Any:
        parts = key.lower().split(".")
        return f(data) if any(parts[-len(each) :] == each for each in endings) else None

    return handler


class ImageHandler:
    """Images in a form such as ``"rgb8"`` (an array) or ``"torchrgb"`` (a tensor)."""

    def __init__(self, imagespec: str) -> None:
        if imagespec not in _IMAGE_FORMS:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec.lower()

    def __call__(self, extension: str, data: Any) -> Any:
        if extension.lower() not in "jpg jpeg png ppm pgm pbm pnm".split():
            return None
        from PIL import Image

        form, kind, colours = _IMAGE_FORMS[self.imagespec]
        with io.BytesIO(data) as stream:
            image = Image.open(stream)
            image.load()
            image = image.convert(colours)
        if form == "pil":
            return image
        result = np.asarray(image)
        if form == "numpy":
            return result.astype("f") / 255.0 if kind == "float" else result
        if result.ndim == 3:
            result = np.ascontiguousarray(result.transpose(2, 0, 1))
        made = from_numpy(np.array(result))
        return made / 255.0 if kind == "float" else made


def imagehandler(imagespec: str) -> ImageHandler:
    """A decoder of images."""
    return ImageHandler(imagespec)


def videohandler(extension: str, data: Any) -> Any:
    """Videos: their decoder is compiled into torchvision."""
    if extension in "mp4 ogv mjpeg avi mov h264 mpg webm wmv".split():
        raise NotSupported("videos are decoded by torchvision's compiled part, which can't be loaded here")
    return None


def audiohandler(extension: str, data: Any) -> Any:
    """Sound: its decoder is compiled into torchaudio."""
    if extension in ("flac", "mp3", "sox", "wav", "m4a", "ogg", "wma"):
        raise NotSupported("sound is decoded by torchaudio's compiled part, which can't be loaded here")
    return None


class MatHandler:
    """Files of MATLAB, read by SciPy."""

    def __init__(self, **loadmat_kwargs: Any) -> None:
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension: str, data: Any) -> Any:
        if extension != "mat":
            return None
        from scipy.io import loadmat

        with io.BytesIO(data) as stream:
            return loadmat(stream, **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs: Any) -> MatHandler:
    """A decoder of MATLAB's files."""
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname: str) -> str:
    """The ending of a name."""
    return os.path.splitext(pathname)[1].removeprefix(".")


class Decoder:
    """Decoders one after the other, until one knows what to do."""

    def __init__(self, *handler: Any, key_fn: Callable[[str], str] = extension_extract_fn) -> None:
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Any) -> None:
        """More decoders, after those before."""
        self.handlers += handler

    @staticmethod
    def _is_stream_handle(data: Any) -> bool:
        return isinstance(data.file_obj if isinstance(data, StreamWrapper) else data, (io.BufferedIOBase, io.RawIOBase))

    def decode1(self, key: str, data: Any) -> Any:
        """One file, decoded where a decoder knows it."""
        if not data:
            return data
        if self._is_stream_handle(data):
            stream, data = data, data.read()
            stream.close()
        for handler in self.handlers or ():
            result = handler(key, data)
            if result is not None:
                return result
        return data

    def decode(self, data: Any) -> dict[str, Any]:
        """Files by their names."""
        result: dict[str, Any] = {}
        for key, value in data.items() if hasattr(data, "items") else [data]:
            if key.startswith("__"):
                result[key] = value.decode("utf-8") if isinstance(value, bytes) else value
            else:
                result[key] = self.decode1(self.key_fn(key), value)
        return result

    def __call__(self, data: Any) -> dict[str, Any]:
        return self.decode(data)
