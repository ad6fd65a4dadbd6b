"""`torch.utils._config_module`: modules whose variables are settings with a type and a default, as libraries make them.

import sys
from torch.utils._config_module import install_config_module

flag = False
install_config_module(sys.modules[__name__])
"""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

_PLAIN = (int, float, bool, type(None), str, list, set, tuple, dict)


class _Config:
    """A setting with more than a default: another name for it, variables of the environment, a type."""

    def __init__(
        self, default: Any = None, alias: str | None = None, justknob: str | None = None, env_name_force: Any = None,
        env_name_default: Any = None, value_type: Any = None, deprecated: bool = False, deprecation_message: str | None = None,
    ) -> None:  # fmt: skip
        self.default, self.alias, self.value_type, self.deprecated = default, alias, value_type, deprecated
        self.env_name_force, self.env_name_default = _names(env_name_force), _names(env_name_default)

    def value(self) -> Any:
        """The value at the beginning: of the environment, or the default."""
        for name in (*self.env_name_force, *self.env_name_default):
            if name in os.environ:
                return os.environ[name] not in ("0", "false", "False") if isinstance(self.default, bool) else os.environ[name]
        return copy.deepcopy(self.default)


def _names(given: Any) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else list(given)


def Config(default: Any = None, **options: Any) -> Any:
    """A setting with more than a default."""
    return _Config(default, **options)


class _ConfigEntry:
    """What is known of one setting."""

    def __init__(self, config: _Config) -> None:
        self.default = config.value()
        self.alias = config.alias
        self.value_type = config.value_type or type(config.default)
        self.user_override: Any = _UNSET
        self.hidden = False  # deleted, and not set since

    @property
    def value(self) -> Any:
        """What was set, or the default."""
        return self.default if self.user_override is _UNSET else self.user_override


_UNSET: Any = object()


class ConfigModule(ModuleType):
    """A module of settings: unknown ones are refused; they are saved, restored, hashed and changed for a while together."""

    _config: dict[str, _ConfigEntry]

    def __getattr__(self, name: str) -> Any:
        entry = self.__dict__.get("_config", {}).get(name)
        if entry is None or entry.hidden:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        return self._target(entry)[1] if entry.alias else entry.value

    def __setattr__(self, name: str, value: Any) -> None:
        settings = self.__dict__.get("_config")
        if settings is None or name.startswith("__"):
            super().__setattr__(name, value)
        elif name not in settings:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        elif settings[name].alias:
            owner, _ = self._target(settings[name])
            setattr(owner, settings[name].alias.rpartition(".")[2], value)
        else:
            settings[name].user_override = value
            settings[name].hidden = False

    def __delattr__(self, name: str) -> None:
        if name not in self._config:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        self._config[name].user_override = _UNSET
        self._config[name].hidden = True  # `mock.patch` deletes what it has set, and sets the former value where nothing is left

    def _target(self, entry: _ConfigEntry) -> tuple[Any, Any]:
        place, _, last = str(entry.alias).rpartition(".")
        owner = __import__(place, fromlist=[last])
        return owner, getattr(owner, last)

    def get_config_copy(self) -> dict[str, Any]:
        """All settings, copied."""
        return {name: copy.deepcopy(getattr(self, name)) for name in self._config}

    shallow_copy_dict = to_dict = get_config_copy

    def save_config(self) -> bytes:
        """All settings as bytes."""
        return pickle.dumps(self.get_config_copy(), protocol=2)

    def save_config_portable(self, *, ignore_private_configs: bool = True) -> dict[str, Any]:
        """All settings but those whose names begin with an underscore."""
        return {name: value for name, value in self.get_config_copy().items() if not (ignore_private_configs and name.startswith("_"))}

    def load_config(self, maybe_pickled_config: bytes | dict[str, Any]) -> None:
        """Set what was saved."""
        given = maybe_pickled_config if isinstance(maybe_pickled_config, dict) else pickle.loads(maybe_pickled_config)
        for name, value in given.items():
            if name in self._config:
                setattr(self, name, value)

    def get_hash(self) -> bytes:
        """Bytes that differ where settings do."""
        return repr(sorted(self.save_config_portable().items())).encode()

    def patch(self, arg1: Any = None, arg2: Any = None, **kwargs: Any) -> Any:
        """Other settings for a while: a context, and a decorator."""
        return patched(self, arg1, arg2, **kwargs)


@contextlib.contextmanager
def patched(config: Any, changes: Any = None, value: Any = None, /, **more: Any) -> Iterator[None]:
    """Other settings of a module for a while: by name and value, as a dict, or by keywords."""
    given = {changes: value} if isinstance(changes, str) else {**(changes or {}), **more}
    before = {name: getattr(config, name) for name in given}
    try:
        for name, each in given.items():
            setattr(config, name, each)
        yield
    finally:
        for name, each in before.items():
            setattr(config, name, each)


def install_config_module(module: ModuleType) -> None:
    """Make the variables of a module its settings."""
    settings: dict[str, _ConfigEntry] = {}
    for name, value in list(vars(module).items()):
        if (
            name.startswith("__")
            or isinstance(value, ModuleType | Callable)
            or (hasattr(value, "__module__") and not isinstance(value, _Config))
        ):  # type: ignore[arg-type]
            continue
        if isinstance(value, (_Config, *_PLAIN)):
            settings[name] = _ConfigEntry(value if isinstance(value, _Config) else _Config(value))
            del vars(module)[name]
    module.__class__ = ConfigModule
    vars(module)["_config"] = settings
