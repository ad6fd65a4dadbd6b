"""How an op is declared, once: everything that knows about it is derived from the declaration.

    @primitive(
        meta=elementwise("int_to_float"),               # result's shape and dtype, and how operands are prepared
        kernel="tanh",                                  # a function of numpy / cupy / a code generator, or a callable
        vjp={"input": lambda g, result: g * (1 - result * result)})
    def tanh(input: Tensor) -> Tensor:
        '''Hyperbolic tangent of every element.'''      # the signature is the schema, the docstring the docs

A gradient rule names what it needs: ``g`` is the gradient of the result, ``result`` (or a name of ``returns``) an
output, any parameter its value, ``input_shape`` and ``input_dtype`` only that of a parameter.  Just these are saved,
and a rule runs only where its gradient is wanted.  Rules are written with differentiable ops.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from types import CodeType, FunctionType
from typing import Any, TypeVar

from .errors import NotSupported
from .process_safety import load_module

PACKAGE = __name__.partition(".")[0]
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<no value>"})()


class Parameter:
    """One parameter of an op, as its signature declares it."""

    __slots__ = ("annotation", "default", "keyword_only", "kind", "name", "variadic")

    def __init__(self, name: str, annotation: str, default: Any, keyword_only: bool, variadic: bool) -> None:
        self.name = name
        self.annotation = annotation
        self.default = default
        self.keyword_only = keyword_only
        self.variadic = variadic
        self.kind = "value"  # or "tensor", "operand" (tensor or number), "tensors"; "?" appended where None may stand
        if "Tensor" in annotation:
            optional = "?" if "None" in annotation else ""
            if annotation.startswith("Tensor | Number"):
                self.kind = "operand" + optional
            elif annotation.startswith("Tensor"):
                self.kind = "tensor" + optional
            elif "[Tensor" in annotation:
                self.kind = "tensors"


class Joint:
    """One rule for the gradients of several inputs, for where they share work."""

    __slots__ = ("names", "rule")

    def __init__(self, names: tuple[str, ...], rule: Callable[..., Any]) -> None:
        self.names = names
        self.rule = rule


def joint(*names: str) -> Callable[[Callable[..., Any]], Joint]:
    """Mark a function as the gradient of several parameters: it returns one gradient (or None) for each.

    A parameter called ``needs`` receives a tuple that says which of them are wanted.
    """
    return lambda rule: Joint(names, rule)


class Op:
    """An operation: its schema and its facets."""

    __slots__ = (
        "accelerator_call", "body", "call", "differentiable", "doc", "exact", "factory", "family", "fast", "functional", "has_out", "in_place",
        "in_place_kernel", "kernel", "layout", "meta", "method", "name", "namespace", "node_name", "node_type", "aliases", "onnx", "onnx_reason",
        "parameters", "public_name", "quantized", "random", "record", "returns", "nondifferentiable", "apart", "one_value", "source_module",
        "tensor_positions", "ufunc", "view", "vjp", "widen", "notes", "data_dependent", "across_devices", "of_storage", "needs_variadic", "more_dims",
    )  # fmt: skip

    body: Any
    call: Callable[..., Any]
    differentiable: bool
    doc: str | None
    exact: bool
    factory: bool
    family: Any
    fast: Any
    # "fills": results are written in order to an out= tensor of as many elements, whatever its shape; "any type": an out= of any dtype
    # takes them
    has_out: bool | str
    in_place_kernel: Any
    kernel: Any
    meta: Any
    method: bool | tuple[str, ...]
    namespace: str | None
    node_name: str
    aliases: tuple[str, ...]
    onnx: Any  # its forms by the opset from which they hold, or None
    onnx_reason: str
    public_name: str
    quantized: Any
    returns: Any
    nondifferentiable: frozenset[str]
    source_module: str
    ufunc: Any
    view: Any
    vjp: Any
    widen: bool
    notes: str

    def __init__(self, name: str) -> None:
        self.name = name
        self.record: Any = None
        self.accelerator_call: Any = None  # the entry point for tensors of the sole accelerator, generated on its first call there
        self.node_type: Any = None
        self.functional: Op | None = None  # of an in-place variant: the op it derives from
        self.in_place: Op | None = None
        # Whether its in-place form writes one value, which elements that share memory may take alike; or what a warning says about that.
        self.one_value: bool | str = False
        self.apart = False
        self.data_dependent = False  # whether the shape of its result, or which Python value it is, follows from elements
        self.across_devices = False  # whether it reads tensors of other devices
        self.more_dims = False  # whether positional arguments behind the last one are further dimensions: ``x.squeeze(1, 2)``
        self.needs_variadic = False  # whether a variadic parameter must be given something
        self.of_storage = False  # whether its result depends on the storage behind a tensor
        self.layout = ""  # the memory layout of results: "", "channels last", "channels last of either", "preserve" or "contiguous"

    def __getattr__(self, name: str) -> Any:
        # Derived on first use, to keep the import of op files fast.
        if name == "parameters":
            self.parameters = parameters_of(self.call.__wrapped__)  # type: ignore[attr-defined]
            return self.parameters
        if name == "tensor_positions":
            self.tensor_positions = tuple((i, p.kind) for i, p in enumerate(self.parameters) if p.kind != "value")
            return self.tensor_positions
        if name == "random":  # whether it draws random numbers
            self.random: bool = self.functional.random if self.functional else any(each.name == "generator" for each in self.parameters)
            return self.random
        raise AttributeError(f"{self!r} has no {name}")

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> Any:
        return (lookup, (self.name,))

    @property
    def qualified_name(self) -> str:
        """Where a user finds it: ``nn.functional.gelu``, ``linalg.svd``, ``tanh``, ``Tensor.view``."""
        if self.namespace:
            return f"{self.namespace}.{self.public_name}"
        return self.public_name if self.namespace is not None else f"Tensor.{self.public_name}"


Key = TypeVar("Key")
Value = TypeVar("Value")


class Declared(dict[Key, Value]):
    """A dict of what the op files declare.  A file is imported when one of its names is first used, and all files by iterating.

    A loaded name is found as in any dict; only a name that is not loaded yet takes the slow path.
    """

    def __init__(self) -> None:
        super().__init__()
        self.expected: dict[Key, str] = {}  # the module that declares a name, from the manifest
        self.rewriting = False  # whether the manifest is being written: a file may declare what the old one expects of another
        self.loaded = False

    def __missing__(self, key: Key) -> Value:
        load_module(self.expected[key])
        if not dict.__contains__(self, key):
            raise KeyError(f"{self.expected[key]} does not declare {key!r}: the manifest of ops is out of date")
        return self[key]

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or key in self.expected

    def get(self, key: Key, default: Any = None) -> Any:
        """The value of a name, or the default."""
        return self[key] if key in self else default  # noqa: SIM401 - this is what `get` is

    def load(self) -> None:
        """Import every file; from then on the order is that of the manifest, whatever was used first."""
        if not self.loaded:
            self.loaded = True
            for module in sorted(set(self.expected.values())):
                load_module(module)
            everything = {key: self[key] for key in (*self.expected, *dict.keys(self))}
            dict.clear(self)
            dict.update(self, everything)

    def __iter__(self) -> Iterator[Key]:
        self.load()
        return super().__iter__()

    def __len__(self) -> int:
        self.load()
        return super().__len__()

    def keys(self) -> KeysView[Key]:  # type: ignore[override]
        """All names."""
        self.load()
        return super().keys()

    def values(self) -> ValuesView[Value]:  # type: ignore[override]
        """All values."""
        self.load()
        return super().values()

    def items(self) -> ItemsView[Key, Value]:  # type: ignore[override]
        """All names with their values."""
        self.load()
        return super().items()


table: Declared[str, Op] = Declared()
customs: dict[str, Op] = {}  # ops that programs register (rushlight.library), by names such as "mylib::scale": no part of the table
# For the public face: (namespace, name) -> function.  The namespace "" is `rushlight` itself.
exports: Declared[tuple[str, str], Callable[..., Any]] = Declared()
methods: Declared[str, Callable[..., Any]] = Declared()


def expect(package: str, index: Mapping[str, Mapping[str, str]]) -> None:
    """Say which modules of a package declare what: ``{"views": {"ops": "alias view", "methods": "view", "": "alias"}}``.

    Names are separated by blanks; those that are neither ops nor methods are the public functions of a namespace.
    """
    kinds_of_names: dict[str, Declared[str, Any]] = {"ops": table, "methods": methods}
    for file, kinds in index.items():
        module = f"{package}.{file}"
        for kind, names in kinds.items():
            if kind in kinds_of_names:
                kinds_of_names[kind].expected.update(dict.fromkeys(names.split(), module))
            else:
                exports.expected.update(dict.fromkeys([(kind, name) for name in names.split()], module))


def lookup(name: str) -> Op:
    """The op of a name."""
    if name in customs:
        return customs[name]
    try:
        return table[name]
    except KeyError:
        if "::" in name:
            raise NotSupported(f"the op {name} is not registered here: run the code that registers it first") from None
        raise NotSupported(f"no op named '{name}' is in rushlight yet") from None


def public_names(namespace: str) -> list[str]:
    """The names of a public module's functions; nothing is loaded for it."""
    return [name for place, name in dict.fromkeys((*exports.expected, *dict.keys(exports))) if place == namespace]


