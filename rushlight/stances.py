"""What ``torch.compiler`` has beside ``compile``: stances, filters of guards, compiled code as bytes, functions of NumPy."""

from __future__ import annotations

import functools
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .capture.compile.config import settings
from .capture.compile.runtime.captured_function import STANCES
from .core.base import TensorBase
from .core.errors import NotSupported
from .nn.modules.module import Module
from .runtime.cpu import code_cache
from .tensor.construct import as_tensor
from .utils.trees import transform

looked_at: list[bool] = []  # filled when there is the first reason for calls to look whether they run eagerly


class set_stance:
    """Set how calls of compiled functions are treated: at once, for a ``with`` block, or (as a decorator) while a function runs.

    ``"force_eager"`` runs them as they are; ``"eager_on_recompile"`` uses what is compiled and captures nothing new;
    ``"fail_on_recompile"`` raises instead; ``"eager_then_compile"`` runs a function eagerly before its first capture.
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None:
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}': it is one of {', '.join(STANCES)}")
        if skip_guard_eval_unsafe or force_backend is not None:
            raise NotSupported(
                "set_stance() takes neither skip_guard_eval_unsafe nor force_backend: guards are always evaluated, and a function keeps the "
                "back-end that it was compiled for"
            )
        self.stance = stance
        self.before = settings.stance
        self._set(stance)

    @staticmethod
    def _set(stance: str) -> None:
        settings.stance = stance
        looked_at[:] = [True]

    def __enter__(self) -> None:
        self._set(self.stance)

    def __exit__(self, *error: object) -> None:
        self._set(self.before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self._set(self.before)  # a decorator sets nothing by itself

        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            before = settings.stance
            self._set(self.stance)
            try:
                return function(*args, **kwargs)
            finally:
                self._set(before)

        return within


# -- guards ------------------------------------------------------------------------------------------------------


def skip_all_guards_unsafe(guard_entries: Any) -> list[bool]:
    """Keep no guard."""
    return [False for _ in guard_entries]


def skip_guard_on_globals_unsafe(guard_entries: Any) -> list[bool]:
    """Keep all guards but those on globals."""
    return [not entry.is_global for entry in guard_entries]


def keep_tensor_guards_unsafe(guard_entries: Any, keep_parameters: bool = False) -> list[bool]:
    """Keep the guards on tensors; those on parameters where asked to."""
    return [
        entry.guard_type == "TENSOR_MATCH" and (keep_parameters or type(entry.value).__name__ != "Parameter") for entry in guard_entries
    ]


def keep_portable_guards_unsafe(guard_entries: Any) -> list[bool]:
    """Keep the guards that mean something outside of Python: tensors, sizes, modes."""
    portable = {"TENSOR_MATCH", "SHAPE_ENV", "GRAD_MODE", "DETERMINISTIC_ALGORITHMS", "FSDP_TRAINING_STATE", "GLOBAL_STATE"}
    return [entry.guard_type in portable for entry in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: Any) -> list[bool]:
    """Keep all guards but those on Modules."""
    return [not isinstance(entry.value, Module) for entry in guard_entries]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Any) -> list[bool]:
    """Keep all guards but those on Modules of the library."""
    own = (f"{__package__}.nn.", "torch.nn.")
    return [not (isinstance(entry.value, Module) and type(entry.value).__module__.startswith(own)) for entry in guard_entries]


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Only off: processes do not agree on captures."""
    if enabled:
        raise NotSupported("set_enable_guard_collectives(True) is not supported: each process captures for itself")
    return False


# -- compiled code -----------------------------------------------------------------------------------------------


@dataclass
class CacheInfo:
    """Which entries of compiled code went into bytes, or came out of them."""

    artifacts: dict[str, list[str]] = field(default_factory=dict)

    def empty(self) -> bool:
        """Whether there are none."""
        return not any(self.artifacts.values())


def save_cache_artifacts() -> tuple[bytes, CacheInfo] | None:
    """The compiled code that is kept on this machine as bytes, for another of the same kind; None where there is none."""
    place = code_cache.folder()
    names = sorted(each.name for each in place.iterdir() if each.is_file() and each.suffix == ".code") if place and place.is_dir() else []
    if place is None or not names:
        return None
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, (place / name).read_bytes())
    return out.getvalue(), CacheInfo({"native": names})


def load_cache_artifacts(serialized_artifacts: bytes) -> CacheInfo | None:
    """Put compiled code from :func:`save_cache_artifacts` where captures find it.  It is run: load none from strangers."""
    place = code_cache.folder()
    if place is None:
        return None
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(serialized_artifacts)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".code") and "/" not in name and "\\" not in name]
        for name in names:
            (place / name).write_bytes(archive.read(name))
    return CacheInfo({"native": names})


def load_compiled_function(file: Any, *, f_globals: Any = None, external_data: Any = None) -> Any:
    """Load a function that PyTorch compiled ahead of time: refused."""
    raise NotSupported(
        "load_compiled_function loads what PyTorch has compiled ahead of time. Save the program with torch.export.save and compile what "
        "torch.export.load gives: native code is kept between runs"
    )


# -- functions ---------------------------------------------------------------------------------------------------


def nested_compile_region(fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None) -> Any:
    """Say that a function is a part that repeats.  It is captured with the program around it; kernels of equal parts are compiled once."""
    if options is not None or reuse_hash_fn is not None:
        raise NotSupported("nested_compile_region() takes neither options nor reuse_hash_fn: equal kernels are found by what they compute")
    return (lambda function: function) if fn is None else fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's arrays as one of tensors."""

    @functools.wraps(fn)
    def of_tensors(*args: Any, **kwargs: Any) -> Any:
        given, options = transform(lambda each: each.numpy() if isinstance(each, TensorBase) else each, (args, kwargs))  # type: ignore[attr-defined]
        return transform(lambda each: as_tensor(each) if isinstance(each, (np.ndarray, np.generic)) else each, fn(*given, **options))

    return of_tensors
