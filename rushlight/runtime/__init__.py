"""What runs generated code: the JIT, code cache, threads and memory (``cpu/``), and the way from a Python call to native code and back (``call/``).

In: LLVM IR and a memory plan.  Out: something that Python can call.  Knows no graph.
"""
