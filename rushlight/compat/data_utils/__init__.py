"""`torch.utils.data._utils`: the parts of the loader under PyTorch's private names."""

from __future__ import annotations

from ...core.missing import missing
from ...utils.data import collate, worker
from ..utils_internal import ExceptionWrapper
from . import fetch, pin_memory, signal_handling

__getattr__ = missing("rushlight.utils.data._utils")
MP_STATUS_CHECK_INTERVAL = 5.0  # seconds; programs read it to wait as long as the loader would
IS_WINDOWS = False
HAS_NUMPY = True
python_exit_status = False
