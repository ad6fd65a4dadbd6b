"""Averages of models over processes."""

from __future__ import annotations

from ....core.missing import absents

absents(
    globals(),
    "it spreads work over several processes, and there is one",
    functions="average_parameters get_params_to_average average_parameters_or_parameter_groups",
)
