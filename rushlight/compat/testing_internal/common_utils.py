"""`torch.testing._internal.common_utils`: names over `rushlight.testing`.

PyTorch's tests ask by flags which of its builds and run modes they are in (`TEST_WITH_ROCM`, `TEST_WITH_ASAN`, ...).
None of those is rushlight's, so the flags are false and the decorators that go by them skip nothing.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import unittest
from collections.abc import Callable
from typing import Any

import rushlight

from ...autograd import gradcheck, gradgradcheck
from ...core import dtypes
from ...core.missing import missing
from ...onnx.registration import registered as custom_op
from ...testing import helpers, make_tensor
from ...testing.case import TestCase
from ...testing.helpers import SEED, noncontiguous_like
from ...testing.parametrization import instantiate_parametrized_tests, parametrize, subtest

IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_LINUX = sys.platform == "linux"
IS_X86 = platform.machine() in ("x86_64", "AMD64", "i386", "i686")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_PPC = platform.processor() == "ppc64le"
IS_S390X = platform.machine() == "s390x"
IS_CI = bool(os.environ.get("CI"))
IS_FBCODE = IS_SANDCASTLE = IS_JETSON = IS_REMOTE_GPU = False

TEST_NUMPY = True
TEST_SCIPY = importlib.util.find_spec("scipy") is not None
TEST_CUDA = bool(rushlight.cuda.is_available())
TEST_MKL = TEST_MPS = TEST_XPU = TEST_HPU = TEST_NUMBA = TEST_OPT_EINSUM = False
TEST_WITH_ROCM = TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = TEST_WITH_DEV_DBG_ASAN = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_AOT_EAGER = TEST_WITH_CROSSREF = False
TEST_WITH_SLOW = os.environ.get("PYTORCH_TEST_WITH_SLOW") == "1"
TEST_WITH_SLOW_GRADCHECK = TEST_CUDA_MEM_LEAK_CHECK = TEST_SKIP_FAST = False

torch_to_numpy_dtype_dict = {each: each.numpy.type for each in dtypes.ALL}
numpy_to_torch_dtype_dict = {each.numpy.type: each for each in dtypes.ALL}

suppress_warnings = helpers.without_warnings
freeze_rng_state = helpers.random_state_kept
set_default_dtype = helpers.default_dtype
set_rng_seed = helpers.seed_everything
find_free_port = helpers.free_port
TemporaryFileName = helpers.temporary_file_name
TemporaryDirectoryName = helpers.temporary_directory_name

xfailIf = helpers.expect_failure_when
xfailIfTorchDynamo = helpers.expect_failure_when(TEST_WITH_TORCHDYNAMO)
skipIfNoSciPy = helpers.skip_when(not TEST_SCIPY, "SciPy is not installed")
skipIfCrossRef = helpers.skip_when(TEST_WITH_CROSSREF, "not with cross-references")
skipIfMPS = helpers.skip_when(TEST_MPS, "not on MPS")
skipIfXpu = helpers.skip_when(TEST_XPU, "not on XPU")
slowTest = helpers.skip_when(not TEST_WITH_SLOW, "slow: set PYTORCH_TEST_WITH_SLOW=1 to run it")


def skipIfTorchDynamo(msg: str = "not with compiled tests") -> Callable[[Any], Any]:
    """Skips nothing: a whole test is never compiled."""
    return helpers.skip_when(TEST_WITH_TORCHDYNAMO, msg)


def skipIfTorchInductor(msg: str = "not with compiled tests") -> Callable[[Any], Any]:
    """Skips nothing: a whole test is never compiled."""
    return helpers.skip_when(TEST_WITH_TORCHINDUCTOR, msg)


def skipIfRocm(func: Any = None, *, msg: str = "not on ROCm") -> Any:
    """Skips nothing: there is no ROCm build. Written with and without arguments."""
    decorator = helpers.skip_when(TEST_WITH_ROCM, msg)
    return decorator if func is None else decorator(func)


def slowTestIf(condition: bool) -> Callable[[Any], Any]:
    """`slowTest`, where the condition holds."""
    return slowTest if condition else lambda test: test


def load_tests(loader: Any, tests: Any, pattern: Any) -> Any:
    """unittest's hook for the tests of a module: all of them."""
    return tests


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the file that is the program."""
    unittest.main(argv=argv)


__getattr__ = missing("rushlight.testing._internal.common_utils")
