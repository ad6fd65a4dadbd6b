"""Contents of open files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[Any]):
    """Pairs of a name and an open file as pairs of the name and its content, whole or so many bytes at a time."""

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self) -> Iterator[Any]:
        for name, stream in self.datapipe:
            while True:
                content = stream.read(self.chunk)
                if not content:
                    stream.close()
                    break
                yield name, content
