"""The processor that code is compiled for: the one that this runs on, or another that is asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

# The levels of x86-64 that compilers and distributions agree on, and what each has of what is asked for here.
_LEVELS = {"x86-64": "", "x86-64-v2": "", "x86-64-v3": "+avx,+avx2,+f16c,+fma"}
_LEVELS["x86-64-v4"] = f"{_LEVELS['x86-64-v3']},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
_NEEDED = {"-avx": ("avx", "f16c", "fma"), "-avx2": ("avx512",), "-avx512f": ("avx512",)}
VARIABLE = "RUSHLIGHT_NATIVE_CPU"


@dataclass(frozen=True)
class Processor:
    """A processor in LLVM's words: features are those it has and has not, as in ``+avx2,-avx512f``."""

    triple: str
    name: str
    features: str = ""

    @cached_property
    def words(self) -> str:
        """All that is said of it, as one text."""
        return f"{self.triple} {self.name} {self.features}"

    @cached_property
    def has(self) -> frozenset[str]:
        """The features that are there.  Of what is said of one, the last counts; what another one needs takes that along when it goes."""
        found: set[str] = set()
        for each in self.features.split(","):
            if each.startswith("+"):
                found.add(each[1:])
            else:
                found = {name for name in found if name != each[1:] and not (each in _NEEDED and name.startswith(_NEEDED[each]))}
        return frozenset(found)

    @cached_property
    def is_arm(self) -> bool:
        return self.triple.startswith(("aarch64", "arm64"))

    @cached_property
    def vector_bits(self) -> int:
        """The length of its vectors.  Vectors of unknown length (arm64's SVE) are LLVM's business: here they have 128 bits."""
        return 512 if {"avx512f", "avx512vl"} <= self.has else 256 if "avx" in self.has else 128

    @cached_property
    def registers(self) -> int:
        """How many registers there are for vectors."""
        return 32 if self.is_arm or self.vector_bits == 512 else 16

    @cached_property
    def chunk(self) -> int:
        """How many numbers are added up in single precision before the sum goes on in double precision.

        LLVM works on two to four vectors at a time: by this each of their lanes adds up some 64.
        """
        return {512: 4096, 256: 2048}.get(self.vector_bits, 512)

    @cached_property
    def converts_halves(self) -> bool:
        """Whether it has instructions that convert half precision."""
        return self.is_arm or "f16c" in self.has

    @cached_property
    def masks(self) -> bool:
        """Whether it can read and write some elements of a vector; otherwise, that is done one by one."""
        return "avx" in self.has or "sve" in self.has


def host(llvm: Any) -> Processor:
    """The processor that this runs on, or the one that ``RUSHLIGHT_NATIVE_CPU`` names.

    The variable holds LLVM's name of a processor, and features that it has or has not: ``x86-64-v3``, ``skylake-avx512,+avx512f,+avx512vl``,
    ``native,-avx512f`` (this one, without that feature).  Code for others than this one need not run here.
    """
    name, *chosen = os.environ.get(VARIABLE, "").split(",")
    features = [] if name not in ("", "native") else [llvm.get_host_cpu_features().flatten()]
    features += [each for each in (_LEVELS.get(name, ""), *chosen) if each]
    found = Processor(llvm.get_process_triple(), name if name not in ("", "native") else llvm.get_host_cpu_name(), ",".join(features))
    return whole_vectors(found)


def whole_vectors(processor: Processor) -> Processor:
    """The same; where vectors have 512 bits, LLVM is told to use all of them, which for some processors it avoids.

    Functions of vectors that it may call (``emission.py``) have one length, and it must come to the same.
    """
    if processor.vector_bits < 512 or "-prefer-256-bit" in processor.features:
        return processor
    return Processor(processor.triple, processor.name, f"{processor.features},-prefer-256-bit")
