"""Tables of callables: which builtins and library functions are pure, call their arguments, or iterate; and special methods of users' classes."""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import itertools
import os
import pathlib
import re
import sys
import weakref
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from ....core.missing import home_module

posix = sys.modules.get("posix") or sys.modules["nt"]
PACKAGE = __name__.partition(".")[0]

# Class methods of builtin classes that make a new value.
CONSTRUCTORS = frozenset("fromkeys fromhex from_bytes maketrans from_iterable".split())
# Builtin functions that only compute.
PURE_BUILTINS = frozenset(
    id(each)
    for each in (
        abs, all, any, ascii, bin, bool, bytes, callable, chr, complex, dict, divmod, enumerate, filter, float, format, frozenset, getattr,
        hasattr, hash, hex, int, isinstance, issubclass, iter, len, list, map, max, min, next, object, oct, ord, pow, range, repr,
        reversed, round, set, slice, sorted, str, sum, tuple, type, zip, super, property, staticmethod, classmethod, locals, os.fspath,
        getattr(posix, "_path_normpath", abs), getattr(posix, "_path_splitroot_ex", abs), getattr(posix, "_path_splitroot", abs),
    )
)  # fmt: skip
PURE_MODULES = frozenset(
    "math cmath operator _operator itertools functools _functools collections _collections copy enum dataclasses typing numbers string re types abc "
    "_abc _weakref weakref fractions decimal _decimal datetime statistics textwrap numpy struct _struct pathlib".split()
)
# Of these modules: functions that are not pure, or make classes.
IMPURE = frozenset(
    "namedtuple NamedTuple make_dataclass dataclass new_class unique lru_cache cache singledispatch register load loadtxt genfromtxt fromfile save savez "
    "savetxt memmap seterr set_printoptions errstate get_printoptions today now utcnow rand randn shuffle from_numpy as_tensor asarray "
    "frombuffer from_dlpack pack_into copyto put place putmask fill_diagonal put_along_axis".split()
)
# Classes written in Python that keep what they have made, and only describe their argument: they are called as they are.
DESCRIPTIONS = (np.finfo, np.iinfo)
# Classes whose methods change nothing; a file's path also asks the file system, by methods that a pure path does not have.
UNCHANGING = (re.Pattern, re.Match, pathlib.PurePath)
# Parts of the standard library that are written in Python and inlined.
LOOKED_INTO = frozenset(("contextlib", "collections", "functools", "unittest", "os", "posixpath", "ntpath", "genericpath"))
# The same, of parts that also make classes.
LOOKED_INTO_FUNCTIONS = frozenset(
    (
        dataclasses.replace, getattr(dataclasses, "_replace", dataclasses.replace), dataclasses.is_dataclass, inspect.isfunction, inspect.ismethod,
        inspect.isclass, inspect.ismodule, inspect.isbuiltin, inspect.isgenerator,
    )
)  # fmt: skip
# Functions that call what they are given; what is given is interpreted.
TAKE_FUNCTIONS = frozenset(
    id(each)
    for each in (
        sorted, min, max, map, filter, functools.reduce, itertools.accumulate, itertools.starmap, itertools.takewhile, itertools.dropwhile,
        itertools.filterfalse, itertools.groupby,
    )
)  # fmt: skip
# Of these: functions that choose by what it returns, and do not pass it on.
DECIDED = frozenset(
    id(each) for each in (sorted, min, max, filter, itertools.takewhile, itertools.dropwhile, itertools.filterfalse, itertools.groupby)
)
_SECOND = frozenset((id(itertools.accumulate), id(itertools.groupby)))  # what they call is their second argument
# Functions that iterate over what they are given.
TAKE_ITERABLES = TAKE_FUNCTIONS | frozenset(
    id(each)
    for each in (
        list, tuple, set, frozenset, dict, sum, any, all, zip, enumerate, collections.deque, itertools.chain, itertools.islice, itertools.cycle,
        itertools.product, itertools.permutations, itertools.combinations, itertools.zip_longest, itertools.pairwise, itertools.tee,
    )
)  # fmt: skip
# Functions that pass on what they iterate over, and do nothing else to it.
HAND_ON = frozenset(
    id(each)
    for each in (
        list, tuple, enumerate, zip, iter, reversed, next, map, collections.deque, itertools.chain, itertools.islice, itertools.cycle,
        itertools.zip_longest, itertools.pairwise, itertools.tee, functools.reduce, itertools.starmap, itertools.product,
    )
)  # fmt: skip
# How many arguments of these are iterated over; what follows is a first value or a default, which may be an object that could be iterated over, too.
_LEADING = {id(sum): 1, id(enumerate): 1, id(next): 1, id(iter): 1, id(functools.reduce): 2}


