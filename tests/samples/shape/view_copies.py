"""Samples of the ops of ``ops/shape/view_copies.py``."""

from __future__ import annotations

from rushlight.core.declare import Op, table
from rushlight.ops.shape.view_copies import VIEWS

from ..make import Sample, SampleMaker, cases, makers, samples, samples_of

samples("view_copy", cases(lambda m: [Sample(m.real(2, 3), (3, 2)), Sample(m.real(2, 3), (-1,))]))
samples("as_strided_copy", cases(lambda m: [Sample(m.real(6), (2, 3), (1, 1)), Sample(m.real(2, 3), (2,), (2,), 1)]))
samples("split_copy", cases(lambda m: [Sample(m.real(5, 2), 2), Sample(m.real(2, 4), 3, 1)]))


def _of_view(view: Op) -> SampleMaker:
    """The samples of a view for the op that copies it, which takes sizes and dimensions as one tuple only."""

    def build(copy: Op) -> list[Sample]:
        if not view.parameters[-1].variadic:
            return makers.of(view)(copy)
        return [gathered(sample) for sample in samples_of(view)]

    def gathered(sample: Sample) -> Sample:
        first, *rest = sample.args
        sizes = rest[0] if len(rest) == 1 and isinstance(rest[0], tuple) else tuple(rest)
        return Sample(first, sizes, gradient=sample.gradient, compare=sample.compare, **sample.kwargs)

    return build


for _name in VIEWS:
    samples(f"{_name}_copy", _of_view(table[_name]))
