"""Compiled functions at run time: the call cache, captures on a miss, and rollback of a graph that fails.

In: a call.  Out: its result, from a cache entry whose guards hold or from a new capture.  Read ``call_cache.py`` first: it says in order what a
call does; ``captured_function.py`` captures, and ``entry_builder.py`` makes an entry of what was recorded.
"""
