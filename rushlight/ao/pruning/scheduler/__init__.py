"""Schedulers of sparsity: how sparse a sparsifier makes parameters, by the step of training."""
