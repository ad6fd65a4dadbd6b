"""`rushlight launch`: starts a program in several processes through the launcher of MPI."""

from __future__ import annotations

import argparse

from ..distributed.launching import Launcher, LaunchError, check_port, program
from .output import Failure, say


def run(options: argparse.Namespace) -> int:
    """Start the processes; the exit status of the one that failed first."""
    given = options.module or options.code or options.script
    if not given:
        raise Failure("say what to run: a script, -m MODULE or -c CODE")
    try:
        port = check_port(options.master_port) if options.master_port is not None else None
        return Launcher(
            program(given, bool(options.module), bool(options.code)), options.processes, restarts=options.restarts, hosts=options.hosts,
            master_addr=options.master_addr, master_port=port, grace=options.grace, prefix=not options.no_prefix, bind=options.bind, say=say,
        ).run()  # fmt: skip
    except LaunchError as error:
        raise Failure(str(error)) from None
