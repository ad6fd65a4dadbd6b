"""`import torch` means rushlight on request: in any order, for every submodule, and only then."""

from __future__ import annotations

import sys
import textwrap
from importlib import import_module
from pathlib import Path

import numpy
import pytest
from support.processes import run_python, start_python

import rushlight
from rushlight import compat
from rushlight.core.missing import missing

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def alias():
    compat.install()
    yield
    compat.uninstall()


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

    assert torch is rushlight and sys.modules["torch"] is rushlight
    assert Tensor is rushlight.Tensor
    assert torch.autograd is rushlight.autograd and Function is rushlight.autograd.Function
    assert sys.modules["torch.autograd.function"] is sys.modules["rushlight.autograd.function"]
    assert torch.testing is rushlight.testing
    assert torch.__spec__.name == "rushlight"


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


def test_private_names(alias) -> None:
    import torch
    import torch.testing._internal.common_utils as one
    from torch.testing._internal import common_utils as two
    from torch.testing._internal.common_utils import TestCase

    import rushlight.compat.testing_internal.common_utils as real

    assert one is two is real is torch.testing._internal.common_utils
    assert TestCase is real.TestCase


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
        assert torch is rushlight and torch.testing._internal
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