def public(namespace: str) -> dict[str, Callable[..., Any]]:
    """The functions of a public module: ``globals().update(public("linalg"))``."""
    return {name: exports[namespace, name] for name in public_names(namespace)}


def primitive(
    *, meta: Any, kernel: str | Callable[..., Any], vjp: dict[str, Callable[..., Any]] | Joint | None = None, **options: Any
) -> Callable[[Any], Callable[..., Any]]:
    """Declare an op with a kernel of its own.

    ``vjp={}`` says that the op has no gradient by nature (comparisons, indices); ``vjp=None`` that it is missing.
    Options: ``returns`` (names of several outputs, or ``"list"``), ``nondifferentiable`` (those of them without
    gradient), ``view`` (the result shares the input's memory), ``in_place`` (there is a ``name_`` variant),
    ``in_place_kernel``, ``ufunc`` (what the kernel amounts to for default arguments), ``out`` (takes ``out=``; ``"fills"``: one of as many elements keeps its shape),
    ``fast`` (a fast path, as families have it), ``method``, ``namespace``, ``aliases`` (``"linalg.det"`` is one in another
    namespace), ``exact`` (moves values and
    computes nothing, so that narrow types need not be widened), ``factory`` (makes a tensor out of nothing: takes ``dtype``,
    ``device``, ``requires_grad``), ``node_name``, ``name``, ``public_name`` (what messages and results call an overload that
    a composite front calls), ``data_dependent`` (the shape of the
    result follows from elements), ``across_devices`` (reads tensors of other devices), ``of_storage`` (the result depends on the storage
    behind a tensor), ``needs_variadic`` (a call without the variadic arguments is refused), ``more_dims`` (positional arguments behind the last are further dimensions), ``notes`` (known limits, for the documentation), ``onnx`` (its form in ONNX, ``{since_opset: function(g, *values)}``, or
    a string that says why it has none), ``quantized`` (how it runs on quantized arrays, ``function(op, values)``), ``random``
    (draws random numbers although it has no parameter ``generator``), ``layout`` (the memory layout of results where operands are not
    in row-major order: see :mod:`rushlight.core.layout`), ``one_value`` (its in-place form may write where elements share memory; a text is what a warning about it names),
    ``apart`` (its in-place form refuses operands in the memory of the target).
    """
    return lambda function: _declare(function, meta, kernel, vjp, None, options)


