"""`import torch` means rushlight on request: in any order, for every submodule, and only then."""

from __future__ import annotations

import os
import pickle
import sys
import textwrap
import zipfile
from importlib import import_module, metadata, util
from importlib.machinery import ExtensionFileLoader
from importlib.util import spec_from_loader
from pathlib import Path

import numpy
import pytest
from support.processes import run_python, start_python

import rushlight
from rushlight.compat import alias as alias_module
from rushlight.compat.distribution import FOLDER, shim_files
from rushlight.compat.torch_version import TorchVersion
from rushlight.core import release
from rushlight.core.missing import home_module, is_own, missing
from rushlight.graph import Graph

ROOT = Path(__file__).resolve().parent.parent


def test_nothing_is_aliased_unless_asked() -> None:
    run_python("""
        import sys
        import rushlight
        assert "torch" not in sys.modules
        assert "rushlight.compat" not in sys.modules and "rushlight.testing" not in sys.modules
    """)


def test_modules_are_the_same_objects(alias) -> None:
    import torch
    import torch.autograd.function
    import torch.testing
    from torch import Tensor
    from torch.autograd import Function

    assert torch is sys.modules["torch"]
    different = {name for name, value in vars(rushlight).items() if vars(torch).get(name) is not value}
    assert different <= {
        *(f"__{name}__" for name in "name spec loader package version getattr dir path builtins cached".split()),
        "compat",
        "cli",
        "version",
    }
    assert Tensor is rushlight.Tensor
    assert torch.autograd is rushlight.autograd and Function is rushlight.autograd.Function
    assert sys.modules["torch.autograd.function"] is sys.modules["rushlight.autograd.function"]
    assert torch.testing is rushlight.testing
    assert torch.__spec__.name == torch.__name__ == "torch" and torch.autograd.__spec__.name == "rushlight.autograd"


def test_either_spelling_may_come_first() -> None:
    run_python("""
        from rushlight import compat
        compat.install()
        import torch.testing as first
        import rushlight.testing as second
        assert first is second
        assert second.__spec__.name == "rushlight.testing"
    """)
    run_python("""
        import rushlight.testing as first
        from rushlight import compat
        compat.install()
        import torch.testing as second
        assert first is second
    """)


def test_a_function_is_not_replaced_by_the_module_of_its_name(alias) -> None:
    function = rushlight.tensor
    assert callable(function)
    import_module("torch.tensor")
    assert rushlight.tensor is function


def test_graphs_print_the_same_names_under_the_alias(alias) -> None:
    graph = Graph()
    graph.output(graph.placeholder("x", rushlight.Tensor, None))
    assert rushlight.Tensor.__module__ == "torch" and "x: rushlight.Tensor" in graph.python_code().src


def test_classes_say_pytorchs_module_under_the_alias(alias) -> None:
    import torch
    from torch.utils import _pytree

    places = {
        torch.nn.Linear: "torch.nn.modules.linear", torch.nn.LSTMCell: "torch.nn.modules.rnn", torch.nn.Parameter: "torch.nn.parameter",
        torch.optim.Adam: "torch.optim.adam", torch.optim.lr_scheduler.StepLR: "torch.optim.lr_scheduler", torch.Size: "torch", torch.dtype: "torch",
        torch.distributions.Normal: "torch.distributions.normal", torch.utils.data.DataLoader: "torch.utils.data.dataloader",
        torch.fx.Node: "torch.fx.node", torch.ao.nn.quantized.Linear: "torch.ao.nn.quantized.modules.linear", _pytree.TreeSpec: "torch.utils._pytree",
    }  # fmt: skip
    assert {kind: kind.__module__ for kind in places} == places
    assert (
        repr(torch.nn.Linear) == "<class 'torch.nn.modules.linear.Linear'>"
        and torch.typename(torch.nn.Linear(1, 1)) == "torch.nn.modules.linear.Linear"
    )
    for kind in places:
        assert getattr(import_module(kind.__module__), kind.__qualname__) is kind is pickle.loads(pickle.dumps(kind))
        assert is_own(kind) and home_module(kind).startswith("rushlight.")
    assert type("Own", (torch.nn.Linear,), {"__module__": "mine"}).__module__ == "mine"


