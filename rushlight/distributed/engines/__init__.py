"""Engines: the transports of arrays between processes.  Each has the methods of :class:`~.alone.AloneEngine`.

In: contiguous arrays (NumPy's for MPI, CuPy's for NCCL), the name of a reduction, ranks within the engine's own group.  Out: a *request*
for each call: an object whose ``Test()`` makes progress and says whether the exchange has ended, or None where it has ended already.
Read ``alone.py`` first (one process), then ``mpi.py``; ``shared.py`` reduces arrays of processes of one machine in memory that MPI shares.  Tensors, lists of them, means and time limits are the business of
``process_group.py``; no engine has network code of its own.
"""
