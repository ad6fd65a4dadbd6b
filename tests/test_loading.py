"""Files of ops are loaded when they are used: what `import rushlight` leaves out, and that nobody notices."""

from __future__ import annotations

import ast
import importlib
import pathlib

import pytest
from support.processes import run_python

import rushlight
from rushlight.core.declare import Declared, exports, methods, table
from rushlight.ops import document, manifest

ROOT = pathlib.Path(rushlight.__file__).parents[1]


def output(code: str) -> str:
    """What a program prints, in a process of its own."""
    return run_python(code).strip()


def test_the_manifest_is_up_to_date() -> None:
    text = (document.FOLDER / "manifest.py").read_text(encoding="utf8")
    assert text == document.manifest(), "run `python -m rushlight.ops.document`"


def test_an_import_loads_few_files() -> None:
    loaded = output("import rushlight, sys; print(*[each for each in sys.modules if each.startswith('rushlight.ops.')])").split()
    assert len(loaded) < 20
    assert "rushlight.ops.linalg.functions" not in loaded


@pytest.mark.parametrize("use", [
    "rushlight.cumsum", "rushlight.Tensor.cumsum", "rushlight.ones(2).cumsum", "rushlight.core.declare.table['cumsum']",
    "rushlight.core.declare.lookup('cumsum')",
])  # fmt: skip
def test_a_file_is_loaded_by_what_it_declares(use: str) -> None:
    assert (
        output(
            f"import rushlight, sys; a = 'rushlight.ops.reduce.cumulative' in sys.modules; {use}; print(a, 'rushlight.ops.reduce.cumulative' in sys.modules)"
        )
        == "False True"
    )


def test_every_file_declares_its_names_alone() -> None:
    """A file that is loaded first, before all others, declares all that the index says of it."""
    code = """
import os, sys, rushlight
from rushlight.core.declare import exports, methods, table
from rushlight.ops.manifest import FILES
for file, kinds in FILES.items():
    child = os.fork()
    if not child:
        __import__(f"rushlight.ops.{file}")
        places = {"ops": table, "methods": methods}
        for kind, names in kinds.items():
            for name in names.split():
                if not dict.__contains__(places.get(kind, exports), name if kind in places else (kind, name)):
                    print(file, kind, name, flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(file, "failed")
"""
    assert output(code) == ""


def test_operators_are_loaded_when_used() -> None:
    code = """
import rushlight as torch
x = torch.tensor([4.0, 9.0])
print((2 ** x).tolist(), (x @ x).item(), (x > 5).tolist(), (-x).tolist(), (7 % x).tolist(), (x // 2).tolist(), x.__abs__().tolist())
x //= 2
print(x.tolist(), torch.Tensor.__matmul__.__name__)
"""
    assert output(code).split("\n") == [
        "[16.0, 512.0] 97.0 [False, True] [-4.0, -9.0] [3.0, 7.0] [2.0, 4.0] [4.0, 9.0]", "[2.0, 4.0] __matmul__"
    ]  # fmt: skip


def test_a_subclass_reaches_a_method_that_is_not_loaded() -> None:
    code = """
import rushlight as torch
class Own(torch.Tensor):
    def cumsum(self, dim):
        return super().cumsum(dim) + 1
print(torch.ones(3).as_subclass(Own).cumsum(0).tolist())
"""
    assert output(code) == "[2.0, 3.0, 4.0]"


def test_a_star_import_and_dir_have_everything() -> None:
    code = """
import rushlight
names = dir(rushlight)
space = {}
exec("from rushlight import *", space)
print("tanh" in names, "tanh" in space, "logsumexp" in space, all(hasattr(rushlight, name) for name in names), "cumsum" in dir(rushlight.Tensor))
"""
    assert output(code) == "True True True True True"


def test_functions_are_pickled_by_name() -> None:
    assert output("import pickle, rushlight; f = rushlight.cumprod; print(pickle.loads(pickle.dumps(f)) is f)") == "True"


def test_order_is_that_of_the_manifest() -> None:
    expected = [name for kinds in manifest.FILES.values() for name in kinds.get("ops", "").split()]
    assert [name for name in table if table[name].source_module.startswith("rushlight.ops.")] == expected


def test_views_of_everything_load_everything() -> None:
    for each in (table, exports, methods):
        assert len(each) == len(list(each.items())) == len(each.values()) == len(each.keys()) >= len(each.expected)


def test_a_name_that_nobody_declares() -> None:
    assert "no such op" not in table
    assert table.get("no such op") is None
    with pytest.raises(KeyError):
        table["no such op"]


def test_an_index_that_is_out_of_date_says_so() -> None:
    declared: Declared[str, int] = Declared()
    declared.expected["never"] = "rushlight.ops.shape.views"
    with pytest.raises(KeyError, match="out of date"):
        declared["never"]


def test_declaring_an_op_of_a_file_that_is_not_loaded() -> None:
    code = """
import rushlight
from rushlight.core.declare import composite
try:
    @composite()
    def cumsum(input): return input
except ValueError as error:
    print(error)
"""
    assert output(code) == "op cumsum is declared twice: in rushlight.ops.reduce.cumulative and __main__"


# -- layers, optimizers, commands --------------------------------------------------------------------------------


def loaded_by(code: str) -> list[str]:
    """The modules of the package that a program loads."""
    listed = run_python(f"{code}\nimport sys\nprint(*[name for name in sys.modules if name.startswith('rushlight.')])")
    return listed.split("\n")[-2].split()


def test_layers_and_functions_load_on_first_use() -> None:
    loaded = loaded_by("import rushlight\nrushlight.nn.Linear\nrushlight.optim.SGD\nrushlight.nn.functional.gelu")
    assert {"rushlight.nn.modules.linear", "rushlight.optim.sgd", "rushlight.ops.pointwise.activations"} <= set(loaded)
    others = ("nn.modules.conv", "nn.modules.transformer", "optim.adam", "ops.nn.convolution", "ops.linalg.factorizations")
    assert not {f"rushlight.{name}" for name in others} & set(loaded)


@pytest.mark.parametrize("package", ["nn", "nn.modules", "nn.utils", "optim"])
def test_names_that_load_on_first_use(package: str) -> None:
    """What type checkers see, what `dir` and `__all__` list, and what is there are the same."""
    module = importlib.import_module(f"rushlight.{package}")
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, name).__name__.rpartition(".")[2] == name for name in module.__all__ if name != "init")
    tree = ast.parse(pathlib.Path(module.__file__).read_text(encoding="utf8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {alias.name for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names} - {"*"}
    mapping = next((value for name, value in vars(module).items() if name in ("LAYERS", "OPTIMIZERS", "FUNCTIONS")), {})
    assert {name for names in mapping.values() for name in names.split()} <= seen
    assert all(hasattr(module, name) for name in seen)


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["export", "model.py:Net"], ["verify", "--mistyped"]])
def test_help_and_mistyped_options_load_no_compiler(arguments: list[str]) -> None:
    loaded = loaded_by(
        "import contextlib, io, rushlight.cli\n"
        "with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    rushlight.cli.main({arguments!r})"
    )
    assert len(loaded) < 99
    assert not [name for name in loaded if name.split(".")[1] in ("capture", "onnx", "codegen", "nn", "backends", "serialization")]
