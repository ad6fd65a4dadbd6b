"""What ``compiler`` has beside ``compile``: stances, substitutes, default back-ends, code as bytes."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch


def counting() -> tuple[list[int], Any]:
    calls: list[int] = []

    def backend(module: Any, inputs: Any) -> Any:
        calls.append(1)
        return module.forward

    return calls, backend


def test_force_eager_compiles_and_uses_nothing() -> None:
    calls, backend = counting()
    double = torch.compile(lambda x: x * 2, backend=backend)
    with torch.compiler.set_stance("force_eager"):
        assert double(torch.ones(2)).tolist() == [2.0, 2.0]
    assert not calls
    double(torch.ones(2))
    assert len(calls) == 1


def test_nothing_new_is_compiled() -> None:
    calls, backend = counting()
    double = torch.compile(lambda x: x * 2, backend=backend)
    double(torch.ones(2))
    with torch.compiler.set_stance("eager_on_recompile"):
        assert double(torch.ones(2, dtype=torch.float64)).dtype is torch.float64
        double(torch.ones(2))
    assert len(calls) == 1
    with torch.compiler.set_stance("fail_on_recompile"):
        double(torch.ones(2))
        with pytest.raises(RuntimeError, match="Detected recompile when torch.compile stance is 'fail_on_recompile'"):
            double(torch.ones(2, dtype=torch.float64))
    double(torch.ones(2, dtype=torch.float64))
    assert len(calls) == 2


def test_eager_first() -> None:
    calls, backend = counting()
    add = torch.compile(lambda x: x + 1, backend=backend)
    with torch.compiler.set_stance("eager_then_compile"):
        add(torch.ones(2))
        assert not calls
        add(torch.ones(2))
        assert len(calls) == 1


def test_a_stance_decorates() -> None:
    calls, backend = counting()
    double = torch.compile(lambda x: x * 2, backend=backend)

    @torch.compiler.set_stance("force_eager")
    def run(x: Any) -> Any:
        return double(x)

    run(torch.ones(2))
    assert not calls
    double(torch.ones(2))
    assert len(calls) == 1
    with pytest.raises(RuntimeError, match="invalid torch.compile stance"):
        torch.compiler.set_stance("no such")
    with pytest.raises(torch.NotSupported, match="force_backend"):
        torch.compiler.set_stance(force_backend="eager")


def test_functions_in_c_are_substituted() -> None:
    @torch.compiler.substitute_in_graph(operator.indexOf)
    def index_of(a: Any, b: Any, /) -> int:
        for place, each in enumerate(a):
            if each == b:
                return place
        raise ValueError("not there")

    found = torch.compile(lambda x, values: x + operator.indexOf(values, 3), fullgraph=True, backend="eager")(torch.ones(2), [1, 3])
    assert found.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="expects a function"):
        torch.compiler.substitute_in_graph(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Signature mismatch"):
        torch.compiler.substitute_in_graph(operator.indexOf)(lambda one: one)


def test_the_default_back_end() -> None:
    calls, backend = counting()
    assert torch.compiler.get_default_backend() == "inductor"
    torch.compiler.set_default_backend(backend)
    try:
        torch.compile(lambda x: x * 5)(torch.ones(1))
    finally:
        torch.compiler.set_default_backend(None)
    assert len(calls) == 1 and torch.compiler.get_default_backend() == "inductor"


def test_compiled_code_as_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path / "one"))
    assert torch.compiler.save_cache_artifacts() is None
    (tmp_path / "one" / "native").mkdir(parents=True)
    (tmp_path / "one" / "native" / "abc.code").write_bytes(b"code")
    saved = torch.compiler.save_cache_artifacts()
    assert saved is not None
    content, info = saved
    assert info.artifacts == {"native": ["abc.code"]}
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path / "two"))
    loaded = torch.compiler.load_cache_artifacts(content)
    assert loaded == info and (tmp_path / "two" / "native" / "abc.code").read_bytes() == b"code"


def test_what_is_refused_or_plain() -> None:
    with pytest.raises(torch.NotSupported, match="guard_filter_fn"):
        torch.compile(lambda x: x, options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe})
    with pytest.raises(torch.NotSupported):
        torch.compiler.load_compiled_function(None)
    assert torch.compiler.wrap_numpy(lambda a: a.sum(0))(torch.ones(2, 3)).tolist() == [2.0, 2.0, 2.0]
    assert torch.compiler.nested_compile_region(operator.neg) is operator.neg
