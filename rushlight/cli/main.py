"""Reads the command line and starts the command that it names; each command is a module of this folder with a function ``run``."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from types import FrameType
from typing import Any

from .grammar import COMMANDS
from .output import INTERRUPTED, RAISED, STATUSES, Failure, say, use_utf8

STARTERS = ("run", "launch")  # commands that start a program, whose arguments, signals and streams are its own

EXAMPLES = """\
examples:
  rushlight run train.py --epochs 3
  rushlight run -m package.train
  rushlight launch -n 4 train.py --epochs 3
  rushlight export model.py:Net -o model.onnx --input Nx3x224x224
  rushlight verify model.onnx --against model.py:Net
  rushlight check functions.py:MyFunction
  rushlight explain model.py:Net --input 1x3x224x224
  rushlight view model.onnx
  rushlight bench model.onnx
  rushlight shim ~/torch-shim
  rushlight env

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says, and return the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = next((each for each in given if not each.startswith("-")), None)
    if name not in STARTERS:
        use_utf8()
    try:
        options = parser([name] if name in COMMANDS else list(COMMANDS)).parse_args(given)
        with cleaning_up() if name not in STARTERS else contextlib.nullcontext():
            return guarded(options)
    except BrokenPipeError:  # the reader (head, a pager) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED


@contextlib.contextmanager
def cleaning_up() -> Iterator[None]:
    """A signal that ends the program ends it by an exception, so that what was begun is removed."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, each) for each in ("SIGTERM", "SIGHUP") if hasattr(signal, each)]
    before = [(number, signal.signal(number, end)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def guarded(options: argparse.Namespace) -> int:
    """Run a command; what goes wrong is one message."""
    command: Any = importlib.import_module(f".{options.command}", __package__)  # the module of a command is loaded by using the command
    if options.command in STARTERS:
        try:
            return int(command.run(options))
        except Failure as error:
            options.parser.error(str(error))
    with warnings.catch_warnings():
        if not options.traceback:
            warnings.simplefilter("ignore")
        try:
            return int(command.run(options))
        except Failure as error:
            if options.traceback:
                traceback.print_exception(error)
            say(f"rushlight {options.command}: error: {error}")
            return error.status
        except Exception as error:  # a mistake of this program's own
            traceback.print_exception(error)
            say(f"rushlight {options.command}: error: this is a mistake in rushlight, please report it with the lines above")
            return RAISED


def parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """The grammar of the command line, with these commands."""
    top = argparse.ArgumentParser(
        prog="rushlight",
        description="A deep-learning system in plain Python that speaks PyTorch's language.",
        epilog=EXAMPLES + STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"rushlight {installed_version()}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in names:
        about = COMMANDS[name]
        command = commands.add_parser(
            name, help=about.summary, description=about.description, usage=about.usage, epilog=about.examples + about.notes,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        about.options(command)
        if name not in STARTERS:
            command.add_argument("--json", action="store_true", help="print the result as JSON")
            command.add_argument("--traceback", action="store_true", help="show where an error came from, and warnings")
        command.set_defaults(command=name, parser=command)
    return top


def installed_version() -> str:
    """The version of the package, as it was installed."""
    try:
        return version("rushlight")
    except PackageNotFoundError:
        return "(not installed: run from its source)"
