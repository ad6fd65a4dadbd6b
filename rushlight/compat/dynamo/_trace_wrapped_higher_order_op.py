"""`torch._dynamo._trace_wrapped_higher_order_op`: a context that libraries need where PyTorch's `vmap` can't index by a tensor."""

from __future__ import annotations

from types import TracebackType


class TransformGetItemToIndex:
    """A context in which indexing by a tensor of no dimensions works in `vmap`: it always does here."""

    def __enter__(self) -> TransformGetItemToIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Nothing was changed."""
