"""Helpers of pipes: files and streams (``common.py``), decoders of files by their endings (``decoder.py``)."""
