"""`torch.torch_version`: a version that is a string and compares as a version."""

from __future__ import annotations

import re
from typing import Any

from ..core.release import PEER_VERSION

__all__ = ["TorchVersion", "Version", "InvalidVersion"]

_PARTS = re.compile(
    r"\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)(?:[-_.]?(?P<pre>a|alpha|b|beta|c|rc|pre|preview)[-_.]?(?P<pre_number>\d*))?"
    r"(?P<post>(?:-\d+)|(?:[-_.]?(?:post|rev|r)[-_.]?\d*))?(?P<dev>[-_.]?dev[-_.]?\d*)?(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


class InvalidVersion(ValueError):
    """A string that is no version."""


def _number(text: str | None) -> int:
    digits = re.sub(r"\D", "", text or "")
    return int(digits) if digits else 0


def _key(text: str) -> tuple[Any, ...]:
    """What versions are ordered by (PEP 440): development, then pre-releases, the release, post-releases; then the local part."""
    found = _PARTS.fullmatch(text)
    if found is None:
        raise InvalidVersion(f"Invalid version: {text!r}")
    release = [int(part) for part in found["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    if found["pre"]:
        pre: tuple[int, int] = (_STAGES[found["pre"].lower()], _number(found["pre_number"]))
    else:
        pre = (-1, 0) if found["dev"] and not found["post"] else (3, 0)
    post = _number(found["post"]) if found["post"] else -1
    dev = (0, _number(found["dev"])) if found["dev"] else (1, 0)
    local = tuple(
        (1, int(part), "") if part.isdigit() else (0, 0, part.lower()) for part in re.split(r"[-_.]", found["local"] or "") if part
    )
    return (int(found["epoch"] or 0), tuple(release), pre, post, dev, local)


class Version:
    """A version that can be compared; ``packaging.version.Version`` compares in the same way."""

    def __init__(self, version: str) -> None:
        self._key = _key(version)
        self._text = version.strip()
        self.release = tuple(int(part) for part in _PARTS.fullmatch(version)["release"].split("."))  # type: ignore[index]

    @property
    def major(self) -> int:
        """The first number of the release."""
        return self.release[0]

    @property
    def minor(self) -> int:
        """The second number of the release, or 0."""
        return (*self.release, 0)[1]

    @property
    def micro(self) -> int:
        """The third number of the release, or 0."""
        return (*self.release, 0, 0)[2]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Version({self._text!r})>"

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key == other._key

    def __lt__(self, other: Version) -> bool:
        return self._key < other._key

    def __le__(self, other: Version) -> bool:
        return self._key <= other._key

    def __gt__(self, other: Version) -> bool:
        return self._key > other._key

    def __ge__(self, other: Version) -> bool:
        return self._key >= other._key


def parse(version: str) -> Version:
    """A version from its text."""
    return Version(version)


def _as_text(other: Any) -> str:
    """A version from what it may be compared with: a string, a version, or a tuple such as (2, 1)."""
    if isinstance(other, (tuple, list)):
        return ".".join(map(str, other))
    return str(other)


class TorchVersion(str):
    """A version string that compares with strings, versions and tuples as versions do: ``TorchVersion("2.13.0") > (2, 9)``."""

    __slots__ = ()

    def _compare(self, other: Any, method: str) -> Any:
        try:
            mine, others = _key(self), _key(_as_text(other))
        except InvalidVersion:
            return getattr(str, method)(self, other)  # what is no version compares as text
        return getattr(mine, method)(others)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "__lt__")  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "__le__")  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, "__gt__")  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, "__ge__")  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return self._compare(other, "__eq__")  # type: ignore[no-any-return]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(PEER_VERSION)