def calls_argument(function: Any, index: int) -> bool:
    """Whether a builtin calls the argument at an index."""
    return id(function) in TAKE_FUNCTIONS and index == (id(function) in _SECOND)


def takes_iterable(function: Any, index: int, count: int) -> bool:
    """Whether a builtin iterates over the argument at an index, of so many: ``min`` and ``max`` compare several arguments."""
    if id(function) not in TAKE_ITERABLES and id(function) not in HAND_ON:
        return False
    return count == 1 if function is min or function is max else index < _LEADING.get(id(function), count)


# Functions that do not inspect what they are given.
SHALLOW = frozenset(
    id(each) for each in (isinstance, issubclass, callable, type, len, super, object, id, slice, property, staticmethod, classmethod)
)

MUTATORS: dict[type, frozenset[str]] = {
    list: frozenset("append extend insert pop remove clear sort reverse __setitem__ __delitem__ __iadd__ __imul__ __init__".split()),
    dict: frozenset("update setdefault pop popitem clear __setitem__ __delitem__ __ior__ move_to_end subtract __init__".split()),
    set: frozenset(
        "add discard remove pop clear update difference_update intersection_update symmetric_difference_update __ior__ __iand__ __isub__ __ixor__".split()
    ),
    collections.deque: frozenset(
        "append appendleft extend extendleft pop popleft clear rotate insert remove reverse __setitem__ __delitem__".split()
    ),
}
# Mutators that do not depend on the elements of the container, which then need no guard.
BLIND = frozenset("append appendleft add extend extendleft update discard clear".split())
HANDING_ON = frozenset("get keys values items copy __len__ __iter__ __getitem__ __reversed__".split())
READERS = frozenset(
    "index count copy get keys values items __len__ __contains__ __getitem__ __iter__ __reversed__ __eq__ __ne__ __add__ __or__ __and__ __sub__ __mul__ "
    "__rmul__ __lt__ __le__ __gt__ __ge__ difference intersection union isdisjoint issubset issuperset symmetric_difference most_common elements "
    "total fromkeys __repr__ __str__ __format__ __hash__ __getattribute__ __class_getitem__ __sizeof__ __missing__ __xor__ __rsub__".split()
)

# Methods of tensors that have side effects.
EFFECTS_OF_TENSORS = frozenset(
    "backward register_hook register_post_accumulate_grad_hook requires_grad_ retain_grad set_ share_memory_ apply_ map_ map2_ storage "
    "untyped_storage storage_type data_ptr detach_ __dlpack__ __reduce_ex__ __deepcopy__ __buffer__".split()
)
VALUE_METHODS = frozenset("item tolist numpy __bool__ __int__ __float__ __index__ __array__ __complex__".split())
IMPURE_PARTS = tuple(
    f"{PACKAGE}.{each}" for each in (
        "random", "serialization", "settings", "autograd.differentiation", "autograd.engine", "autograd.functional", "autograd.graph", "autograd.gradcheck",
        "autograd.forward_ad", "tensor.generator", "tensor.storage", "utils.checkpoint", "utils.data", "func", "optim", "compiler", "capture.trace", "onnx",
        "jit", "testing", "hub", "amp.grad_scaler", "cuda",
    )
)  # fmt: skip

_HARMLESS = frozenset(
    "__init__ __new__ __post_init__ __init_subclass__ __class_getitem__ __enter__ __exit__ __call__ __setattr__ __delattr__ __set_name__ __del__ "
    "__repr__ __str__ __format__ __dir__ __setstate__ __getstate__ __set__ __delete__ __get__".split()
)
_MODULES = f"{PACKAGE}.nn.modules"
_CONTAINER_METHODS = frozenset("__iter__ __len__ __getitem__ __setitem__ __delitem__ __contains__ __iadd__ __add__ __bool__".split())
_TEXT = frozenset(("__repr__", "__str__", "__format__"))
_known: weakref.WeakKeyDictionary[type, tuple[list[int], frozenset[str]]] = weakref.WeakKeyDictionary()


