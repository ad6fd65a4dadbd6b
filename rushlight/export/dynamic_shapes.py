"""``Dim`` and the ways to say which dimensions of the inputs are dynamic."""

from __future__ import annotations

import hashlib
import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from ..compat import pytree
from ..core.base import TensorBase
from ..core.symbolic import Expression
from .errors import ConstraintViolationError, UserError

INFINITY = 2**63 - 2  # PyTorch's int_oo as a number, where one is needed
_MORE = "For more information about this error, see: https://pytorch.org/docs/main/generated/exportdb/index.html#dynamic-shapes-validation"


class IntInfinity(int):
    """The upper bound of a size that has none: it prints as ``int_oo``."""

    def __new__(cls) -> IntInfinity:
        return int.__new__(cls, INFINITY)

    def __repr__(self) -> str:
        return "int_oo"

    __str__ = __repr__


int_oo = IntInfinity()


class Dim:
    """A named dynamic dimension, of any size within its range.

    ``Dim.AUTO`` lets the export find out whether a dimension can be dynamic, ``Dim.DYNAMIC`` is an error where it can't, ``Dim.STATIC`` fixes it.
    ``2 * dim``, ``dim + 1`` are dimensions that follow from another one.
    """

    AUTO: Any
    STATIC: Any
    DYNAMIC: Any

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.__name__ = name
        self.min: int = 0 if min is None else min
        self.max: int = int_oo if max is None else max
        if self.max < self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")

    def __add__(self, other: Any) -> _DerivedDim:
        if type(other) is not int:
            raise _refused("add", other, "to", self, "an integer")
        return self._derived(1, other)

    def __radd__(self, other: Any) -> _DerivedDim:
        return self + other

    def __sub__(self, other: Any) -> _DerivedDim:
        if type(other) is not int:
            raise _refused("subtract", other, "from", self, "an integer")
        return self._derived(1, -other)

    def __rsub__(self, other: Any) -> _DerivedDim:
        raise NotImplementedError(
            f"Attempted to negate {self.__name__}. (Only increasing linear operations with integer coefficients are supported.)"
        )

    def __mul__(self, other: Any) -> _DerivedDim:
        if type(other) is not int or other <= 0:
            raise _refused("multiply", other, "with", self, "a positive integer")
        return self._derived(other, 0)

    def __rmul__(self, other: Any) -> _DerivedDim:
        return self * other

    def _derived(self, factor: int, offset: int) -> _DerivedDim:
        return _DerivedDim(self, factor, offset)

    def _readable(self, name: str, min_: int, max_: int) -> str:
        low = "" if min_ == 2 else f", min={min_}"
        high = "" if max_ >= INFINITY else f", max={max_}"
        return f"Dim('{name}'{low}{high})"

    def __repr__(self) -> str:
        return self._readable(self.__name__, self.min, self.max)


def _refused(what: str, other: Any, how: str, dim: Dim, wanted: str) -> NotImplementedError:
    return NotImplementedError(
        f"Attempted to {what} {other} {how} {dim.__name__}, where {wanted} was expected. "
        "(Only increasing linear operations with integer coefficients are supported.)"
    )


class _StaticDim(Dim):
    """A dimension of a given size."""

    def __init__(self, value: int) -> None:
        self.__name__ = str(value)
        self.value = self.min = self.max = value


class _DerivedDim(Dim):
    """A dimension that is a linear function of another one."""

    root: Dim
    factor: int
    offset: int

    def __init__(self, root: Dim, factor: int, offset: int) -> None:
        if isinstance(root, _DerivedDim):
            self.root, self.factor, self.offset = root.root, root.factor * factor, root.offset * factor + offset
        else:
            self.root, self.factor, self.offset = root, factor, offset
        root, factor, offset = self.root, self.factor, self.offset
        scaled = root.__name__ if factor == 1 else f"{factor}*{root.__name__}"
        self.__name__ = scaled if not offset else f"{scaled} {'+' if offset > 0 else '-'} {abs(offset)}"

    def fn(self, value: int) -> int:
        """The size of this dimension, given that of the other one."""
        return self.factor * value + self.offset

    @property
    def min(self) -> int:  # type: ignore[override]
        """The smallest size."""
        found = self.fn(self.root.min)
        if found < 0:
            raise AssertionError(f"Expected derived min value of {self.__name__} to be >= 0. Please specify an appropriate min value for {self.root.__name__} (currently {self.root.min}).")  # fmt: skip
        return found

    @property
    def max(self) -> int:  # type: ignore[override]
        """The largest size."""
        return int_oo if self.root.max >= INFINITY else self.fn(self.root.max)

    def __repr__(self) -> str:
        return self.__name__


