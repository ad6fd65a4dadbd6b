# ruff: noqa
"""Models of litgpt: training, a key/value cache, LoRA."""

# libraries: litgpt lightning
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show, train

warnings.simplefilter("ignore")
torch.manual_seed(0)

from litgpt import GPT, Config
from litgpt.lora import GPT as LoraGPT
from litgpt.lora import Config as LoraConfig
from litgpt.lora import lora_filter, mark_only_lora_as_trainable

sizes = dict(block_size=32, vocab_size=100, padded_vocab_size=128, n_layer=2, n_head=4, n_embd=32, n_query_groups=2)
llama = dict(
    rotary_percentage=1.0, norm_class_name="RMSNorm", mlp_class_name="LLaMAMLP", intermediate_size=64, bias=False, parallel_residual=False
)
tokens = torch.randint(0, 100, (2, 16))
for more in (llama, {}):
    model = GPT(Config(**sizes, **more))
    show("losses", *train(model, tokens, lambda out: F.cross_entropy(out.flatten(0, 1), tokens.flatten())))
    model.eval()
    model.set_kv_cache(1)
    with torch.no_grad():
        show("prompt", model(tokens[:1, :5], torch.arange(5)))
        show("next", model(tokens[:1, 5:6], torch.tensor([5])))
torch.manual_seed(1)
lora = LoraGPT(LoraConfig(**sizes, **llama, lora_r=2, lora_alpha=4, lora_query=True, lora_value=True))
for parameter in lora.parameters():
    nn.init.normal_(parameter, std=0.05)
mark_only_lora_as_trainable(lora)
show("lora", *train(lora, tokens, lambda out: F.cross_entropy(out.flatten(0, 1), tokens.flatten())))
print(len([name for name, p in lora.named_parameters() if lora_filter(name, p)]))
