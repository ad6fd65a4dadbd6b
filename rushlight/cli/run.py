"""`rushlight run`: starts a program under the alias as Python itself would start it."""

from __future__ import annotations

import argparse
import importlib
import os
import runpy
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from types import ModuleType, TracebackType

from .. import compat
from ..compat.distribution import children_find_it
from ..core.process_group import world
from .output import INTERRUPTED, Failure, say

LAUNCHED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_STEP_ID")  # what launchers of MPI and Slurm set in their processes


def run(options: argparse.Namespace) -> int:
    """Install the alias, make the program believe that Python started it, and run it."""
    start: Callable[[], object]
    if options.module:
        name, *arguments = options.module
        program, folder = "-m", os.getcwd()
        start = partial(runpy.run_module, name, run_name="__main__", alter_sys=True)
    elif options.code:
        text, *arguments = options.code
        program, folder = "-c", ""
        start = partial(run_text, text)
    elif options.script:
        program, *arguments = options.script
        if not os.path.exists(program):
            raise Failure(f"there is no file {program!r}")
        if is_model(program):
            return int(importlib.import_module(".run_model", __package__).main(program, arguments))
        folder = os.path.dirname(os.path.realpath(program))
        start = partial(runpy.run_path, program, run_name="__main__")
    else:
        raise Failure("say what to run: a script, -m MODULE or -c CODE")
    sys.argv = [program, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = folder
    compat.install()
    children_find_it(os.environ, sys.path)
    name_place()
    status = guarded(start)
    if status == 0:
        notice_lonely_processes()
    return status


def name_place() -> None:
    """Set RANK, WORLD_SIZE and so on where a launcher of MPI or Slurm has started this process, and not `rushlight launch`, for programs that read them."""
    if "RANK" not in os.environ and any(name in os.environ for name in LAUNCHED):
        importlib.import_module("..distributed.forward", __package__).set_place(os.environ)


def notice_lonely_processes() -> None:
    """Say so where `rushlight launch` has started several processes that have nothing to do with each other."""
    several = os.environ.get("RUSHLIGHT_LAUNCHED") and int(os.environ.get("WORLD_SIZE", "1")) > 1
    if several and not world.used and "mpi4py" not in sys.modules and os.environ.get("RANK") == "0":
        say(
            f"rushlight launch: the program never called torch.distributed.init_process_group: "
            f"{os.environ['WORLD_SIZE']} processes did the same work, each alone"
        )


def is_model(path: str) -> bool:
    """Whether a file is a model rather than a script: by its name, or as an archive without a program in it."""
    if path.endswith((".onnx", ".pt2")):
        return os.path.isfile(path)
    if path.endswith((".py", ".pyc", ".pyw")) or not os.path.isfile(path) or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as opened:
        return "__main__.py" not in opened.namelist()


def run_text(text: str) -> None:
    """Run a program's text as the main module."""
    main_module = ModuleType("__main__")
    sys.modules["__main__"] = main_module
    exec(compile(text, "<string>", "exec"), vars(main_module))


def guarded(start: Callable[[], object]) -> int:
    """Run a program to its end. An exception is shown as Python shows it, without the launcher's own frames."""
    try:
        start()
    except SystemExit as ending:
        if ending.code and world.failing is not None:
            world.failing(ending.code)
        raise  # the program's own exit, with its status
    except BaseException as error:
        error.__traceback__ = program_frames(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def program_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins in the program."""
    launcher = {__file__, runpy.__file__}
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file not in launcher and not file.startswith("<frozen"):
            return traceback
        traceback = traceback.tb_next
    return None
