"""A description of the environment for bug reports: ``python -m rushlight.utils.collect_env``."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import distributions
from typing import NamedTuple

from ..core.missing import aliased
from ..core.release import PEER_VERSION, VERSION

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str"]

_PACKAGES = ("numpy", "mypy", "flake8", "torch", "onnx", "triton", "optree", "transformers", "rushlight", "ml_dtypes", "llvmlite")


class SystemEnv(NamedTuple):
    """What there is to tell; None is what is not there."""

    torch_version: str
    rushlight_version: str
    is_debug_build: str
    cuda_compiled_version: str | None
    is_cuda_available: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    cpu_info: str
    pip_packages: str


def get_env_info() -> SystemEnv:
    """Look at the environment."""
    found = {each.metadata["Name"]: each.version for each in distributions() if each.metadata["Name"]}
    packages = sorted(f"{name}=={version}" for name, version in found.items() if any(word in name.lower() for word in _PACKAGES))
    return SystemEnv(
        torch_version=PEER_VERSION if aliased() else "not presented", rushlight_version=VERSION, is_debug_build="False", cuda_compiled_version=None,
        is_cuda_available="False", os=f"{platform.system()} {platform.release()} ({platform.machine()})", libc_version="-".join(platform.libc_ver()),
        python_version=f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)", python_platform=platform.platform(),
        cpu_info=f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores", pip_packages="\n".join(packages),
    )  # fmt: skip


def pretty_str(envinfo: SystemEnv) -> str:
    """As a report."""
    packages = "\n".join(f"[pip3] {each}" for each in envinfo.pip_packages.splitlines()) or "No relevant packages"
    return f"""\
PyTorch version: {envinfo.torch_version} (presented by rushlight {envinfo.rushlight_version})
Is debug build: {envinfo.is_debug_build}
CUDA used to build PyTorch: {envinfo.cuda_compiled_version}
ROCM used to build PyTorch: N/A

OS: {envinfo.os}
Libc version: {envinfo.libc_version}

Python version: {envinfo.python_version}
Python platform: {envinfo.python_platform}
Is CUDA available: {envinfo.is_cuda_available}

CPU:
{envinfo.cpu_info}

Versions of relevant libraries:
{packages}"""


def get_pretty_env_info() -> str:
    """The report for this environment."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print the report."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
