"""``torchrun``: starts a program in several processes of this machine, as ``rushlight launch`` does."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import uuid
from collections.abc import Sequence

from ..core.errors import NotSupported
from ..cuda import device_count
from .launching import Launcher, LaunchError, check_port, program

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """The options of ``torchrun``; those of its own rendezvous are accepted, and MPI's launcher needs them not."""
    parser = argparse.ArgumentParser(description="Start a program in several processes that exchange tensors by MPI.")
    parser.add_argument("--nnodes", default="1:1", help="how many machines: 1 (rushlight launch --hosts starts on several)")
    parser.add_argument("--nproc-per-node", "--nproc_per_node", default="1", help="how many processes, or cpu, gpu, auto")
    for name in ("node-rank", "master-addr", "master-port", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "max-restarts",
                 "monitor-interval", "start-method", "role", "log-dir", "local-addr", "redirects", "tee", "local-ranks-filter",
                 "logs-specs", "numa-binding", "signals-to-handle"):  # fmt: skip
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", default=None)
    parser.add_argument("-r", dest="redirects")
    parser.add_argument("-t", dest="tee")
    parser.add_argument("--standalone", action="store_true")
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("--no-python", "--no_python", action="store_true")
    parser.add_argument("--run-path", "--run_path", action="store_true")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    for action in parser._actions:  # an option that is not given may be in the environment
        given = os.environ.get(f"PET_{action.dest.upper()}")
        if given is not None and action.option_strings:
            action.default = given if action.nargs != 0 else given.lower() in ("1", "true", "yes")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    return get_args_parser().parse_args(args)


def processes(text: str) -> int:
    """How many processes ``--nproc-per-node`` means."""
    if text.isdigit():
        return int(text)
    if text not in ("cpu", "gpu", "auto"):
        raise ValueError(f"Unsupported nproc_per_node value: {text}")
    gpus = device_count()
    if text == "gpu" and not gpus:
        raise ValueError("Cuda is not available.")
    return gpus if gpus and text != "cpu" else os.cpu_count() or 1


def run(args: argparse.Namespace) -> None:
    """Start the program: one process is this very process, several are started by MPI's launcher."""
    if args.nnodes not in ("1", "1:1"):
        raise NotSupported(
            f"torchrun on {args.nnodes} machines: it would have to be started on each of them; `rushlight launch --hosts a:4,b:4 -n 8`, "
            "mpiexec or srun start the processes of all machines at once"
        )
    if args.no_python:
        raise NotSupported("--no-python: the program must be one in Python, in which `import torch` means rushlight")
    count = processes(args.nproc_per_node)
    if count > 1:
        try:
            port = check_port(int(args.master_port)) if args.master_port else None
            command = program([args.training_script, *args.training_script_args], args.module)
            status = Launcher(
                command, count, restarts=int(args.max_restarts or 0), master_addr=args.master_addr, master_port=port,
                run_id=args.rdzv_id or str(uuid.uuid4()),
            ).run()  # fmt: skip
        except LaunchError as error:
            sys.exit(f"torchrun: error: {error}")
        if status:
            sys.exit(status)
        return
    for name, value in {
        "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "GROUP_RANK": "0", "ROLE_RANK": "0", "ROLE_WORLD_SIZE": "1",
        "GROUP_WORLD_SIZE": "1", "MASTER_ADDR": args.master_addr or "127.0.0.1", "MASTER_PORT": args.master_port or "29500",
        "TORCHELASTIC_RUN_ID": args.rdzv_id or str(uuid.uuid4()), "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
    }.items():  # fmt: skip
        os.environ[name] = value
    sys.argv = [args.training_script, *args.training_script_args]
    if args.module:
        runpy.run_module(args.training_script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(args.training_script))
        runpy.run_path(args.training_script, run_name="__main__")


def main(args: Sequence[str] | None = None) -> None:
    """Read the command line, and start the program."""
    run(parse_args(args))


if __name__ == "__main__":
    main()
