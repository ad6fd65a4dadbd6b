"""Weights of few bits by the Python halves of libraries: tensor subclasses, ops with implementations for the CPU, packed layers."""

# libraries: torchao bitsandbytes hqq
import warnings

import bitsandbytes as bnb
import bitsandbytes.functional as blockwise
import torch
from hqq.core.quantize import BaseQuantizeConfig, HQQLinear
from shared.reporting import show
from torch import nn
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig, quantize_

warnings.simplefilter("ignore")
torch.manual_seed(0)
x = torch.randn(4, 64)
for config in (Int8WeightOnlyConfig(), Int8DynamicActivationInt8WeightConfig()):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
    exact = model(x)
    quantize_(model, config)
    found = model(x)
    show(type(config).__name__, type(model[0].weight).__name__, found, bool((found - exact).abs().max() < 0.2))

square = torch.randn(64, 64)
codes, state = blockwise.quantize_blockwise(square)
show("blocks of bytes", codes.float(), state.absmax, blockwise.dequantize_blockwise(codes, state))
codes, state = blockwise.quantize_4bit(square, quant_type="nf4")
show("four bits", codes.float(), blockwise.dequantize_4bit(codes, state))
layer = bnb.nn.Linear4bit(64, 8, quant_type="nf4", compute_dtype=torch.float32).to("cpu")
show("Linear4bit", layer(square))
layer = bnb.nn.Linear8bitLt(64, 8, has_fp16_weights=False).to("cpu")
show("Linear8bitLt", layer(square))

torch.manual_seed(0)
half = HQQLinear(nn.Linear(64, 32), BaseQuantizeConfig(nbits=4, group_size=64), compute_dtype=torch.float32, device="cpu")
show("HQQLinear", half(x), half.dequantize())
