"""A module: the functions of a program, named by a digest of their code so that equal ones are compiled once, and split into texts for LLVM."""

from __future__ import annotations

import hashlib
import pickle
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .instructions import Declaration, LlvmFunction, TextFunction
from .outline import merged

# Attributes: of functions that call others; of those not inlined; and of both, where no loop is left to vectorize.
_ATTRIBUTES = "\n".join(f"attributes #{at} = {{ nounwind{each} }}" for at, each in enumerate(("", " noinline", "", " noinline")))
# Loops that are not unrolled (0), nor vectorized (2), or two vectors at a time (4).
_METADATA = """!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !1, !3}
!3 = !{!"llvm.loop.vectorize.enable", i1 false}
!4 = distinct !{!4, !1, !5}
!5 = !{!"llvm.loop.interleave.count", i32 2}"""
LONG = 24  # lines of a function that is compiled separately


class Part(NamedTuple):
    """A compilation unit and its optimization level: none for short-running code, low for explicitly vectorized
    code, or high."""

    text: str
    effort: int = 2


class Module:
    """The functions of a program.

    A function's name follows from its code, in which there are no addresses and no numbers that are bound later, so it is compiled once for all programs.
    """

    def __init__(self) -> None:
        self.functions: list[LlvmFunction | TextFunction] = []
        self.declarations: dict[str, Declaration] = {}  # of intrinsics and constants, by symbol
        self.defined: dict[str, LlvmFunction | TextFunction] = {}
        self.names: dict[bytes, str] = {}  # of functions, by digests of all they are
        self.memo: dict[Any, str] = {}  # functions that serve many callers, by what they do
        self.addresses: dict[str, int] = {}  # of what is outside
        self.bindings: dict[str, int] = {}  # the values of global variables: such addresses, and numbers
        self.quick: set[str] = set()  # functions that are not worth optimizing
        self.sizes: list[int] = []  # symbolic sizes, in the order in which functions read them from a table ...
        self.sized: dict[str, int] = {}  # ... whose address is their first parameter: the offset of each function's sizes
        self.same: dict[str, str] = {}  # functions with the code of others, for other sizes: those

    def declare(self, symbol: str, text: str) -> None:
        """An intrinsic, or a table of constants."""
        self.declarations[symbol] = Declaration(text)

    def add(self, name: str, function: LlvmFunction | str, quick: bool = False) -> str:
        """Add a function, deduplicated by its code.  Its name."""
        if isinstance(function, str):
            code, numbers, sizes = function, [], []
        else:
            function.noinline = True  # inlining would compile it once per call
            code, numbers, sizes = function.code, function.numbers, function.sizes
        digest = hashlib.sha256(code.encode())
        first = chosen = f"{name.rstrip('0123456789')}_{digest.hexdigest()[:16]}"
        digest.update(f"{numbers} {sizes}".encode())
        key = digest.digest()
        if key in self.names:
            return self.names[key]
        while chosen in self.defined or chosen in self.same:
            chosen += "_"  # the same code with other numbers
        self.names[key] = chosen
        if first in self.defined and sizes and not numbers:
            self.same[chosen] = first
            self.keep_sizes(chosen, sizes)
        else:
            self.put(chosen, function if isinstance(function, LlvmFunction) else function.replace("@NAME", f"@{chosen}"), quick)
        return chosen

    def put(self, name: str, function: LlvmFunction | str, quick: bool = False) -> None:
        """Add a function under a name, and bind its variables."""
        if isinstance(function, str):
            self.functions.append(TextFunction(name, function))
        else:
            function.name = name
            for each in function.variables:
                self.bindings[f"{name}.{each}"] = function.numbers[int(each[6:])] if each.startswith("number") else self.addresses[each]
            if function.sizes:
                self.keep_sizes(name, function.sizes)
            self.functions.append(function)
        self.defined[name] = self.functions[-1]
        if quick:
            self.quick.add(name)

    def keep_sizes(self, name: str, sizes: list[int]) -> None:
        """Bind a function's sizes to an offset in the table."""
        self.sized[name] = len(self.sizes)
        self.sizes += sizes

    def parts(self) -> list[Part]:
        """The functions as compilation units: long functions separately, short ones together."""
        together: dict[int, list[Any]] = {0: [], 1: [], 2: []}  # by effort
        long: dict[int, list[Any]] = {0: [], 1: [], 2: []}
        shared = set(self.names.values())  # by other programs too
        for function in self.functions:
            effort = 0 if function.name in self.quick else 1 if function.vectorized else 2
            is_long = isinstance(function, LlvmFunction) and function.name in shared and function.body.count("\n") >= LONG
            (long if is_long else together)[effort].append(function)
        kernels = [each for each in long[1] if each.name.startswith("kernel")]  # other functions have their numbers as parameters already
        made, calls = merged(long[2] + kernels)
        long[1] = [each for each in long[1] if each not in kernels] + [each for each in made if each.vectorized]
        long[2] = [each for each in made if not each.vectorized]
        together[0] += calls
        known = self.known()
        known.update((f"@{each.name}", Declaration(each.declaration)) for each in made)
        apart = [Part(alone([each], known), effort) for effort, functions in long.items() for each in functions]
        return apart + [Part(alone(functions, known), effort) for effort, functions in together.items() if functions]

    def known(self) -> dict[str, Declaration]:
        """The declarations of all that functions may use, by symbol."""
        found = dict(self.declarations)
        for name, function in self.defined.items():
            if isinstance(function, LlvmFunction):
                found[f"@{name}"] = Declaration(function.declaration, "" if function.variant is None else function.variant.function)
        return found

    def packed(self) -> bytes:
        """The text, compressed."""
        printed = PrintedModule(list(map(str, self.functions)), [each.name for each in self.functions], self._head())
        return zlib.compress(pickle.dumps(printed), 1)

    @staticmethod
    def unpacked(data: bytes) -> PrintedModule:
        """The decompressed text."""
        return pickle.loads(zlib.decompress(data))  # type: ignore[no-any-return]

    def _head(self) -> list[str]:
        variants = sorted({each.variant.function for each in self.functions if each.variant is not None})
        return [*[each.text for each in self.declarations.values()], *kept(variants), _METADATA]

    def __str__(self) -> str:
        return "\n\n".join([*self._head(), *map(str, self.functions), _ATTRIBUTES]) + "\n"


