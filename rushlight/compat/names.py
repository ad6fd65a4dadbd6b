"""PyTorch's private modules that real code imports, and the module that stands for each. Submodules follow."""

from __future__ import annotations

PRIVATE_NAMES: dict[str, str] = {
    "torch.version": "rushlight.compat.version",
    "torch.torch_version": "rushlight.compat.torch_version",
    "torch.utils._pytree": "rushlight.compat.pytree",
    "torch.utils._cxx_pytree": "rushlight.compat.pytree",
    "torch.utils.pytree": "rushlight.compat.pytree",
    "torch.utils._python_dispatch": "rushlight.compat.python_dispatch",
    "torch.utils._device": "rushlight.compat.device_context",
    "torch.utils._ordered_set": "rushlight.compat.ordered_set",
    "torch.utils._config_module": "rushlight.compat.config_module",
    "torch.utils.benchmark.utils": "rushlight.utils.benchmark",
    "torch.utils.benchmark.utils.common": "rushlight.utils.benchmark.measurement",
    "torch.utils.benchmark.utils.compare": "rushlight.utils.benchmark.compare",
    "torch.utils.benchmark.utils.fuzzer": "rushlight.utils.benchmark.fuzzer",
    "torch.utils.benchmark.utils.sparse_fuzzer": "rushlight.utils.benchmark.fuzzer",
    "torch.utils.benchmark.utils.timer": "rushlight.utils.benchmark.timer",
    "torch.utils._mode_utils": "rushlight.compat.mode_utils",
    "torch.utils._import_utils": "rushlight.compat.import_utils",
    "torch.utils._dtype_abbrs": "rushlight.compat.dtype_abbreviations",
    "torch._vendor": "rushlight.compat.vendored",
    "torch._vendor.packaging": "rushlight.compat.vendored",
    "torch._vendor.packaging.version": "rushlight.compat.torch_version",
    "torch._subclasses": "rushlight.compat.subclasses",
    "torch.utils._foreach_utils": "rushlight.compat.foreach_utils",
    "torch._utils": "rushlight.compat.utils_internal",
    "torch._utils_internal": "rushlight.compat.internal_utils",
    "torch._tensor": "rushlight.compat.tensor_internal",
    "torch.storage": "rushlight.compat.storage",
    "torch._tensor_str": "rushlight.compat.tensor_text",
    "torch._VF": "rushlight.compat.vf",
    "torch._prims_common": "rushlight.compat.prims_common",
    "torch._ops": "rushlight.ops.overloads",
    "torch._library": "rushlight.compat.library_internal",
    "torch._library.infer_schema": "rushlight.library.infer",
    "torch._library.custom_ops": "rushlight.library.custom_op",
    "torch._refs": "rushlight.compat.refs",
    "torch._refs._conversions": "rushlight.compat.refs._conversions",
    "torch._refs.fft": "rushlight.fft",
    "torch._refs.linalg": "rushlight.linalg",
    "torch._refs.nn": "rushlight.nn",
    "torch._refs.nn.functional": "rushlight.nn.functional",
    "torch._refs.special": "rushlight.special",
    "torch._export": "rushlight.compat.export_internal",
    "torch._export.wrappers": "rushlight.compat.export_internal.wrappers",
    "torch._custom_ops": "rushlight.compat.custom_ops",
    "torch._custom_op": "rushlight.compat.custom_op",
    "torch._custom_op.autograd": "rushlight.compat.custom_op.gradient",
    "torch._decomp": "rushlight.compat.decompositions",
    "torch._logging": "rushlight.compat.logging_internal",
    "torch._vmap_internals": "rushlight.compat.vmap_internals",
    "torch._jit_internal": "rushlight.compat.jit_internal",
    "torch._inductor": "rushlight.compat.inductor",
    "torch._higher_order_ops": "rushlight.compat.higher_order",
    "torch._functorch": "rushlight.compat.functorch_internal",
    "torch.quantization": "rushlight.ao.quantization",
    "torch.functorch": "rushlight.compat.functorch",
    "torch.compiler.config": "rushlight.compat.dynamo.config",
    "torch.testing._utils": "rushlight.compat.testing_utils",
    "torch.testing._internal": "rushlight.compat.testing_internal",
    "torch._dynamo": "rushlight.compat.dynamo",
    "torch._C": "rushlight.compat.c_names",
    "torch.distributed.elastic.utils": "rushlight.compat.elastic_utils",
    "torch._C._distributed_c10d": "rushlight.distributed.distributed_c10d",
    "torch.ao.quantization.quantize_fx": "rushlight.fx.quantization",
    "torch.ao.quantization.fx": "rushlight.fx.quantization",
    "torch.ao.quantization.fx._decomposed": "rushlight.fx.quantization.decomposed",
    "torch.distributed._tensor.device_mesh": "rushlight.distributed.device_mesh",
    "torch.utils.data._utils": "rushlight.compat.data_utils",
    "torch.utils.data._utils.collate": "rushlight.utils.data.collate",
    "torch.utils.data._utils.worker": "rushlight.utils.data.worker",
    "torch.utils._contextlib": "rushlight.compat.contextlib_internal",
    "torch.utils._triton": "rushlight.compat.triton_internal",
    "torch._guards": "rushlight.compat.guards_internal",
    "torch.classes": "rushlight.compat.classes",
    "torch._classes": "rushlight.compat.classes",
    "torch.cuda.amp.grad_scaler": "rushlight.cuda.amp",
    "torch.cuda.amp.autocast_mode": "rushlight.cuda.amp",
    "torch.cuda.amp.common": "rushlight.compat.cuda_amp_common",
    "torch.fx.experimental._config": "rushlight.compat.fx_config",
    "torch.nn.utils._per_sample_grad": "rushlight.compat.per_sample_grad",
    "torch.nn.utils._named_member_accessor": "rushlight.compat.member_accessor",
    "torch.autograd.variable": "rushlight.compat.autograd_variable",
    "torch.accelerator.memory": "rushlight.accelerator",
    "torch.package.package_exporter": "rushlight.package",
    "torch.package.package_importer": "rushlight.package",
    "torch.package.importer": "rushlight.package",
    "torch.masked._ops": "rushlight.masked.reductions",
    "torch.masked.maskedtensor.core": "rushlight.compat.masked_core",
    "torch.nested._internal": "rushlight.compat.nested_internal",
    "torch.jit._state": "rushlight.compat.jit_state",
    "torch.sparse._triton_ops_meta": "rushlight.compat.sparse_triton_meta",
    "torch.jit._trace": "rushlight.compat.jit_trace",
    "torch.jit._recursive": "rushlight.compat.jit_recursive",
    "torch.jit._passes": "rushlight.compat.jit_passes",
    "torch.onnx.ops": "rushlight.compat.onnx_ops",
    "torch.onnx._constants": "rushlight.compat.onnx_constants",
    "torch.onnx._globals": "rushlight.onnx.globals",
    "torch.onnx._type_utils": "rushlight.onnx.types",
    "torch.onnx._internal": "rushlight.compat.onnx_internal",
    "torch.onnx._internal.registration": "rushlight.onnx.registration",
    "torch.onnx._internal.jit_utils": "rushlight.compat.onnx_jit_utils",
}
# The exporter of `dynamo=False`, which newer versions of PyTorch keep in a package of its own.
_EXPORTER = "torch.onnx._internal.torchscript_exporter"
PRIVATE_NAMES.update(
    {
        _EXPORTER: "rushlight.compat.torchscript_exporter",
        f"{_EXPORTER}._globals": "rushlight.onnx.globals",
        f"{_EXPORTER}._type_utils": "rushlight.onnx.types",
        f"{_EXPORTER}.jit_utils": "rushlight.compat.onnx_jit_utils",
        f"{_EXPORTER}.registration": "rushlight.onnx.registration",
        f"{_EXPORTER}.symbolic_helper": "rushlight.onnx.symbolic_helper",
        f"{_EXPORTER}.utils": "rushlight.onnx.utils",
        f"{_EXPORTER}.verification": "rushlight.onnx.verification",
    }
)
PRIVATE_NAMES.update(
    {
        f"{_place}.symbolic_opset{_number}": "rushlight.compat.symbolic_opset"
        for _number in range(7, 21)
        for _place in ("torch.onnx", _EXPORTER)
    }
)

