"""The processor that code is generated for: the host's, or one that ``RUSHLIGHT_NATIVE_CPU`` names; and its description for the scheduler."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ...core.blas import blas
from ...core.process_safety import cached_property
from ...schedule.target import Target

# The levels of x86-64 that compilers and distributions agree on, with those of their features that matter here.
_LEVELS = {"x86-64": "", "x86-64-v2": "", "x86-64-v3": "+avx,+avx2,+f16c,+fma"}
_LEVELS["x86-64-v4"] = f"{_LEVELS['x86-64-v3']},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
_IMPLIED = {"-avx": ("avx", "f16c", "fma"), "-avx2": ("avx512",), "-avx512f": ("avx512",)}  # prefixes of features that go with one
VARIABLE = "RUSHLIGHT_NATIVE_CPU"


@dataclass(frozen=True)
class Processor:
    """A CPU by LLVM's names: target triple, CPU name and feature string (``+avx2,-avx512f``)."""

    triple: str
    name: str
    features: str = ""

    @cached_property
    def words(self) -> str:
        """Triple, name and features as one string, for cache keys."""
        return f"{self.triple} {self.name} {self.features}"

    @cached_property
    def has(self) -> frozenset[str]:
        """The features that are present.  The last mention of a feature counts; removing one removes those that need it."""
        found: set[str] = set()
        for each in self.features.split(","):
            if each.startswith("+"):
                found.add(each[1:])
            else:
                found = {name for name in found if name != each[1:] and not (each in _IMPLIED and name.startswith(_IMPLIED[each]))}
        return frozenset(found)

    @cached_property
    def is_arm(self) -> bool:
        return self.triple.startswith(("aarch64", "arm64"))

    @cached_property
    def vector_bits(self) -> int:
        """The vector width.  Scalable vectors (arm64's SVE) are left to LLVM: they count as 128 bits."""
        return 512 if {"avx512f", "avx512vl"} <= self.has else 256 if "avx" in self.has else 128

    @cached_property
    def registers(self) -> int:
        """The number of vector registers."""
        return 32 if self.is_arm or self.vector_bits == 512 else 16

    @cached_property
    def chunk(self) -> int:
        """The number of float32 elements that are summed before the partial sum is added in float64.

        LLVM interleaves two to four vectors: with these lengths each of their lanes sums about 64 elements.
        """
        return {512: 4096, 256: 2048}.get(self.vector_bits, 512)

    @cached_property
    def converts_halves(self) -> bool:
        """Whether there are instructions that convert float16."""
        return self.is_arm or "f16c" in self.has

    @cached_property
    def masks(self) -> bool:
        """Whether there are masked vector loads and stores."""
        return "avx" in self.has or "sve" in self.has

    @cached_property
    def target(self) -> Target:
        """The processor as the scheduler sees it."""
        return Target(
            name=f"LLVM for {self.name}",
            vector_bits=self.vector_bits,
            vector_registers=self.registers,
            masked_access=self.masks,
            half_conversion=self.converts_halves,
            matrix_products=bool(blas().addresses),
            chunk=self.chunk,
        )


_chosen: list[Processor] = []


def processor() -> Processor:
    """The one processor that code is generated for; raises ImportError where llvmlite is not installed."""
    if not _chosen:
        import llvmlite.binding

        _chosen.append(host(llvmlite.binding))
    return _chosen[0]


def host(llvm: Any) -> Processor:
    """The processor of the host, or the one that ``RUSHLIGHT_NATIVE_CPU`` names.

    The variable holds LLVM's name of a CPU and features to add or remove: ``x86-64-v3``, ``skylake-avx512,+avx512f,+avx512vl``,
    ``native,-avx512f`` (the host without that feature).  Code for another CPU need not run on the host.
    """
    name, *chosen = os.environ.get(VARIABLE, "").split(",")
    features = [] if name not in ("", "native") else [llvm.get_host_cpu_features().flatten()]
    features += [each for each in (_LEVELS.get(name, ""), *chosen) if each]
    found = Processor(llvm.get_process_triple(), name if name not in ("", "native") else llvm.get_host_cpu_name(), ",".join(features))
    return whole_vectors(found)


def whole_vectors(processor: Processor) -> Processor:
    """The same processor, where 512-bit vectors are used even if LLVM prefers 256 bits on it.

    The vector variants of functions that kernels call (``scalar_code.called``) have one width, which the vectorizer has to choose too.
    """
    if processor.vector_bits < 512 or "-prefer-256-bit" in processor.features:
        return processor
    return Processor(processor.triple, processor.name, f"{processor.features},-prefer-256-bit")
