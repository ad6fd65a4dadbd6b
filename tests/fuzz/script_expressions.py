"""Random expressions of TorchScript, by type: numbers, texts, containers, Optionals, enumerations, named tuples, objects and tensors."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

TYPES = (
    "int", "float", "bool", "str", "Tensor", "List[int]", "List[str]", "List[float]", "List[Tensor]", "Dict[str, int]", "Dict[int, str]", "Dict[str, Tensor]",
    "Tuple[int, str]", "Tuple[Tensor, int]", "Optional[int]", "Optional[str]", "Optional[Tensor]", "Union[int, str]", "Color", "Point", "Counter", "List[List[int]]",
    "List[Tuple[int, str]]", "Dict[str, List[int]]",
)  # fmt: skip
REFUSED = re.compile(
    r"reversed\(|math\.trunc|' \* |\) \* -?\d|\bround\(-?\d|dict\(a=|\.remove\(\(|\.item\(\) \*|Tuple.* == "
)  # what PyTorch refuses is rare
WORDS = ("", "a", "ab", "Hello", "x y", "aXbXc", "12", " pad ", "Z9")


class Expressions:
    """Writes expressions over names whose types it knows."""

    def __init__(self, rng: random.Random, names: dict[str, str], result: str, odd: float = 0.0) -> None:
        self.rng = rng
        self.names = dict(names)
        self.result = result
        self.risky = rng.random() < 0.2
        self.odd = odd  # how often an expression is of another type
        self.made = 0
        self.fixed: set[str] = set()  # names that loops count with or that are refined

    def pick(self, *options: Callable[[], str] | str | tuple[Callable[[], str]]) -> str:
        """One of several expressions; those that fail for some values are tuples, and rare in most programs."""
        for _ in range(4):
            found = self.rng.choice(options)
            while isinstance(found, tuple):
                found = found[0] if self.risky or self.rng.random() < 0.03 else self.rng.choice(options)
            text = found if isinstance(found, str) else found()
            if not REFUSED.search(text) or self.rng.random() < 0.05:
                break
        return text

    def fresh(self) -> str:
        """A new name."""
        self.made += 1
        return f"v{self.made}"

    def known(self, kind: str) -> list[str]:
        """The names of a type."""
        return [name for name, each in self.names.items() if each == kind]

    # -- expressions ---------------------------------------------------------------------------------------------

    def of(self, kind: str, depth: int = 1) -> str:
        """An expression of a type."""
        if self.odd and self.rng.random() < self.odd:
            return f"({type(self)(self.rng, self.names, self.result).of(self.rng.choice(TYPES), depth)})"
        names = self.known(kind)
        if names and self.rng.random() < (0.35 if depth < 2 else 0.8):
            return self.rng.choice(names)
        return getattr(self, "on_" + kind.replace("[", "_").replace("]", "").replace(", ", "_"))(depth + 1)

    def on_int(self, depth: int) -> str:
        """An integer."""
        r, sub = self.rng, lambda kind="int": self.of(kind, depth)
        small = lambda: str(r.randint(0, 9)) if r.random() < 0.7 else f"({r.randint(-7, -1)})"
        if depth > 3:
            return small()
        return self.pick(
            small, small, lambda: f"({sub()} {r.choice('+-*')} {sub()})", lambda: f"({sub()} {r.choice(['//', '%'])} {r.choice([-3, -2, 2, 3, 4, 7])})",
            (lambda: f"({sub()} {r.choice(['//', '%'])} {sub()})",), lambda: f"({sub()} {r.choice(['&', '|', '^'])} {sub()})", lambda: f"({sub()} << {r.randint(0, 3)})",
            lambda: f"({sub()} >> {r.randint(0, 3)})", lambda: f"(-{sub()})", lambda: f"abs({sub()})", lambda: f"{r.choice(['min', 'max'])}({sub()}, {sub()})",
            lambda: f"int({sub('float')})", lambda: f"int({sub('bool')})", lambda: f"len({self.of(r.choice(['List[int]', 'str', 'Dict[str, int]', 'List[Tensor]', 'Counter']), depth)})",
            (lambda: f"{sub('List[int]')}[{sub()}]",), (lambda: f"{sub('Dict[str, int]')}[{self.key()}]",), lambda: f"{sub('Dict[str, int]')}.get({self.key()}, {sub()})",
            lambda: f"{sub('Tuple[int, str]')}[0]", lambda: f"{sub('Point')}.x", lambda: f"{sub('Point')}[0]", lambda: f"({sub()} if {sub('bool')} else {sub()})",
            (lambda: f"{r.choice(['sum', 'max', 'min'])}({sub('List[int]')})",), lambda: f"{sub('str')}.{r.choice(['find', 'count', 'rfind', *(['index'] if self.risky else [])])}({self.word()})",
            (lambda: f"{sub('List[int]')}.{r.choice(['index', 'count'])}({sub()})",), lambda: f"helper_early({sub('List[int]')}, {sub()})", (lambda: f"helper_check({sub()})",),
            lambda: f"helper_python({sub()})", lambda: f"helper_union({self.of(r.choice(['int', 'str', 'Union[int, str]']), depth)})", lambda: f"{sub('Color')}.value",
            lambda: f"int({sub('Tensor')}.sum())", (lambda: f"{sub('Tensor')}.size({r.choice([0, -1])})",), lambda: f"{sub('Tensor')}.dim()", lambda: f"ord('{r.choice('abZ9')}')",
            lambda: f"math.{r.choice(['floor', 'ceil'])}({sub('float')})", lambda: f"math.gcd({sub()}, {sub()})", lambda: f"helper_tuple({sub()}, {sub('str')})[1]",
            lambda: f"{sub('Counter')}.total", lambda: f"{sub('Counter')}.size", (lambda: f"{sub('Counter')}[{sub()}]",), lambda: f"{sub('Counter')}.add({sub()}, times={r.randint(0, 3)})",
            (lambda: f"{sub('Tensor')}.shape[{r.choice([0, -1])}]",), (lambda: f"divmod({sub()}, {sub()})[{r.randint(0, 1)}]",), (lambda: f"int({sub('str')})",),
            (lambda: f"{sub('List[List[int]]')}[{r.choice([0, -1])}][{sub()}]",), lambda: f"{sub('Tensor')}.numel()",
        )  # fmt: skip

    def on_float(self, depth: int) -> str:
        """A floating-point number."""
        r, sub = self.rng, lambda kind="float": self.of(kind, depth)
        plain = lambda: f"({r.choice([0.0, 0.5, -1.25, 2.0, 3.75, -7.5, 1e-3])})"
        if depth > 3:
            return plain()
        return self.pick(
            plain, plain, lambda: f"({sub()} {r.choice('+-*')} {sub()})", lambda: f"({sub()} {r.choice('+-*')} {sub('int')})", lambda: f"({sub('int')} / {r.choice([-3, 2, 4, 7])})",
            (lambda: f"({sub('int')} / {sub('int')})",), lambda: f"({sub()} // {r.choice([-0.75, 2, 1.5])})", lambda: f"({sub()} % {r.choice([-0.75, 2, 1.5])})", lambda: f"(-{sub()})",
            (lambda: f"({sub()} ** {r.choice([2, 0, -1, 3, 0.5])})",), (lambda: f"({sub('int')} ** {r.choice([2, 0, 3, -1])})",), lambda: f"abs({sub()})", lambda: f"float({sub('int')})",
            lambda: f"float({sub('bool')})", lambda: f"{r.choice(['min', 'max'])}({sub()}, {sub()})", (lambda: f"{sub('List[float]')}[{sub('int')}]",), lambda: f"sum({sub('List[float]')})",
            lambda: f"{sub('Point')}.y", (lambda: f"(math.{r.choice(['sin', 'exp', 'floor', 'sqrt', 'log', 'fabs'])}({sub()}) * 1.0)",), (lambda: f"math.{r.choice(['pow', 'fmod', 'atan2', 'copysign'])}({sub()}, {sub()})",),
            lambda: f"float({sub('Tensor')}.sum())", lambda: f"round({sub()})", lambda: f"({sub()} if {sub('bool')} else {sub()})", (lambda: f"float({sub('str')})",),
            lambda: "math.pi", lambda: "float('inf')", lambda: f"math.degrees({sub()})", lambda: f"math.ldexp({sub()}, {r.randint(-2, 3)})", lambda: f"{r.choice(['min', 'max'])}({sub()}, {sub('int')})",
        )  # fmt: skip

    def on_bool(self, depth: int) -> str:
        """A truth value."""
        r, sub = self.rng, lambda kind="bool": self.of(kind, depth)
        if depth > 3:
            return r.choice(["True", "False"])
        relation = lambda: r.choice(["<", "<=", ">", ">=", "==", "!="])
        return self.pick(
            "True", "False", lambda: f"({sub('int')} {relation()} {sub('int')})", lambda: f"({sub('float')} {relation()} {sub('float')})", lambda: f"({sub('int')} {relation()} {sub('float')})",
            lambda: f"({sub('str')} {relation()} {sub('str')})", lambda: f"(not {sub()})", lambda: f"({sub()} {r.choice(['and', 'or'])} {sub()})", lambda: f"({sub('int')} < {sub('int')} <= {sub('int')})",
            lambda: f"({sub('int')} {r.choice(['in', 'not in'])} {sub('List[int]')})", lambda: f"({self.key()} in {sub('Dict[str, int]')})", lambda: f"({sub('str')} in {sub('str')})",
            lambda: f"({sub('List[int]')} {r.choice(['==', '!='])} {sub('List[int]')})", lambda: f"({sub('Optional[int]')} is {r.choice(['', 'not '])}None)", lambda: f"({sub('Color')} {r.choice(['==', '!='])} {sub('Color')})",
            lambda: f"bool({self.of(r.choice(['int', 'float', 'bool']), depth)})", lambda: f"({sub('Tensor')}.sum() > {sub('int')})", lambda: f"isinstance({sub('Union[int, str]')}, {r.choice(['int', 'str'])})",
            lambda: f"{sub('str')}.{r.choice(['startswith', 'endswith'])}({sub('str')})", lambda: f"{sub('str')}.{r.choice(['isdigit', 'isalpha', 'isupper', 'islower', 'isspace', 'isalnum', 'istitle'])}()",
            lambda: f"({sub('Counter')} {r.choice(['==', '<'])} {sub('Counter')})", lambda: f"({sub('int')} in {sub('Counter')})", lambda: f"{r.choice(['any', 'all'])}([{sub()}, {sub()}])", lambda: f"math.isnan({sub('float')})",
            lambda: f"bool({sub('Tensor')}.sum())", lambda: f"({sub()} {r.choice(['==', '^', '&', '|'])} {sub()})",
            lambda: f"({sub('List[str]')} == {sub('List[str]')})", lambda: f"torch.equal({sub('Tensor')}, {sub('Tensor')})", lambda: f"({sub('str')} in {sub('List[str]')})",
        )  # fmt: skip

    def on_str(self, depth: int) -> str:
        """A text."""
        r, sub = self.rng, lambda kind="str": self.of(kind, depth)
        word = lambda: repr(r.choice(WORDS))
        if depth > 3:
            return word()
        bound = lambda: r.choice(["", str(r.randint(-4, 5)), sub("int")])
        return self.pick(
            word, word, lambda: f"({sub()} + {sub()})", lambda: f"str({self.of(r.choice(['int', 'bool', 'str', 'float', 'List[int]', 'Tuple[int, str]']), depth)})", (lambda: f"{sub()}[{sub('int')}]",), lambda: f"{sub()}[{bound()}:{bound()}]",
            lambda: f"{sub()}[{bound()}:{bound()}:{r.choice([1, 2, 3])}]", lambda: f"{sub()}.{r.choice(['upper', 'lower', 'strip', 'lstrip', 'rstrip', 'title', 'capitalize', 'swapcase'])}()",
            lambda: f"{sub()}.replace({self.word()}, {sub()})", lambda: f"{sub()}.join({sub('List[str]')})", lambda: f"{sub()}.{r.choice(['ljust', 'rjust', 'center', 'zfill'])}({r.randint(0, 8)})",
            lambda: f"f'{{{self.shown_name()}}}-{{{self.shown_name()}}}'", lambda: f"'{{}}/{{}}'.format({self.of(r.choice(['int', 'str', 'float']), depth)}, {sub('int')})",
            lambda: f"('%d %s' % ({sub('int')}, {sub()}))", (lambda: f"{sub('List[str]')}[{sub('int')}]",), (lambda: f"{sub('Dict[int, str]')}[{sub('int')}]",), lambda: f"{sub('Tuple[int, str]')}[1]", lambda: f"{sub('Point')}.name",
            lambda: f"({sub()} if {sub('bool')} else {sub()})", lambda: f"{sub('Color')}.name", lambda: f"helper_tuple({sub('int')}, {sub()})[0]", lambda: f"{sub('Counter')}.label", lambda: f"chr({r.randint(65, 90)})",
            lambda: f"{sub()}.strip({sub()})", lambda: f"hex({sub('int')})", lambda: f"{sub()}.expandtabs({r.randint(1, 4)})", lambda: f"{sub()}.{r.choice(['partition', 'rpartition'])}({self.word()})[{r.randint(0, 2)}]",
        )  # fmt: skip

    def word(self) -> str:
        """A text with letters: PyTorch's scripts never end where it is empty."""
        return repr(self.rng.choice([each for each in WORDS if each]))

    def shown_name(self) -> str:
        """A name that a text shows."""
        return self.rng.choice([name for name, kind in self.names.items() if kind in ("int", "str", "bool", "float", "List[int]")] or ["7"])

    def on_Tensor(self, depth: int) -> str:
        """A tensor; most have two elements."""
        r, sub = self.rng, lambda kind="Tensor": self.of(kind, depth)
        leaf = lambda: r.choice(["torch.ones(2)", "torch.arange(2)", "torch.tensor([0.5, -2.0])", "torch.zeros(2, 2)"])
        if depth > 3:
            return leaf()
        return self.pick(
            leaf, lambda: f"({sub()} {r.choice('+-*')} {sub()})", lambda: f"({sub()} {r.choice('+-*')} {self.of(r.choice(['int', 'float']), depth)})", lambda: f"({sub('int')} {r.choice('+-*')} {sub()})", lambda: f"{sub()}.{r.choice(['sin', 'tanh', 'relu', 'clone', 'neg', 'abs', 't'])}()",
            lambda: f"{sub()}.sum({r.choice(['', '0', '-1', 'dim=0', 'dim=-1, keepdim=True'])})", (lambda: f"torch.stack({sub('List[Tensor]')})",), (lambda: f"torch.cat({sub('List[Tensor]')}, dim=0)",), (lambda: f"{sub()}[{r.choice(['0', '-1', ':1', '::2', '..., 0', 'None', '1:'])}]",),
            (lambda: f"{sub('List[Tensor]')}[{sub('int')}]",), (lambda: f"{sub('Dict[str, Tensor]')}[{self.key()}]",), lambda: f"{sub('Tuple[Tensor, int]')}[0]", lambda: f"({sub()} if {sub('bool')} else {sub()})",
            lambda: f"helper_default({sub()}, {self.pick('0.5', 'name=' + repr('q'), 'shift=2', '1.5, shift=0')})", lambda: f"torch.tensor({self.of(r.choice(['List[int]', 'int', 'float', 'List[float]', 'bool']), depth)})", lambda: f"torch.full((2,), {self.of(r.choice(['int', 'float']), depth)})",
            lambda: f"torch.where({sub()} > 0, {sub()}, {sub()})", lambda: f"torch.clamp({sub()}, {r.choice(['min=0', '-1, 1', 'max=0.5'])})", lambda: f"({sub()} {r.choice(['/', '//', '%'])} {r.choice([2, -3, 0.5])})", lambda: f"{sub()}.to(torch.{r.choice(['float32', 'int64', 'float64', 'bool'])})",
            lambda: f"({sub()} {r.choice(['<', '==', '>='])} {self.of(r.choice(['Tensor', 'int']), depth)})", lambda: f"{sub()}.view({r.choice(['-1', '1, -1', '[-1]'])})", lambda: f"({sub()} ** {r.choice([2, 0.5, 3])})", lambda: f"torch.arange({r.randint(0, 4)})", (lambda: f"{sub()}.max(dim=0)[{r.randint(0, 1)}]",),
            "(torch.rand(2) * 0)", (lambda: f"{sub()}.index_select(0, torch.tensor([0]))",), lambda: f"{sub()}.masked_fill({sub()} > 0, {r.choice([0, 1.5])})", lambda: f"{sub()}.unsqueeze({r.choice([0, -1])})",
        )  # fmt: skip

    def listed(self, kind: str, depth: int) -> str:
        """A list of a type."""
        r, sub = self.rng, lambda: self.of(kind, depth)
        whole = f"List[{kind}]"
        if depth > 3:
            return f"[{sub()}]"
        bound = lambda: r.choice(["", str(r.randint(-3, 4))])
        return self.pick(
            lambda: f"[{sub()}, {sub()}]", lambda: f"[{sub()}, {sub()}, {sub()}]", lambda: f"({self.of(whole, depth)} + {self.of(whole, depth)})", lambda: f"{self.of(whole, depth)}[{bound()}:{bound()}]",
            lambda: f"{self.of(whole, depth)}[::{r.choice([2, 1, 3])}]", lambda: f"([{sub()}] * {r.randint(0, 3)})", lambda: f"({self.of(whole, depth)} if {self.of('bool', depth)} else {self.of(whole, depth)})", lambda: f"list({self.of(whole, depth)})",
            lambda: f"{self.of(whole, depth)}.copy()",
        )  # fmt: skip

    def comprehension(self, element: str, kind: str, depth: int) -> str:
        """A list of what an expression gives for each item of another list."""
        name, source = self.fresh(), self.of(f"List[{kind}]", depth)
        before = self.names
        self.names = {**before, name: kind}
        found = self.of(element, depth + 1)
        self.names = before
        return f"[{found} for {name} in {source}]"

    def on_List_int(self, depth: int) -> str:
        """A list of integers."""
        r = self.rng
        return self.pick(
            lambda: self.listed("int", depth), lambda: self.listed("int", depth), lambda: self.comprehension("int", "int", depth), lambda: self.comprehension("int", "str", depth), lambda: f"list(range({r.randint(-2, 4)}))", lambda: f"sorted({self.of('List[int]', depth)})",
            lambda: f"list({self.of('Dict[str, int]', depth)}.values())", lambda: f"[{self.of('int', depth)} for _ in range({r.randint(0, 3)})]", lambda: f"{self.of('Tensor', depth)}.shape[:]", lambda: f"list({self.of('Dict[int, str]', depth)}.keys())",
            lambda: f"{self.of('Counter', depth)}.seen", (lambda: f"{self.of('List[List[int]]', depth)}[{r.choice([0, -1])}]",), (lambda: f"{self.of('Dict[str, List[int]]', depth)}[{self.key()}]",),
        )  # fmt: skip

    def on_List_str(self, depth: int) -> str:
        """A list of texts."""
        return self.pick(
            lambda: self.listed("str", depth), lambda: self.comprehension("str", "int", depth), lambda: f"{self.of('str', depth)}.split({self.pick('', self.word)})", lambda: f"list({self.of('Dict[str, int]', depth)}.keys())",
            lambda: f"list({self.of('str', depth)})", lambda: f"sorted({self.of('List[str]', depth)})", lambda: f"{self.of('str', depth)}.splitlines()", lambda: f"{self.of('str', depth)}.rsplit('X', 1)",
        )  # fmt: skip

    def on_List_float(self, depth: int) -> str:
        """A list of numbers."""
        return self.pick(
            lambda: self.listed("float", depth),
            lambda: self.comprehension("float", "int", depth),
            lambda: f"[{self.of('float', depth)}, 1.0]",
        )

    def on_List_Tensor(self, depth: int) -> str:
        """A list of tensors."""
        return self.pick(
            lambda: self.listed("Tensor", depth), lambda: self.comprehension("Tensor", "int", depth), (lambda: f"torch.unbind({self.of('Tensor', depth)})",), (lambda: f"list({self.of('Tensor', depth)}.chunk(2))",),
            (lambda: f"{self.of('Tensor', depth)}.split(1)",), lambda: f"[{self.of('Tensor', depth)}]",
        )  # fmt: skip

    def on_List_List_int(self, depth: int) -> str:
        """A list of lists."""
        return self.pick(
            lambda: f"[{self.of('List[int]', depth)}, {self.of('List[int]', depth)}]", lambda: self.comprehension("List[int]", "int", depth)
        )

    def on_List_Tuple_int_str(self, depth: int) -> str:
        """A list of pairs."""
        return self.pick(
            lambda: f"[{self.of('Tuple[int, str]', depth)}, {self.of('Tuple[int, str]', depth)}]", lambda: f"list({self.of('Dict[int, str]', depth)}.items())", lambda: f"list(enumerate({self.of('List[str]', depth)}))",
            lambda: f"list(zip({self.of('List[int]', depth)}, {self.of('List[str]', depth)}))",
        )  # fmt: skip

    def key(self) -> str:
        """A key of a dict of texts."""
        return self.pick(
            lambda: repr(self.rng.choice(["a", "b", "c"])), lambda: repr(self.rng.choice(["a", "b"])), lambda: self.of("str", 3)
        )

    def on_Dict_str_int(self, depth: int) -> str:
        """A dict."""
        sub = lambda: self.of("int", depth)
        return self.pick(
            lambda: f"{{'a': {sub()}, 'b': {sub()}}}", lambda: f"{{{self.key()}: {sub()}}}", lambda: f"{{str(k): k * {self.rng.randint(-2, 3)} for k in {self.of('List[int]', depth)}}}", lambda: f"{self.of('Dict[str, int]', depth)}.copy()",
            lambda: f"dict([('a', {sub()}), ('b', {sub()})])", lambda: f"{{k: len(k) for k in {self.of('List[str]', depth)}}}", lambda: f"dict(a={sub()})",
        )  # fmt: skip

    def on_Dict_int_str(self, depth: int) -> str:
        """A dict."""
        return self.pick(
            lambda: f"{{1: {self.of('str', depth)}, {self.of('int', depth)}: {self.of('str', depth)}}}", lambda: f"{{k: str(k) for k in {self.of('List[int]', depth)}}}", lambda: f"dict({self.of('List[Tuple[int, str]]', depth)})"
        )  # fmt: skip

    def on_Dict_str_Tensor(self, depth: int) -> str:
        """A dict."""
        return f"{{'a': {self.of('Tensor', depth)}, {self.key()}: {self.of('Tensor', depth)}}}"

    def on_Dict_str_List_int(self, depth: int) -> str:
        """A dict."""
        return f"{{'a': {self.of('List[int]', depth)}, 'b': {self.of('List[int]', depth)}}}"

    def on_Tuple_int_str(self, depth: int) -> str:
        """A pair."""
        return self.pick(
            lambda: f"({self.of('int', depth)}, {self.of('str', depth)})",
            (lambda: f"{self.of('List[Tuple[int, str]]', depth)}[{self.rng.choice([0, -1])}]",),
        )

    def on_Tuple_Tensor_int(self, depth: int) -> str:
        """A pair."""
        return f"({self.of('Tensor', depth)}, {self.of('int', depth)})"

    def on_Optional_int(self, depth: int) -> str:
        """A number or None."""
        return self.pick(
            "None", lambda: self.of("int", depth), lambda: f"helper_optional({self.of('int', depth)})", lambda: f"{self.of('Dict[str, int]', depth)}.get({self.key()})", lambda: f"({self.of('int', depth)} if {self.of('bool', depth)} else None)"
        )  # fmt: skip

    def on_Optional_str(self, depth: int) -> str:
        """A text or None."""
        return self.pick("None", lambda: self.of("str", depth), lambda: f"({self.of('str', depth)} if {self.of('bool', depth)} else None)")

    def on_Optional_Tensor(self, depth: int) -> str:
        """A tensor or None."""
        return self.pick("None", lambda: self.of("Tensor", depth))

    def on_Union_int_str(self, depth: int) -> str:
        """A number or a text."""
        return self.pick(lambda: self.of("int", depth), lambda: self.of("str", depth))

    def on_Color(self, depth: int) -> str:
        """A member of an enumeration."""
        return self.pick("Color.RED", "Color.GREEN", "Color.BLUE", lambda: f"(Color.RED if {self.of('bool', depth)} else Color.BLUE)")

    def on_Point(self, depth: int) -> str:
        """A named tuple."""
        x, y, name = self.of("int", depth), self.of("float", depth), self.of("str", depth)
        return self.pick(f"Point({x}, {y}, {name})", f"Point({x}, name={name}, y={y})", f"Point(x={x}, y={y}, name={name})")

    def on_Counter(self, depth: int) -> str:
        """An object of a scripted class."""
        names = self.known("Counter")
        return self.pick(
            lambda: f"Counter({self.of('int', depth)}, {self.of('str', depth)})", lambda: self.rng.choice(names or ["Counter(3, 'c')"]), lambda: f"({self.of('Counter', depth)} + {self.of('Counter', depth)})" if depth < 3 else "Counter(2, 'n')"
        )  # fmt: skip