_LAYERS = "modules modules.activation modules.batchnorm modules.conv modules.dropout modules.embedding_ops modules.functional_modules modules.linear "
_LAYERS += "modules.normalization modules.rnn modules.utils activation batchnorm conv dropout embedding_ops functional_modules linear normalization rnn utils"
for _old in ("torch.nn", "torch.ao.nn"):  # the files of PyTorch's packages of quantized layers: each package is one module here
    for _name, _parts in {
        "quantized": _LAYERS,
        "quantized.dynamic": "modules modules.conv modules.linear modules.rnn",
        "qat": "modules modules.conv modules.linear modules.embedding_ops",
        "qat.dynamic": "modules modules.linear",
        "quantizable": "modules modules.activation modules.rnn",
        "intrinsic": "modules modules.fused",
        "intrinsic.qat": "modules modules.conv_fused modules.linear_fused modules.linear_relu",
        "intrinsic.quantized": "modules modules.conv_relu modules.linear_relu modules.bn_relu",
    }.items():
        _home = "rushlight.ao.nn." + _name.replace("qat.dynamic", "qat")
        PRIVATE_NAMES.update({f"{_old}.{_name}.{_part}": _home for _part in _parts.split()})
    PRIVATE_NAMES[f"{_old}.qat.dynamic"] = "rushlight.ao.nn.qat"
