"""What runs generated code, a folder a device: ``cpu/`` (JIT, code cache, thread pool, arenas), ``cuda/`` (memory, launches, libraries, kernels of single ops,
CUDA graphs); and the way from a Python call to native code and back (``call/``: launchers, the trampoline, the guard VM).

In: code of a target and a memory plan.  Out: something that Python can call.  Knows no graph.
"""
