"""Models of attention and its relatives, each small: two steps of training, and the loss."""

# libraries: perceiver-pytorch reformer-pytorch sinkhorn-transformer lambda-networks slot-attention egnn-pytorch nystrom-attention g-mlp-pytorch mlp-mixer-pytorch byol-pytorch conformer titans-pytorch
import random

import numpy as np
import torch
from byol_pytorch import BYOL
from conformer import ConformerBlock
from egnn_pytorch import EGNN
from g_mlp_pytorch import gMLP
from lambda_networks import LambdaLayer
from mlp_mixer_pytorch import MLPMixer
from nystrom_attention import NystromAttention
from perceiver_pytorch import Perceiver
from reformer_pytorch import ReformerLM
from sinkhorn_transformer import SinkhornTransformerLM
from slot_attention import SlotAttention
from titans_pytorch import NeuralMemory
from torch import nn


def seed():
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def train(name, make, data):
    seed()
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    inputs = data()
    for _ in range(2):
        optimizer.zero_grad()
        out = model(inputs)
        loss = out.square().mean()
        loss.backward()
        optimizer.step()
    print(f"{name}: {tuple(out.shape)} {loss:.5f}")


def tokens(length):
    return lambda: torch.randint(0, 20, (2, length))


train(
    "perceiver",
    lambda: Perceiver(
        input_channels=3,
        input_axis=2,
        num_freq_bands=2,
        max_freq=4.0,
        depth=2,
        num_latents=4,
        latent_dim=8,
        cross_dim_head=4,
        latent_dim_head=4,
        num_classes=3,
    ),
    lambda: torch.randn(2, 8, 8, 3),
)
train(
    "reformer",
    lambda: ReformerLM(num_tokens=20, dim=16, depth=2, max_seq_len=64, heads=2, bucket_size=8, n_hashes=2, ff_chunks=2, causal=True),
    tokens(64),
)
train(
    "sinkhorn",
    lambda: SinkhornTransformerLM(num_tokens=20, dim=16, heads=2, depth=1, max_seq_len=32, bucket_size=8, causal=True),
    tokens(32),
)
train("lambda", lambda: LambdaLayer(dim=8, dim_out=8, r=5, dim_k=4, heads=2, dim_u=2), lambda: torch.randn(2, 8, 6, 6))
train("slots", lambda: SlotAttention(num_slots=3, dim=8, iters=2), lambda: torch.randn(2, 10, 8))
train(
    "nystrom",
    lambda: NystromAttention(dim=8, dim_head=4, heads=2, num_landmarks=4, pinv_iterations=3, residual=True),
    lambda: torch.randn(1, 16, 8),
)
train("gmlp", lambda: gMLP(num_tokens=20, dim=8, depth=2, seq_len=16, circulant_matrix=True, act=nn.Tanh()), tokens(16))
train("mixer", lambda: MLPMixer(image_size=8, channels=3, patch_size=4, dim=8, depth=2, num_classes=3), lambda: torch.randn(2, 3, 8, 8))
train(
    "conformer",
    lambda: ConformerBlock(dim=8, dim_head=4, heads=2, ff_mult=2, conv_expansion_factor=2, conv_kernel_size=7),
    lambda: torch.randn(2, 10, 8),
)

seed()
layer = EGNN(dim=8, edge_dim=2)
features, places = layer(torch.randn(1, 5, 8), torch.randn(1, 5, 3), torch.randn(1, 5, 5, 2))
(features.sum() + places.sum()).backward()
print(f"egnn: {features.abs().mean():.5f} {places.abs().mean():.5f}")

seed()
network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 6))
learner = BYOL(
    network,
    image_size=16,
    hidden_layer=-1,
    projection_size=8,
    projection_hidden_size=16,
    augment_fn=nn.Identity(),
    augment_fn2=nn.Identity(),
)
loss = learner(torch.randn(4, 3, 16, 16))
loss.backward()
learner.update_moving_average()
print(f"byol: {loss:.4f}")

seed()
memory = NeuralMemory(dim=8, chunk_size=4)
found, _ = memory(torch.randn(1, 16, 8))
print(f"titans: {tuple(found.shape)} {found.abs().mean():.5f}")
