"""Extensions in C++ and CUDA: not here, with the reason."""

from __future__ import annotations

from ..core.missing import absents

CUDA_HOME = ROCM_HOME = CUDNN_HOME = None
IS_HIP_EXTENSION = False

absents(
    globals(),
    "it compiles C++ against PyTorch's libraries, which rushlight, plain Python, does not have; declare an op in Python (library.custom_op)",
    classes="BuildExtension CppExtension CUDAExtension SyclExtension",
    functions="load load_inline include_paths library_paths verify_ninja_availability check_compiler_abi_compatibility "
    "get_compiler_abi_compatibility_and_version get_default_build_root _get_build_directory get_cxx_compiler "
    "check_compiler_is_gcc check_compiler_ok_for_platform",
)


def is_ninja_available() -> bool:
    """False: nothing is built."""
    return False
