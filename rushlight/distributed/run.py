"""``torchrun``: starts a program as the only process of its group, with the variables that ``init_process_group`` reads."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import uuid
from collections.abc import Sequence

from ..core.errors import NotSupported

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """The options: those that say how many processes there are, and those of one process."""
    parser = argparse.ArgumentParser(description="Start a program in a process group of one process.")
    parser.add_argument("--nnodes", default="1:1")
    parser.add_argument("--nproc-per-node", "--nproc_per_node", default="1")
    for name in ("node-rank", "master-addr", "master-port", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "max-restarts",
                 "monitor-interval", "start-method", "role", "log-dir", "local-addr", "redirects", "tee"):  # fmt: skip
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", default=None)
    parser.add_argument("--standalone", action="store_true")
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("--no-python", "--no_python", action="store_true")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    return get_args_parser().parse_args(args)


def run(args: argparse.Namespace) -> None:
    """Start the program, in this very process."""
    if args.nnodes not in ("1", "1:1") or args.nproc_per_node not in ("1", "auto", "cpu", "gpu"):
        raise NotSupported(
            f"{args.nnodes} machines with {args.nproc_per_node} processes: groups have one process so far (--nproc-per-node 1)"
        )
    if args.no_python:
        raise NotSupported("--no-python: the program is started in this process, so it must be one in Python")
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
