"""All programs for the tests of scripts, by name."""

from __future__ import annotations

import script_control
import script_more
import script_values
from script_inputs import PROGRAMS

__all__ = ["PROGRAMS", "script_control", "script_more", "script_values"]
