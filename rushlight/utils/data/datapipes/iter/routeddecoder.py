"""Files decoded by their endings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import validate_pathname_binary_tuple
from ..utils.decoder import Decoder, basichandlers, extension_extract_fn, imagehandler


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[Any]):
    """Pairs of a name and an open file as pairs of the name and what the file has."""

    def __init__(self, datapipe: Any, *handlers: Any, key_fn: Callable[[str], str] = extension_extract_fn) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.decoder = Decoder(*(handlers or (basichandlers, imagehandler("torch"))), key_fn=key_fn)

    def add_handler(self, *handler: Any) -> None:
        """More decoders, after those before."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            validate_pathname_binary_tuple(data)
            pathname = data[0]
            yield pathname, self.decoder(data)[pathname]

    def __len__(self) -> int:
        return len(self.datapipe)
