"""Functions that models are made of: stub.

Written by tools/generate_stubs.py from the op table: run `make generate` after changing an op's signature.
"""

from builtins import bool as _bool, float as _float, int as _int, list as _list, str as _str
from rushlight.nn.scaled_products import ScalingType as ScalingType, SwizzleType as SwizzleType
from rushlight.tensor import op_results as _results
from rushlight.tensor.tensor import Tensor
from typing import Any

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of windows chosen so that the result has a given size."""
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of windows chosen so that the result has a given size."""
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of windows chosen so that the result has a given size."""
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: _bool = False) -> Any:
    """The largest elements of windows chosen so that the result has a given size."""
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Any, return_indices: _bool = False) -> _results.adaptive_max_pool1d_with_indices:
    """The largest elements of windows chosen so that the result has a given size, and their indices in the plane."""
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: _bool = False) -> Any:
    """The largest elements of windows chosen so that the result has a given size."""
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: _bool = False) -> _results.adaptive_max_pool2d_with_indices:
    """The largest elements of windows chosen so that the result has a given size, and their indices in the plane."""
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: _bool = False) -> Any:
    """The largest elements of windows chosen so that the result has a given size."""
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: _bool = False) -> _results.adaptive_max_pool3d_with_indices:
    """The largest elements of windows chosen so that the result has a given size, and their indices in the plane."""
def affine_grid(theta: Tensor, size: Any, align_corners: _bool | None = None) -> Tensor:
    """The points of a grid for inputs of ``size``, moved by affine matrices: what ``grid_sample`` takes."""
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Dropout for self-normalising networks: mean and variance of the input are kept."""
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor:
    """The mean of each window of the last dimension."""
def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None) -> Tensor:
    """The mean of each window of the last dimensions."""
def avg_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None) -> Tensor:
    """The mean of each window of the last dimensions."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: _bool = False, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """Normalise every channel (dimension 1) over the batch, or by running statistics; then scale and shift."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for every output k."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """The cross entropy of probabilities and targets between 0 and 1; logarithms are held at -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """The cross entropy of logits and targets between 0 and 1, without overflow."""
def celu(input: Tensor, alpha: _int | _float = 1.0, inplace: _bool = False) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
def celu_(input: Tensor, alpha: _int | _float = 1.0) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels taken from each group in turn."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: _int = 1) -> Tensor:
    """A convolution over the last dimension of ``(N, C, L)`` or ``(C, L)``."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: _int = 1) -> Tensor:
    """A convolution over the last two dimensions of ``(N, C, H, W)`` or ``(C, H, W)``."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: _int = 1) -> Tensor:
    """A convolution over the last three dimensions of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
    """A convolution over time of ``(T, N, C)`` with a weight ``(L, C, O)``."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: _int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of ``conv1d``: the weight is ``(C, O / groups, L)``."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: _int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of ``conv2d``: the weight is ``(C, O / groups, H, W)``."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: _int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of ``conv3d``: the weight is ``(C, O / groups, D, H, W)``."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08, *, axis: _int = ...) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: _int = -100, reduce: Any = None, reduction: _str = 'mean', label_smoothing: _float = 0.0) -> Tensor:
    """The cross entropy between logits and targets, given as classes or as probabilities."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = 0, reduction: _str = 'mean', zero_infinity: _bool = False) -> Tensor:
    """The connectionist temporal classification loss: minus the log-probability that outputs spell the targets."""
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Elements zeroed with probability ``p`` in training, the others scaled by ``1 / (1 - p)``."""
def dropout1d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Whole channels of a (batch of) signals zeroed with probability ``p`` in training."""
def dropout2d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Whole channels of a batch of images zeroed with probability ``p`` in training."""
def dropout3d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Whole channels of a (batch of) volumes zeroed with probability ``p`` in training."""
def elu(input: Tensor, alpha: _int | _float = 1.0, inplace: _bool = False) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input) - 1)`` elsewhere."""
def elu_(input: Tensor, alpha: _int | _float = 1.0, scale: _int | _float = 1.0, input_scale: _int | _float = 1.0) -> Tensor:
    """Exponential linear unit with scales."""
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = None, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Tensor:
    """The rows of ``weight`` that ``input`` names; the row ``padding_idx`` gets no gradient."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: _float | None = None, norm_type: _float = 2, scale_grad_by_freq: _bool = False, mode: _str = 'mean', sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None) -> Tensor:
    """Sum, mean or maximum of the rows of ``weight`` named by each bag of indices."""
