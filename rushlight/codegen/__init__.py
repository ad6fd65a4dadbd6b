"""Code generators: a kernel plan, or the routine of an op, as code of a target.

In: what ``schedule/`` planned.  Out: text that the target's compiler takes.  One folder a target; none knows graphs, and none runs code.
"""
