"""The old name of ``distributed.run``."""

from __future__ import annotations

from .run import main, parse_args, run

__all__ = ["main", "parse_args", "run"]

if __name__ == "__main__":
    main()
