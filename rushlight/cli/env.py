"""`rushlight env`: versions, processor, threads and optional packages."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from ..core.missing import aliased
from ..core.release import PEER_VERSION, VERSION
from ..settings import get_num_threads
from .output import DONE, give, give_json, table

# Module, package, what it enables, the extra that installs it.
EXTRAS = [
    ("onnx", "onnx", "writing and reading ONNX files", "onnx"),
    ("onnxruntime", "onnxruntime", "running ONNX files; verification", "onnx"),
    ("llvmlite", "llvmlite", "native code for compiled graphs", "native"),
    ("cupy", "cupy-cuda13x", "tensors on NVIDIA GPUs", "cuda"),
    ("triton", "triton", "GPU code for compiled graphs", "cuda"),
    ("mpi4py", "mpi4py", "several processes", "mpi"),
]


def installed(package: str, module: str) -> str | None:
    """The version of a package, or None; it is not imported."""
    if module == "torch" and aliased():
        return None  # what would be found is the alias
    if importlib.util.find_spec(module) is None:
        return None
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def facts() -> dict[str, Any]:
    """All of it as data."""
    config: dict[str, Any] = np.show_config(mode="dicts")  # type: ignore[assignment]
    blas = config.get("Build Dependencies", {}).get("blas", {})
    simd = config.get("SIMD Extensions", {})
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "rushlight": VERSION, "python": f"{platform.python_implementation()} {platform.python_version()}", "executable": sys.executable,
        "platform": platform.platform(), "processor": processor(),
        "cores": os.cpu_count(), "cores_allowed": allowed, "threads": get_num_threads(),
        "features": [*simd.get("baseline", []), *simd.get("found", [])],
        "numpy": np.__version__, "ml_dtypes": installed("ml_dtypes", "ml_dtypes"), "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "variables": {name: os.environ[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES") if name in os.environ},
        "extras": [
            {"package": package, "version": installed(package, module), "enables": what, "install": f"pip install 'rushlight[{extra}]'"}
            for module, package, what, extra in EXTRAS
        ],
        "torch": installed("torch", "torch"),
        "alias": {"torch": PEER_VERSION, "installed": aliased()},
    }  # fmt: skip


def processor() -> str:
    """The name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        return platform.processor() or platform.machine()
    return platform.processor() or platform.machine()


def run(options: argparse.Namespace) -> int:
    """Print it."""
    found = facts()
    if options.json:
        give_json(found)
        return DONE
    rows = [
        ("rushlight", found["rushlight"]), ("Python", f"{found['python']} ({found['executable']})"), ("platform", found["platform"]),
        ("processor", f"{found['processor']}, {found['cores']} cores, {found['cores_allowed']} for this process"),
        ("features", " ".join(found["features"])), ("threads", str(found["threads"])), ("NumPy", f"{found['numpy']} with {found['blas']}"),
        ("ml_dtypes", str(found["ml_dtypes"])),
        ("PyTorch", f"{found['torch']} (not used)" if found["torch"] else "not installed (not needed)"),
        (
            "as torch",
            f"presents PyTorch {PEER_VERSION} ("
            + ("the alias is installed here)" if found["alias"]["installed"] else "under `rushlight run`, compat.install() and the pytest plugin)"),
        ),
        *(("variable", f"{name}={value}") for name, value in found["variables"].items()),
    ]  # fmt: skip
    give(table(rows))
    give("")
    give(
        table(
            [
                (each["package"], each["version"] or "-", each["enables"], "" if each["version"] else each["install"])
                for each in found["extras"]
            ],
            ("package", "version", "enables", ""),
        )
    )
    return DONE