def composite(
    *, kernel: str | Callable[..., Any] | None = None, meta: Any = None, vjp: Any = None, **options: Any
) -> Callable[[Any], Callable[..., Any]]:
    """Declare an op by its body, written in other ops.  Gradient, shape and the rest come from the body.

    With a ``kernel`` (and then ``meta`` and ``vjp``) eager calls run that instead of the body.
    """
    return lambda function: _declare(function, meta, kernel, vjp, function, options)


def _declare(function: Any, meta: Any, kernel: Any, vjp: Any, body: Any, options: dict[str, Any]) -> Callable[..., Any]:
    name = options.pop("name", function.__name__)
    op = Op(name)
    op.body, op.kernel, op.vjp = body, kernel, vjp
    op.family = meta if hasattr(meta, "execute") else (Plain(meta) if meta is not None else None)
    op.meta = op.family
    op.doc = function.__doc__
    op.source_module = function.__module__
    op.returns = options.pop("returns", None)
    op.nondifferentiable = frozenset(options.pop("nondifferentiable", ()))
    op.view = options.pop("view", False)
    op.exact = options.pop("exact", False) or op.view
    op.widen = not op.exact and isinstance(op.family, Plain)
    op.has_out = options.pop("out", kernel is not None and not op.view)
    op.in_place_kernel = options.pop("in_place_kernel", None)
    op.node_name = options.pop("node_name", "".join(map(str.capitalize, name.split("_"))) + "Backward0")
    op.factory = options.pop("factory", False)
    op.notes = options.pop("notes", "")
    op.data_dependent = options.pop("data_dependent", False)
    op.across_devices = options.pop("across_devices", False)
    op.of_storage = options.pop("of_storage", False)
    op.needs_variadic = options.pop("needs_variadic", False)
    op.more_dims = options.pop("more_dims", False)
    op.layout = options.pop("layout", "")
    op.one_value = options.pop("one_value", False)
    op.apart = options.pop("apart", False)
    op.aliases = tuple(options.pop("aliases", ()))
    op.onnx, op.onnx_reason = _onnx_forms(options.pop("onnx", None))
    op.quantized = options.pop("quantized", None)
    if options.pop("random", False):
        op.random = True
    op.ufunc = options.pop("ufunc", kernel if isinstance(kernel, str) else None)
    fast = options.pop("fast", getattr(op.family, "fast", None))
    op.fast = fast if op.ufunc else None
    op.differentiable = bool(vjp) or body is not None
    first = function.__annotations__.get("input", "")
    has_self = function.__code__.co_varnames[:1] == ("input",) and first.startswith("Tensor") and "None" not in first
    namespace, op.public_name = _place(name, options.pop("namespace", MISSING))
    op.public_name = options.pop("public_name", op.public_name)
    op.namespace = namespace
    op.method = options.pop("method", has_self and namespace == "")
    also = options.pop("also", ())
    wants_in_place = options.pop("in_place", getattr(op.family, "in_place", False) and op.returns is None)
    if options:
        raise TypeError(f"op {name}: unknown options {sorted(options)}")
    other = op.source_module if table.rewriting else table.expected.get(name, op.source_module)
    if dict.__contains__(table, name) or other != op.source_module:
        raise ValueError(f"op {name} is declared twice: in {other} and {op.source_module}")
    table[name] = op
    op.call = entry_point(op, function)
    names = (op.public_name, *(alias for alias in op.aliases if "." not in alias))
    if namespace is not None:
        for public in names:
            exports[namespace, public] = op.call
    for alias in op.aliases:
        if "." in alias:  # the same function in another namespace
            elsewhere, _, public = alias.rpartition(".")
            exports[elsewhere, public] = op.call
    for place in also:
        where, _, public = place.rpartition(".")
        exports[where, public] = op.call
    if op.method:
        for public in op.method if isinstance(op.method, tuple) else names:
            methods[public] = op.call
    if wants_in_place:
        _declare_in_place(op, function, names)
    return op.call


