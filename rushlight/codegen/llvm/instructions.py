"""The IR: values, instructions, blocks and functions as data, and the printer that turns a function into LLVM's textual form.

Nothing here builds code (``ir.py`` does) and nothing reads LLVM text back: passes over a function, such as ``outline.py``, work on the operands of its
instructions, and the text is printed once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

DIGITS = frozenset("-0123456789")  # with which the name of a constant number begins
NUMBER_TYPES = ("i64", "float", "double")  # of constants that can be passed as arguments instead


class Scalar(NamedTuple):
    """An operand: a register (``%v1``), a constant or a symbol (``@f``), and its type."""

    name: str
    type: str

    @property
    def is_number(self) -> bool:
        """Whether it is a constant number, as opposed to a register or a symbol."""
        return self.name[0] in DIGITS


class FunctionParameter(NamedTuple):
    """A parameter of a function."""

    type: str
    name: str
    noalias: bool = False

    def __str__(self) -> str:
        return f"{self.type}{' noalias' if self.noalias else ''} {self.name}"


class LlvmInstruction(NamedTuple):
    """One instruction.  ``type`` is what it operates on, or for conversions, loads and calls what it results in.

    ``detail`` holds what is neither type nor operand: arithmetic flags, the predicate of a comparison, alignment, memory order, loop metadata.
    """

    opcode: str
    result: str  # the register that it defines, or ""
    type: str
    operands: tuple[Scalar, ...]
    detail: str = ""

    @property
    def is_vector(self) -> bool:
        """Whether it operates on vectors."""
        return self.type[:1] == "<" or any(type[:1] == "<" for _, type in self.operands)

    def __str__(self) -> str:
        opcode, result, type, operands, detail = self
        form = _FORMS.get(opcode)
        if form is not None:
            text = form(opcode, type, operands, detail)
        else:  # of two operands of one type
            (a, _), (b, _) = operands
            text = f"{opcode} {detail}{type} {a}, {b}"
        return f"  {result} = {text}" if result else f"  {text}"


def _list(operands: Sequence[Scalar]) -> str:
    if len(operands) == 1:
        name, type = operands[0]
        return f"{type} {name}"
    if len(operands) == 2:
        (name, type), (second, other) = operands
        return f"{type} {name}, {other} {second}"
    return ", ".join([f"{type} {name}" for name, type in operands])


def _operand_list(opcode: str, type: str, operands: Sequence[Scalar], detail: str) -> str:
    return f"{opcode} {_list(operands)}{detail}"


def _return(opcode: str, type: str, operands: Sequence[Scalar], detail: str) -> str:
    return f"ret {_list(operands) or 'void'}"


def _conversion(opcode: str, type: str, operands: Sequence[Scalar], detail: str) -> str:
    return f"{opcode} {_list(operands)} to {type}"


def _load(opcode: str, type: str, operands: Sequence[Scalar], detail: str) -> str:
    return f"{opcode} {type}, ptr {operands[0][0]}{detail}"


def _address(opcode: str, type: str, operands: Sequence[Scalar], detail: str) -> str:
    (pointer, _), (index, of) = operands
    return f"getelementptr {detail}{type}, ptr {pointer}, {of} {index}"


def _call(opcode: str, type: str, operands: Sequence[Scalar], detail: str) -> str:
    return f"call {detail}{type} {operands[0][0]}({_list(operands[1:])})"


def _phi(opcode: str, type: str, operands: Sequence[Scalar], detail: str) -> str:
    values = iter(operands)
    return f"phi {type} " + ", ".join([f"[ {value.name}, {block.name} ]" for value, block in zip(values, values)])


def _raw(opcode: str, type: str, operands: Sequence[Scalar], detail: str) -> str:
    return detail


def _switch(opcode: str, type: str, operands: Sequence[Scalar], detail: str) -> str:
    value, otherwise, *cases = operands
    targets = " ".join([f"{_list((number,))}, {_list((block,))}" for number, block in zip(cases[::2], cases[1::2])])
    return f"switch {_list((value, otherwise))} [ {targets} ]"


_FORMS: dict[str, Callable[[str, str, Sequence[Scalar], str], str]] = {
    "load": _load, "load atomic": _load, "getelementptr": _address, "call": _call, "phi": _phi, "ret": _return, "switch": _switch, "raw": _raw,
    **dict.fromkeys(("select", "store", "store atomic", "br", "fneg", "insertelement", "extractelement", "shufflevector", "extractvalue",
                     "cmpxchg", "atomicrmw xor"), _operand_list),
    **dict.fromkeys(("sext", "zext", "trunc", "fpext", "fptrunc", "sitofp", "uitofp", "fptosi", "fptoui", "bitcast", "ptrtoint", "inttoptr"), _conversion),
}  # fmt: skip


class BasicBlock:
    """A basic block.  The head of a loop that has no loop inside is ``innermost``: its second instruction is the comparison with the trip count."""

    __slots__ = ("innermost", "instructions", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.instructions: list[LlvmInstruction] = []
        self.innermost = False


class VectorVariant(NamedTuple):
    """A vector variant of a scalar function, which LLVM may call instead of several scalar calls."""

    parameters: str  # the number of lanes, and for each parameter whether it is a vector (v) or uniform (u): "16v"
    function: str


class LlvmFunction:
    """A function.  Its own global variables hold numbers and addresses that are bound when the code is loaded."""

    __slots__ = (
        "blocks", "hints", "name", "noinline", "numbers", "parameters", "preamble", "printed", "printed_blocks", "result", "size_loads", "sizes", "stack", "uses",
        "variables", "variant", "vectorized",
    )  # fmt: skip

    def __init__(self, name: str, parameters: Sequence[FunctionParameter], blocks: list[BasicBlock], result: str = "void") -> None:
        self.name = name
        self.parameters = list(parameters)
        self.result = result
        self.blocks = blocks
        self.stack: list[tuple[str, str, int]] = []  # stack slots: register, type, length
        self.variables: dict[str, str] = {}  # the types of its global variables, each loaded into %its.<name> on entry
        self.numbers: list[int] = []  # the values of the variables number0, number1, …
        self.sizes: list[int] = []  # symbolic sizes: indices into the program's table, in the order of this function's own
        self.size_loads: list[tuple[str, int]] = []  # the types in which they are read: %dim.<n>, %dim.<n>.float
        self.preamble: list[str] = []  # raw instructions that define %numbers where that is no parameter
        self.uses: set[str] = set()  # symbols of other functions and of constants
        self.hints = False  # whether branches refer to loop metadata
        self.vectorized = False  # whether LLVM has no loop left to vectorize: there is none, or vectors are written out
        self.noinline = False
        self.variant: VectorVariant | None = None
        self.printed: str | None = None
        self.printed_blocks: list[list[str]] = []

    def lines(self) -> list[list[str]]:
        """The instructions of each block, printed once."""
        if not self.printed_blocks:
            self.printed_blocks = [[str(each) for each in block.instructions] for block in self.blocks]
        return self.printed_blocks

    @property
    def body(self) -> str:
        """The body without the header and the variables, printed once; ``NAME`` stands for the function in loads of variables."""
        if self.printed is None:
            lines = ["entry:", *self.preamble]
            for type, at in self.size_loads:
                lines += _size_load(type, at)
            for register, type, length in self.stack:
                lines.append(f"  {register} = alloca [{length} x {type}], align 64" if length > 1 else f"  {register} = alloca {type}")
            for at, (block, instructions) in enumerate(zip(self.blocks, self.lines())):
                if at:
                    lines.append(f"{block.name}:")
                lines += instructions
            self.printed = "\n".join(lines)
        return self.printed

    def head(self, name: str = "", declares: bool = False) -> str:
        """The header, or the declaration for other modules; without a name, the signature that identifies it."""
        given = ", ".join(
            [f"{each.type}{' noalias' if each.noalias else ''}" for each in self.parameters] if declares else map(str, self.parameters)
        )
        variant = ""
        if self.variant is not None:
            variant = f' memory(none) willreturn "vector-function-abi-variant"="_ZGV_LLVM_N{self.variant.parameters}_{name}({self.variant.function})"'
        return f"{self.result} @{name}({given}) #{2 * self.vectorized + self.noinline}{variant}"

    @property
    def declaration(self) -> str:
        return f"declare {self.head(self.name, declares=True)}"

    @property
    def code(self) -> str:
        """The identity of the code: all but the name, and the numbers and sizes bound at load time."""
        return "\n".join([self.head(), *[f"{name} {type}" for name, type in self.variables.items()], self.body])

    def __str__(self) -> str:
        lines = [f"@{self.name}.{each} = global {'i64 0' if type == 'i64' else 'ptr null'}" for each, type in self.variables.items()]
        lines += [f"define {self.head(self.name)} {{"]
        label, _, rest = self.body.partition("\n")
        lines += [label, *[f"  %its.{each} = load {type}, ptr @{self.name}.{each}" for each, type in self.variables.items()]]
        return "\n".join([*lines, rest, "}"] if rest else [*lines, "}"])


def _size_load(type: str, at: int) -> list[str]:
    """Read a symbolic size from the function's table; fractions are stored there in double precision."""
    name = f"%dim.{at}" if type == "i64" else f"%dim.{at}.{type}"
    lines = [f"  {name}.p = getelementptr inbounds i64, ptr %numbers, i64 {at}"]
    if type == "float":
        return [*lines, f"  {name}.wide = load double, ptr {name}.p", f"  {name} = fptrunc double {name}.wide to float"]
    return [*lines, f"  {name} = load {type}, ptr {name}.p"]


class TextFunction:
    """A function that is given as text; it is compiled together with all that it calls."""

    __slots__ = ("name", "text")
    uses: frozenset[str] = frozenset()
    hints, vectorized, variant = False, False, None

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def __str__(self) -> str:
        return self.text


class Declaration(NamedTuple):
    """The declaration of a symbol that a module does not define, or of a constant."""

    text: str
    vector_function: str = ""  # that LLVM may call instead
