"""The dtype in which autocast runs each op: compared with PyTorch's, recorded on the CPU and on a GPU (tests/record/amp.py).  Other ops run in the dtype of their inputs."""

from __future__ import annotations

from ..core.facets import Facet

LOWER = "lower"  # in autocast's own dtype
FLOAT32 = "float32"
FLOAT16 = "float16"
WIDEST = "widest"  # in the widest dtype among the inputs
UNCHANGED = "unchanged"  # as they are, and so are the ops that they call

autocast_class: Facet[str] = Facet("autocast", "the dtype in which autocast runs the op")

# Products and convolutions: narrow types are fast there, and sums are kept wide anyway.
autocast_class.set(
    LOWER,
    *"""
    addbmm addmm affine_grid affine_grid_generator baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    linalg_vecdot linear matmul mm prelu scaled_dot_product_attention
    """.split(),
)

# What loses too much precision in a narrow type, or has no kernel for one.
autocast_class.set(
    FLOAT32,
    *"""
    adaptive_avg_pool3d adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool3d fractional_max_pool2d
    fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices max_pool3d
    nn_functional_max_pool3d max_unpool1d max_unpool2d max_unpool3d grid_sample grid_sampler grid_sampler_2d grid_sampler_3d
    binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy ctc_loss hinge_embedding_loss
    huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss
    smooth_l1_loss soft_margin_loss triplet_margin_loss linear_cross_entropy
    cdist polar prod quantile nanquantile stft istft trace view_as_complex
    fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
    fft_rfftn
    cholesky cholesky_inverse cholesky_solve geqrf inverse lu lu_solve orgqr ormqr pinverse qr svd triangular_solve
    linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
    linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve linalg_svd
    linalg_svdvals linalg_tensorinv linalg_tensorsolve
    """.split(),
)

# In PyTorch a gru's products are narrow, but its hidden state stays as wide as it was.
autocast_class.set(WIDEST, "cat", "gru", "index_copy", "stack")

# These are composed of products here, which autocast would narrow; in PyTorch they have kernels of their own.
autocast_class.set(UNCHANGED, "addmv", "addr", "dot", "mv", "outer", "vdot")

# PyTorch's choice for CUDA is another one: what the kernels of GPUs compute in float32 anyway comes out so, and more is promoted.
on_cuda: Facet[str] = Facet("autocast on CUDA", "the dtype in which autocast runs the op on a GPU")
on_cuda.set(
    LOWER,
    *"""
    addbmm addmm addmv addr affine_grid affine_grid_generator baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    convolution gru_cell linalg_vecdot linear lstm_cell matmul mm mv prelu rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention
    """.split(),
)
on_cuda.set(
    FLOAT32,
    *"""
    acos asin cosh erfinv exp expm1 ldexp log log10 log2 log1p mvlgamma reciprocal rsqrt sinh special_multigammaln tan pow softplus
    layer_norm group_norm norm norm_except_dim nuclear_norm linalg_norm linalg_vector_norm linalg_matrix_norm resample
    softmax log_softmax logsumexp prod sum trace cumprod cumsum dist pdist cdist renorm cosine_similarity
    binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss huber_loss kl_div l1_loss linear_cross_entropy
    margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss
    """.split(),
)
on_cuda.set(
    WIDEST,
    *"addcdiv addcmul atan2 bilinear cat cross dot grid_sample grid_sampler index_put inner scatter_add stack tensordot vdot".split(),
)
on_cuda.set(FLOAT16, "gru", "lstm", "rnn_relu", "rnn_tanh")  # whatever autocast's own dtype is: so does PyTorch's way to cuDNN
on_cuda.set(UNCHANGED, "mish", "nn_functional_mish", "outer", "vander")  # composed here of what autocast would widen

__all__ = ["FLOAT16", "FLOAT32", "LOWER", "UNCHANGED", "WIDEST", "autocast_class", "on_cuda"]