PRIVATE_NAMES.update(
    {
        f"torch.nn.{_name}": f"rushlight.ao.nn.{_name}"
        for _name in ("quantizable", "quantized.dynamic", "quantized.functional", "intrinsic.qat", "intrinsic.quantized")
    }
)

# PyTorch's packages that are one file here: programs import submodules of them, and look whether they are packages.
PACKAGES = {"torch.compiler", "torch.fft", "torch.linalg", "torch.special", "torch.quantization", "torch.cuda.amp"}
PACKAGES |= {
    f"{_old}.{_name}"
    for _old in ("torch.nn", "torch.ao.nn")
    for _name in (
        "quantized.modules",
        "quantized.dynamic",
        "quantized.dynamic.modules",
        "qat.modules",
        "qat.dynamic",
        "qat.dynamic.modules",
        "quantizable.modules",
        "intrinsic.modules",
        "intrinsic.qat",
        "intrinsic.qat.modules",
        "intrinsic.quantized",
        "intrinsic.quantized.modules",
    )
}

PACKAGES |= {_name.rpartition(".")[0] for _name in PRIVATE_NAMES}  # whatever has a private part

# Packages that come with PyTorch under a name of their own.
OTHER_PACKAGES = {
    "functorch": "rushlight.compat.functorch",
    "functorch.compile": "rushlight.compat.functorch.compile",
    "functorch.experimental": "rushlight.compat.functorch.experimental",
    "functorch.experimental.control_flow": "rushlight.compat.functorch.experimental.control_flow",
}

