"""The older name of :mod:`rushlight.ao.nn.qat`."""

from __future__ import annotations

from ...ao.nn.qat import *
