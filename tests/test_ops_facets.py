"""Facets: every fact about an op is registered for an op that exists, and no module keeps a table of op names beside them."""

from __future__ import annotations

import ast
import importlib
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from support.processes import run_python

import rushlight as torch
from rushlight.capture.graph_module import GraphModule
from rushlight.capture.trace.capture import capture
from rushlight.core.declare import FUNCTIONS_IN_PLACE, Op, exports, table
from rushlight.core.facets import Facet, facets
from rushlight.core.families import Elementwise
from rushlight.ops import document
from rushlight.passes import costs
from rushlight.passes.differentiate import differentiate
from rushlight.passes.partition import partition
from rushlight.runtime.cuda.kernels import HOST_ONLY, KERNELS

ROOT = pathlib.Path(torch.__file__).parent


@pytest.fixture
def facet() -> Iterator[Facet[str]]:
    """A facet of the test's own."""
    yield Facet("a test's", "nothing")
    del facets["a test's"]


def test_every_key_of_every_facet_is_an_op() -> None:
    document.load_facets()
    assert {"autocast", "batching", "flops", "quantized", "recompute cost", "rematerialization"} <= set(facets)
    for facet in facets.values():
        assert list(facet) or facet.of_custom_ops, f"nothing is registered in {facet}"
        assert facet.summary
        for name in facet:
            assert isinstance(table[name], Op)
            assert facet.of(table[name]) is not None


def test_a_name_that_is_no_op_is_refused(facet: Facet[str]) -> None:
    with pytest.raises(LookupError, match="'i0e', which is no op"):
        facet.set("costly", "exp", "i0e")


def test_a_second_fact_is_refused(facet: Facet[str]) -> None:
    facet.set("costly", "exp")
    with pytest.raises(ValueError, match="'exp' is registered twice"):
        facet.register("exp")("cheap")
    assert facet.of(table["exp"]) == "costly" and table["exp"] in facet and table["log"] not in facet
    with pytest.raises(ValueError, match="declared twice"):
        Facet("a test's", "the same")


# -- recompute costs -----------------------------------------------------------------------------------------------------


def test_every_pointwise_op_has_a_recompute_cost() -> None:
    missing = [
        op.name for op in table.values()
        if op.functional is None and isinstance(op.family, Elementwise) and costs.recompute_cost.of(op) not in (costs.CHEAP, costs.COSTLY)
    ]  # fmt: skip
    assert not missing, f"register them in rushlight/passes/costs.py: {missing}"


def captured(function: Any, inputs: list[Any]) -> GraphModule:
    found = capture(function, tuple(inputs))
    return GraphModule(found.constants, found.graph)


@pytest.mark.parametrize("function", [
    torch.special.i0e, torch.special.i1, torch.special.i1e, torch.special.erfcx, torch.special.ndtri, torch.special.log_ndtr, torch.special.bessel_j0,
    torch.special.entr, torch.sinc, lambda x: torch.special.zeta(x, 2.0), lambda x: torch.igamma(torch.tensor(2.0), x),
])  # fmt: skip
def test_special_functions_are_kept_and_not_computed_again(function: Any) -> None:
    inputs = [torch.rand(1) * 0.5 + 0.2, torch.rand(64, requires_grad=True)]  # the input takes less memory than the result
    joint = differentiate(captured(lambda x, y: (function(x.expand(64)) * y).sum(), inputs), inputs)
    parts = partition(joint)
    (costly,) = [
        node for node in parts.forward.nodes if node.table_op is not None and costs.recompute_cost.of(node.table_op) == costs.COSTLY
    ]
    assert costly.name in parts.kept
    assert not any(node.table_op is costly.table_op for node in parts.backward.nodes)


# -- no tables beside the facets -----------------------------------------------------------------------------------------

# Modules that hold strings which are names of ops, and why.  An entry that is no longer needed fails.
ALLOWED = {
    "ops/aten_calls.py": "operators of PyTorch, by its names",
    "ops/prims_calls.py": "operators of PyTorch, by its names",
    "fx/proxy.py": "functions of PyTorch, by how it records them",
    "fx/graph.py": "Python's operators",
    "fx/quantization/patterns.py": "public functions and methods whose results keep their operand's scale",
    "capture/script/archive/resizing_text.py": "modes of interpolate",
    "capture/script/archive/operators.py": "operators of TorchScript on numbers, by its names",
    "fx/experimental/proxy_tensor.py": "names of aten for ops that are called something else",
    # Strings that are no names of ops, but the same words.
    "core/declare.py": "public names of functions of torch (tested below)",
    "tensor/methods.py": "Python's operators",
    "nn/init.py": "PyTorch's names of nonlinearities",
    "nn/functional.py": "public names of in-place activations (a star import resolves each)",
    "codegen/llvm/scalar_code.py": "opcodes of the scalar IR",
    "codegen/numpy/kernel.py": "opcodes of the scalar IR",
    "schedule/fold_constants.py": "opcodes of the scalar IR",
    "schedule/kernel_plan.py": "opcodes of the scalar IR",
    "codegen/llvm/vector_math.py": "functions of the vector math library",
    "codegen/triton/expressions.py": "opcodes of the scalar IR",
    "codegen/cuda/scalar_text.py": "opcodes of the scalar IR",
    "runtime/cuda/kernels/__init__.py": "ops that CUDA refuses by name",
    "runtime/cuda/array_module.py": "functions of array modules",
    "schedule/scalar_ir.py": "functions of array modules, and opcodes of the scalar IR",
    "core/array_tracer.py": "functions of array modules",
    "capture/compile/record/arrays.py": "attributes and methods of NumPy's arrays",
    "backends/native/eager/rows.py": "row functions that kernels ask for by name",
    "backends/native/eager/pointwise.py": "fields of a layout",
    "compat/numbers.py": "values of the argument `reduce`",
    "ops/index/gather_scatter.py": "values of the argument `reduce`",
    "ops/index/indexing_onnx.py": "values of the argument `reduce`",
    "ops/nn/interpolation.py": "values of the argument `mode`",
    "ops/nn/losses.py": "values of the argument `reduction`",
    "ops/nn/rnn_onnx.py": "kinds of recurrent layers",
    # Looked up in the op table as the module is imported, which fails for a name that is no op.
    "ops/shape/view_copies.py": "views of which copies are declared",
    # Checked by the facet that they are given to, as the module is imported.
    "schedule/routines/__init__.py": "ops of each file of routines",
    "codegen/llvm/lowerings.py": "ops of each file of lowerings",
    # Kernels that a device has for ops: their names are tested below.
    **{
        f"runtime/cuda/kernels/{each}.py": "kernels of single ops on CUDA"
        for each in (
            "__init__",
            "attention",
            "convolution",
            "copies",
            "embedding_losses",
            "products",
            "recurrent",
            "register_rows",
            "rows",
            "split_views",
        )
    },
    # Names of PyTorch's operators in the graph of an exported program, some of which are ops of the same name.
    "export/core_operators.py": "operators of aten, by how their results lie in memory",
    # Names of functions that scripts call, some of which are ops of the same name.
    "capture/script/lower/result_types.py": "public functions, by what they return",
    "capture/script/transform/inference.py": "public functions of nn.functional",
}


