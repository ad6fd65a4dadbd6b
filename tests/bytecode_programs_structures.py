"""Calls, classes, `match`, imports, and programs of all of it together.  (See bytecode_programs.py.)"""

# The code is odd on purpose.
# ruff: noqa

from __future__ import annotations

import contextlib
import functools
from collections import defaultdict
from dataclasses import dataclass

from bytecode_programs import Base, Derived, Named, Noisy, Pair, Point, note, program


# Calls.


def takes(a, b=2, /, c=3, *rest, d, e=5, **named):
    return note((a, b, c, rest, d, e, named))


@program()
def argument_binding():
    takes(1, d=4)
    takes(1, 2, 3, 4, 5, d=6, x=7)
    takes(1, c=9, d=1, a=2, b=3)
    takes(*[1, 2], **{"d": 3, "e": 4})
    return takes(1, *(), d=2, **{"z": 3}, y=4)


def strict(a, b, /, c, *, d):
    return a, b, c, d


@program(
    ((), {}),
    ((1, 2, 3), {}),
    ((1, 2, 3, 4), {"d": 1}),
    ((1,), {"b": 2, "c": 3, "d": 4}),
    ((1, 2, 3), {"c": 1, "d": 4}),
    ((1, 2, 3), {"d": 1, "e": 2}),
    ((1, 2), {"d": 1}),
    ((1, 2, 3), {"d": 4}),
    ((1, 2, 3), {"d": 4, 5: 6}),
    (7, {}),
    ((), 7),
)
def wrong_arguments(args, kwargs):
    note("before")
    return strict(*args, **kwargs)


@program()
def doubled_keyword():
    return takes(1, d=2, **{"d": note(3)})


@program()
def call_of_nothing():
    value = 3
    return value(note(1))


@program()
def defaults_are_shared():
    def collect(value, into=[]):
        into.append(value)
        return into

    collect(1)
    collect(2, into=note([0]))
    return collect(3), collect.__defaults__


@program()
def function_attributes():
    def f(a: int, b: str = "x", *, c: float = 1.0) -> bool:
        """Says something."""
        return (a, b, c)

    return (
        f.__name__,
        f.__qualname__,
        f.__doc__,
        f.__defaults__,
        f.__kwdefaults__,
        f.__annotations__,
        f(1),
        f.__module__,
    )


@program((5,), (0,))
def recursion(n):
    return 1 if n == 0 else n * recursion(n - 1)


@program()
def endless_recursion():
    def f(n):
        return f(n + 1)

    try:
        f(0)
    except RecursionError:
        return "too deep"


@program((3,))
def decorated(n):
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            note((function.__name__, args, kwargs))
            return function(*args, **kwargs)

        return wrapper

    @logged
    def f(a, *, b=1):
        return a + b

    return f(n), f(n, b=5), f.__name__, functools.partial(f, b=7)(1)


@program()
def native_calls():
    return (
        sorted([3, 1, 2], key=lambda v: -note(v)),
        list(map(lambda a, b: a + b, [1, 2], [3, 4])),
        max([1, 5], default=0),
    )


@program()
def methods():
    base, derived = Base(4), Derived(4)
    bound = derived.twice
    base.half = 5
    del derived.half
    return (
        base.twice(),
        base.half,
        Base.make(3).value,
        Derived.make(2).value,
        Base.plain(1),
        base.kind,
        bound.__self__ is derived,
    )


@program()
def super_calls():
    derived = Derived(2)
    return derived.twice(), derived.captured(), Derived.twice(derived)


@program()
def super_misuse():
    def outside(self):
        return super().x

    class A:
        def none():
            return super().x

        def deleted(self):
            del self
            return super().x

    for call in (lambda: outside(1), A.none, A().deleted):
        try:
            call()
        except RuntimeError as error:
            note(str(error))
    super_of = super
    return super_of(Derived, Derived(1)).kind


@program()
def other_super():
    def super(*args):
        return Noisy(len(args))

    class A:
        def f(self):
            return super().something, super(A, self).other

    return A().f()


@program((3,))
def missing_attribute(value):
    note("before")
    value.no_such_attribute = 1


@program((3,), ("x",))
def missing_method(value):
    return value.upper(), value.bit_length()


@program()
def attributes():
    point = Point(1, [2])
    point.x += 5
    point.y += [3]
    point.z = point.y
    del point.x
    try:
        del point.x
    except AttributeError as error:
        note(error.args)
    return vars(point)


# Classes.


@program((3,))
def class_in_function(n):
    class A:
        """Says something."""

        size = n
        values: list = []
        x: int

        def __init__(self, value):
            self.value = value

        def get(self):
            return self.value + n + self.size

        @property
        def double(self):
            return self.value * 2

        def own_class(self):
            return __class__.__name__

    class B(A, metaclass=type):
        size = A.size * 2

        def get(self):
            return -super().get()

    b = B(5)
    return b.get(), b.double, B.__mro__[1].__name__, A.__doc__, A.__annotations__, b.own_class(), A.__qualname__


@program()
def class_with_keywords():
    class Meta(type):
        def __new__(cls, name, bases, namespace, **kwargs):
            note((name, sorted(k for k in namespace if not k.startswith("__")), kwargs))
            return super().__new__(cls, name, bases, namespace)

        def __init__(cls, name, bases, namespace, **kwargs):
            super().__init__(name, bases, namespace)

    class A(metaclass=Meta, option=1):
        x = 1

    class Plugin:
        found: list = []

        def __init_subclass__(cls, /, tag=None, **kwargs):
            super().__init_subclass__(**kwargs)
            cls.found.append((cls.__name__, tag))

    class One(Plugin, tag="t"):
        pass

    return A.x, type(A).__name__, Plugin.found


