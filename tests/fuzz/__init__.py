"""Random calls of every op, compared with PyTorch.

In: the ops of the table with their samples, a seed.  Out: calls as plain data (:class:`Call`), what a package makes of them (:class:`Outcome`), and where
two packages differ.  ``calls.py`` makes calls, ``outcome.py`` runs one in whatever package it is given, ``compare.py`` says whether two outcomes agree and
shrinks a call on which they do not.  The program is ``tools/fuzz_against_torch.py``.
"""