def _onnx_forms(declared: Any) -> tuple[dict[int, Callable[..., Any]] | None, str]:
    """The ONNX forms by the opset from which they hold, or why there can be none."""
    if isinstance(declared, str):
        return None, declared
    return declared, ""


# What an in-place variant does not take from its op.
_OWN = frozenset(
    ("name", "record", "accelerator_call", "node_type", "functional", "in_place", "call", "parameters", "tensor_positions", "random")
)


def _declare_in_place(op: Op, function: Any, names: tuple[str, ...]) -> None:
    variant = Op(op.name + "_")
    for slot in Op.__slots__:
        if slot not in _OWN and hasattr(op, slot):
            setattr(variant, slot, getattr(op, slot))
    variant.functional = op
    variant.has_out = False
    variant.fast = None
    variant.public_name = op.public_name + "_"
    op.in_place = variant
    table[variant.name] = variant
    variant.call = entry_point(variant, function)
    if op.method or op.namespace is None:
        for public in names:
            methods[public + "_"] = variant.call
    if op.namespace == "nn.functional" or (not op.namespace and op.public_name in FUNCTIONS_IN_PLACE):
        for public in names:
            exports[op.namespace or "", public + "_"] = variant.call


# The in-place forms that are functions of `torch`, too (a test looks for each); others are methods only.
FUNCTIONS_IN_PLACE = frozenset(
    "abs acos asin atan ceil clamp clip cos cosh deg2rad erf erfc exp exp2 expm1 fill floor frac log log10 log1p log2 "
    "logit neg negative nan_to_num rad2deg reciprocal relu round rsqrt sigmoid sin sinc sinh sqrt square tan tanh "
    "threshold trunc fix xlogy zero ldexp selu celu rrelu dropout acosh asinh atanh arccosh arcsinh arctanh clamp_min "
    "clamp_max gcd lcm i0 conj_physical addmv alpha_dropout feature_dropout index_put".split()
)


