"""The CPU runtime: a JIT for LLVM IR with a code cache on disk; a thread pool inside native code; arenas.

In: text of LLVM IR.  Out: addresses of functions, and the memory they work in.  Read ``jit.py`` first.
"""