class _DimHintType(Enum):
    AUTO, STATIC, DYNAMIC = range(3)


class _DimHint:
    """``Dim.AUTO`` and its like; called with ``min`` and ``max``, one with a range."""

    def __init__(self, type: _DimHintType, min: int | None = None, max: int | None = None) -> None:
        self.type, self.min, self.max = type, min, max

    def __call__(self, min: int | None = None, max: int | None = None) -> _DimHint:
        for value in (min, max):
            if value is not None and value < 0:
                raise AssertionError("min and max must be non-negative")
        if min is not None and max is not None and min > max:
            raise AssertionError("min must be <= max")
        return _DimHint(self.type, min, max)

    def __repr__(self) -> str:
        rest = "".join(f", {name}={value}" for name, value in (("min", self.min), ("max", self.max)) if value is not None)
        return f"DimHint({self.type.name}{rest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DimHint) and (self.type, self.min, self.max) == (other.type, other.min, other.max)

    def __hash__(self) -> int:
        return hash((self.type, self.min, self.max))


Dim.AUTO, Dim.STATIC, Dim.DYNAMIC = _DimHint(_DimHintType.AUTO), _DimHint(_DimHintType.STATIC), _DimHint(_DimHintType.DYNAMIC)


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several dimensions at once."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """Dynamic shapes given tensor by tensor, for inputs that are nested deeply: ``shapes[tensor] = {0: dim}``."""

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}
        self._held: list[Any] = []

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, (TensorBase, int)):
            raise AssertionError(f"Cannot assign shape to non-tensor or non-int type {type(t)}")
        found = self._shapes.get(id(t))
        if found is not None and found != shape:
            raise AssertionError(f"Shapes assigned to input do not match: expected {found}, got {shape}")
        self._shapes[id(t)] = shape
        self._held.append(t)

    def __getitem__(self, t: Any) -> Any:
        return self._shapes.get(id(t))

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: Any, kwargs: Any = None) -> Any:
        """The ``dynamic_shapes`` argument of an export with these inputs."""
        seen: set[int] = set()

        def find(value: Any) -> Any:
            if id(value) in self._shapes:
                seen.add(id(value))
            return self._shapes.get(id(value))

        combined = combined_arguments(m, args, kwargs or {})
        found = pytree.tree_map(find, combined)
        if any(key not in seen for key in self._shapes):
            raise ValueError("Some tensors that were assigned shapes were not found in args. Maybe such tensors were copied when passing them as args? Maybe such tensors are contained in classes that were not registered with pytree?")  # fmt: skip
        return found


class AdditionalInputs:
    """Further inputs of a model: dimensions and numbers in which they differ are dynamic."""

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Add inputs of the same structure as the example."""
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs or {}))

    def dynamic_shapes(self, m: Any, args: Any, kwargs: Any = None) -> Any:
        """The ``dynamic_shapes`` argument of an export with these inputs."""
        main = combined_arguments(m, args, kwargs or {})
        others = [pytree.tree_leaves(combined_arguments(m, *each)) for each in self._examples]
        leaves, spec = pytree.tree_flatten(main)
        found: list[Any] = []
        for at, leaf in enumerate(leaves):
            rest = [each[at] for each in others]
            if isinstance(leaf, TensorBase):
                found.append(
                    tuple([None if all(each.shape[dim] == size for each in rest) else Dim.DYNAMIC for dim, size in enumerate(leaf.shape)])
                )
            elif all(each == leaf for each in rest):
                found.append(None)
            elif isinstance(leaf, int) and not isinstance(leaf, bool):
                found.append(Dim.DYNAMIC)
            else:
                raise ValueError(f"the inputs have {leaf!r} and {rest!r} in the same place, and such a value can't be dynamic")
        return _described(spec, iter(found))

    def verify(self, ep: Any) -> None:
        """Run an exported program on all of these inputs."""
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **kwargs)


