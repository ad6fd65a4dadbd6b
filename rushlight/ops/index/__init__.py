"""Ops that read and write by position: indexing, gather/scatter, masks, search, sort."""