def _place(name: str, namespace: Any) -> tuple[str | None, str]:
    """The namespace and the public name: ``linalg_svd`` is ``linalg.svd``; None keeps an op a method only."""
    if namespace is not MISSING:
        prefix = namespace.replace(".", "_") + "_" if namespace else ""
        return namespace, name.removeprefix(prefix) if prefix else name
    for prefix in ("linalg", "fft", "special"):
        if name.startswith(prefix + "_"):
            return prefix, name[len(prefix) + 1 :]
    return "", name


def parameters_of(function: Any) -> tuple[Parameter, ...]:
    """The parameters of a declaring function, read off its code object (``inspect`` is too slow to import)."""
    code = function.__code__
    annotations = function.__annotations__
    count, only = code.co_argcount, code.co_kwonlyargcount
    defaults = dict(zip(code.co_varnames[count - len(function.__defaults__ or ()) : count], function.__defaults__ or ()))
    defaults.update(function.__kwdefaults__ or {})
    found = [Parameter(name, annotations.get(name, ""), defaults.get(name, MISSING), False, False) for name in code.co_varnames[:count]]
    if code.co_flags & 4:
        name = code.co_varnames[count + only]
        found.append(Parameter(name, annotations.get(name, ""), MISSING, False, True))
    found += [
        Parameter(name, annotations.get(name, ""), defaults.get(name, MISSING), True, False)
        for name in code.co_varnames[count : count + only]
    ]
    return tuple(found)


class Plain:
    """The family of ops that are like no others: the kernel gets the values as they are."""

    __slots__ = ("meta",)

    def __init__(self, meta: Callable[..., Any]) -> None:
        self.meta = meta

    def __call__(self, op: Op, values: Sequence[Any]) -> Any:
        return self.meta(*values)

    def execute(self, op: Op, xp: Any, values: Sequence[Any]) -> Any:
        return op.kernel(xp, *values)


def call_body(op: Op, args: tuple[Any, ...]) -> Any:
    """Run a composite's body: keyword-only parameters by keyword, a variadic one spread out."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for parameter, value in zip(op.parameters, args):
        if parameter.keyword_only:
            keywords[parameter.name] = value
        elif parameter.variadic:
            positional.extend(value)
        else:
            positional.append(value)
    return op.body(*positional, **keywords)


# -- entry points ------------------------------------------------------------------------------------------------
# A public function starts as a stub; its first call compiles code for just this signature and puts it in the stub's
# place (`__code__` is assigned), so that importing hundreds of ops costs little and a call parses no arguments.

_build_entry: Callable[[Op, Any, str], Any]


def _stub(*args, **kwargs):  # type: ignore[no-untyped-def]
    return build_entry(op, this, form)(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


STUB: CodeType = _stub.__code__


def entry_point(op: Op, function: Any, form: str = "function") -> Callable[..., Any]:
    """The public function of an op; with form ``"operator"`` or ``"reflected"``, what ``a + b`` calls."""
    namespace: dict[str, Any] = {"__name__": op.source_module, "op": op, "build_entry": _build_late, "form": form}
    name = op.public_name if form == "function" else function
    call: Any = FunctionType(STUB, namespace, name)
    call.__qualname__ = name
    namespace["this"] = call
    call.__doc__ = op.doc
    # Public functions are pickled by the name users know them by.
    public = form == "function" and op.namespace is not None
    call.__module__ = ".".join(filter(None, (PACKAGE, op.namespace))) if public else op.source_module
    if form == "function":
        call.__wrapped__ = function
        call.op = op
    return call


def _build_late(op: Op, function: Any, form: str) -> Any:
    return _build_entry(op, function, form)


def set_entry_builder(builder: Callable[[Op, Any, str], Any]) -> None:
    """Called by the dispatch module, which compiles entry points."""
    global _build_entry
    _build_entry = builder