def test_classes_say_their_own_module_without_the_alias(alias) -> None:
    from torch import nn

    assert nn.Linear.__module__ == "torch.nn.modules.linear"
    alias_module.uninstall()
    assert nn.Linear.__module__ == "rushlight.nn.modules.linear" and rushlight.Size.__module__ == "rushlight.core.size"
    run_python("""
        from rushlight import compat, nn
        compat.install()
        compat.uninstall()
        import rushlight.distributions  # loaded after the alias is gone
        assert rushlight.distributions.Normal.__module__ == "rushlight.distributions.normal" and nn.Linear.__module__ == "rushlight.nn.modules.linear"
    """)


def test_tracers_that_ask_for_modules_of_torch_nn_keep_them_whole(alias) -> None:
    import torch
    from torch import fx

    class Tracer(fx.Tracer):
        def is_leaf_module(self, m: torch.nn.Module, name: str) -> bool:
            return m.__module__.startswith("torch.nn") and not isinstance(m, torch.nn.Sequential)

    graph = Tracer().trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    assert [node.op for node in graph.nodes] == ["placeholder", "call_module", "call_module", "output"]


def test_modules_in_pickles_and_scripts_cross_between_both_names(alias, tmp_path) -> None:
    import torch

    layer = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LSTMCell(2, 2))
    torch.save(layer, tmp_path / "layer.pt")
    torch.jit.script(torch.nn.GRUCell(2, 2)).save(tmp_path / "script.pt")
    (tmp_path / "plain.pickle").write_bytes(pickle.dumps(layer))
    assert type(pickle.loads((tmp_path / "plain.pickle").read_bytes())[1]) is torch.nn.LSTMCell
    alias_module.uninstall()
    assert type(rushlight.load(tmp_path / "layer.pt", weights_only=False)[1]) is rushlight.nn.LSTMCell
    assert rushlight.jit.load(tmp_path / "script.pt")(rushlight.ones(1, 2)).shape == (1, 2)


def test_private_names(alias) -> None:
    import torch
    import torch.testing._internal.common_utils as one
    from torch.testing._internal import common_utils as two
    from torch.testing._internal.common_utils import TestCase

    import rushlight.compat.testing_internal.common_utils as real

    assert one is two is real is torch.testing._internal.common_utils
    assert TestCase is real.TestCase


def test_paths_by_the_internal_utilities(alias, tmp_path) -> None:
    from torch import _utils_internal

    assert Path(_utils_internal.get_file_path("nn", "__init__.py")).is_file() and _utils_internal.get_writable_path(str(tmp_path)) == str(
        tmp_path
    )
    assert (
        _utils_internal.resolve_library_path(f"{tmp_path}/a/../b") == os.path.realpath(tmp_path / "b")
        and not _utils_internal.is_fb_unit_test()
    )


def test_private_names_are_attributes_without_an_import() -> None:
    run_python("""
        from rushlight import compat
        compat.install()
        import torch
        assert torch.testing._internal.__name__ == "rushlight.compat.testing_internal"
    """)


def test_an_absent_submodule_says_so(alias) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'torch\.lantern': it is not in rushlight yet"):
        import_module("torch.lantern")
    with pytest.raises(ModuleNotFoundError, match="'torch.compat': it is not in rushlight yet"):
        import_module("torch.compat")  # rushlight's own, and no name of PyTorch's
    with pytest.raises(ImportError):
        from torch import lantern  # noqa: F401


def test_an_absent_name_says_so(alias) -> None:
    import torch

    with pytest.raises(AttributeError) as caught:
        torch.lantern
    assert str(caught.value) == "module 'torch' has no attribute 'lantern': it is not in rushlight yet"
    assert not hasattr(torch, "lantern")
    with pytest.raises(AttributeError, match=r"module 'torch\.testing' has no attribute 'lantern'"):
        torch.testing.lantern


def test_missing_answers_for_a_module() -> None:
    get = missing("rushlight.example", lazy=["part"])
    with pytest.raises(AttributeError, match="module 'rushlight.example' has no attribute 'x': it is not in rushlight"):
        get("x")
    with pytest.raises(AttributeError) as caught:
        get("__wrapped__")
    assert str(caught.value) == "module 'rushlight.example' has no attribute '__wrapped__'"
    with pytest.raises(ModuleNotFoundError):
        get("part")  # named as a submodule, so it is imported
    assert missing("rushlight", lazy=["testing"])("testing") is rushlight.testing


