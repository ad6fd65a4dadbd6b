"""Files and streams of pipes."""

from __future__ import annotations

import fnmatch
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from io import IOBase
from typing import Any


def validate_input_col(fn: Callable[..., Any], input_col: Any) -> None:
    """Refuse a function that does not take as many arguments as there are columns."""
    try:
        signature = inspect.signature(fn)
    except ValueError:  # a function in C without a signature
        return
    count = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    named = [each for each in signature.parameters.values() if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    required = [each for each in named if each.default is each.empty]
    forced = [each.name for each in signature.parameters.values() if each.kind is each.KEYWORD_ONLY and each.default is each.empty]
    name = getattr(fn, "__name__", repr(fn))
    if forced:
        raise ValueError(f"The function {name} takes keyword-only parameters without defaults, which is not allowed.")
    if count < len(required):
        raise ValueError(f"The function {name} takes {len(required)} positional parameters, but {count} are required.")
    if count > len(named) and not any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values()):
        raise ValueError(f"The function {name} takes {len(named)} positional parameters, but {count} are required.")


def match_masks(name: str, masks: Any) -> bool:
    """Whether a name fits one of the masks; all do where there is none."""
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks))


def get_file_pathnames_from_root(
    root: str, masks: Any, recursive: bool = False, abspath: bool = False, non_deterministic: bool = False
) -> Iterable[str]:
    """The files under a folder whose names fit."""

    def failed(error: OSError) -> None:
        warnings.warn(str(error), stacklevel=2)
        raise error

    if os.path.isfile(root):
        path = os.path.abspath(root) if abspath else root
        if match_masks(os.path.basename(path), masks):
            yield path
        return
    for path, folders, files in os.walk(root, onerror=failed):
        if abspath:
            path = os.path.abspath(path)
        if not non_deterministic:
            files.sort()
        for name in files:
            if match_masks(name, masks):
                yield os.path.join(path, name)
        if not recursive:
            break
        if not non_deterministic:
            folders.sort()


def get_file_binaries_from_pathnames(pathnames: Any, mode: str, encoding: str | None = None) -> Iterator[tuple[str, Any]]:
    """The files opened, with their names."""
    pathnames = (pathnames,) if not isinstance(pathnames, Iterable) or isinstance(pathnames, str) else pathnames
    mode = "rt" if mode == "t" else "rb" if mode == "b" else mode
    for pathname in pathnames:
        if not isinstance(pathname, str):
            raise TypeError(f"Expected string type for pathname, but got {type(pathname)}")
        yield pathname, StreamWrapper(open(pathname, mode, encoding=encoding))  # noqa: SIM115


def validate_pathname_binary_tuple(data: Any) -> None:
    """Refuse what is no pair of a name and an open file."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(f"pathname within the tuple should have string type pathname, but it is type {type(data[0])}")
    if not isinstance(data[1], (IOBase, StreamWrapper)):
        raise TypeError(f"binary stream within the tuple should have IOBase orStreamWrapper as type, but it is type {type(data[1])}")


class StreamWrapper:
    """An open file that closes itself when nobody holds it."""

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj = file_obj
        self.name = name
        self.parent_stream = parent_stream
        self.closed = False

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close the files in nested containers."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, dict):
            for each in v.values():
                cls.close_streams(each, depth + 1)
        elif isinstance(v, (list, tuple)):
            for each in v:
                cls.close_streams(each, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the file."""
        if not self.closed:
            self.closed = True
            self.file_obj.close(*args, **kwargs)

    def autoclose(self) -> None:
        """Close the file now."""
        self.close()

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(type(self)), *dir(self.file_obj), "close"})

    def __del__(self) -> None:
        if not self.closed:
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        return f"StreamWrapper<{self.file_obj!r}>" if self.name is None else f"StreamWrapper<{self.name},{self.file_obj!r}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, obj: Any) -> None:
        self.file_obj, self.name, self.parent_stream, self.closed = obj, None, None, False