# Private names in public modules: module of PyTorch's -> module here -> names.
PRIVATE_ATTRIBUTES: dict[str, dict[str, str]] = {
    "torch.onnx.verification": {"rushlight.compat.onnx_verification": "_compare_onnx_pytorch_outputs _ort_session _run_onnx"},
    "torch": {
        "rushlight.compat.c_names": "AnyType Block BoolType ComplexType DictType DisableTorchFunction DisableTorchFunctionSubclass DispatchKey "
        "DispatchKeySet EnumType ErrorReport FileCheck FloatType Graph InferredType IntType ListType Node NoneType NumberType OptionalType "
        "ScriptDict ScriptList ScriptMethod ScriptObject StringType TensorType TupleType UnionType Value compiled_with_cxx11_abi has_cuda "
        "has_cudnn has_lapack has_mkl has_mkldnn has_mps has_openmp has_spectral",
        "rushlight.utils.dlpack": "to_dlpack",
        "rushlight.compat.checks": "_assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_tensor_all_with "
        "_check_type _check_value _check_with",
        "rushlight.compat.foreach": "_amp_foreach_non_finite_check_and_unscale_ _foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_add "
        "_foreach_add_ _foreach_addcdiv _foreach_addcdiv_ _foreach_addcmul _foreach_addcmul_ _foreach_asin _foreach_asin_ "
        "_foreach_atan _foreach_atan_ _foreach_ceil _foreach_ceil_ _foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min "
        "_foreach_clamp_min_ _foreach_clone _foreach_copy_ _foreach_cos _foreach_cos_ _foreach_cosh _foreach_cosh_ _foreach_div "
        "_foreach_div_ _foreach_erf _foreach_erf_ _foreach_erfc _foreach_erfc_ _foreach_exp _foreach_exp_ _foreach_expm1 "
        "_foreach_expm1_ _foreach_floor _foreach_floor_ _foreach_frac _foreach_frac_ _foreach_lerp _foreach_lerp_ "
        "_foreach_lgamma _foreach_lgamma_ _foreach_log _foreach_log10 _foreach_log10_ _foreach_log1p _foreach_log1p_ "
        "_foreach_log2 _foreach_log2_ _foreach_log_ _foreach_max _foreach_maximum _foreach_maximum_ _foreach_minimum "
        "_foreach_minimum_ _foreach_mm _foreach_mul _foreach_mul_ _foreach_neg _foreach_neg_ _foreach_norm _foreach_pow "
        "_foreach_pow_ _foreach_powsum _foreach_reciprocal _foreach_reciprocal_ _foreach_round _foreach_round_ _foreach_rsqrt "
        "_foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_ _foreach_sign _foreach_sign_ _foreach_sin _foreach_sin_ "
        "_foreach_sinh _foreach_sinh_ _foreach_sqrt _foreach_sqrt_ _foreach_sub _foreach_sub_ _foreach_tan _foreach_tan_ "
        "_foreach_tanh _foreach_tanh_ _foreach_trunc _foreach_trunc_ _foreach_zero_ _fused_adagrad_ _fused_adam_ _fused_adamw_ "
        "_fused_sgd_",
        "rushlight.compat.numbers": "_aminmax _amp_update_scale_ _assert_async _convolution _dim_arange _conj _conj_physical _debug_has_internal_overlap _masked_softmax _neg_view _shape_as_tensor _softmax_backward_data _sparse_broadcast_to _validate_sparse_compressed_tensor_args _unique _unique2 _scaled_mm _segment_reduce "
        "_addmm_activation _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short _has_compatible_shallow_copy_type "
        "eig lstsq matrix_rank segment_reduce solve symeig",
        "rushlight.compat.nested_internal.buffers": "_nested_from_padded _nested_from_padded_and_nested_example _nested_get_lengths _nested_get_offsets "
        "_nested_get_ragged_idx _nested_get_values _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned _nested_view_from_buffer "
        "_nested_view_from_jagged",
        "rushlight.compat.weight_only": "_convert_weight_to_int4pack_for_cpu _int_mm _weight_int4pack_mm_for_cpu _weight_int8pack_mm",
        "rushlight.compat.storage": "StorageBase",
        "rushlight.compat.files": "PyTorchFileReader PyTorchFileWriter",
        "rushlight.compat.tag": "Tag",
        "rushlight.jit": "ScriptModule ScriptFunction",
        "rushlight.compat.compiling": "_disable_dynamo",
        "rushlight.nn.grouped_products": "_grouped_mm",
    },
    "torch.nn.functional": {
        "rushlight.nn": "grad",
        "rushlight.compat.nn_functional": "_Reduction _canonical_mask _check_key_padding_mask _get_softmax_dim _in_projection _in_projection_packed _list_with_default "
        "_mha_shape_check _none_or_dtype _pair _single _triple _verify_batch_size _verify_spatial_size assert_int_or_pair boolean_dispatch handle_torch_function "
        "has_torch_function has_torch_function_unary has_torch_function_variadic",
    },
    "torch.functional": {
        "rushlight": "Tensor",
        "rushlight.compat.nn_functional": "F boolean_dispatch handle_torch_function has_torch_function has_torch_function_unary has_torch_function_variadic",
    },
    "torch.serialization": {
        "rushlight.compat.serialization_internal": "_check_dill_version _get_restore_location _is_compressed_file _is_path _is_torchscript_zip _is_zipfile "
        "_maybe_decode_ascii _open_file_like _open_zipfile_reader _should_read_directly zipfile pickle",
    },
    "torch.masked": {
        "rushlight.compat.masked_internal": "_canonical_dim _combine_input_and_mask _input_mask _output_mask _reduction_identity",
    },
    "torch.distributed": {"rushlight.compat.c10d": "_Work _get_process_group_name"},
    "torch.distributed.distributed_c10d": {
        "rushlight.compat.c10d": "_Work _GLOO_AVAILABLE _MPI_AVAILABLE _NCCL_AVAILABLE _UCC_AVAILABLE _get_default_timeout _get_global_rank _get_object_coll_device "
        "_get_process_group_name _get_process_group_store _pg_map _pickler _resolve_process_group _unpickler _warn_not_in_group _world rendezvous",
    },
    "torch.utils.checkpoint": {
        "rushlight.compat.checkpoint_internal": "SAC_IGNORED_OPS _VersionWrapper _get_device_module _infer_device_type _policy_from_bool",
    },
    "torch.jit": {
        "rushlight.compat.jit_internal": "_drop _overload _overload_method _script_if_tracing _unique_state_dict",
        "rushlight.compat.trace_graph": "_get_trace_graph",
    },
    "torch.backends.cuda": {
        "rushlight.compat.attention_kernels": "SDPAParams can_use_cudnn_attention can_use_efficient_attention can_use_flash_attention preferred_blas_library "
        "preferred_linalg_library",
    },
    "torch.cpu": {
        "rushlight.compat.c_names._cpu": "_init_amx _is_amx_fp16_supported _is_amx_tile_supported _is_avx2_supported _is_avx512_bf16_supported "
        "_is_avx512_supported _is_vnni_supported",
    },
    "torch.cuda": {"rushlight.compat.cuda_internal": "_initialized _is_compiled _sleep"},
    "torch.cuda.memory": {"rushlight.compat.cuda_internal": "_dump_snapshot _snapshot _set_allocator_settings get_allocator_backend"},
    "torch.autograd.functional": {
        "rushlight.compat.autograd_functional": "_as_tuple _construct_standard_basis_for _grad_postprocess _grad_preprocess _tuple_postprocess _validate_v",
    },
    "torch.autograd.graph": {"rushlight.compat.autograd_functional": "_get_grad_fn_or_grad_acc"},
    "torch.amp.autocast_mode": {"rushlight.compat.compiling": "_cast"},
    "torch.optim.optimizer": {
        "rushlight.compat.optim_internal": "_default_to_fused_or_foreach _device_dtype_check_for_fused _disable_dynamo_if_unsupported _dispatch_sqrt "
        "DeviceDict _get_capturable_supported_devices _get_scalar_dtype _get_value _stack_if_compiling _to_scalar _use_grad_for_differentiable _view_as_real",
        "rushlight.compat.foreach_utils": "_get_foreach_kernels_supported_devices _get_fused_kernels_supported_devices",
    },
    "torch.optim.swa_utils": {"rushlight.compat.foreach_utils": "_group_tensors_by_device_and_dtype"},
    "torch.autograd": {"rushlight.compat.autograd_variable": "_disable_profiler _is_checkpoint_valid _profiler_enabled kineto_available"},
    "torch.utils.data.dataloader": {
        "rushlight.compat.dataloader": "_collate_fn_t _worker_init_fn_t _BaseDataLoaderIter _SingleProcessDataLoaderIter "
        "_MultiProcessingDataLoaderIter _sharding_worker_init_fn get_worker_info"
    },
}
PRIVATE_ATTRIBUTES.update(
    {
        f"torch.optim.{name}": {"rushlight.compat.functional_optimizers": name}
        for name in "adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd".split()
    }
)
