"""Settings of all compiled functions."""

from __future__ import annotations


class CompileSettings:
    """The settings; PyTorch has them in ``torch._dynamo.config``."""

    def __init__(self) -> None:
        self.recompile_limit = 8  # how often a place is captured for different values, before it runs natively
        self.fail_on_recompile_limit_hit = False  # whether it is an error to come to that
        self.error_on_recompile = False  # whether any second capture of a place is one
        self.stance = "default"  # one of STANCES: what a call does that nothing compiled fits
        self.automatic_dynamic_shapes = True  # whether sizes and numbers that have changed become symbolic
        self.capture_time_limit = 30.0  # seconds that one capture may take; what takes longer runs natively from then on
        self.capture_scalar_outputs = False  # whether item() and its like are part of the graph: later runs check the number
        self.assume_static_by_default = True  # whether they are plain until then


settings = CompileSettings()
