"""Activation checkpointing of modules."""

from __future__ import annotations

from ....core.missing import missing

__getattr__ = missing(__name__, lazy=("checkpoint_wrapper",))
