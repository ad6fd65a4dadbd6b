"""Which file below this folder declares which names, so that none has to be loaded before it is used.

Written by `python -m rushlight.ops.document`: run it after declaring an op (a test says so, too).
"""

# fmt: off
FILES = {
    "create.factories": {
        "": "empty empty_like empty_permuted empty_strided eye full full_like ones ones_like scalar_tensor zeros zeros_like",
        "methods": "new_empty new_empty_strided new_full new_ones new_zeros",
        "ops": "empty empty_like empty_permuted empty_strided eye full full_like new_empty new_empty_strided new_full new_ones new_zeros ones ones_like "
            "scalar_tensor zeros zeros_like",
    },
    "create.ranges": {
        "": "arange linspace logspace range tril_indices triu_indices",
        "ops": "arange linspace logspace range tril_indices triu_indices",
    },
    "create.signal_windows": {
        "": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
        "ops": "bartlett_window blackman_window hamming_window hann_window kaiser_window signal_windows_bartlett signal_windows_blackman "
            "signal_windows_cosine signal_windows_exponential signal_windows_gaussian signal_windows_general_cosine signal_windows_general_hamming "
            "signal_windows_hamming signal_windows_hann signal_windows_kaiser signal_windows_nuttall",
        "signal.windows": "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall",
    },
    "index.gather_scatter": {
        "": "gather scatter scatter_add scatter_reduce",
        "methods": "gather scatter scatter_ scatter_add scatter_add_ scatter_elements_ scatter_reduce scatter_reduce_",
        "ops": "gather gather_backward scatter scatter_ scatter_add scatter_add_ scatter_elements scatter_elements_ scatter_reduce scatter_reduce_",
    },
    "index.index_select": {
        "": "index_add index_copy index_fill index_reduce index_select",
        "methods": "index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_reduce index_reduce_ index_select",
        "ops": "index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_reduce index_reduce_ index_select index_select_backward",
    },
    "index.indexing": {
        "": "index_put index_put_ put take take_along_dim unravel_index",
        "methods": "index_put index_put_ put put_ take take_along_dim",
        "nn.functional": "one_hot",
        "ops": "index index_backward index_put index_put_ one_hot put put_ take take_along_dim unravel_index",
    },
    "index.masking": {
        "": "argwhere masked_fill masked_scatter masked_select nonzero nonzero_static",
        "methods": "argwhere masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select nonzero nonzero_static",
        "ops": "argwhere masked_fill masked_fill_ masked_scatter masked_scatter_ masked_scatter_backward masked_select nonzero nonzero_columns nonzero_rows "
            "nonzero_static",
    },
    "index.search": {
        "": "bucketize isin searchsorted unique unique_consecutive",
        "methods": "unique unique_consecutive",
        "ops": "bucketize consecutive_slices isin searchsorted unique unique_consecutive unique_slices",
    },
    "index.sort": {
        "": "argsort kthvalue median mode msort nanmedian sort topk",
        "methods": "argsort kthvalue median mode msort nanmedian sort topk",
        "ops": "argsort kthvalue median median_all median_dim mode msort nanmedian nanmedian_all nanmedian_dim sort topk",
    },
    "linalg.affine": {
        "": "addbmm addmm addmv addmv_ addr baddbmm bilinear",
        "methods": "addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_",
        "nn.functional": "bilinear linear",
        "ops": "addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ bilinear linear",
    },
    "linalg.contraction": {
        "": "einsum tensordot",
        "ops": "einsum tensordot",
    },
    "linalg.distances": {
        "": "cdist pdist",
        "nn.functional": "pdist",
        "ops": "cdist euclidean_distances largest_difference pdist",
    },
    "linalg.factorizations": {
        "": "cholesky cholesky_inverse cholesky_solve qr svd",
        "linalg": "cholesky cholesky_ex eig eigh eigvals eigvalsh qr svd svdvals",
        "methods": "cholesky cholesky_inverse cholesky_solve qr svd",
        "ops": "cholesky cholesky_inverse cholesky_solve linalg_cholesky linalg_cholesky_ex linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_qr "
            "linalg_svd linalg_svdvals qr svd",
    },
    "linalg.functions": {
        "": "det inverse logdet matrix_exp matrix_power pinverse slogdet triangular_solve",
        "linalg": "det inv inv_ex matrix_exp matrix_power pinv slogdet solve solve_ex solve_triangular tensorinv tensorsolve",
        "methods": "det inverse logdet matrix_exp matrix_power pinverse slogdet triangular_solve",
        "ops": "det inverse linalg_det linalg_inv linalg_inv_ex linalg_pinv linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular "
            "linalg_tensorinv linalg_tensorsolve logdet matrix_cofactors matrix_exp matrix_power pinv_within pinverse slogdet solve_system "
            "triangular_solve",
    },
    "linalg.ldl": {
        "linalg": "ldl_factor ldl_factor_ex ldl_solve",
        "ops": "linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve",
    },
    "linalg.lobpcg": {
        "": "lobpcg",
        "ops": "lobpcg lobpcg_search",
    },
    "linalg.lowrank": {
        "": "pca_lowrank svd_lowrank",
        "ops": "pca_lowrank svd_lowrank",
    },
    "linalg.matmul": {
        "": "bmm chain_matmul dot ger inner matmul mm mv outer vdot",
        "linalg": "matmul multi_dot",
        "methods": "bmm dot ger inner matmul mm mv outer vdot",
        "ops": "bmm chain_matmul dot inner linalg_multi_dot matmul mm mv outer vdot",
    },
    "linalg.norms": {
        "": "norm_except_dim nuclear_norm",
        "linalg": "cond matrix_norm matrix_rank norm vector_norm",
        "ops": "linalg_cond linalg_matrix_norm linalg_matrix_rank linalg_norm linalg_vector_norm matrix_rank_within norm_except_dim nuclear_norm vector_norm",
    },
    "linalg.systems": {
        "": "geqrf lu lu_solve lu_unpack orgqr ormqr",
        "linalg": "householder_product lstsq lu lu_factor lu_factor_ex lu_solve",
        "methods": "geqrf lu lu_solve orgqr ormqr",
        "ops": "geqrf least_squares linalg_householder_product linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve lu lu_order "
            "lu_solve lu_unpack orgqr ormqr",
    },
    "linalg.vectors": {
        "": "vander",
        "linalg": "diagonal vander vecdot",
        "ops": "linalg_diagonal linalg_vander linalg_vecdot vander",
    },
    "nn.adaptive_pooling": {
        "": "adaptive_avg_pool1d adaptive_max_pool1d",
        "nn.functional": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d "
            "adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices fractional_max_pool2d "
            "fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d",
        "ops": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d "
            "adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices fractional_max_pool fractional_max_pool2d "
            "fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices gather_planes max_unpool max_unpool1d "
            "max_unpool2d max_unpool3d scatter_planes",
    },
    "nn.attention": {
        "nn.functional": "scaled_dot_product_attention",
        "ops": "attention attention_backward flash_attention flash_attention_backward scaled_dot_product_attention",
    },
    "nn.attention_forward": {
        "nn.functional": "multi_head_attention_forward",
        "ops": "multi_head_attention_forward",
    },
    "nn.convolution": {
        "": "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution",
        "nn.functional": "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d",
        "ops": "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution convolution_weight_gradient",
    },
    "nn.detection": {
        "ops": "non_max_suppression",
    },
    "nn.dropout": {
        "": "alpha_dropout alpha_dropout_ dropout dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_",
        "nn.functional": "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
        "ops": "alpha_dropout alpha_dropout_ dropout dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ "
            "nn_functional_alpha_dropout nn_functional_dropout nn_functional_dropout1d nn_functional_dropout2d nn_functional_dropout3d "
            "nn_functional_feature_alpha_dropout",
    },
    "nn.embedding": {
        "": "embedding",
        "nn.functional": "embedding embedding_bag",
        "ops": "embedding embedding_backward embedding_bag nn_functional_embedding",
    },
    "nn.interpolation": {
        "nn.functional": "interpolate upsample upsample_bilinear upsample_nearest",
        "ops": "interpolate resample resample_backward upsample upsample_bilinear upsample_nearest",
    },
    "nn.linear_losses": {
        "nn.functional": "linear_cross_entropy",
        "ops": "linear_cross_entropy",
    },
    "nn.losses": {
        "nn.functional": "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy gaussian_nll_loss huber_loss kl_div l1_loss mse_loss nll_loss "
            "poisson_nll_loss smooth_l1_loss soft_margin_loss",
        "ops": "_binary_cross_entropy _logit_cross_entropy binary_cross_entropy binary_cross_entropy_with_logits cross_entropy gaussian_nll_loss huber_loss "
            "kl_div l1_loss mse_loss nll_forward nll_gradient nll_loss poisson_nll_loss smooth_l1_loss soft_margin_loss",
    },
    "nn.margin_losses": {
        "nn.functional": "cosine_embedding_loss ctc_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss "
            "triplet_margin_loss triplet_margin_with_distance_loss",
        "ops": "cosine_embedding_loss ctc_alignments ctc_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss "
            "multilabel_soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss",
    },
    "nn.normalization": {
        "": "batch_norm cosine_similarity group_norm layer_norm pairwise_distance rms_norm",
        "nn.functional": "batch_norm cosine_similarity group_norm instance_norm layer_norm local_response_norm normalize pairwise_distance rms_norm",
        "ops": "batch_norm cosine_similarity group_norm instance_norm layer_norm layer_standardize layer_standardize_backward local_response_norm "
            "nn_functional_batch_norm normalize pairwise_distance rms_norm",
    },
    "nn.packed_sequences": {
        "": "_pack_padded_sequence _pad_packed_sequence",
        "ops": "_pack_padded_sequence _pad_packed_sequence",
    },
    "nn.padding": {
        "": "constant_pad_nd",
        "nn.functional": "pad",
        "ops": "border_fold border_pad constant_pad_nd pad",
    },
    "nn.pooling": {
        "": "avg_pool1d max_pool1d max_pool1d_with_indices max_pool2d max_pool3d",
        "nn.functional": "avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d lp_pool3d max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices "
            "max_pool3d max_pool3d_with_indices",
        "ops": "avg_pool1d avg_pool2d avg_pool3d avg_pool_backward lp_pool1d lp_pool2d lp_pool3d max_pool1d max_pool1d_with_indices max_pool2d "
            "max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_pool_backward max_pool_select nn_functional_max_pool1d "
            "nn_functional_max_pool2d nn_functional_max_pool3d",
    },
    "nn.rnn": {
        "ops": "gru_backward gru_layer lstm_backward lstm_layer rnn_backward rnn_layer",
    },
    "nn.rnn_sequences": {
        "": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell",
        "ops": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell",
    },
    "nn.softmax": {
        "": "log_softmax softmax",
        "methods": "log_softmax softmax",
        "nn.functional": "log_softmax softmax softmin",
        "ops": "log_softmax log_softmax_backward nn_functional_log_softmax nn_functional_softmax nn_functional_softmin softmax softmax_backward",
        "special": "log_softmax softmax",
    },
    "nn.standardize": {
        "ops": "scale_shift standardize standardize_backward",
    },
    "nn.vision": {
        "": "affine_grid_generator channel_shuffle grid_sampler grid_sampler_2d grid_sampler_3d native_channel_shuffle pixel_shuffle pixel_unshuffle",
        "nn.functional": "affine_grid channel_shuffle fold grid_sample native_channel_shuffle pixel_shuffle pixel_unshuffle unfold",
        "ops": "affine_grid affine_grid_backward affine_grid_generator channel_shuffle grid_sample grid_sampler grid_sampler_2d grid_sampler_3d "
            "grid_sampler_backward nn_functional_fold nn_functional_unfold pixel_shuffle pixel_unshuffle",
    },
    "pointwise.activations": {
        "": "celu celu_ hardshrink prelu relu relu_ selu selu_ threshold threshold_",
        "methods": "celu celu_ elu_ gelu_tanh_ hardshrink hardshrink_ hardsigmoid_ hardswish_ hardtanh_ leaky_relu_ mish_ prelu relu relu_ selu selu_ silu_",
        "nn.functional": "celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish prelu relu relu6 selu sigmoid silu softplus "
            "softshrink softsign tanh tanhshrink threshold",
        "ops": "celu celu_ elu elu_ gelu gelu_backward gelu_exact gelu_tanh gelu_tanh_ glu hardshrink hardshrink_ hardsigmoid hardsigmoid_ hardswish "
            "hardswish_ hardtanh hardtanh_ leaky_relu leaky_relu_ logsigmoid mish mish_ nn_functional_celu nn_functional_elu nn_functional_hardsigmoid "
            "nn_functional_hardswish nn_functional_hardtanh nn_functional_leaky_relu nn_functional_mish nn_functional_relu nn_functional_selu "
            "nn_functional_sigmoid nn_functional_silu nn_functional_tanh nn_functional_threshold normal_share prelu relu relu6 relu_ selu selu_ silu "
            "silu_ silu_backward softplus softshrink softsign tanhshrink threshold threshold_",
    },
    "pointwise.arithmetic": {
        "": "add conj_physical conj_physical_ div divide mul multiply neg neg_ negative negative_ pow sub subtract true_divide",
        "methods": "add add_ conj_physical conj_physical_ div div_ divide divide_ mul mul_ multiply multiply_ neg neg_ negative negative_ pow pow_ sub sub_ "
            "subtract subtract_ true_divide true_divide_",
        "ops": "add add_ conj_physical conj_physical_ div div_ mul mul_ neg neg_ pow pow_ sub sub_ true_divide true_divide_",
    },
    "pointwise.binary": {
        "": "addcdiv addcmul copysign float_power floor_divide fmax fmin fmod gcd gcd_ heaviside hypot lcm lcm_ ldexp ldexp_ lerp logaddexp logaddexp2 "
            "maximum minimum nextafter remainder rsub xlogy xlogy_",
        "methods": "addcdiv addcdiv_ addcmul addcmul_ copysign copysign_ float_power float_power_ floor_divide floor_divide_ fmax fmin fmod fmod_ gcd gcd_ "
            "heaviside heaviside_ hypot hypot_ lcm lcm_ ldexp ldexp_ lerp lerp_ logaddexp logaddexp2 maximum minimum nextafter nextafter_ remainder "
            "remainder_ xlogy xlogy_",
        "ops": "addcdiv addcdiv_ addcmul addcmul_ copysign copysign_ float_power float_power_ floor_divide floor_divide_ fmax fmin fmod fmod_ gcd gcd_ "
            "heaviside heaviside_ hypot hypot_ lcm lcm_ ldexp ldexp_ lerp lerp_ logaddexp logaddexp2 maximum minimum nextafter nextafter_ remainder "
            "remainder_ rsub xlogy xlogy_",
    },
    "pointwise.comparison": {
        "": "allclose eq equal ge greater greater_equal gt is_nonzero isclose isfinite isinf isnan isneginf isposinf isreal le less less_equal lt ne "
            "not_equal",
        "methods": "allclose eq eq_ equal ge ge_ greater greater_ greater_equal greater_equal_ gt gt_ is_nonzero isclose isfinite isinf isnan isneginf isposinf "
            "isreal le le_ less less_ less_equal less_equal_ lt lt_ ne ne_ not_equal not_equal_",
        "ops": "allclose eq eq_ equal ge ge_ gt gt_ is_nonzero isclose isfinite isinf isnan isneginf isposinf isreal le le_ lt lt_ ne ne_",
    },
    "pointwise.complex": {
        "": "angle complex conj imag is_complex is_conj is_floating_point is_neg is_signed polar real resolve_conj resolve_neg view_as_complex "
            "view_as_real",
        "methods": "angle conj is_conj is_neg resolve_conj resolve_neg",
        "ops": "angle complex conj conj_view imag is_complex is_conj is_floating_point is_neg is_signed neg_view polar real real_part resolve_conj "
            "resolve_neg view_as_complex view_as_real",
    },
    "pointwise.copy_cast": {
        "": "clone fill fill_ zero_",
        "methods": "clone copy_ fill fill_ zero_",
        "ops": "after cast cast_gradient clone copy copy_ fill fill_ to_device zero zero_",
    },
    "pointwise.logic": {
        "": "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor logical_and logical_not logical_or logical_xor",
        "methods": "bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift "
            "bitwise_right_shift_ bitwise_xor bitwise_xor_ logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor "
            "logical_xor_",
        "ops": "bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift "
            "bitwise_right_shift_ bitwise_xor bitwise_xor_ logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor "
            "logical_xor_",
    },
    "pointwise.stochastic_activations": {
        "": "rrelu rrelu_",
        "nn.functional": "gumbel_softmax rrelu rrelu_",
        "ops": "gumbel_softmax nn_functional_rrelu rrelu rrelu_ rrelu_slopes",
    },
    "pointwise.trigonometry": {
        "": "acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan_ arctanh arctanh_ asin asin_ "
            "asinh asinh_ atan atan2 atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad deg2rad_ rad2deg rad2deg_ sin sin_ sinc sinc_ sinh sinh_ tan tan_ "
            "tanh tanh_",
        "methods": "acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ "
            "asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad deg2rad_ rad2deg rad2deg_ sin sin_ sinc sinc_ sinh "
            "sinh_ tan tan_ tanh tanh_",
        "ops": "acos acos_ acosh acosh_ asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad deg2rad_ rad2deg rad2deg_ "
            "sin sin_ sinc sinc_ sinh sinh_ tan tan_ tanh tanh_",
    },
    "pointwise.unary": {
        "": "abs abs_ absolute absolute_ ceil ceil_ exp exp2 exp2_ exp_ expm1 expm1_ fix fix_ floor floor_ frac frac_ frexp log log10 log10_ log1p log1p_ "
            "log2 log2_ log_ logit logit_ nan_to_num nan_to_num_ positive reciprocal reciprocal_ round round_ rsqrt rsqrt_ sgn sigmoid sigmoid_ sign "
            "signbit sqrt sqrt_ square square_ trunc trunc_",
        "methods": "abs abs_ absolute absolute_ ceil ceil_ exp exp2 exp2_ exp_ expm1 expm1_ fix fix_ floor floor_ frac frac_ frexp log log10 log10_ log1p log1p_ "
            "log2 log2_ log_ logit logit_ nan_to_num nan_to_num_ positive reciprocal reciprocal_ round round_ rsqrt rsqrt_ sgn sgn_ sigmoid sigmoid_ sign "
            "sign_ signbit sqrt sqrt_ square square_ trunc trunc_",
        "ops": "abs abs_ ceil ceil_ exp exp2 exp2_ exp_ expm1 expm1_ floor floor_ frac frac_ frexp log log10 log10_ log1p log1p_ log2 log2_ log_ logit "
            "logit_ nan_to_num nan_to_num_ positive reciprocal reciprocal_ round round_ rsqrt rsqrt_ sgn sgn_ sigmoid sigmoid_ sign sign_ signbit sqrt "
            "sqrt_ square square_ trunc trunc_",
    },
    "pointwise.where_clamp": {
        "": "clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ where",
        "methods": "clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ where",
        "ops": "at_least clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ where where_elements where_method",
    },
    "quantized.functions": {
        "": "quantized_batch_norm quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d",
        "ops": "quantized_add quantized_add_relu quantized_add_scalar quantized_add_scalar_relu quantized_batch_norm quantized_batch_norm_relu quantized_cat "
            "quantized_cat_relu quantized_celu quantized_clamp quantized_dropout quantized_elu quantized_group_norm quantized_hardswish "
            "quantized_instance_norm quantized_layer_norm quantized_leaky_relu quantized_matmul quantized_mul quantized_mul_relu quantized_mul_scalar "
            "quantized_mul_scalar_relu quantized_prelu quantized_relu6 quantized_sigmoid quantized_softmax quantized_threshold",
        "ops.quantized": "add add_relu add_scalar add_scalar_relu batch_norm batch_norm1d batch_norm1d_relu batch_norm2d batch_norm2d_relu batch_norm3d "
            "batch_norm3d_relu batch_norm_relu cat cat_relu celu clamp dropout elu group_norm hardswish instance_norm layer_norm leaky_relu matmul "
            "max_pool1d max_pool2d max_pool3d mul mul_relu mul_scalar mul_scalar_relu prelu relu6 sigmoid softmax threshold",
    },
    "quantized.layers": {
        "ops": "quantized_convolution quantized_embedding quantized_linear quantized_linear_dynamic",
    },
    "quantized.learned_fake_quantize": {
        "": "_fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine fused_moving_avg_obs_fake_quant",
        "ops": "_fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine fake_quantize_slope fused_moving_avg_obs_fake_quant",
    },
    "quantized.quantize": {
        "": "_choose_qparams_per_tensor _empty_affine_quantized _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor dequantize "
            "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine int_repr q_per_channel_scales q_per_channel_zero_points "
            "quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic",
        "methods": "dequantize int_repr q_per_channel_scales q_per_channel_zero_points",
        "ops": "_empty_affine_quantized _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor dequantize fake_quantize_channel_mask "
            "fake_quantize_mask fake_quantize_per_channel_affine fake_quantize_per_tensor_affine int_repr observed_range q_per_channel_scales "
            "q_per_channel_zero_points quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic",
    },
    "quantized.rnn": {
        "ops": "quantized_gru_layer quantized_lstm_layer",
    },
    "quantized.weight_only": {
        "ops": "_convert_weight_to_int4pack_for_cpu _int_mm _weight_int4pack_mm_for_cpu _weight_int8pack_mm",
    },
    "random.implicit_gradients": {
        "": "_dirichlet_grad _standard_gamma_grad",
        "ops": "_dirichlet_grad _standard_gamma_grad",
    },
    "random.sampling": {
        "": "_sample_dirichlet _standard_gamma bernoulli binomial multinomial normal poisson rand rand_like randint randint_like randn randn_like "
            "randperm",
        "methods": "bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_ uniform_",
        "ops": "_sample_dirichlet _standard_gamma bernoulli bernoulli_fill bernoulli_fill_ binomial cauchy_fill cauchy_fill_ exponential_fill "
            "exponential_fill_ geometric_fill geometric_fill_ log_normal_fill log_normal_fill_ multinomial normal normal_around normal_fill normal_fill_ "
            "normal_of_size poisson rand rand_like randint randint_like randn randn_like random_fill random_fill_ randperm uniform_fill uniform_fill_",
    },
    "reduce.cumulative": {
        "": "cummax cummin cumprod cumsum cumulative_trapezoid diff gradient logcumsumexp trapezoid trapz",
        "methods": "cummax cummin cumprod cumprod_ cumsum cumsum_ diff logcumsumexp",
        "ops": "cummax cummin cumprod cumprod_ cumsum cumsum_ cumsum_reversed cumulative_trapezoid diff gradient linear_recurrence logcumsumexp shift "
            "trapezoid",
    },
    "reduce.min_max": {
        "": "amax amin aminmax argmax argmin max min",
        "methods": "amax amin aminmax argmax argmin max min",
        "ops": "amax amin aminmax argmax argmin max max_all max_dim min min_all min_dim placed",
    },
    "reduce.reductions": {
        "": "all any dist logsumexp norm prod renorm std std_mean var var_mean",
        "methods": "all any dist logsumexp norm prod renorm renorm_ std var",
        "ops": "all any dist logsumexp norm prod renorm renorm_ std std_correction std_mean var var_correction var_mean var_mean_correction",
        "special": "logsumexp",
    },
    "reduce.statistics": {
        "": "bincount corrcoef cov histc histogram histogramdd nanquantile quantile",
        "methods": "bincount corrcoef cov histc histogram nanquantile quantile",
        "ops": "bincount corrcoef cov histc histogram histogram_points histogramdd nanquantile quantile",
    },
    "reduce.sums": {
        "": "count_nonzero mean nanmean nansum sum sum_to_size",
        "methods": "count_nonzero mean nanmean nansum sum sum_to_size",
        "ops": "count_nonzero mean nanmean nansum reduction_backward sum sum_to_size",
    },
    "shape.concat": {
        "": "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cat column_stack combinations concat concatenate dstack hstack "
            "meshgrid row_stack stack vstack",
        "methods": "combinations",
        "ops": "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cat column_stack combinations dstack hstack meshgrid stack "
            "vstack",
    },
    "shape.diagonals": {
        "": "diag diag_embed diagflat diagonal diagonal_scatter trace tril triu",
        "methods": "diag diag_embed diagflat diagonal diagonal_scatter trace tril tril_ triu triu_",
        "ops": "diag diag_embed diagflat diagonal diagonal_backward diagonal_scatter trace tril tril_ triu triu_",
    },
    "shape.permute": {
        "": "adjoint moveaxis movedim permute swapaxes swapdims t transpose",
        "methods": "adjoint moveaxis movedim permute swapaxes swapdims t transpose",
        "ops": "adjoint mH mT matrix_H movedim numpy_T permute swapaxes t transpose",
    },
    "shape.repeat": {
        "": "cross flip fliplr flipud kron repeat_interleave roll rot90 tile",
        "linalg": "cross",
        "methods": "cross flip fliplr flipud kron repeat repeat_interleave roll rot90 tile",
        "ops": "cross flip fliplr flipud interleave_indices kron linalg_cross repeat repeat_interleave roll rot90 tile",
    },
    "shape.reshape": {
        "": "broadcast_shapes broadcast_to flatten narrow narrow_copy ravel select_scatter slice_scatter unflatten",
        "methods": "broadcast_to expand_as flatten narrow narrow_copy ravel reshape_as select_scatter slice_scatter unflatten view_as",
        "ops": "broadcast_to expand_as flatten narrow narrow_copy ravel reshape_as select_scatter slice_scatter unflatten view_as",
    },
    "shape.split": {
        "": "chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split unsafe_split_with_sizes vsplit",
        "methods": "chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split unsafe_split_with_sizes vsplit",
        "ops": "chunk dsplit hsplit split split_evenly split_with_sizes tensor_split unbind unsafe_chunk unsafe_split unsafe_split_with_sizes vsplit",
    },
    "shape.striding": {
        "": "as_strided as_strided_ as_strided_scatter resize_as_",
        "methods": "as_strided as_strided_ as_strided_scatter contiguous resize_ resize_as_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unfold unsqueeze_",
        "ops": "as_strided as_strided_ as_strided_scatter contiguous laid_as lay_out resize_ resize_as_ restride squeeze_ strided_scatter strided_view "
            "swapaxes_ t_ transpose_ unfold unfold_backward unsqueeze_",
    },
    "shape.view_copies": {
        "": "alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy split_copy split_with_sizes_copy "
            "squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy view_copy",
        "ops": "alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy split_copy split_with_sizes_copy "
            "squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy view_copy",
    },
    "shape.views": {
        "": "detach reshape select squeeze unsqueeze",
        "methods": "detach expand reshape select squeeze unsqueeze view",
        "ops": "alias detach expand reshape reshape_copy select select_backward slice slice_backward squeeze unsqueeze view view_dtype view_shape",
    },
    "sparse.convert": {
        "methods": "_indices _values ccol_indices coalesce col_indices crow_indices indices row_indices sparse_mask sparse_resize_ sparse_resize_and_clear_ "
            "to_dense to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values",
        "ops": "_indices _values ccol_indices coalesce col_indices crow_indices indices row_indices sparse_mask sparse_resize_ sparse_resize_and_clear_ "
            "to_dense to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values",
    },
    "sparse.create": {
        "": "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor",
        "ops": "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sparse_spdiags",
        "sparse": "spdiags",
    },
    "sparse.index_formats": {
        "": "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo",
        "ops": "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo",
    },
    "sparse.products": {
        "": "dsmm hsmm hspmm smm spmm sspaddmm",
        "methods": "smm sspaddmm",
        "ops": "dsmm hsmm hspmm smm sparse_addmm sparse_mm sparse_sampled_addmm sparse_spsolve spmm sspaddmm",
        "sparse": "addmm mm sampled_addmm spsolve",
    },
    "sparse.reductions": {
        "ops": "sparse_log_softmax sparse_softmax sparse_sum",
        "sparse": "log_softmax softmax sum",
    },
    "special.bessel": {
        "ops": "special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t "
            "special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_hermite_polynomial_h "
            "special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p special_modified_bessel_i0 "
            "special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0 "
            "special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
            "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0",
        "special": "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w "
            "hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p modified_bessel_i0 modified_bessel_i1 "
            "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t "
            "shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w spherical_bessel_j0",
    },
    "special.fft": {
        "fft": "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn",
        "ops": "fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft "
            "fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn fourier from_half to_half",
    },
    "special.functions": {
        "": "digamma erf erf_ erfc erfc_ erfinv i0 i0_ igamma igammac lgamma mvlgamma polygamma",
        "methods": "digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_ i0 i0_ igamma igamma_ igammac igammac_ lgamma lgamma_ mvlgamma mvlgamma_ polygamma "
            "polygamma_ polygamma_method_",
        "ops": "digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_ i0 i0_ igamma igamma_ igammac igammac_ lgamma lgamma_ mvlgamma mvlgamma_ polygamma "
            "polygamma_method polygamma_method_ special_entr special_erfcx special_i0e special_i1 special_i1e special_log_ndtr special_ndtr special_ndtri "
            "special_xlog1py special_zeta",
        "special": "entr erfcx i0e i1 i1e log_ndtr ndtr ndtri xlog1py zeta",
    },
    "special.names": {
        "ops": "special_digamma special_erf special_erfc special_erfinv special_exp2 special_expit special_expm1 special_gammainc special_gammaincc "
            "special_gammaln special_i0 special_log1p special_logit special_multigammaln special_polygamma special_psi special_round special_sinc "
            "special_xlogy",
        "special": "digamma erf erfc erfinv exp2 expit expm1 gammainc gammaincc gammaln i0 log1p logit multigammaln polygamma psi round sinc xlogy",
    },
    "special.spectrograms": {
        "": "istft stft",
        "methods": "istft stft",
        "ops": "istft stft",
    },
}
