"""Control flow under a tracer: branches and loops as nodes with bodies, and the Python values they carry.

In: ``cond``, ``while_loop``, and the control flow of scripted programs while they are traced.  Out: nodes with sub-graphs; lists whose length
depends on data as one tensor (``dynamic_lists.py``).  Read ``branches.py`` first.
"""
