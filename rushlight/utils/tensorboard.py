"""TensorBoard is not here: the name exists to say so."""

from __future__ import annotations

raise ModuleNotFoundError(
    "rushlight does not write TensorBoard's event files: install a writer of them, such as tensorboardX, and use it directly",
    name=__name__,
)
