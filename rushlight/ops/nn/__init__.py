"""Ops of neural-network layers: convolution, pooling, attention, normalization, RNNs, embeddings, losses, resampling.

In: activations as (batch, channels, spatial sizes) or (batch, sequence, features), and the layers' parameters.  Out: activations, losses,
and in ``*_backward`` ops their gradients.  Kernels are in ``*_kernels.py``, forms for ONNX in ``*_onnx.py``.  Read ``softmax.py`` first: an
op with a kernel, a gradient op and their ONNX forms.
"""
