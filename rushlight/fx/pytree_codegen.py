"""``forward`` of graphs whose arguments and results are nested: flattened on the way in, nested again on the way out."""

from __future__ import annotations

import keyword
from typing import Any

from ..compat import pytree
from .graph import CodeGen


def _has_keywords(spec: Any) -> bool:
    """Whether a specification is one of ``(args, kwargs)``, and not of a list of positional arguments."""
    return spec.type is tuple and [each.type for each in spec.children_specs] == [tuple, dict]


def flatten_inputs(tree: Any, spec: Any) -> list[Any]:
    """The leaves of the arguments; raises where they are not nested as the example was.  Keyword arguments come in any order."""
    if _has_keywords(spec):
        args, kwargs = tree
        named = spec.children_specs[1].context
        tree = (tuple(args), {key: kwargs[key] for key in named} if kwargs and set(kwargs) == set(named) else kwargs)
    leaves, found = pytree.tree_flatten(tree)
    if found != spec:
        raise ValueError(
            f"Trying to flatten user inputs with exported input tree spec: \n{spec}\nbut actually got inputs with tree spec of: \n{found}.\n"
            "Please check that the inputs have the same number and type of args and kwargs as the ones you used when tracing."
        )
    return list(leaves)


class _Flattening:
    """``fx_pytree`` in the generated code."""

    tree_flatten_spec = staticmethod(flatten_inputs)


class PyTreeCodeGen(CodeGen):
    """Writes a ``forward`` whose arguments and results are nested as those of the function that was captured.

    ``in_spec`` is the structure of a list of positional arguments, or of ``(args, kwargs)``.
    """

    def __init__(self, names: list[str], in_spec: Any, out_spec: Any) -> None:
        super().__init__()
        self.names, self.in_spec, self.out_spec = names, in_spec, out_spec

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        flat = [each.split(":")[0].split("=")[0].strip() for each in free_vars if each != "self"]
        names = [
            each if each.isidentifier() and not keyword.iskeyword(each) and each not in ("self", *self.names[:at]) else f"_{at}"
            for at, each in enumerate(self.names)
        ]
        tree = f"[{', '.join(names)}]"
        if _has_keywords(self.in_spec):
            positional = len(self.in_spec.children_specs[0].children_specs)
            keywords = (f"{key!r}:{name}" for key, name in zip(self.in_spec.children_specs[1].context, names[positional:]))
            tree = f"([{', '.join(names[:positional])}], {{{', '.join(keywords)}}})"
        head = f"def {self._func_name}({', '.join(['self', *names])}){maybe_return_annotation}:"
        leaves = f"fx_pytree.tree_flatten_spec({tree}, self._in_spec)"
        return f"{head}\n    {', '.join(flat)}, = {leaves}" if flat else f"{head}\n    {leaves}"

    def generate_output(self, output_args: Any, *, descs: Any = None) -> str:
        return f"return pytree.tree_unflatten({self._repr(output_args)}, self._out_spec)"

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("fx_pytree", _Flattening), ("pytree", pytree)]

    def process_inputs(self, *args: Any) -> Any:
        return flatten_inputs((args, {}) if _has_keywords(self.in_spec) else list(args), self.in_spec)

    def process_outputs(self, outputs: Any) -> Any:
        return pytree.tree_unflatten(list(outputs), self.out_spec)