def test_pickles_resolve_under_either_name() -> None:
    run_python("""
        import pickle
        from rushlight import compat
        compat.install()
        import rushlight
        by_torch = b"ctorch.autograd\\nFunction\\n."
        assert pickle.loads(by_torch) is rushlight.autograd.Function
        tensor = rushlight.arange(3)
        copied = pickle.loads(pickle.dumps(tensor))
        assert type(copied) is rushlight.Tensor and copied.tolist() == [0, 1, 2]
    """)


def test_install_and_uninstall_repeat() -> None:
    run_python("""
        import sys
        from rushlight import compat
        assert not compat.installed()
        compat.install()
        compat.install()
        import torch, torch.testing._internal
        import rushlight
        compat.uninstall()
        compat.uninstall()
        assert not compat.installed()
        assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]
        assert not hasattr(rushlight.testing, "_internal")
        compat.install()
        import torch.testing._internal
        assert torch.Tensor is rushlight.Tensor and torch.testing._internal
    """)


def test_the_real_pytorch_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    run_python(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import torch
        from rushlight import compat
        try:
            compat.install()
        except RuntimeError as error:
            assert "the real PyTorch is loaded already" in str(error) and "torch/__init__.py" in str(error)
        else:
            raise SystemExit("install() did not object")
        assert sys.modules["torch"] is torch and not compat.installed()
    """)


def test_the_alias_comes_before_a_pytorch_that_is_installed(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('the real one was imported')")
    (tmp_path / "torch" / "lantern.py").write_text("")
    run_python(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from rushlight import compat
        compat.install()
        import torch
        try:
            import torch.lantern
        except ModuleNotFoundError:
            pass
        else:
            raise SystemExit("a submodule of the real one was imported")
    """)


def test_pytest_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_example.py").write_text(
        textwrap.dedent("""
            import torch
            from torch.testing._internal.common_utils import TestCase, parametrize, instantiate_parametrized_tests

            @instantiate_parametrized_tests
            class TestExample(TestCase):
                @parametrize("n", [1, 2])
                def test_ones(self, n):
                    self.assertEqual(torch.ones(n), torch.ones(n))
        """)
    )
    done = start_python("-m", "pytest", "-q", "-p", "rushlight.compat.pytest_plugin", "-p", "no:cacheprovider", str(tmp_path))
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("option", ["-Werror", "-ofilterwarnings=error"])
def test_suites_that_turn_warnings_into_errors(tmp_path: Path, option: str) -> None:
    (tmp_path / "test_infinities.py").write_text(
        "import warnings\nimport pytest\nimport torch\n"
        "half = torch.log(torch.zeros(1)) / 0\n\n\n"
        "def test_of_kernels():\n    assert torch.exp(torch.tensor([1000.0])).isinf().all() and torch.sqrt(torch.tensor([-1.0])).isnan().all()\n\n\n"
        "def test_of_the_program():\n    with pytest.raises(RuntimeWarning):\n        warnings.warn('mine', RuntimeWarning)\n"
    )
    done = start_python("-m", "pytest", "-q", "-p", "rushlight.compat.pytest_plugin", "-p", "no:cacheprovider", option, str(tmp_path))
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


def test_private_modules_of_pytorch_tests(alias) -> None:
    from torch.testing._internal import common_dtype, common_quantization, common_utils, jit_utils, triton_utils

    assert issubclass(jit_utils.JitTestCase, common_utils.TestCase)
    assert common_dtype.floating_types_and(rushlight.float16) == (
        rushlight.float32,
        rushlight.float64,
        rushlight.float16,
    )
    assert common_utils.torch_to_numpy_dtype_dict[rushlight.int8] is numpy.int8
    assert triton_utils.HAS_CUDA in (True, False) and callable(common_quantization.skipIfNoFBGEMM)
    with pytest.raises(AttributeError, match=r"'torch\.testing\._internal\.common_utils' has no attribute 'lantern'"):
        common_utils.lantern


def test_decorators_of_pytorch_tests(alias) -> None:
    from torch.testing._internal.common_utils import skipIfRocm, skipIfTorchDynamo, slowTestIf

    def test() -> int:
        return 7

    for decorate in (
        skipIfTorchDynamo(),
        skipIfTorchDynamo("why"),
        skipIfRocm,
        skipIfRocm(msg="why"),
        slowTestIf(False),
    ):
        assert decorate(test)() == 7


