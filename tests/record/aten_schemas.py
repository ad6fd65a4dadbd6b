"""Record the schemas of PyTorch's ``aten`` operators: rushlight/ops/aten_schemas.txt, one overload a line.

Operators of single back-ends, of nested tensors, and most gradient kernels are left out: the table of ops here has no counterpart.
"""

import re
from pathlib import Path

import torch

OTHERS = re.compile(
    r"backward|cudnn|mkldnn|miopen|quantized|mps|nested|fbgemm|cslt|jagged|fused_(adam|sgd|adagrad|moving)|_test_|_cufft|_nnpack|_efficient|_flash|"
    r"_thnn|_weight_int4pack_mm(?!_for_cpu)|_wrapped|_scaled_(mm|grouped)|_batch_norm_impl|_amp_|_autocast|_cast_|_choose_qparams|_functional_|_fake_quant|quantize_learnable|_cachemask|_dyn_quant"
)
GRADIENTS = {  # those that programs call by hand, in rushlight/ops/aten_gradients.py
    f"aten::{name}"
    for name in (
        "convolution_backward", "_softmax_backward_data", "_log_softmax_backward_data", "gelu_backward", "silu_backward", "sigmoid_backward",
        "tanh_backward", "threshold_backward", "native_dropout_backward", "embedding_dense_backward",
    )
}  # fmt: skip
lines = []
for name in torch._C._dispatch_get_all_op_names():
    place, _, overload = name.partition(".")
    if place.startswith("aten::_foreach") and overload.endswith("out"):
        continue  # lists of results to write to
    if place in GRADIENTS or (name.startswith("aten::") and not OTHERS.search(place)):
        lines.append(str(torch._C._get_schema(place, overload)).removeprefix("aten::"))
target = Path(__file__).resolve().parents[2] / "rushlight" / "ops" / "aten_schemas.txt"
# The order of overloads is the one in which a packet tries them.
order = {}
for line in lines:
    op = line.partition("(")[0].partition(".")[0]
    if op not in order:
        order[op] = list(getattr(torch.ops.aten, op).overloads())
key = lambda line: (
    line.partition("(")[0].partition(".")[0],
    order[line.partition("(")[0].partition(".")[0]].index(line.partition("(")[0].partition(".")[2] or "default"),
)
target.write_text("\n".join(sorted(lines, key=key)) + "\n", encoding="utf8")
print(len(lines), "overloads")