@program()
def class_body_error():
    class A:
        note("body")
        x = 1 / 0


@program()
def dataclasses_and_tuples():
    pair = Pair(1)
    pair.right = Pair(2, 3)
    named = Named(1, b=2)._replace(a=5)
    a, b = named
    return pair, pair == Pair(1, Pair(2, 3)), named, a, b


@program()
def local_dataclass():
    @dataclass(order=True)
    class Item:
        price: float
        name: str = "thing"

        def total(self, count=1):
            return self.price * count

    return Item(2.0).total(3), Item(1.0) < Item(2.0), Item(1.0)


# Match.


@program((1,), (2,), ("x",), (None,), (5,), (-1,), (2.5,), (True,))
def match_values(subject):
    match subject:
        case 1:
            return "one"
        case 2 | 3:
            return "few"
        case None:
            return "nothing"
        case str():
            return "text"
        case int(n) if n > 4:
            return "big", n
        case -1:
            return "minus"
        case float() as f:
            return f
        case _:
            return "other"


@program(([],), ([1],), ([1, 2],), ([1, 2, 3],), ((1, 2),), ("ab",), (range(3),), ([1, [2, 3]],))
def match_sequences(subject):
    match subject:
        case []:
            return "empty"
        case [x]:
            return "one", x
        case [1, [a, b]]:
            return "nested", a, b
        case (1, y):
            return "pair", y
        case [first, *rest] if note(first) < 1:
            return first, rest
        case [*_, last]:
            return "last", last
    return "no match"


@program(({"k": 1},), ({"k": 2, "l": 3},), ({},), ({"type": "p", "x": 1, "z": 0},), (defaultdict(int),), ([1],))
def match_mappings(subject):
    match subject:
        case {"type": "p", "x": x, **rest}:
            return x, rest
        case {"k": 1}:
            return "k is one"
        case {"k": k, "l": int(n)}:
            return k, n
        case {"missing": _}:
            return "made"
        case {}:
            return "a mapping", len(subject)
    return "no match"


@program(
    (Point(0, 0),),
    (Point(0, 5),),
    (Point(3, 3),),
    (Point("a", 2),),
    (Pair(1, Pair(2, 3)),),
    (Pair(1),),
    (7,),
    (Named(1, 2),),
)
def match_classes(subject):
    match subject:
        case Point(0, 0):
            return "origin"
        case Point(x=0, y=y):
            return "on the axis", y
        case Point(x, y) if x == y:
            return "diagonal", x
        case Point(str(), y=number):
            return number
        case Pair(left, Pair(a, b)):
            return left, a, b
        case Pair():
            return "pair"
        case Named(a, b):
            return a, b
        case int(n):
            return n


@program((Point(1, 2),))
def match_too_many(subject):
    match subject:
        case Point(a, b, c):
            return a, b, c


@program((1,))
def match_not_a_class(subject):
    kind = 5
    match subject:
        case kind():
            return 1


@program((1,), (Point(1, 2),))
def match_doubled_attribute(subject):
    match subject:
        case Point(a, x=b):
            return a, b
    return "no match"


@program(("go north",), ("look",), ("take sword shield",))
def match_commands(text):
    match text.split():
        case ["go", ("north" | "south") as direction]:
            return "going", direction
        case ["take", *things]:
            return things
        case [verb]:
            return verb


# Imports.


@program()
def imports():
    import json
    import os.path
    import xml.etree.ElementTree as tree
    from collections import OrderedDict as Ordered, deque
    from os import path

    return json.dumps([1]), os.path is path, tree.Element("a").tag, Ordered(a=1), deque([1])


@program()
def failed_imports():
    try:
        import no_such_module
    except ImportError as error:
        note((type(error), error.name))
    try:
        from json import no_such_name
    except ImportError as error:
        note((type(error), error.name, error.args))
    return "no_such_module" in locals(), "no_such_name" in locals()


# All together.


@program((12,))
def sieve(n):
    flags = [True] * n
    for i in range(2, n):
        if flags[i]:
            for j in range(i * i, n, i):
                flags[j] = False
    return [i for i, flag in enumerate(flags) if flag and i > 1]


@program(("1 + 2 * ( 3 - 4 ) / 5",), ("1 +",), ("( 1",))
def calculator(text):
    tokens = text.split()

    def expression():
        left = term()
        while tokens and tokens[0] in "+-":
            left = left + term() if tokens.pop(0) == "+" else left - term()
        return left

    def term():
        left = factor()
        while tokens and tokens[0] in "*/":
            left = left * factor() if tokens.pop(0) == "*" else left / factor()
        return left

    def factor():
        match tokens.pop(0):
            case "(":
                value = expression()
                if not tokens or tokens.pop(0) != ")":
                    raise SyntaxError("no closing parenthesis")
                return value
            case number:
                return float(number)

    return expression()


@program((4,))
def pipeline(n):
    @contextlib.contextmanager
    def stage(name):
        note(("begin", name))
        try:
            yield lambda value: note((name, value))[1]
        finally:
            note(("end", name))

    results = {}
    for i in range(n):
        try:
            with stage(f"s{i}") as record:
                for j, value in enumerate(record(k * i) for k in range(3)):
                    if value == 3:
                        raise ValueError(f"{i=} {j=}")
                    results.setdefault(i, []).append(value)
        except ValueError as error:
            results[i] = [str(error)]
        else:
            results[i].append("ok")
        finally:
            note(len(results))
    return results


@program((6,))
def memoised(n):
    cache = {}

    def remember(function):
        def wrapper(*args):
            if args not in cache:
                cache[args] = function(*args)
            return cache[args]

        return wrapper

    @remember
    def fibonacci(k):
        return k if k < 2 else fibonacci(k - 1) + fibonacci(k - 2)

    return fibonacci(n), sorted(cache)
