"""``torch.nested._internal``: what libraries reach for behind ``torch.nested``.

In: values, offsets, padded tensors.  Out: nested tensors of ``rushlight.nested``.  ``nested_tensor.py`` has the functions of jagged ones, ``buffers.py``
those of strided ones, which PyTorch keeps in ``torch``.
"""
