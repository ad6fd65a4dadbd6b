"""Guards: the conditions under which a captured segment holds, and the sources from which values are reached.

In: what a capture looked at.  Out: a check of the present state.  Read ``sources.py`` first, then ``guards.py``.
"""
