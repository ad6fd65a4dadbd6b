"""Programs that are outside the language of scripts, with what the error must say and the text that its caret points at."""
# ruff: noqa: B007, F841, RUF100, SIM115, UP006, UP035, UP037, UP045 - mistakes on purpose

from __future__ import annotations

from typing import Any, Dict, List, Optional  # noqa: UP035

import rushlight as torch
from rushlight import Tensor

MISTAKES: dict[str, Any] = {}
OUTSIDE = torch.ones(2)


def mistake(says: str, points_at: str) -> Any:
    def add(function: Any) -> Any:
        MISTAKES[function.__name__] = (function, says, points_at)
        return function

    return add


@mistake("try blocks aren't supported", "try:")
def catches(x):
    try:
        return x
    except ValueError:
        return x + 1


@mistake("function definitions aren't supported", "def inner(y):")
def defines_function(x):
    def inner(y):
        return y

    return inner(x)


@mistake("class definitions aren't supported", "class Inner:")
def defines_class(x):
    class Inner:
        pass

    return x


@mistake("Lambda aren't supported", "lambda a: a")
def writes_lambda(x):
    f = lambda a: a  # noqa: E731
    return f(x)


@mistake("Yield aren't supported", "yield x")
def generates(x):
    yield x


@mistake("global variables aren't supported", "global OUTSIDE")
def uses_global(x):
    global OUTSIDE
    OUTSIDE = x
    return x


@mistake("import statements aren't supported", "import math")
def imports(x):
    import math

    return x * math.pi


@mistake("Set aren't supported", "{1, 2}")
def makes_set(x):
    s = {1, 2}
    return x + len(s)


@mistake("match statements aren't supported", "match n:")
def matches(x, n: int):
    match n:
        case 1:
            return x
    return x + 1


@mistake("else branches of for loops aren't supported", "x = x + 5")
def loop_else(x):
    for i in range(3):
        x = x + i
    else:
        x = x + 5
    return x


@mistake("variable number of arguments", "xs")
def variable_arguments(*xs):
    return xs[0]


@mistake("undefined value missing", "missing")
def undefined_name(x):
    return x + missing  # noqa: F821


@mistake("y is not defined in the false branch", "y")
def one_branch_only(x):
    if x.sum() > 0:
        y = x
    return y


@mistake("set to type Tensor in the true branch and type int in the false branch", "y")
def types_of_branches(x):
    if x.sum() > 0:
        y = x
    else:
        y = 1
    return y


@mistake("Variable 'y' previously had type int but is now being assigned to a value of type Tensor", "for i in range(3):")
def type_in_loop(x):
    y = 0
    for i in range(3):
        y = y + x
    return y


@mistake("is defined inside a loop alone", "y")
def defined_in_loop(x):
    for i in range(3):
        y = x + i
    return y


@mistake("called recursively", "def recursive(x, n: int):")
def recursive(x, n: int):
    if n == 0:
        return x
    return recursive(x + 1, n - 1)


@mistake("List type annotation `List[int]` did not match the types of the given list elements", '[1, "a"]')
def mixed_list(x):
    items: List[int] = [1, "a"]
    return x + len(items)


@mistake("can't be put into a List[int]", "items.append(x)")
def mixed_append(x):
    items = [1]
    items.append(x)
    return x


@mistake("Return value was annotated as having type str but is actually of type Tensor", "return x")
def wrong_return(x) -> str:
    return x


@mistake("annotated with type int but is being assigned to a value of type Tensor", "n: int = x")
def wrong_annotation(x):
    n: int = x
    return n


@mistake("Expected a value of type 'int' for argument 'n' but instead found type 'str'", 'takes_number("x")')
def wrong_argument(x):
    return takes_number("x")


def takes_number(n: int) -> int:
    return n + 1


@mistake("missing a value for argument 'n'", "takes_number()")
def missing_argument(x):
    return x + takes_number()


@mistake("has no parameter 'm'", "takes_number(1, m=2)")
def unknown_keyword(x):
    return x + takes_number(1, m=2)


@mistake("'Tensor' object has no attribute or method 'no_such_method'", "x.no_such_method")
def unknown_method(x):
    return x.no_such_method()


@mistake("object has no attribute no_such_function", "torch.no_such_function")
def unknown_function(x):
    return torch.no_such_function(x)


