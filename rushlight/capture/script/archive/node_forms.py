"""Functions of graphs that have a form of their own in serialized TorchScript."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable

from ....amp.autocast_mode import is_autocast_enabled
from ....autograd import grad_mode, profiler
from ....core.errors import CaptureError
from ....graph import Node
from ....nn.functional import multi_head_attention_forward
from ....tensor.construct import as_tensor, tensor
from ..frontend.types import ANY, DEVICE, NEVER, TENSOR, ClassType, DictType, InterfaceType, ListType, OptionalType, TupleType
from ..ir import graph_functions
from .aten_text import bound
from .graph_text import FORMS, GraphText
from .text_parts import is_open, quoted

Form = Callable[[GraphText, Node, int], None]
_FACTS = {
    **dict.fromkeys(
        "dtype layout shape device requires_grad is_cuda is_sparse is_quantized is_meta data grad itemsize nbytes is_leaf".split(), "prim"
    ),
    "T": "numpy_T",
    "mT": "mT",
    "H": "H",
    "mH": "mH",
    "real": "real",
    "imag": "imag",
    "ndim": "dim",
}  # attributes of tensors, and the operators that give them


def _item(text: GraphText, node: Node, depth: int) -> None:
    base, index = node.args
    shown = ", ".join(map(text.value, index)) if isinstance(index, tuple) else text.used(index)
    kind = text.type_of(node)
    if isinstance(kind, InterfaceType):  # a Module of a list, by an index that is not known
        text.names[node] = name = text.fresh()
        text.put(depth, f"{name} : {text.writer.type_text(kind, 'a Module')} = ({text.used(base)})[{shown}]")
        return
    text.assign(node, f"({text.used(base)})[{shown}]", depth)


def _set_item(text: GraphText, node: Node, depth: int) -> None:
    base, index, value = node.args
    text.settle()  # Python computes the right side first
    shown = ", ".join(map(text.value, index)) if isinstance(index, tuple) else text.used(index)
    kind = text.type_of(base) if isinstance(base, Node) else ANY
    kind = kind.inner if isinstance(kind, OptionalType) else kind  # of which the program has made sure that it is there
    wanted = (
        kind.element if isinstance(kind, ListType) and not isinstance(index, slice) else kind.value if isinstance(kind, DictType) else ANY
    )
    text.put(depth, f"{text.used(base)}[{shown}] = {text.value(value) if wanted == ANY else text.used(value, wanted)}")
    text.names[node] = "None"


def _listed(text: GraphText, node: Node, depth: int) -> None:
    (given,) = node.args or ([],)
    if isinstance(given, list):
        kind = text.settled_type(node)
        made = text.used(given, kind) if given and isinstance(kind, ListType) and kind.element != ANY else text.value(given)
        typed = isinstance(kind, ListType) and not is_open(kind) and kind.element != NEVER
        text.assign(node, f"annotate({text.writer.type_text(kind, 'a list')}, {made})" if typed else made, depth)
    elif isinstance(given, Node) and given.op == "call_method" and given.target in ("keys", "values", "items", "size"):
        text.names[node] = text.value(given)
    else:
        text.assign(node, f"list({text.used(given)})", depth)


def _mapped(text: GraphText, node: Node, depth: int) -> None:
    (given,) = node.args or ([],)
    if not isinstance(given, list):
        if node.kwargs:
            raise CaptureError("dict() of another dict and of keywords can't be written to an archive: write it in two steps")
        text.assign(node, f"dict({text.used(given)})", depth)
        return
    given = [*given, *node.kwargs.items()]
    kind = text.settled_type(node)
    typed = isinstance(kind, DictType) and not is_open(kind)
    kinds = (kind.key, kind.value) if isinstance(kind, DictType) and typed else (ANY, ANY)
    shown = [": ".join(text.used(each, wanted) for each, wanted in zip(pair, kinds)) for pair in given]
    made = "{" + ", ".join(shown) + "}"
    text.assign(node, f"annotate({text.writer.type_text(kind, 'a dict')}, {made})" if typed else made, depth)


def _attribute(text: GraphText, node: Node, depth: int) -> None:
    base, name = node.args
    kind = text.type_of(base) if isinstance(base, Node) else ANY
    known = _FACTS.get(name)
    if kind not in (TENSOR, DEVICE) and (known is None or isinstance(kind, (ClassType, TupleType))):
        form = "({}).{}"
    else:
        form = f"torch.{known}({{}})" if known is not None and known != "prim" else "ops.prim.{1}({0})"
    text.assign(node, form.format(text.used(base), name), depth)


def _contained(text: GraphText, node: Node, depth: int) -> None:
    text.assign(node, f"torch.__contains__({text.used(node.args[0])}, {text.used(node.args[1])})", depth)


def _raised(text: GraphText, node: Node, depth: int) -> None:
    kind, *rest = node.args
    name = kind if isinstance(kind, str) else "Exception"
    message = text.used(rest[0]) if rest else '""'
    text.put(depth, f'ops.prim.RaiseException(torch.format("{{}}", {message}), "builtins.{name}")')
    text.names[node] = "None"


def _checked(text: GraphText, node: Node, depth: int) -> None:
    condition, *rest = node.args
    message = text.used(rest[0]) if rest else '""'
    text.put(depth, f"if {text.used(condition)}:")
    text.put(depth + 1, "pass")
    text.put(depth, "else:")
    text.put(depth + 1, f'ops.prim.RaiseException(torch.format("AssertionError: {{}}", {message}))')
    text.names[node] = "None"


def _unpacked(text: GraphText, node: Node, depth: int) -> None:
    value, count = node.args
    op = getattr(getattr(value, "target", None), "op", None)  # of a trace, whose nodes have no types
    if isinstance(text.type_of(value), ListType) or getattr(op, "returns", None) == "list":
        parts = [text.fresh() for _ in range(count)]
        text.put(depth, f"{', '.join(parts)}, = {text.used(value)}")
        text.assign(node, f"({', '.join(parts)},)", depth)
    else:
        text.names[node] = text.value(value)


def _asked(text: GraphText, node: Node, depth: int) -> None:
    value, names = node.args
    kinds = [text.writer.named_type(name) for name in names]
    text.assign(node, f"isinstance({text.value(value)}, {kinds[0] if len(kinds) == 1 else '(' + ', '.join(kinds) + ')'})", depth)


def _formatted(text: GraphText, node: Node, depth: int) -> None:
    value, conversion, specification = node.args
    if conversion or specification:
        raise CaptureError(f"an f-string with the format '{conversion or specification}' can't be written to an archive")
    text.assign(node, f'torch.format("{{}}", {text.used(value)})', depth)


def _format(text: GraphText, node: Node, depth: int) -> None:
    text.assign(node, f"torch.format({', '.join(map(text.value, node.args))})", depth)


def _joined(text: GraphText, node: Node, depth: int) -> None:
    text.assign(node, f"torch.format({quoted('{}' * len(node.args))}, {', '.join(map(text.value, node.args))})", depth)


def _attribute_set(text: GraphText, node: Node, depth: int) -> None:
    owner, name, value = node.args
    text.put(depth, f"{text.used(owner)}.{name} = {text.value(value)}")
    text.names[node] = "None"


def _deleted(text: GraphText, node: Node, depth: int) -> None:
    text.put(depth, f"torch.Delete({text.used(node.args[0])}, {text.value(node.args[1])})")
    text.names[node] = "None"


def _range_length(text: GraphText, node: Node, depth: int) -> None:
    text.assign(node, f"torch.__range_length({', '.join(text.used(each) for each in node.args)})", depth)


def _warned(text: GraphText, node: Node, depth: int) -> None:
    text.put(depth, f"torch.warn({text.used(node.args[0])}, 2)")
    text.names[node] = "None"


def _present(text: GraphText, node: Node, depth: int) -> None:
    text.assign(node, f"torch._unwrap_optional({text.value(node.args[0])})", depth)


def _already(text: GraphText, node: Node, depth: int) -> None:
    if node not in text.names:
        raise CaptureError("a list with a declared type can't be written to an archive here")


def _inverted(text: GraphText, node: Node, depth: int) -> None:
    form = "torch.bitwise_not({})" if repr(text.type_of(node)) == "Tensor" else "~{}"
    text.assign(node, form.format(text.used(node.args[0])), depth)


def _made_tensor(text: GraphText, node: Node, depth: int) -> None:
    parts = [
        text.value(node.args[0]),
        *[f"{key}={text.value(each)}" for key, each in node.kwargs.items() if each is not None and key != "pin_memory"],
    ]
    text.assign(node, f"torch.{node.target.__name__}({', '.join(parts)})", depth)


def _percent(text: GraphText, node: Node, depth: int) -> None:
    left, right = node.args
    if isinstance(left, str) or (isinstance(left, Node) and repr(text.type_of(left)) == "str"):
        values = right if isinstance(right, tuple) else (right,)
        shown = text.value(right) if isinstance(right, (tuple, Node)) else text.value(tuple(values))
        text.assign(node, f"torch.percentFormat({text.value(left)}, {shown})", depth)
    else:
        text.assign(node, f"torch.remainder({text.used(left)}, {text.used(right)})", depth)


def _floored(text: GraphText, node: Node, depth: int) -> None:
    name = "floor_divide" if repr(text.type_of(node)) == "Tensor" else "floordiv"
    text.assign(node, f"torch.{name}({', '.join(text.used(each) for each in node.args)})", depth)


def _unknown(text: GraphText, node: Node, depth: int) -> None:
    name, *rest = node.args
    place, _, op = str(name).partition(".")[0].partition("::")
    text.assign(node, f"ops.{place}.{op}({', '.join(map(text.value, rest))})", depth)


def _plainly(name: str) -> Form:
    def write(text: GraphText, node: Node, depth: int) -> None:
        text.assign(node, f"torch.{name}({', '.join(map(text.value, node.args))})", depth)

    return write


def _sliced(text: GraphText, node: Node, depth: int) -> None:
    text.names[node] = text.value(slice(*node.args))  # which stands in brackets


def _range(text: GraphText, node: Node, depth: int) -> None:
    text.names[node] = f"range({', '.join(text.used(each) for each in node.args)})"


def _unused(text: GraphText, node: Node, depth: int) -> None:
    message = f"{node.args[0]}() is marked as unused (jit.unused), and was called by a scripted program"
    text.put(depth, f'ops.prim.RaiseException({quoted(message)}, "builtins.RuntimeError")')
    kind = text.type_of(node)
    text.assign(node, "None" if is_open(kind) else f"uninitialized({text.writer.type_text(kind, 'a value')})", depth)


def _context(text: GraphText, node: Node, depth: int) -> None:
    text.names[node] = "None"  # the `with` that has it says what happens


def _range_begun(text: GraphText, node: Node, depth: int) -> None:
    text.assign(node, f"ops.profiler._record_function_enter_new({text.value(node.args[0])})", depth)


def _range_ended(text: GraphText, node: Node, depth: int) -> None:
    text.put(depth, f"ops.profiler._record_function_exit({text.value(node.args[0])})")
    text.names[node] = "None"


def _complex(text: GraphText, node: Node, depth: int) -> None:
    text.assign(node, f"torch.Complex({', '.join(text.used(each) for each in node.args)})", depth)


def _interface_call(text: GraphText, node: Node, depth: int) -> None:
    owner, name, *args = node.args
    text.assign(node, f"({text.used(owner)}).{name}({''.join(f'{text.used(each)}, ' for each in args)})", depth)


def _attended(text: GraphText, node: Node, depth: int) -> None:
    """Attention of a trace, as a function of the archive."""
    given = bound(node.target.op, node.args, dict(node.kwargs))
    for name in ("bias_k", "bias_v", "static_k", "static_v", "add_zero_attn", "use_separate_proj_weight"):
        if isinstance(given.get(name), Node) or given.get(name):
            raise CaptureError("a MultiheadAttention with kdim, vdim, add_bias_kv or add_zero_attn can't be written to an archive")
    parts = [
        text.value(given.get(name, usual))
        for name, usual in (
            ("query", None), ("key", None), ("value", None), ("in_proj_weight", None), ("in_proj_bias", None), ("out_proj_weight", None),
            ("out_proj_bias", None), ("key_padding_mask", None), ("need_weights", True), ("attn_mask", None), ("average_attn_weights", True),
            ("dropout_p", 0.0), ("training", True),
        )
    ]  # fmt: skip
    function = text.writer.attention(given["embed_dim_to_check"], given["num_heads"], given.get("in_proj_bias") is not None)
    text.assign(node, f"{function}({', '.join(parts)}, )", depth)


def _autocast(text: GraphText, node: Node, depth: int) -> None:
    text.assign(node, "torch.is_autocast_enabled()", depth)


FORMS.update({
    operator.getitem: _item, operator.setitem: _set_item, operator.contains: _contained, list: _listed, dict: _mapped, getattr: _attribute,
    operator.invert: _inverted, operator.mod: _percent, operator.floordiv: _floored, tensor: _made_tensor, as_tensor: _made_tensor, warnings.warn: _warned,
    graph_functions.raise_error: _raised, graph_functions.check: _checked, graph_functions.unpack: _unpacked, graph_functions.is_kind: _asked,
    graph_functions.formatted: _formatted, graph_functions.format_text: _format, graph_functions.joined: _joined, graph_functions.set_attribute: _attribute_set,
    graph_functions.delete_item: _deleted, graph_functions.range_length: _range_length, graph_functions.present: _present,
    grad_mode.is_grad_enabled: _plainly("is_grad_enabled"), grad_mode.set_grad_enabled: _plainly("set_grad_enabled"), is_autocast_enabled: _autocast,
    grad_mode.no_grad: _context, grad_mode.enable_grad: _context, graph_functions.exiting: _context, complex: _complex,
    profiler.record_function: _context, profiler.enter_range: _range_begun, profiler.exit_range: _range_ended,
    graph_functions.slice_of: _sliced, range: _range, graph_functions.unused_call: _unused,
    graph_functions.listed: _already, multi_head_attention_forward: _attended, graph_functions.call_interface: _interface_call, graph_functions.missing_operator: _unknown,
})  # fmt: skip
