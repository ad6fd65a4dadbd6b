"""Graphs of scripts and traces in PyTorch's form: nodes of kinds such as ``aten::add`` and ``prim::If``, with blocks, which tools print and walk.

In: a scripted or traced program.  Out: an :class:`~.ir.AtenGraph`, made of the program's archive text (``archive/``), which has PyTorch's operators
already.  ``ir.py`` is the data, ``printing.py`` its text, ``build.py`` makes it, ``passes.py`` changes it.  Read ``ir.py`` first.
"""
