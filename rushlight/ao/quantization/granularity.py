"""How finely a tensor is quantized (for all of it, rows, groups), and the enumerations that go with it; flows over graphs say that they are not here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import Any

from ...core.missing import absents
from .quantization_mappings import get_default_static_quant_module_mappings


@dataclass(frozen=True)
class Granularity:
    """How finely a tensor is quantized."""


@dataclass(frozen=True)
class PerBlock(Granularity):
    """Blocks of a size have a scale each."""

    block_size: tuple[int, ...]


@dataclass(frozen=True)
class PerTensor(Granularity):
    """One scale for all."""


@dataclass(frozen=True)
class PerAxis(Granularity):
    """A scale for each place along a dimension."""

    axis: int


@dataclass(frozen=True)
class PerGroup(Granularity):
    """A scale for so many elements of a row."""

    group_size: int


class PerRow(Granularity):
    """A scale for each row."""


class PerToken(Granularity):
    """A scale for each place of all dimensions but the last."""


class MappingType(Enum):
    """How numbers become integers."""

    SYMMETRIC = auto()
    SYMMETRIC_NO_CLIPPING_ERR = auto()
    ASYMMETRIC = auto()


class ZeroPointDomain(Enum):
    """What zero points are: integers, numbers, or nothing."""

    INT = auto()
    FLOAT = auto()
    NONE = auto()


class TorchAODType(Enum):
    """Integers of fewer than eight bits, by their names alone."""

    INT1, INT2, INT3, INT4, INT5, INT6, INT7 = range(1, 8)


class QuantType(IntEnum):
    """Kinds of quantization."""

    DYNAMIC, STATIC, QAT, WEIGHT_ONLY = range(4)


def get_block_size(input_shape: tuple[int, ...], granularity: Granularity) -> tuple[int, ...]:
    """The sizes of the blocks that share a scale."""
    if not isinstance(granularity, Granularity):
        raise AssertionError("Please provide an instance of Granularity, not subclass of it")
    if isinstance(granularity, PerTensor):
        return input_shape
    if isinstance(granularity, PerAxis):
        return tuple(1 if at == granularity.axis % len(input_shape) else size for at, size in enumerate(input_shape))
    if isinstance(granularity, (PerRow, PerToken)):
        return (1,) * (len(input_shape) - 1) + (input_shape[-1],)
    if isinstance(granularity, PerGroup):
        if len(input_shape) != 2:
            raise AssertionError(f"Expecting input shape dim to be 2 for per group quantization, got input shape: {input_shape}")
        return (1, granularity.group_size)
    raise ValueError(f"Unsupported Granularity: {granularity}")


def get_default_compare_output_module_list() -> set[Any]:
    """The layers whose outputs numeric suites compare: quantized ones, and what they are made of."""
    mapping = get_default_static_quant_module_mappings()
    return {*mapping, *mapping.values()}


absents(
    globals(),
    "quantization of graphs of export and scripts (PT2E, jit) and of fewer than eight bits is not in rushlight: use eager mode, prepare and convert, or quantize_fx",
    classes="AffineQuantizedObserverBase ObserverOrFakeQuantize",
    functions="convert_dynamic_jit convert_jit default_embedding_fake_quant_4bit default_float_qparams_observer_4bit fuse_conv_bn_jit "
    "get_default_dynamic_sparse_quant_module_mappings get_default_float_to_quantized_operator_mappings get_default_qat_qconfig_dict "
    "get_default_qconfig_dict get_default_static_quant_reference_module_mappings "
    "get_default_static_sparse_quant_module_mappings get_fuser_method_new get_quantized_operator prepare_dynamic_jit prepare_jit "
    "quantize_dynamic_jit quantize_jit script_qconfig script_qconfig_dict",
)
