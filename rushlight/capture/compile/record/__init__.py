"""Recording: what an interpreted program does to tensors, objects and containers, recorded while it runs on its real values.

In: operations of the VM.  Out: a graph, guards, side effects, and how results are reconstructed.  Read ``base.py`` first.
"""
