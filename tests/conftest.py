"""What all tests share."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Compiled code is made anew in every run of the tests.
os.environ["RUSHLIGHT_CACHE_DIR"] = ""
# Processes that run tests side by side share the cores, and still split work among threads.
if (workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))) > 1:
    os.environ.setdefault("OMP_NUM_THREADS", str(max(2, (os.cpu_count() or 2) // workers)))
from rushlight import compat

# The examples that hypothesis makes are the same in every run.
settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")


def pytest_configure(config: pytest.Config) -> None:
    """Hide GPUs unless the tests that need one are asked for by name (``make test-cuda``): the others are of a machine without.

    Triton, which runs its kernels by an interpreter then, and CUDA read these variables when they are loaded.
    """
    if not any("cuda" in Path(each.partition("::")[0]).parts for each in config.args) or not os.path.exists("/dev/nvidiactl"):
        os.environ.update(CUDA_VISIBLE_DEVICES="", TRITON_INTERPRET="1")


@pytest.fixture(scope="session", autouse=True)
def bytecode_cache(tmp_path_factory: pytest.TempPathFactory):
    """Interpreters that tests start share a cache of bytecode, even where the environment asks for none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        patch.delitem(os.environ, "PYTHONDONTWRITEBYTECODE", raising=False)
        yield


def _alias() -> Iterator[None]:
    """``import torch`` means rushlight while this is open, unless it did already."""
    was = compat.installed()
    compat.install()
    yield
    if not was:
        compat.uninstall()


alias = pytest.fixture(_alias, name="alias")
module_alias = pytest.fixture(_alias, scope="module", name="module_alias")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ops that native code called, because it has none of its own for them."""
    program = pytest.importorskip("rushlight.backends.native.executable", reason="native code needs llvmlite", exc_type=ImportError)
    found: list[str] = []
    original = program.CompiledSchedule.compile

    def compile(self: Any) -> Any:
        parts = original(self)
        found.extend(each.node.name for each in parts if hasattr(each, "node"))
        return parts

    monkeypatch.setattr(program.CompiledSchedule, "compile", compile)
    return found
