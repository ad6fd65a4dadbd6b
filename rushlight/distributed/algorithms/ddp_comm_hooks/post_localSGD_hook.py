"""Local SGD."""

from __future__ import annotations

from ....core.missing import absents

absents(
    globals(),
    "gradients are not exchanged between processes",
    classes="PostLocalSGDState",
    functions="post_localSGD_hook",
)
