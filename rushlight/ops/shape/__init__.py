"""Views and copies of other shapes and strides: reshape, permute, concat, split, repeat.

In: tensors, sizes and dimensions.  Out: views that share the input's memory (the option ``view=True`` of a declaration), or copies.  Read
``views.py`` first.
"""