def strings_of(node: ast.AST) -> list[str]:
    """The strings of a literal: the keys of a dict, the elements of a set, list or tuple, the words of ``"...".split()``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
        return node.func.value.value.split() if isinstance(node.func.value, ast.Constant) and isinstance(node.func.value.value, str) else []
    elements = node.keys if isinstance(node, ast.Dict) else node.elts if isinstance(node, (ast.Set, ast.List, ast.Tuple)) else []
    found = [each.value for each in elements if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return found if len(found) == len(elements) else []


def tables_of_ops(tree: ast.Module, names: set[str]) -> list[str]:
    """Where a module assigns a table of op names, or compares the name of something with one."""
    found = []
    statements = [*tree.body, *(each for node in tree.body if isinstance(node, ast.ClassDef) for each in node.body)]
    for statement in statements:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            if any(isinstance(each, ast.Name) and each.id == "__all__" for each in ast.walk(statement)):
                continue
            for node in ast.walk(statement.value):
                words = strings_of(node)
                known = [each for each in words if each in names]
                if len(known) > 1 and 2 * len(known) >= len(words):
                    found.append(f"line {node.lineno}: {' '.join(words)[:60]}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "name":
            (right,) = node.comparators[:1]
            words = [right.value] if isinstance(right, ast.Constant) and isinstance(right.value, str) else strings_of(right)
            if any(each in names for each in words):
                found.append(f"line {node.lineno}: {ast.unparse(node)[:60]}")
    return found


def test_no_module_keeps_a_table_of_op_names() -> None:
    names = set(table)
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if file != "ops/manifest.py":
            tables = tables_of_ops(ast.parse(path.read_text(encoding="utf8")), names)
            if tables:
                found[file] = tables
    assert {file: tables for file, tables in found.items() if file not in ALLOWED} == {}, (
        "register a facet (rushlight/core/facets.py) instead"
    )
    assert [file for file in ALLOWED if file not in found] == [], "these are no longer needed in ALLOWED"


def test_kernels_on_cuda_are_those_of_ops() -> None:
    assert [name for name in (*KERNELS, *HOST_ONLY) if name not in table] == []


def test_in_place_functions_of_torch_exist() -> None:
    assert [name for name in FUNCTIONS_IN_PLACE if ("", name + "_") not in exports] == []
    x = torch.ones(3)
    assert torch.zero_(x) is x and x.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("source", "count"), [
    ('X = {"exp": 1, "log": 2}', 1), ('X = frozenset("exp log nothing".split())', 1), ('class A:\n    X = ("exp", "log")', 1),
    ('def f(op):\n    return op.name == "exp" or op.name in ("log", "nothing")', 2), ('X = ("a", "b", "exp")\n__all__ = ["exp", "log"]', 0),
])  # fmt: skip
def test_tables_are_found(source: str, count: int) -> None:
    assert len(tables_of_ops(ast.parse(source), {"exp", "log"})) == count


def test_routines_and_lowerings_are_expected_where_they_are() -> None:
    """The tables that say which file describes, and which lowers, an op: every entry is registered there, and nothing else is."""
    importlib.import_module("rushlight.codegen.llvm.lowerings")
    families = importlib.import_module("rushlight.schedule.routines").FAMILIES
    names = {name for family in families.values() for name in family}
    assert set(facets["routine"]) == names
    assert set(facets["lowering.llvm"]) == names - {"flip", "repeat"}


def test_a_facet_is_loaded_on_lookup() -> None:
    code = (
        "import sys, rushlight, rushlight.codegen.llvm.lowerings; from rushlight.core.declare import table; from rushlight.schedule.lowering import lowering\n"
        "assert 'rushlight.codegen.llvm.rnn' not in sys.modules\n"
        "assert lowering('llvm').of(table['add']) is None and 'rushlight.codegen.llvm.rnn' not in sys.modules\n"
        "assert lowering('llvm').of(table['gru_layer']) is not None and 'rushlight.codegen.llvm.conv.convolution' not in sys.modules"
    )
    run_python(code)
