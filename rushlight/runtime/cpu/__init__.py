"""The CPU: LLVM IR to machine code in memory, kept on disk; a thread pool inside native code; arenas.

In: text of LLVM IR.  Out: addresses of functions, and the memory they work in.  Read ``jit.py`` first.
"""
