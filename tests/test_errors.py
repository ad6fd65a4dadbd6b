"""Every error class has a code of its own, and a row in docs/errors.md."""

import pathlib
import re

import rushlight.autograd.gradcheck
import rushlight.utils.checkpoint  # noqa: F401
from rushlight.core.errors import RushlightError

PAGE = (pathlib.Path(__file__).parent.parent / "docs" / "errors.md").read_text(encoding="utf8")


def classes(base=RushlightError):
    for each in base.__subclasses__():
        yield each
        yield from classes(each)


def test_codes_are_unique_and_documented():
    found = {each.__name__: each for each in classes() if each.__module__.startswith("rushlight")}
    codes = [each.code for each in found.values()]
    assert len(set(codes)) == len(codes)
    rows = dict(re.findall(r"^\| (RL\d+) \| `(\w+)`", PAGE, re.M))
    assert rows == {each.code: name for name, each in found.items()}


def test_each_error_derives_from_what_pytorch_raises():
    for each in classes():
        parents = re.search(rf"`{each.__name__}` \((\w+)\)", PAGE)
        if parents:
            assert parents.group(1) in [base.__name__ for base in each.__mro__], each