def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Dropout of whole channels for self-normalising networks."""
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Columns added up to images at the places of their windows: the transpose of ``unfold``."""
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest elements of windows that begin at random places."""
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest elements of windows that begin at random places, and their indices in the plane."""
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest elements of windows that begin at random places."""
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest elements of windows that begin at random places, and their indices in the plane."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: _bool = False, eps: _float = 1e-06, reduction: _str = 'mean') -> Tensor:
    """The negative log-likelihood of targets under normal distributions with given means and variances."""
def gelu(input: Tensor, approximate: _str = 'none') -> Tensor:
    """Gaussian error linear unit: the input times the probability that a normal variable is below it."""
def glu(input: Tensor, dim: _int = -1, *, axis: _int = ...) -> Tensor:
    """Half of the input (along a dimension) times the sigmoid of the other half."""
def grid_sample(input: Tensor, grid: Tensor, mode: _str = 'bilinear', padding_mode: _str = 'zeros', align_corners: _bool | None = None) -> Tensor:
    """The input at points given in coordinates from -1 to 1 (the width's first)."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enabled: _bool = True) -> Tensor:
    """Normalise groups of channels of every sample, then scale and shift every channel."""
def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Products of matrices that are column blocks of a tensor of two dimensions, or the batches of one of three."""
def gumbel_softmax(logits: Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1, *, axis: _int = ...) -> Tensor:
    """A random sample of categories whose gradient is that of ``softmax``; with ``hard=True`` exactly one of them is 1."""
def hardshrink(input: Tensor, lambd: _int | _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """The input, with 0 for what is within ``lambd`` of 0."""
def hardsigmoid(input: Tensor, inplace: _bool = False) -> Tensor:
    """``sigmoid`` made of straight lines."""
def hardswish(input: Tensor, inplace: _bool = False) -> Tensor:
    """``input * hardsigmoid(input)``."""
def hardtanh(input: Tensor, min_val: _int | _float = -1.0, max_val: _int | _float = 1.0, inplace: _bool = False) -> Tensor:
    """The input held between two bounds; the gradient is 0 outside."""
def hardtanh_(input: Tensor, min_val: _int | _float = -1.0, max_val: _int | _float = 1.0) -> Tensor:
    """The input held between two bounds."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1."""
def huber_loss(input: Tensor, target: Tensor, reduction: _str = 'mean', delta: _float = 1.0, weight: Any = None) -> Tensor:
    """Half the squared difference where it is below ``delta``, a straight line elsewhere."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: _bool = True, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """Normalise every channel of every sample over its spatial dimensions."""
def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: _str = 'nearest', align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None, antialias: _bool = False) -> Tensor:
    """Resize the dimensions after batch and channels to ``size``, or by ``scale_factor``."""
def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', log_target: _bool = False) -> Tensor:
    """The Kullback-Leibler divergence of targets from log-probabilities."""
def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', weight: Any = None) -> Tensor:
    """The absolute difference."""
def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enable: _bool = True) -> Tensor:
    """Normalise over the last dimensions, then scale and shift."""
def leaky_relu(input: Tensor, negative_slope: _int | _float = 0.01, inplace: _bool = False) -> Tensor:
    """The input where it is positive, a fraction of it elsewhere."""
def leaky_relu_(input: Tensor, negative_slope: _int | _float = 0.01) -> Tensor:
    """The input where it is positive, a fraction of it elsewhere."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: a fully connected layer."""
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: _str = 'mean', ignore_index: _int | None = None, label_smoothing: _float = 0.0, options: Any = None) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``."""
def local_response_norm(input: Tensor, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0) -> Tensor:
    """Divide by a power of the mean square over neighbouring channels."""
def log_softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: Any = None, *, axis: _int | None = ...) -> Tensor:
    """The logarithm of softmax, computed without overflow."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""
def lp_pool1d(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: _bool = False) -> Tensor:
    """The ``norm_type``-norm of each window: the root of the sum of powers."""
def lp_pool2d(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: _bool = False) -> Tensor:
    """The ``norm_type``-norm of each window: the root of the sum of powers."""