@mistake("may be None", "y + x")
def optional_used(x, y: Optional[Tensor]):
    return y + x


@mistake("has no attribute or method 'push'", "items.push")
def unknown_list_method(x):
    items = [1]
    items.push(2)
    return x


@mistake("'int' object is not iterable", "5")
def iterates_number(x):
    for i in 5:
        x = x + i
    return x


@mistake("range() takes ints", "x.sum()")
def range_of_tensor(x):
    for i in range(x.sum()):
        x = x + i
    return x


@mistake("can't be called in a script: mark it with jit.ignore", "open")
def calls_python(x):
    open("file")
    return x


@mistake("python value of type 'Tensor' cannot be used as a value", "OUTSIDE")
def tensor_from_outside(x):
    return x + OUTSIDE


@mistake("is no type that scripts have", '"object_type"')
def unknown_annotation(x, y: "object_type"):  # noqa: F821
    return x


@mistake("keyword-arg expansion is not supported", "torch.sum(x, **options)")
def keyword_spread(x):
    options = {"dim": 1}
    return torch.sum(x, **options)


@mistake("needs a sequence whose length is known", "*sizes")
def list_spread(x, sizes: List[int]):
    return x.view(*sizes)


@mistake("need 3 values to unpack but found only 2", "a, b, c")
def wrong_unpacking(x):
    a, b, c = (x, x)
    return a


@mistake("Dict entries must contain only a single type", '{"a": 1, 2: 3}')
def mixed_dict(x):
    table = {"a": 1, 2: 3}
    return x + len(table)


@mistake("can't be put into a Dict[str, int]", 'table["b"]')
def wrong_dict_value(x):
    table: Dict[str, int] = {"a": 1}
    table["b"] = x
    return x


@mistake("a raise needs", "raise")
def bare_raise(x):
    raise


@mistake("the tuple has 2 items", "pair[2]")
def tuple_index(x):
    pair = (x, x)
    return pair[2]


@mistake("objects of the class 'Linear' can't be made", "torch.nn.Linear(2, 2)")
def makes_object(x):
    torch.nn.Linear(2, 2)
    return x


@mistake("attributes can be assigned to of self", "x.flag")
def sets_attribute(x):
    x.flag = 1
    return x


@mistake("With item must be an object", "x")
def strange_context(x):
    with x:
        return x + 1


@mistake("type() is not supported", "type(x)")
def asks_type(x):
    return type(x)


@mistake("bytes are not supported", 'b"abc"')
def uses_bytes(x):
    y = b"abc"
    return x + len(y)


@mistake("an operator on values of types int and str", "1 + text")
def adds_text(x, text: str):
    return x + (1 + text)


@mistake("convert one with str() or int()", '"a" + 1')
def adds_text_and_number(x):
    return "a" + 1, x


@mistake("a list can be added to a list", "items + 1")
def adds_list_and_number(x, items: List[int]):
    return items + 1


@mistake("'a' is no number of an item", '"a"')
def takes_item_by_text(items: List[int]):
    return items["a"]


@mistake("'int' object has no attribute or method 'foo'", "n.foo")
def unknown_attribute_of_a_number(x, n: int):
    return x + n.foo


# -- the number and the names of arguments -------------------------------------------------------------------------------


@mistake("relu() missing 1 required positional argument: 'input'", "torch.relu()")
def gives_nothing(x):
    return torch.relu()


@mistake("relu() takes 1 positional argument but 2 were given", "x.relu(1)")
def gives_too_much(x):
    return x.relu(1)


@mistake("sum() got an unexpected keyword argument 'dims'", "torch.sum(x, dims=0)")
def misspells(x):
    return torch.sum(x, dims=0)


@mistake("interpolate() got an unexpected keyword argument 'scale'", "torch.nn.functional.interpolate(x, scale=2)")
def misspells_for_function(x):
    return torch.nn.functional.interpolate(x, scale=2)


@mistake("append() takes 2 positional arguments but 3 were given", "items.append(2, 3)")
def appends_two(x):
    items = [1]
    items.append(2, 3)
    return x + items[0]


@mistake("len() takes 1 positional argument but 2 were given", "len([1], [2])")
def length_of_two(x):
    return x + len([1], [2])


@mistake("mean() got multiple values for argument 'dim'", "x.mean(0, dim=1)")
def gives_twice(x):
    return x.mean(0, dim=1)
