"""Targets FILE.py:NAME: imports the file, in which `import torch` means rushlight, and finds the object of that name."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
from types import ModuleType
from typing import Any

import rushlight

from .. import compat
from ..autograd.function import Function
from ..core.errors import RushlightError
from ..model_files import ModelFile, is_model_file, open_model
from ..nn.modules.module import Module
from ..onnx.random_inputs import InputSpec
from ..random import manual_seed
from .grammar import INPUT, TARGET
from .output import MISSING, Failure, raised, users_code


def split(text: str) -> tuple[str, str]:
    """The file and the name."""
    file, colon, name = text.rpartition(":")
    if not colon and text.endswith((".onnx", ".pt", ".pt2", ".pth")):
        raise Failure(f"there is no file '{text}'")
    if not colon or not file or not name or not all(part.isidentifier() for part in name.split(".")):
        raise Failure(f"'{text}' is not of the form {TARGET}, as in model.py:Net")
    return file, name


def load_module(file: str) -> ModuleType:
    """Import a file by its path (as a part of its package, where it is in one), or a module by its dotted name."""
    looks_like_module = not file.endswith(".py") and os.sep not in file and not os.path.exists(file)
    if looks_like_module and not all(part.isidentifier() for part in file.split(".")):
        raise Failure(f"there is no file '{file}'")
    if not looks_like_module and not os.path.isfile(file):
        folder = os.path.dirname(file) or "."
        near = similar_files(folder, os.path.basename(file)) if os.path.isdir(folder) else []
        raise Failure(
            f"there is no file '{file}'"
            + (f"; did you mean {', '.join(os.path.join(os.path.dirname(file), each) for each in near)}?" if near else "")
        )
    try:
        compat.install()
    except Exception as error:
        raise Failure(str(error)) from error
    manual_seed(0)  # weights that are drawn are the same in every command
    with users_code():
        try:
            if looks_like_module:
                sys.path.insert(0, os.getcwd())
                return importlib.import_module(file)
            return import_file(os.path.abspath(file))
        except ModuleNotFoundError as error:
            if looks_like_module and error.name and file.startswith(error.name):
                raise Failure(f"there is no file or module '{file}'") from error
            raise raised(f"'{file}' can't be imported", error) from error
        except Exception as error:
            raise raised(f"'{file}' can't be imported", error) from error
        except SystemExit as error:
            raise Failure(
                f"'{file}' ends the program when it is imported (exit status {error.code}): put what it does under `if __name__ == \"__main__\":`"
            ) from error


def similar_files(folder: str, name: str) -> list[str]:
    """Python files with nearly this name."""
    stems = [each.removesuffix(".py") for each in os.listdir(folder) if each.endswith(".py")]
    return [f"{each}.py" for each in difflib.get_close_matches(name.removesuffix(".py"), stems, 3, 0.6)]


def import_file(path: str) -> ModuleType:
    """Import a file."""
    folder, name = os.path.split(path)
    name = os.path.splitext(name)[0]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if "." in name:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failure(f"'{path}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def candidates(module: ModuleType) -> list[str]:
    """What a file defines that one may mean: Modules, custom Functions, functions."""
    found = []
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if not name.startswith("_") and (isinstance(value, Module) or (own and (inspect.isclass(value) or inspect.isfunction(value)))):
            found.append(name)
    return found


def find(text: str) -> tuple[Any, str]:
    """What FILE.py:NAME stands for, and the name."""
    file, path = split(text)
    module = load_module(file)
    found: Any = module
    for at, part in enumerate(path.split(".")):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = candidates(module) if at == 0 else [each for each in dir(found) if not each.startswith("_")]
            near = difflib.get_close_matches(part, names, 3, 0.5)
            words = f"; did you mean {', '.join(near)}?" if near else (f"; it has {', '.join(names[:12])}" if names else "")
            raise Failure(f"'{file}' has no '{path}'{words}") from None
    return found, path


def required(function: Any) -> list[str]:
    """The parameters that a call must give."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        each.name for each in parameters
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]  # fmt: skip