class PrintedModule(NamedTuple):
    """The text of a module, function by function."""

    functions: list[str]
    names: list[str]
    head: list[str]

    def __str__(self) -> str:
        return "\n\n".join([*self.head, *self.functions, _ATTRIBUTES]) + "\n"


def alone(functions: Sequence[LlvmFunction | TextFunction], known: dict[str, Declaration]) -> str:
    """Text of some functions with the declarations of what they use, and no others."""
    own = {f"@{each.name}" for each in functions}
    used = {symbol for each in functions for symbol in each.uses if symbol not in own}
    variants = {each.variant.function for each in functions if each.variant is not None}
    variants |= {known[each].vector_function for each in used if known[each].vector_function}
    used |= {f"@{each}" for each in variants if f"@{each}" not in own}
    needs = sorted([known[each].text for each in used])
    if any(each.hints for each in functions):
        needs.append(_METADATA)
    return "\n\n".join([*needs, *kept(sorted(variants)), *map(str, functions), _ATTRIBUTES]) + "\n"


def kept(names: Iterable[str]) -> list[str]:
    """``llvm.compiler.used`` for vector variants: only an attribute of the scalar function refers to them."""
    pointers = [f"ptr @{each}" for each in names]
    return (
        [f'@llvm.compiler.used = appending global [{len(pointers)} x ptr] [{", ".join(pointers)}], section "llvm.metadata"']
        if pointers
        else []
    )