def test_run_tests_is_a_programs_main() -> None:
    program = textwrap.dedent("""
        from rushlight import compat
        compat.install()
        import torch
        from torch.testing._internal.common_utils import TestCase, run_tests

        class TestProgram(TestCase):
            def test_equal(self):
                self.assertEqual(torch.ones(2), torch.zeros(2))

        run_tests()
    """)
    done = start_python("-c", program)
    assert done.returncode == 1 and "Mismatched elements: 2 / 2 (100.0%)" in done.stderr


def test_the_alias_presents_a_version_of_pytorch(alias) -> None:
    import torch

    assert torch.__version__ == torch.version.__version__ == metadata.version("torch") == "2.13.0"
    assert rushlight.__version__ == rushlight.version.__version__ == release.VERSION != "2.13.0"
    assert isinstance(torch.__version__, torch.torch_version.TorchVersion)
    assert (
        torch.__version__ >= (2, 13)
        and torch.__version__ > "2.9.1"
        and not torch.__version__ < "2.13.0.dev1"
        and torch.__version__ != "2.13"[:3]
    )
    assert torch.version.cuda is None and torch.version.hip is None
    assert torch.__file__ == rushlight.__file__ and list(torch.__path__) == list(rushlight.__path__)


def test_versions_compare_as_versions() -> None:
    ordered = ["1.9", "2.0.dev3", "2.0a1", "2.0b2", "2.0rc1", "2.0", "2.0+cpu", "2.0.post1", "2.0.1", "2.10", "1!0.1"]
    for at, one in enumerate(ordered):
        for other in ordered[at + 1 :]:
            assert TorchVersion(one) < other and TorchVersion(other) > one and TorchVersion(one) != other, (one, other)
    assert TorchVersion("2.0") == "2.0.0" == TorchVersion("v2.0") and hash(TorchVersion("2.0")) == hash("2.0")
    assert TorchVersion("nightly") == "nightly" and TorchVersion("2.0") != "nightly"


def test_the_distribution_is_found(alias) -> None:
    found = metadata.distribution("torch")
    assert found.metadata["Name"] == "torch" and found.version == "2.13.0"
    assert metadata.requires("torch") == [f"rushlight (=={release.VERSION})"]
    assert set(metadata.packages_distributions()["torch"]) == {"torch"}  # twice where PyTorch is installed as well
    assert "torch" in {each.metadata["Name"] for each in metadata.distributions()}


def test_no_distribution_without_the_alias() -> None:
    run_python("""
        from importlib import metadata, util
        import rushlight.compat
        rushlight.compat.install()
        rushlight.compat.uninstall()
        import sys
        assert not [each for each in sys.meta_path if type(each).__module__.startswith("rushlight.compat")]
        assert "torch" not in sys.modules
    """)


def test_specs_are_found_and_only_imports_raise(alias) -> None:
    spec = util.find_spec("torch")
    assert spec.origin == rushlight.__file__ and spec.submodule_search_locations
    assert util.find_spec("torch.nn.functional").origin.endswith("functional.py")
    assert util.find_spec("torch.lantern") is None
    with pytest.raises(ModuleNotFoundError, match=r"'torch\.optm'.*did you mean 'optim'"):
        import_module("torch.optm")


def test_a_name_that_is_not_there_names_the_nearest(alias) -> None:
    import torch

    with pytest.raises(AttributeError, match=r"no attribute 'zeros_lke'.*did you mean 'zeros_like'"):
        torch.zeros_lke
    with pytest.raises(AttributeError, match=r"no attribute 'Linaer'.*did you mean 'Linear'"):
        torch.nn.Linaer


def test_packages_are_packages(alias) -> None:
    for name in ("torch.jit", "torch.fft", "torch.linalg", "torch.special", "torch.compiler", "torch.nn", "torch.utils.data"):
        assert hasattr(import_module(name), "__path__"), name


def test_an_extension_of_pytorch_is_refused_in_a_sentence(alias, tmp_path: Path) -> None:
    loader = ExtensionFileLoader("torch_scatter._C", "/somewhere/_C.so")
    spec = spec_from_loader("torch_scatter._C", loader, origin="/somewhere/_C.so")
    with pytest.raises(ImportError, match="cannot open"):  # any other trouble stays as it is
        loader.create_module(spec)
    original = alias_module._create_extension
    try:
        alias_module._create_extension = raising(ImportError("libc10.so: cannot open shared object file"))
        with pytest.raises(ImportError, match="torch_scatter._C .* linked with PyTorch's C\\+\\+ libraries"):
            loader.create_module(spec)
    finally:
        alias_module._create_extension = original


