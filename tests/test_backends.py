"""The switches of libraries that programs set and ask, and the text about what rushlight runs on."""

from __future__ import annotations

import os

import numpy as np
import pytest
from support.processes import run_python

import rushlight as torch


@pytest.fixture(autouse=True)
def restored():
    """Settings as they were."""
    b = torch.backends
    holders = [b, b.cudnn, b.mkldnn, b.cuda.matmul, b.cudnn.conv, b.cudnn.rnn]
    before = [dict(each.__dict__) for each in holders]
    precision = torch.get_float32_matmul_precision()
    yield
    for each, values in zip(holders, before):
        each.__dict__.update(values)
    torch.set_float32_matmul_precision(precision)


def test_what_is_not_here_says_so():
    b = torch.backends
    for library in (b.cudnn, b.mkldnn, b.openmp, b.mps):
        assert library.is_available() is False
    assert b.mps.is_built() is False and b.cuda.is_built() is False
    assert b.cudnn.version() is None and not b.cudnn.is_acceptable(torch.ones(1))
    assert isinstance(b.mkl.is_available(), bool)
    assert "fbgemm" in b.quantized.supported_engines and b.quantized.engine == "x86"
    with pytest.raises(RuntimeError, match="abacus is not supported"):
        b.quantized.engine = "abacus"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        b.nonsense
    with pytest.raises(RuntimeError):
        b.mps.is_macos13_or_newer()


def test_the_values_at_the_start_are_pytorchs():
    program = """
import rushlight as torch
b = torch.backends
print(b.cudnn.enabled, b.cudnn.benchmark, b.cudnn.deterministic, b.cudnn.allow_tf32, b.cudnn.benchmark_limit)
print(b.cuda.matmul.allow_tf32, b.cuda.matmul.allow_fp16_reduced_precision_reduction, b.cuda.matmul.fp32_precision)
print(b.mkldnn.enabled, b.mkldnn.deterministic, b.mkldnn.allow_tf32, b.fp32_precision, b.cudnn.conv.fp32_precision)
print(torch.get_float32_matmul_precision(), torch.get_deterministic_debug_mode(), b.flags_frozen())
print(b.cuda.flash_sdp_enabled(), b.cuda.mem_efficient_sdp_enabled(), b.cuda.math_sdp_enabled(), b.cuda.cudnn_sdp_enabled())
"""
    found = run_python(program).splitlines()
    assert found == [
        "True False False True None",
        "False True none",
        "True False None none tf32",
        "highest 0 False",
        "True True True True",
    ]


@pytest.mark.parametrize("name", ["enabled", "benchmark", "deterministic", "allow_tf32"])
def test_flags_can_be_set_and_stay_bools(name):
    for value in (True, False):
        setattr(torch.backends.cudnn, name, value)
        assert getattr(torch.backends.cudnn, name) is value
    with pytest.raises(RuntimeError, match="expects a bool, but got int"):
        setattr(torch.backends.cudnn, name, 1)
    torch.backends.cudnn.benchmark_limit = 3
    assert torch.backends.cudnn.benchmark_limit == 3


def test_flags_within_a_block():
    cudnn, mkldnn = torch.backends.cudnn, torch.backends.mkldnn
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32) == (False, True, False, True)
    assert cudnn.enabled and not cudnn.benchmark and cudnn.benchmark_limit is None
    with pytest.raises(ZeroDivisionError), mkldnn.flags(enabled=False):
        assert not mkldnn.enabled and mkldnn.allow_tf32 is True
        raise ZeroDivisionError
    assert mkldnn.enabled and mkldnn.allow_tf32 is None
    assert cudnn.set_flags(_benchmark=True)[:2] == (True, False) and cudnn.benchmark
    assert mkldnn.set_flags(False) == (True, False, None, "none") and not mkldnn.enabled


def test_two_names_of_the_precision_of_products():
    matmul = torch.backends.cuda.matmul
    for word, allowed in (("high", True), ("medium", True), ("highest", False)):
        torch.set_float32_matmul_precision(word)
        assert matmul.allow_tf32 is allowed and torch.get_float32_matmul_precision() == word
    matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high"
    matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest"
    with pytest.raises(RuntimeError, match="expects a bool"):
        matmul.allow_tf32 = 1
    with pytest.raises(AttributeError, match="Unknown attribute nonsense"):
        matmul.nonsense = 1
    with pytest.warns(UserWarning, match="is not one of"):
        torch.set_float32_matmul_precision("low")
    with pytest.raises(RuntimeError, match="expects a str"):
        torch.set_float32_matmul_precision(3)
    assert torch.get_float32_matmul_precision() == "highest"


def test_precision_by_library():
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    torch.backends.fp32_precision = "tf32"
    assert (torch.backends.fp32_precision, torch.backends.cudnn.conv.fp32_precision) == ("tf32", "ieee")
    for holder in (torch.backends, torch.backends.cuda.matmul, torch.backends.cudnn.rnn):
        with pytest.raises(RuntimeError, match="Unknown precision: fp8"):
            holder.fp32_precision = "fp8"
        with pytest.raises(TypeError):
            holder.fp32_precision = 3


def test_kernels_of_attention():
    cuda = torch.backends.cuda
    with pytest.warns(FutureWarning), cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    cuda.enable_math_sdp(False)
    assert not cuda.math_sdp_enabled() and cuda.flash_sdp_enabled()
    cuda.enable_math_sdp(True)
    with pytest.raises(RuntimeError, match="expects a bool"):
        cuda.enable_flash_sdp(3)


def test_modes_of_determinism_are_remembered():
    for mode, level in ((0, 0), ("warn", 1), (2, 2), ("default", 0)):
        torch.set_deterministic_debug_mode(mode)
        assert torch.get_deterministic_debug_mode() == level


def test_the_processor():
    assert torch.backends.cpu.get_cpu_capability() in {"DEFAULT", "AVX2", "AVX512", "VSX", "Z VECTOR", "SVE256"}


def test_the_text_about_the_parts():
    shown, parallel = torch.__config__.show(), torch.__config__.parallel_info()
    assert np.__version__ in shown and torch.backends.cpu.get_cpu_capability() in shown and torch.__version__ in shown
    assert f"get_num_threads() : {torch.get_num_threads()}\n" in parallel and f"os.cpu_count() : {os.cpu_count()}\n" in parallel


def test_programs_import_them_as_modules():
    program = """
import rushlight.compat
rushlight.compat.install()
import torch
import torch.backends.cudnn as cudnn
from torch.backends import cuda, mps
cudnn.benchmark = True
assert torch.backends.cudnn.benchmark and rushlight.backends.cudnn is cudnn and not mps.is_available()
"""
    run_python(program)


def test_settings_can_be_frozen() -> None:
    run_python("""
        import rushlight as torch
        with getattr(torch.backends, "__allow_nonbracketed_mutation")():
            torch.backends.cudnn.deterministic = True
        assert torch.backends.cudnn.deterministic and not torch.backends.flags_frozen()
        torch.backends.disable_global_flags()
        try:
            torch.backends.cudnn.benchmark = True
            raise AssertionError
        except RuntimeError as error:
            assert "after disable_global_flags; please use flags() context manager" in str(error)
        with torch.backends.cudnn.flags(enabled=False):
            assert not torch.backends.cudnn.enabled
        assert torch.backends.cudnn.enabled and torch.backends.flags_frozen()
        torch.backends.cuda.matmul.allow_tf32 = True  # groups are not frozen, as they are not in PyTorch
        assert torch.backends.cuda.matmul.allow_tf32
    """)
