"""Descriptions of one direction of one layer of an LSTM, GRU or plain recurrent network, and of their gradients.

The products of the inputs with their weights are computed before, for all times at once: ``gates`` has a row for each sequence at each time.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..lowering import routine
from ..symbolic_shape import SymbolicNumber, same
from ..tensor_ir import Reference, TensorIRBuilder, strides_of


@dataclass(frozen=True)
class RecurrentLayer:
    """What all layers have: the weight of the hidden state, how many sequences run at each time, and whether time runs backwards.

    ``sizes`` are the numbers of sequences at all times or, where these are equal, the number of times.
    """

    weight: Reference
    sizes: Any
    reverse: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.weight.dtype

    @property
    def sources(self) -> list[Reference]:
        """The operands."""
        found = [getattr(self, each.name) for each in fields(self)]
        return [each for each in found if isinstance(each, Reference)]


@dataclass(frozen=True)
class LstmLayer(RecurrentLayer):
    gates: Reference  # input, forget, cell and output gates
    hidden: Reference
    cell: Reference
    projection: Reference | None


@dataclass(frozen=True)
class LstmGradient(RecurrentLayer):
    grad_output: Reference
    grad_hidden: Reference
    grad_cell: Reference
    projection: Reference | None
    activated: Reference  # the gates after their activation functions
    cells: Reference  # the cell state before each time
    before: Reference  # the hidden state before each time


@dataclass(frozen=True)
class GruLayer(RecurrentLayer):
    gates: Reference  # reset and update gates, and the candidate state
    hidden: Reference
    bias: Reference | None  # of the hidden state's product


@dataclass(frozen=True)
class GruGradient(RecurrentLayer):
    grad_output: Reference
    grad_hidden: Reference
    activated: Reference
    before: Reference


@dataclass(frozen=True)
class RnnLayer(RecurrentLayer):
    gates: Reference
    hidden: Reference
    relu: bool  # else tanh


@dataclass(frozen=True)
class RnnGradient(RecurrentLayer):
    grad_output: Reference
    grad_hidden: Reference
    output: Reference
    before: Reference
    relu: bool


def contiguous(builder: TensorIRBuilder, reference: Any) -> Any:
    """A reference (or None) that is its whole value, contiguous; a copy where it is not."""
    if reference is None or (
        not reference.offset and same(reference.shape, reference.value.shape) and same(reference.strides, strides_of(reference.shape))
    ):
        return reference
    return builder.copy(reference, None)


def layer(
    builder: TensorIRBuilder, kind: Any, weight: Reference, sizes: Any, reverse: bool, operands: dict[str, Any], **others: Any
) -> Any:
    """A description whose operands are contiguous (others may have any strides), or NotImplemented."""
    several = isinstance(sizes, (list, tuple)) and len(sizes) > 0 and all(type(each) is int for each in sizes)
    given = [each for each in (*operands.values(), *others.values()) if isinstance(each, Reference)]
    known = isinstance(sizes, SymbolicNumber) or type(sizes) is int or several
    fits = all(each.dtype == weight.dtype for each in given) and all(0 not in each.shape for each in (weight, *given))
    if not known or not fits or weight.dtype.char not in "fd" or not builder.target.matrix_products:
        return NotImplemented
    return kind(
        weight=weight, sizes=sizes, reverse=reverse, **{name: contiguous(builder, each) for name, each in operands.items()}, **others
    )


@routine.register("lstm_layer")
def lstm(builder: TensorIRBuilder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    gates, hidden, cell, weight, projection, sizes, reverse = args
    given = {"gates": gates, "hidden": hidden, "cell": cell}
    return layer(builder, LstmLayer, weight, sizes, reverse, given, projection=projection)


@routine.register("lstm_backward")
def lstm_backward(builder: TensorIRBuilder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    grad_output, grad_hidden, grad_cell, weight, projection, activated, cells, before, sizes, reverse = args
    given = {
        "grad_output": grad_output,
        "grad_hidden": grad_hidden,
        "grad_cell": grad_cell,
        "activated": activated,
        "cells": cells,
        "before": before,
    }
    return layer(builder, LstmGradient, weight, sizes, reverse, given, projection=projection)


@routine.register("gru_layer")
def gru(builder: TensorIRBuilder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    gates, hidden, weight, bias, sizes, reverse = args
    return layer(builder, GruLayer, weight, sizes, reverse, {"gates": gates, "hidden": hidden, "bias": bias})


@routine.register("gru_backward")
def gru_backward(builder: TensorIRBuilder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    grad_output, grad_hidden, weight, activated, before, sizes, reverse = args
    given = {"grad_output": grad_output, "grad_hidden": grad_hidden, "activated": activated, "before": before}
    return layer(builder, GruGradient, weight, sizes, reverse, given)


@routine.register("rnn_layer")
def rnn(builder: TensorIRBuilder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    gates, hidden, weight, relu, sizes, reverse = args
    return layer(builder, RnnLayer, weight, sizes, reverse, {"gates": gates, "hidden": hidden}, relu=relu)


@routine.register("rnn_backward")
def rnn_backward(builder: TensorIRBuilder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    grad_output, grad_hidden, weight, output, before, relu, sizes, reverse = args
    given = {"grad_output": grad_output, "grad_hidden": grad_hidden, "output": output, "before": before}
    return layer(builder, RnnGradient, weight, sizes, reverse, given, relu=relu)