_CLASS_MAKERS = ("dataclasses", "enum", "collections")  # they write methods into the classes that they make


def is_users(kind: type) -> bool:
    """Whether a class is written in Python by a user: neither the package's nor the standard library's."""
    root = home_module(kind).partition(".")[0]
    return bool(kind.__flags__ & (1 << 9)) and root != PACKAGE and root != "builtins" and root not in sys.stdlib_module_names


def is_generated(method: FunctionType) -> bool:
    """Whether a method is text that ``dataclasses`` or ``namedtuple`` has written: programs may come from a string, too."""
    code = method.__code__
    return code.co_filename == "<string>" and (code.co_name == "<lambda>" or code.co_qualname.startswith("__create_fn__."))


def python_methods(kind: type) -> frozenset[str]:
    """The special methods that users' classes define in Python, which native code may call; those that ``dataclasses``, ``enum`` and ``namedtuple`` add are none."""
    counts = [len(each.__dict__) for each in kind.__mro__]
    known = _known.get(kind)
    found = known[1] if known is not None and known[0] == counts else None  # methods may be added to a class
    if found is None:
        names: set[str] = set()
        for each in kind.__mro__:
            if home_module(each).startswith(_MODULES):  # whose Python is inlined
                names.update(name for name in _CONTAINER_METHODS if name in vars(each))
            elif is_users(each) or each.__module__ == "collections.abc":
                for name, value in vars(each).items():
                    written = isinstance(value, FunctionType) and not is_generated(value) and value.__module__ not in _CLASS_MAKERS
                    if name.startswith("__") and name.endswith("__") and written:
                        names.add(name)
        found = frozenset(names)
        _known[kind] = counts, found
    return found


def asks_files(owner: Any, name: str) -> bool:
    """Whether a method of a path asks the file system, or where the process is."""
    kind = owner if isinstance(owner, type) else type(owner)
    return issubclass(kind, pathlib.PurePath) and not hasattr(pathlib.PurePath, name)


def iterates_in_python(kind: type) -> bool:
    """Whether iterating over an instance runs a user's Python: an ``__iter__`` or ``__next__``, or the items of a class that has no ``__iter__``."""
    methods = python_methods(kind)
    return bool(methods & {"__iter__", "__next__"}) if hasattr(kind, "__iter__") else "__getitem__" in methods


def hidden_method(kind: type, text: bool = False) -> str | None:
    """A special method in Python that native code may call on an instance; with ``text`` those that make strings count too."""
    methods = python_methods(kind)
    if text and methods & _TEXT:
        return min(methods & _TEXT)
    return min(methods - _HARMLESS, default=None)


def asks_python(value: Any) -> bool:
    """Whether attributes of a value are looked up by Python of the user's."""
    return "__getattribute__" in python_methods(type(value))


def shadows_getter(value: Any, name: str) -> bool:
    """Whether an object holds an attribute itself that the ``__get__`` of a class attribute would compute otherwise: that of a cached property, say."""
    found = type(class_attribute(type(value), name))
    return (
        found is not FunctionType and hasattr(found, "__get__") and not hasattr(found, "__set__") and name in getattr(value, "__dict__", ())
    )


def class_attribute(kind: type, name: str) -> Any:
    """What a class or one of its bases has under a name, as it is written there."""
    for each in kind.__mro__:
        fields = each.__dict__
        if name in fields:
            return fields[name]
    return None


def python_method(value: Any, name: str) -> Any:
    """A special method of a user's class that is written in Python, or None."""
    kind = type(value)
    if kind.__module__ == "builtins" or name not in python_methods(kind):
        return None
    found = class_attribute(kind, name)
    return found if isinstance(found, FunctionType) else None


def module_of(function: Any) -> str:
    """The module that a callable comes from."""
    return home_module(function) or home_module(type(function))


def is_callback(value: Any) -> bool:
    """Whether a value is a Python function of the user's, in some form."""
    if isinstance(value, MethodType):
        return True
    if isinstance(value, FunctionType):
        return True
    return isinstance(value, functools.partial) or (
        not isinstance(value, (type, BuiltinFunctionType)) and "__call__" in python_methods(type(value))
    )


def is_users_callback(value: Any) -> bool:
    """Whether a value is a function that is written by a user, and no partial application of one."""
    return is_callback(value) and module_of(value).partition(".")[0] != PACKAGE and not isinstance(value, functools.partial)
