"""`torch._inductor`: PyTorch's own compiler is not here; its settings can be set, and mean nothing."""

from __future__ import annotations

from typing import Any

from ...backends.registry import find
from ...compiler import cudagraph_mark_step_begin
from ...core.errors import NotSupported
from ...core.missing import missing
from . import config, test_case

__getattr__ = missing("rushlight._inductor")


def compile(gm: Any, example_inputs: list[Any], options: dict[str, Any] | None = None) -> Any:
    """The native code of a captured graph, as a function: what a program's own back-end calls when it has rewritten the graph."""
    return find("inductor").compile(gm, example_inputs).function


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The options of each mode of ``compile``: modes have no options of their own here."""
    modes: dict[str, Any] = {"default": {}, "reduce-overhead": {}, "max-autotune-no-cudagraphs": {}, "max-autotune": {}}
    return modes[mode] if mode else modes  # type: ignore[no-any-return]


def aoti_compile_and_package(
    exported_program: Any, *args: Any, package_path: Any = None, inductor_configs: Any = None, **options: Any
) -> Any:
    """Machine code of PyTorch's own compiler in a package: there is none of that here."""
    raise NotSupported(
        "aoti_compile_and_package writes machine code of PyTorch's own compiler. Use torch.compile(program.module()), whose native code is kept between runs "
        "(RUSHLIGHT_CACHE_DIR), or save the program with torch.export.save"
    )


def aoti_load_package(path: Any, *args: Any, **options: Any) -> Any:
    """A package of machine code: it can't be loaded."""
    raise NotSupported(
        "aoti_load_package loads machine code that is linked with PyTorch's libraries. Export the model with torch.export.save instead, which torch.export.load reads"
    )


def list_options() -> list[str]:
    """No options."""
    return []
