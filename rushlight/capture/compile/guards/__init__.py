"""Guards: the conditions under which a cache entry holds, as records.

In: what a capture read, by its source.  Out: an ordered program of reads and guards, which Python evaluates (``python_guards.py``), the guard VM of
the runtime takes over after a few calls (``native_guards.py``), or words explain.  Read ``guard.py`` first, then ``sources.py`` and ``guards.py``.
"""
