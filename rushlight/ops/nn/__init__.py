"""Ops of neural-network layers: convolution, pooling, attention, normalization, RNNs, embeddings, losses, resampling."""