def model(text: str, weights: str | None = None) -> Any:
    """The program that FILE.py:NAME or a model file stands for.

    Of Python, a Module, made where a class or a function that makes one is named, or a function of tensors.
    """
    if is_model_file(text):
        return model_file(text, weights).program
    found, name = find(text)
    if inspect.isclass(found) and issubclass(found, Function):
        function = found

        def apply(*inputs: Any) -> Any:
            return function.apply(*inputs)

        apply.__name__ = name
        made: Any = apply
    elif isinstance(found, Module):
        made = found
    elif inspect.isclass(found):
        if not issubclass(found, Module):
            raise Failure(f"'{name}' is a class, but neither a Module nor a custom Function")
        made = build(found, name)
    elif callable(found):
        made = found if required(found) else build(found, name)
        if not callable(made):
            raise Failure(f"'{name}()' returned {type(made).__name__}, and no Module")
    else:
        raise Failure(
            f"'{name}' is of type {type(found).__name__}: it must be a Module, a function that returns one, or a function of tensors"
        )
    if weights is not None:
        load_weights(made, weights)
    return made


def model_file(path: str, weights: str | None = None) -> ModelFile:
    """The model of a file."""
    if not os.path.exists(path):
        raise Failure(f"there is no file '{path}'")
    try:
        found = open_model(path)
    except ImportError as error:
        raise Failure(str(error), MISSING) from error
    except (RushlightError, ValueError, NotImplementedError, OSError) as error:
        raise Failure(f"'{path}' can't be read: {error}") from error
    if weights is not None:
        load_weights(found.program, weights)
    return found


def program(text: str, weights: str | None, given: list[InputSpec]) -> tuple[Any, list[InputSpec]]:
    """The program that a word names, and its inputs: those that are given, with what a model file itself says of the others."""
    if not is_model_file(text):
        split(text)  # which says where there is no such file
        if not given:
            raise Failure(f"say with --input what {text} takes: {INPUT}")
        return model(text, weights), given
    found = model_file(text, weights)
    if found.inputs is None:
        if not given:
            raise Failure(f"a {found.kind} does not say the shapes of its inputs: give them with --input, as in --input 1x3x224x224")
        return found.program, given
    return found.program, merged(found, given)


def merged(file: ModelFile, given: list[InputSpec]) -> list[InputSpec]:
    """The inputs of a file, with what the user says of some: a range of numbers, sizes."""
    assert file.inputs is not None
    known = {spec.name: spec for spec in file.inputs}
    for at, spec in enumerate(given):
        name = spec.name if spec.name is not None else (file.inputs[at].name if at < len(file.inputs) else None)
        if name not in known:
            raise Failure(f"the file has no input '{spec.name or at}'; its inputs are {', '.join(map(str, known))}")
        own = known[name]
        if len(spec.dims) != len(own.dims):
            raise Failure(f"the input '{name}' has {len(own.dims)} dimensions in the file ({own}), and {len(spec.dims)} are given")
        fixed = [
            (at, size)
            for at, size in enumerate(own.dims)
            if isinstance(size, int) and isinstance(spec.dims[at], int) and spec.dims[at] != size
        ]
        if fixed:
            raise Failure(f"the input '{name}' is {own} in the file: its size {fixed[0][1]} can't be {spec.dims[fixed[0][0]]}")
        own.low, own.high = spec.low, spec.high
        own.dims = tuple(size if isinstance(size, int) else spec.dims[at] for at, size in enumerate(own.dims))
    return file.inputs


def build(maker: Any, name: str) -> Any:
    """Call what makes the Module."""
    missing = required(maker)
    if missing:
        raise Failure(f"'{name}' needs arguments ({', '.join(missing)}): name a function that takes none and returns the Module")
    with users_code():
        try:
            return maker()
        except Exception as error:
            raise raised(f"'{name}()' raised an exception", error) from error


def load_weights(module: Any, path: str) -> None:
    """Put the tensors of a checkpoint into a Module."""
    if not isinstance(module, Module):
        raise Failure("--weights is for Modules; this is a function")
    if not os.path.isfile(path):
        raise Failure(f"there is no file '{path}' with weights")
    try:
        if path.endswith(".safetensors"):
            state = rushlight.utils.safetensors.load_file(path)
        else:
            state = rushlight.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise Failure(f"the weights in '{path}' can't be read: {error}") from error
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    if isinstance(state, Module):
        state = state.state_dict()
    if not isinstance(state, dict):
        raise Failure(f"'{path}' holds a {type(state).__name__}, and no weights by name")
    try:
        module.load_state_dict(state)
    except (RuntimeError, ValueError, TypeError) as error:
        raise Failure(f"the weights in '{path}' do not fit {type(module).__name__}: {error}") from error
