"""Files that TensorBoard shows: scalars, histograms, images, text, embeddings, graphs of models.

What comes in: values by tag and step, through ``SummaryWriter`` (read ``writer.py`` first).  What goes out: event files.  ``summary.py`` makes
the messages, ``messages.py`` writes them in protobuf's format, ``graph.py`` has those of models.  The package ``tensorboard`` is not needed
to write, only to look.
"""

from __future__ import annotations

from .writer import FileWriter, RecordWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