def raising(error: Exception):
    def function(*args):
        raise error

    return function


def test_the_shim_that_is_shipped_is_what_shim_files_writes() -> None:
    written = shim_files("Path(__file__).resolve().parents[4]")
    assert {name: (FOLDER / name).read_text() for name in written} == written
    there = {str(each.relative_to(FOLDER)) for each in FOLDER.rglob("*") if each.is_file() and "__pycache__" not in each.parts}
    assert there == set(written)


PROGRAM = """
import importlib.metadata, importlib.util, subprocess, sys
assert importlib.metadata.version("torch") == "2.13.0" and importlib.util.find_spec("torch")
import torch.nn
import rushlight
assert torch.nn is rushlight.nn and torch.__version__ == "2.13.0"
"""


def test_children_of_run_find_it(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(PROGRAM + "print(rushlight.__file__)")
    (tmp_path / "parent.py").write_text(
        PROGRAM + "print(rushlight.__file__, flush=True)\nsubprocess.run([sys.executable, 'child.py'], check=True)"
    )
    done = start_python("-m", "rushlight", "run", "parent.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(ROOT / "rushlight" / "__init__.py")] * 2


def test_run_starts_modules_of_the_alias() -> None:
    done = start_python("-m", "rushlight", "run", "-m", "torch.utils.collect_env")
    assert done.returncode == 0 and "PyTorch version: 2.13.0" in done.stdout, done.stderr


def test_shim_folder(tmp_path: Path) -> None:
    folder = tmp_path / "shim"
    done = start_python("-m", "rushlight", "shim", str(folder))
    assert done.returncode == 0 and done.stdout.strip() == str(folder)
    done = start_python("-S", "-c", PROGRAM, PYTHONPATH=os.pathsep.join([str(folder), *sys.path[1:]]), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "other" / "torch").mkdir(parents=True)
    done = start_python("-m", "rushlight", "shim", str(tmp_path / "other"))
    assert done.returncode != 0 and "is no shim" in done.stderr


def test_shim_wheel(tmp_path: Path) -> None:
    done = start_python("-m", "rushlight", "shim", "--wheel", str(tmp_path))
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "torch-2.13.0-py3-none-any.whl") as archive:
        names = set(archive.namelist())
        record = archive.read("torch-2.13.0.dist-info/RECORD").decode().splitlines()
        assert names == {line.split(",")[0] for line in record} and "torch/__init__.py" in names
        assert f"Requires-Dist: rushlight (=={release.VERSION})" in archive.read("torch-2.13.0.dist-info/METADATA").decode()


def test_parts_of_packages_that_are_one_file_here(alias) -> None:
    memory = import_module("torch.accelerator.memory")
    assert memory.memory_allocated is rushlight.accelerator.memory_allocated
    exporter = import_module("torch.package.package_exporter").PackageExporter
    assert exporter is rushlight.package.PackageExporter


def test_public_names_of_the_compiled_part_are_names_of_torch() -> None:
    program = """
import rushlight.compat
rushlight.compat.install()
import torch
assert torch.FunctionSchema is torch._C.FunctionSchema and torch.JITException is torch.jit.Error and isinstance(torch.has_lapack, bool)
assert not hasattr(torch, "faulthandler") and not hasattr(torch, "missing")
"""
    run_python(program)


def test_a_listing_has_submodules_that_load_late_and_a_star_import_has_no_modules(alias) -> None:
    """Array API wrappers copy what `dir(torch)` lists; `from torch import *` leaves a program's own `warnings` and `graph` alone."""
    run_python("""
        import sys
        import rushlight.compat
        rushlight.compat.install()
        import torch
        assert {"testing", "special", "linalg", "nn", "jit", "fx", "distributions"} <= set(dir(torch))
        assert "rushlight.distributions" not in sys.modules  # listing loads nothing
        names = {}
        exec("from torch import *", names)
        assert "tensor" in names and "float32" in names
        assert [name for name, value in names.items() if isinstance(value, type(sys)) and name != "__builtins__"] == []
    """)


def test_facts_of_the_build(alias) -> None:
    import torch

    assert torch.compiled_with_cxx11_abi() is True
    assert torch.has_lapack is True and torch.has_cuda is torch.has_mps is False
    assert torch.from_dlpack(torch.to_dlpack(torch.ones(2))).tolist() == [1.0, 1.0]
