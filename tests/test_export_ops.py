"""Every op, exported on its samples, is a program of PyTorch's operators that computes the same."""

from typing import Any

import pytest
from op_samples import convert, same_layout
from test_ops import OPS, SAMPLES

import rushlight
from rushlight.core.base import TensorBase, make
from rushlight.core.dtypes import BY_NUMPY
from rushlight.export.errors import GuardOnDataDependentSymNode
from rushlight.utils import trees

# Ops that draw random numbers, or whose result is not computed.
RANDOM = ("dropout", "rrelu", "gumbel", "lobpcg", "lowrank", "fractional", "empty")
OF_DATA = {"allclose", "equal", "is_nonzero"}  # their result is a Python value, which is refused
FAMILIES = sorted({op.source_module for op in OPS if not any(part in op.source_module for part in ("random", "sparse", "quantiz"))})


class Calls(rushlight.nn.Module):
    """Calls an op with tensors in the places of its sample's."""

    def __init__(self, op: Any, args: Any, structure: Any, places: list[int]) -> None:
        super().__init__()
        self.run = lambda tensors: op.call(*_filled(args, structure, places, tensors)[0], **_filled(args, structure, places, tensors)[1])

    def forward(self, *tensors: Any) -> Any:
        result = self.run(tensors)
        return tuple(result) if isinstance(result, (tuple, list)) else result


def _filled(leaves: list[Any], structure: Any, places: list[int], tensors: Any) -> Any:
    made = list(leaves)
    for at, tensor in zip(places, tensors):
        made[at] = tensor
    return structure.unflatten(made)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.removeprefix("rushlight.ops."))
def test_exported_ops_compute_the_same(family: str) -> None:
    for op in OPS:
        if op.source_module != family or any(word in op.name for word in RANDOM):
            continue
        for sample in SAMPLES[op.name][:2]:
            values = convert((tuple(sample.args), sample.kwargs), lambda array: make(same_layout(array)), lambda kind: BY_NUMPY[kind])
            named = {
                key: convert(each, lambda array: make(same_layout(array)), lambda kind: BY_NUMPY[kind])
                for key, each in sample.kwargs.items()
            }
            leaves, structure = trees.flatten((values[0], named))
            places = [at for at, each in enumerate(leaves) if isinstance(each, TensorBase)]
            tensors = tuple(leaves[at] for at in places)
            if not tensors:
                continue
            model = Calls(op, leaves, structure, places)
            try:
                wanted = model(*[each.clone() for each in tensors])
            except Exception:
                continue  # a sample of an error
            try:
                program = rushlight.export.export(model, tensors)
            except GuardOnDataDependentSymNode:
                assert op.name in OF_DATA or op.data_dependent, op.name
                continue
            found = program.module()(*[each.clone() for each in tensors])
            for expected, got in zip(
                *[[each for each in trees.flatten(value)[0] if isinstance(each, TensorBase)] for value in (wanted, found)]
            ):
                rushlight.testing.assert_close(
                    got, expected, equal_nan=True, check_stride=False, msg=lambda text, op=op: f"{op.name}: {text}"
                )
