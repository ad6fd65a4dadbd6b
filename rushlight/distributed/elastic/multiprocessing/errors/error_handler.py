"""``ErrorHandler``: writes the error that ends a process to the file where its launcher looks for it."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import time
import traceback
from typing import Any

__all__ = ["ErrorHandler"]


class ErrorHandler:
    """Writes an error to the file that ``TORCHELASTIC_ERROR_FILE`` names, if it does."""

    def initialize(self) -> None:
        """Have fatal signals print a traceback, where the standard error output is a file."""
        with contextlib.suppress(RuntimeError, ValueError, OSError):  # there may be no such file: notebooks and tests replace it
            faulthandler.enable(all_threads=True)

    def record_exception(self, e: BaseException) -> None:
        """Write an error as JSON."""
        text = "".join(traceback.format_exception(e))
        about = {"message": f"{type(e).__name__}: {e}", "extraInfo": {"py_callstack": text, "timestamp": str(int(time.time()))}}
        self._write({"message": about})

    def override_error_code_in_rootcause_data(
        self, rootcause_error_file: str, rootcause_error: dict[str, Any], error_code: int = 0
    ) -> None:
        """Put an exit status into an error that another process has written."""
        if isinstance(rootcause_error.get("message"), dict):
            rootcause_error["message"]["errorCode"] = error_code

    def dump_error_file(self, rootcause_error_file: str, error_code: int = 0) -> None:
        """Write what another process has written, as the error of this one; shown where there is no file for it."""
        with open(rootcause_error_file, encoding="utf8") as file:
            found = json.load(file)
        if error_code:
            self.override_error_code_in_rootcause_data(rootcause_error_file, found, error_code)
        if not self._write(found):
            print(f"an error of a child, from {rootcause_error_file}:\n{json.dumps(found, indent=2)}", file=sys.stderr)

    def _write(self, error: dict[str, Any]) -> bool:
        """Write an error to this process's file; whether there is one."""
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if path:
            with open(path, "w", encoding="utf8") as file:
                json.dump(error, file)
        return bool(path)
