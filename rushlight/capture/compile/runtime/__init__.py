"""Compiled functions at run time: cache entries, segments between graph breaks, and rollback of a graph that fails.

In: a call.  Out: its result, from a cache entry whose guards hold or from a new capture.  Read ``segments.py`` first.
"""
