"""Recording: a program is interpreted on its real values while its ops, guards and side effects are recorded.

In: operations of the VM.  Out: a graph, guards, side effects, and how results are reconstructed.  `CaptureState` (``base.py``) is what a capture knows;
``values.py``, ``containers.py`` and ``calls.py`` derive `Recorder` from it, one family of operations each, and ``arrays.py`` the one for programs with NumPy arrays; ``registry.py`` is where handlers of
particular callables register; ``graph_functions.py`` is what graphs call besides ops.  Read ``base.py`` first.
"""