def lp_pool3d(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: _bool = False) -> Tensor:
    """The ``norm_type``-norm of each window: the root of the sum of powers."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``."""
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element of each window of the last dimensions; with ``return_indices``, where it was too."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _results.max_pool1d_with_indices:
    """The largest element of each window, and its index in the plane that the window slides over."""
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element of each window of the last dimensions; with ``return_indices``, where it was too."""
def max_pool2d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _results.max_pool2d_with_indices:
    """The largest element of each window, and its index in the plane that the window slides over."""
def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element of each window of the last dimensions; with ``return_indices``, where it was too."""
def max_pool3d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _results.max_pool3d_with_indices:
    """The largest element of each window, and its index in the plane that the window slides over."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """The inverse of max pooling as far as there is one: values back at their indices, zeros elsewhere."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """The inverse of max pooling as far as there is one: values back at their indices, zeros elsewhere."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """The inverse of max pooling as far as there is one: values back at their indices, zeros elsewhere."""
def mish(input: Tensor, inplace: _bool = False) -> Tensor:
    """``input * tanh(softplus(input))``."""
def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', weight: Any = None) -> Tensor:
    """The squared difference."""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: _bool = True, key_padding_mask: Tensor | None = None, need_weights: _bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: _bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: _bool = True, is_causal: _bool = False) -> Any:
    """Attention with several heads over (length, batch, width): the output, and the weights of attention (or None)."""
def multi_margin_loss(input: Tensor, target: Tensor, p: _int = 1, margin: _float = 1.0, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """For every class but the target's: ``max(0, margin - input[target] + input[class]) ** p``, summed and divided by classes."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """For every target class and every other class: ``max(0, 1 - (input[target] - input[other]))``, divided by classes."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """The mean over classes of the binary cross entropy of logits."""
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels taken from each group in turn."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: _int = -100, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """The negative log-likelihood loss: minus the input (log-probabilities) at each target's class."""
def normalize(input: Tensor, p: _float = 2.0, dim: Any = 1, eps: _float = 1e-12, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """Divide by the norm along a dimension (but not by less than ``eps``)."""
def one_hot(input: Tensor, num_classes: _int = -1) -> Tensor:
    """For each class number a row of zeros with a 1 in its place."""
def pad(input: Tensor, pad: Any, mode: _str = 'constant', value: _float | None = None) -> Tensor:
    """A border around the last dimensions, given from the last one back as (before, behind) pairs."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False, *, keepdims: _bool = ...) -> Tensor:
    """The norm of the difference of two vectors along the last dimension."""
def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The p-norm distances of every two rows, as a vector: (0, 1), (0, 2), ..., (1, 2), ..."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Channels spread over places: ``(N, C * r * r, H, W)`` becomes ``(N, C, H * r, W * r)``."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Places gathered into channels: the inverse of ``pixel_shuffle``."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = True, full: _bool = False, size_average: Any = None, eps: _float = 1e-08, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """The negative log-likelihood of counts under a Poisson distribution."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """A leaky rectifier with a learned slope, one or one for each channel (dimension 1)."""
def relu(input: Tensor, inplace: _bool = False) -> Tensor:
    """``max(input, 0)``."""
def relu6(input: Tensor, inplace: _bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
def relu_(input: Tensor) -> Tensor:
    """``max(input, 0)``."""
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: _float | None = None) -> Tensor:
    """Divide by the root of the mean square over the last dimensions, then scale."""
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """The input where it is positive; elsewhere a fraction of it, random in training and else the mean of the bounds."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Any = None) -> Tensor:
    """:func:`rrelu` in place."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: _float = 0.0, is_causal: _bool = False, scale: _float | None = None, enable_gqa: _bool = False) -> Tensor:
    """``softmax(query @ key.T * scale + mask) @ value``."""
def scaled_grouped_mm(mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any, swizzle_a: Any = None, swizzle_b: Any = None, bias: Any = None, offs: Any = None, output_dtype: Any = ..., contraction_dim: Any = ..., use_fast_accum: _bool = False) -> Any:
    """Products of groups of matrices with their scales, summed in float32: see :func:`grouped_mm`."""
def scaled_mm(mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any, swizzle_a: Any = None, swizzle_b: Any = None, bias: Any = None, output_dtype: Any = ..., contraction_dim: Any = ..., use_fast_accum: _bool = False) -> Any:
    """The product of two matrices with their scales, summed in float32."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """Scaled exponential linear unit."""
def selu_(input: Tensor) -> Tensor:
    """Scaled exponential linear unit: keeps mean and variance of its inputs."""
def sigmoid(input: Tensor) -> Tensor:
    """Logistic function of every element."""
def silu(input: Tensor, inplace: _bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', beta: _float = 1.0) -> Tensor:
    """The squared difference where it is below ``beta`` (halved, scaled), the absolute difference elsewhere."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """``log(1 + exp(-target * input))`` for targets of 1 and -1."""
def softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: Any = None, *, axis: _int | None = ...) -> Tensor:
    """Exponentials divided by their sum along a dimension, computed without overflow."""
def softmin(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: Any = None, *, axis: _int | None = ...) -> Tensor:
    """softmax of the negated input: the smallest elements weigh most."""
def softplus(input: Tensor, beta: _int | _float = 1.0, threshold: _int | _float = 20.0, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, a smooth ``relu``."""
def softshrink(input: Tensor, lambd: _int | _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """The input moved towards 0 by ``lambd``, and 0 for what is within it."""
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent of every element."""
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
def threshold(input: Tensor, threshold: _int | _float, value: _int | _float, inplace: _bool = False) -> Tensor:
    """The input where it is above a threshold, a value elsewhere."""
def threshold_(input: Tensor, threshold: _int | _float, value: _int | _float) -> Tensor:
    """The input where it is above a threshold, a value elsewhere."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """``max(0, |anchor - positive| - |anchor - negative| + margin)``."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any = None, margin: _float = 1.0, swap: _bool = False, reduction: _str = 'mean') -> Tensor:
    """The triplet loss for a distance of the user's."""
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images as columns: ``(N, C, H, W)`` becomes ``(N, C * kernel, windows)``."""
def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: _str = 'nearest', align_corners: _bool | None = None) -> Tensor:
    """What ``interpolate`` was called."""
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` linearly in two dimensions, with aligned corners."""
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` by the nearest element."""

__all__: _list[_str]
