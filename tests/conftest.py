"""What all tests share."""

import os

import pytest
from hypothesis import settings

# Compiled code is made anew in every run of the tests.
os.environ["RUSHLIGHT_CACHE_DIR"] = ""
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
