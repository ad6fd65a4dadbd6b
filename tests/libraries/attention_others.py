"""Transformers of other kinds, each small: three steps of training, and the losses."""

# libraries: performer-pytorch linformer routing-transformer soft-moe-pytorch st-moe-pytorch PaLM-rlhf-pytorch memory-efficient-attention-pytorch ring-attention-pytorch
import random

import numpy as np
import torch
from linformer import LinformerLM
from memory_efficient_attention_pytorch import Attention
from palm_rlhf_pytorch import PaLM
from performer_pytorch import PerformerLM
from ring_attention_pytorch import RingTransformer
from routing_transformer import RoutingTransformerLM
from shared.reporting import show, train
from soft_moe_pytorch import DynamicSlotsSoftMoE, SoftMoE
from st_moe_pytorch import MoE, SparseMoEBlock
from torch.nn import functional as F


def seed():
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def language(name, make, length, batch=2):
    seed()
    model = make()
    tokens = torch.randint(0, 50, (batch, length))

    def loss(output):
        logits, extra = output if isinstance(output, tuple) else (output, 0.0)
        return F.cross_entropy(logits.flatten(0, 1), tokens.flatten()) + extra

    show(name, *train(model, tokens, loss))


def layers(name, make, size):
    seed()
    model = make()
    x = torch.randn(size)
    show(name, *train(model, x, lambda output: output[0].pow(2).mean() + output[1] if isinstance(output, tuple) else output.pow(2).mean()))


language("performer", lambda: PerformerLM(num_tokens=50, max_seq_len=32, dim=32, depth=2, heads=2, causal=False), 32)
language("linformer", lambda: LinformerLM(num_tokens=50, dim=32, seq_len=16, depth=2, heads=2, k=8, one_kv_head=True, share_kv=True), 16)
language(
    "routing",
    lambda: RoutingTransformerLM(
        num_tokens=50, dim=32, heads=2, depth=2, max_seq_len=64, window_size=16, n_local_attn_heads=1, causal=True
    ),
    64,
    1,
)
language(
    "ring", lambda: RingTransformer(num_tokens=50, dim=32, depth=2, heads=2, dim_head=16, causal=True, ring_attn=False, bucket_size=8), 32
)
layers("soft mixture", lambda: SoftMoE(dim=32, seq_len=16, num_experts=4), (2, 16, 32))
layers("dynamic slots", lambda: DynamicSlotsSoftMoE(dim=32, num_experts=4), (2, 16, 32))
layers(
    "sparse mixture", lambda: SparseMoEBlock(MoE(dim=32, num_experts=4, gating_top_n=2), add_ff_before=True, add_ff_after=True), (2, 16, 32)
)
layers(
    "in chunks",
    lambda: Attention(dim=32, dim_head=8, heads=2, memory_efficient=True, q_bucket_size=8, k_bucket_size=8, causal=True),
    (1, 32, 32),
)
seed()
palm, tokens = PaLM(num_tokens=64, dim=32, depth=2, heads=2, dim_head=16, flash_attn=False), torch.randint(0, 64, (1, 24))
optimizer = torch.optim.Adam(palm.parameters(), 1e-2)
for _ in range(3):
    optimizer.zero_grad()
    loss = palm(tokens, return_loss=True)
    loss.backward()
    optimizer.step()
    show("palm", loss)
print(palm.generate(10, prompt=tokens[:, :4], temperature=0.0).tolist())
