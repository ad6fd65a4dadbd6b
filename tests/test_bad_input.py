"""Bad input: PyTorch's exception type for each expression of bad_input.txt, and a message that says something."""

import json
import pathlib

import pytest

import rushlight as torch

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "bad_input.json").read_text())
# Where PyTorch's own type is an accident: what we raise instead.
OTHERWISE = {
    "torch.ones(2).to(3.5)": "TypeError",  # PyTorch takes the number for nothing
    "torch.zeros(*([1] * 70))": "RuntimeError",  # NumPy has at most 64 dimensions
}


@pytest.mark.parametrize("line", DATA)
@pytest.mark.filterwarnings("ignore")
def test_the_exception_is_pytorchs(line):
    expected = DATA[line]
    scope = {"torch": torch, "x": torch.ones(2, 3), "i": torch.arange(6)}
    if expected is None and line not in OTHERWISE:
        eval(line, scope)
        return
    with pytest.raises(Exception) as raised:
        eval(line, scope)
    wanted = OTHERWISE[line] if line in OTHERWISE else expected[0]
    names = [kind.__name__ for kind in type(raised.value).__mro__]
    if wanted == "LinAlgError" or wanted.startswith("_LinAlgError"):
        wanted = "LinAlgError"
    assert wanted in names, f"PyTorch: {expected}; here: {type(raised.value).__name__}: {raised.value}"
    assert len(str(raised.value)) > 8
