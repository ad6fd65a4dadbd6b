"""What all tests share."""

import os
from typing import Any

import pytest
from hypothesis import settings

# Compiled code is made anew in every run of the tests.
os.environ["RUSHLIGHT_CACHE_DIR"] = ""
# Triton kernels run by its interpreter where there is no GPU; Triton reads this when it is imported.
if not os.path.exists("/dev/nvidiactl"):
    os.environ["TRITON_INTERPRET"] = "1"
# The examples that hypothesis makes are the same in every run.
settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")


@pytest.fixture(scope="session", autouse=True)
def bytecode_cache(tmp_path_factory: pytest.TempPathFactory):
    """Interpreters that tests start share a cache of bytecode, even where the environment asks for none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        patch.delitem(os.environ, "PYTHONDONTWRITEBYTECODE", raising=False)
        yield


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