def _described(spec: pytree.TreeSpec, leaves: Iterator[Any]) -> Any:
    """What is said of each leaf, in the structure of the inputs; of a container of a class that was registered, as a list."""
    if spec.is_leaf():
        return next(leaves)
    found = [_described(each, leaves) for each in spec.children_specs]
    if spec.type in (list, tuple):
        return spec.type(found)
    return dict(zip(spec.context, found)) if spec.type is dict else found


def combined_arguments(m: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs by the names of the parameters that take them: those after ``*args`` as one tuple, those in ``**kwargs`` by their own names."""
    called = m.forward if hasattr(m, "forward") else m
    signature = inspect.signature(called)
    try:
        signature.bind(*args, **kwargs)
        bound = signature.bind_partial(*args)
    except TypeError as error:
        raise UserError(f"the example inputs do not fit {type(m).__name__}.forward: {error}") from None
    return {**bound.arguments, **kwargs}  # in the order of the call


class Symbols:
    """Names of sizes, as PyTorch makes them: by a digest of where the size is read."""

    def __init__(self) -> None:
        self.taken: set[int] = set()

    def name(self, source: str) -> str:
        """The name for the size of a source that prints as ``L['x'].size()[0]``."""
        number = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
        while number in self.taken:
            number += 1
        self.taken.add(number)
        return f"s{number}"


class Dimension:
    """A dimension of an input that may be dynamic: what was said of it, and what it turns out to be."""

    def __init__(self, at: tuple[int, int], source: str, size: int, spec: Any) -> None:
        self.at, self.source, self.size, self.spec = at, source, size, spec
        self.formula: Expression | None = None

    @property
    def name(self) -> str:
        """The user's name of it, or where it is read."""
        return self.spec.__name__ if isinstance(self.spec, Dim) else self.source

    @property
    def automatic(self) -> bool:
        """Whether it may turn out to be static."""
        return isinstance(self.spec, _DimHint) and self.spec.type is _DimHintType.AUTO

    @property
    def follows(self) -> bool:
        """Whether it may turn out to follow from another: it has no name of its own."""
        return isinstance(self.spec, _DimHint)

    @property
    def low(self) -> int:
        """The smallest size that was asked for."""
        if isinstance(self.spec, _DimHint):
            return 2 if self.spec.min is None else max(self.spec.min, 2)
        return self.spec.min

    @property
    def high(self) -> int:
        """The largest size that was asked for."""
        return int_oo if self.spec.max is None else self.spec.max


def dimensions(mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> list[Dimension]:
    """The dimensions that the user asks to be dynamic, with their formulas."""
    if isinstance(dynamic_shapes, (ShapesCollection, AdditionalInputs)):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(mod, args, kwargs)
    if not dynamic_shapes:
        return []
    combined = combined_arguments(mod, args, kwargs)
    if isinstance(dynamic_shapes, (tuple, list)):
        if len(dynamic_shapes) != len(combined):
            raise UserError(
                f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs` has {len(combined)} elements, but "
                f"`dynamic_shapes` has {len(dynamic_shapes)} elements\n{_MORE}"
            )
        places = {name: at for at, name in enumerate(inspect.signature(mod.forward if hasattr(mod, "forward") else mod).parameters)}
        given = dict(zip(sorted(combined, key=lambda name: places.get(name, len(places))), dynamic_shapes))
    elif isinstance(dynamic_shapes, Mapping):
        if list(dynamic_shapes) != list(combined) and set(dynamic_shapes) != set(combined):
            raise UserError(
                f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {list(combined)} of `inputs`, but here they "
                f"are {list(dynamic_shapes)}. Alternatively, you could also ignore arg names entirely and specify `dynamic_shapes` as a list/tuple "
                f"matching `inputs`. {_MORE}"
            )
        given = {name: dynamic_shapes[name] for name in combined}
    else:
        raise UserError(f"dynamic_shapes must be a dict, a tuple or a list, got {type(dynamic_shapes)}")
    found: list[Dimension] = []
    counter = itertools.count()
    for name, value in combined.items():
        _visit(value, given[name], f"L['{name}']", f"['{name}']", lambda: next(counter), found)
    _name(found)
    return found


def _visit(value: Any, spec: Any, source: str, path: str, count: Any, found: list[Dimension]) -> None:
    """Walk over an input and what is said of it, side by side."""
    kind = pytree._get_node_type(value)
    if kind in pytree.SUPPORTED_NODES:
        children, context = pytree.SUPPORTED_NODES[kind].flatten_fn(value)
        children = list(children)
        if spec is None:
            specs: list[Any] = [None] * len(children)
        elif isinstance(spec, Mapping) and isinstance(value, Mapping):
            if set(spec) != set(value):
                raise UserError(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{path}` has keys {list(value)}, but `dynamic_shapes{path}` has keys {list(spec)}\n{_MORE}")  # fmt: skip
            specs = [spec[key] for key in value]
        elif isinstance(spec, (tuple, list)) and not isinstance(value, Mapping):
            if len(spec) != len(children):
                raise UserError(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{path}` has {len(children)} elements, but `dynamic_shapes{path}` has {len(spec)} elements\n{_MORE}")  # fmt: skip
            specs = list(spec)
        else:
            raise UserError(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{path}` is a {type(value)}, but `dynamic_shapes{path}` is a {type(spec)}\n{_MORE}")  # fmt: skip
        keys = list(value) if isinstance(value, Mapping) else list(range(len(children)))
        for key, child, each in zip(keys, children, specs):
            _visit(child, each, f"{source}[{key!r}]", f"{path}[{key!r}]", count, found)
        return
    at = count()
    if spec is None:
        return
    if not isinstance(value, TensorBase):
        if isinstance(spec, _DimHint) and isinstance(value, int) and not isinstance(value, bool):
            if spec.type is not _DimHintType.STATIC:
                found.append(Dimension((at, -1), source, value, spec))
            return
        if isinstance(spec, Dim) and isinstance(value, int):
            raise ValueError("Unable to specify input integers as dynamic through named Dims. Please use Dim.AUTO/DYNAMIC instead.")
        raise UserError(f"Cannot associate shape {spec} specified at `dynamic_shapes{path}` to non-tensor type {type(value)} at `inputs{path}` (expected None)")  # fmt: skip
    shape = tuple(value.shape)
    if isinstance(spec, Mapping):
        items: Any = spec.items()
    elif isinstance(spec, Sequence) and not isinstance(spec, str):
        if len(spec) != len(shape):
            raise UserError(
                f"Expected dynamic shape spec {spec} specified at `dynamic_shapes{path}` to have the same length as the actual tensor shape "
                f"torch.Size({list(shape)}) (expected {len(shape)}, but got {len(spec)} instead)\n{_MORE}"
            )
        items = enumerate(spec)
    else:
        raise UserError(f"Unexpected input tensor shape {spec} specified at `dynamic_shapes{path}` (expected either a list/tuple of dimensions, or a dict mapping indices to dimensions, where each dimension is None, an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC)")  # fmt: skip
    for dim, each in items:
        if not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
            raise UserError(f"`dynamic_shapes{path}` has the dimension {dim!r}, but the tensor has {len(shape)} dimensions")
        size = shape[dim]
        dim %= len(shape)
        if each is None or (isinstance(each, _DimHint) and each.type is _DimHintType.STATIC):
            continue
        if type(each) is int:
            if each != size:
                raise ConstraintViolationError(
                    f"Static shape constraint of {each} does not match input size of {size}, for L{path}.size()[{dim}]"
                )
            continue
        if not isinstance(each, (Dim, _DimHint)):
            raise UserError(
                f"Unexpected dimension mapped to index {dim} in input tensor shape {spec} specified at `dynamic_shapes{path}` (expected None, an int, a "
                f"Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC,  but got {each!r} instead)\n{_MORE}"
            )
        found.append(Dimension((at, dim), f"{source}.size()[{dim}]", size, each))


def _name(found: list[Dimension]) -> None:
    """Give each dimension its formula: a symbol, the same for all that are one ``Dim``, or a formula of the symbol of its root."""
    symbols = Symbols()
    roots: dict[str, tuple[Expression, int, str]] = {}
    for each in found:
        if isinstance(each.spec, Dim) and not isinstance(each.spec, _DerivedDim):
            name = each.spec.__name__
            if not each.low <= each.size <= each.high:
                raise ConstraintViolationError(f"{each.size} not in range [{each.low}, {each.high}]")
            symbol, (_, size, source) = symbols.name(each.source), roots.get(name, (None, each.size, each.source))
            if size != each.size:
                raise UserError(f"{each.source} = {each.size} is not equal to {source} = {size}")
            if name not in roots or symbol < str(roots[name][0]):  # of several names that which is the first as a text, as PyTorch has it
                roots[name] = Expression.symbol(symbol), size, source
    for each in found:
        if isinstance(each.spec, Dim) and not isinstance(each.spec, _DerivedDim):
            each.formula = roots[each.spec.__name__][0]
    for each in found:
        if isinstance(each.spec, _DerivedDim):
            root = each.spec.root
            rest = each.size - each.spec.offset
            if root.__name__ not in roots:
                if rest % each.spec.factor:
                    raise UserError(f"Expected input at {each.source} to be of the form {each.spec.__name__}, where {root.__name__} is an integer, but got {each.size}")  # fmt: skip
                roots[root.__name__] = Expression.symbol(symbols.name(each.source)), rest // each.spec.factor, each.source
            formula, size, _ = roots[root.__name__]
            if each.spec.fn(size) != each.size:
                raise UserError(
                    f"Expected input at {each.source} to be equal to {each.spec.__name__}, where {root.__name__} = {size}, but got {each.size}"
                )
            each.formula = formula * Expression.of(each.spec.factor) + Expression.of(each.spec.offset)
        elif isinstance(each.spec, _DimHint):
            each.formula = Expression.symbol(symbols.name(each.source))
            if not each.automatic and not (0 if each.at[1] < 0 else each.low) <= each.size <= each.high and each.size > 1:
                raise ConstraintViolationError(f"{each.size} not in range [{each.low}, {each.high}]")


class ValueRanges:
    """The sizes that a dimension may have: ``VR[2, int_oo]``."""

    def __init__(self, lower: int, upper: int) -> None:
        self.lower, self.upper = lower, upper

    def __repr__(self) -> str:
        return f"VR[{'-int_oo' if self.lower <= -int_oo else self.lower}, {self.upper}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueRanges) and (self.lower, self.upper) == (other.lower, other.upper)

    def __hash__(self) -> int:
        return hash((self.lower, self.upper))

    def __contains__(self, value: int) -> bool:
        return self.lower <= value <= self.upper


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: Any) -> Any:
    """The dynamic shapes with the fixes that an error suggests put in."""
    lines = msg.partition("Suggested fixes:")[2].strip().split("\n") if "Suggested fixes:" in msg else []
    if not lines:
        raise AssertionError("Suggested fixes not found in error message given to refine_dynamic_shapes_from_suggested_fixes()")
    known: dict[str, Any] = {}

    def collect(value: Any) -> None:
        if isinstance(value, Mapping):
            for each in value.values():
                collect(each)
        elif isinstance(value, (tuple, list)):
            for each in value:
                collect(each)
        elif isinstance(value, Dim):
            root = value.root if isinstance(value, _DerivedDim) else value
            known[root.__name__] = root

    collect(dynamic_shapes)
    fixes: dict[str, Any] = {}
    for line in lines:
        name, _, text = line.strip().partition(" = ")
        if name:
            fixes[name] = _fix(name, text.strip(), {**known, **fixes})

    def replace(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: replace(each) for key, each in value.items()}
        if isinstance(value, (tuple, list)):
            return type(value)(replace(each) for each in value)
        if isinstance(value, _DerivedDim) and value.root.__name__ in fixes:
            root = fixes[value.root.__name__]
            return value.fn(root) if isinstance(root, int) else root * value.factor + value.offset
        return fixes.get(value.__name__, value) if isinstance(value, Dim) else value

    return replace(dynamic_shapes)


def _fix(name: str, text: str, known: dict[str, Any]) -> Any:
    """One suggested fix: a number, a Dim with a range, or a linear formula of another."""
    if text.lstrip("-").isdigit():
        return int(text)
    if text.startswith("Dim("):
        parts = dict(part.strip().split("=") for part in text[4:-1].split(",")[1:])
        return Dim(name, **{key: int(value) for key, value in parts.items() if value != "oo"})
    factor, offset = 1, 0
    root = text
    if "*" in root:
        left, _, root = root.partition("*")
        factor = int(left)
    for sign, how in ((" + ", 1), (" - ", -1)):
        if sign in root:
            root, _, right = root.partition(sign)
            offset = how * int(right)
    base = known.get(root.strip()) or Dim(root.strip())
    return base if factor == 1 and not offset else base * factor + offset


__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims", "refine_dynamic_shapes_from_suggested_fixes"]
