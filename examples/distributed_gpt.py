"""Train a small GPT on text that the program makes, in one process or many: data parallel, or with everything in parts.

python examples/distributed_gpt.py --steps 30
rushlight launch -n 2 examples/distributed_gpt.py --steps 30
rushlight launch -n 2 examples/distributed_gpt.py --steps 30 --strategy shard --checkpoint /tmp/gpt
"""

import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

WORDS, LENGTH, BATCH = 32, 16, 24


class Block(nn.Module):
    """Attention, then a small network, each added to its input."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """Scores of the next word for each word."""

    def __init__(self, width=32, heads=4, layers=2):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS)

    def forward(self, index):
        x = self.words(index) + self.places(torch.arange(index.shape[1]))
        for each in self.blocks:
            x = each(x)
        return self.head(self.norm(x))


def text(count, step):
    """Words that count up by a step of their own, and the words that follow each: the same on every process."""
    generator = torch.Generator().manual_seed(step)
    start = torch.randint(WORDS, (count, 1), generator=generator)
    stride = torch.randint(1, 4, (count, 1), generator=generator)
    words = (start + stride * torch.arange(LENGTH + 1)) % WORDS
    return words[:, :-1], words[:, 1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--strategy", choices=("replicate", "shard"), default="replicate")
    parser.add_argument("--compile", action="store_true", help="compile the whole step, with the exchange of gradients inside")
    parser.add_argument("--checkpoint", help="a folder: written at the end, read at the beginning if it is there")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--losses", help="a file for the loss of every step, as JSON")
    arguments = parser.parse_args()
    if "RANK" in os.environ or "PMI_RANK" in os.environ:
        dist.init_process_group()
    else:
        dist.init_process_group("gloo", "tcp://localhost:0", world_size=1, rank=0)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(arguments.seed)
    model = GPT()
    if arguments.strategy == "shard":
        from torch.distributed.fsdp import fully_shard

        for each in model.blocks:
            fully_shard(each)
        fully_shard(model)
    else:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    first, losses = 0, []
    if arguments.checkpoint:
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict

        if os.path.exists(os.path.join(arguments.checkpoint, ".metadata")):
            state = {"model": get_model_state_dict(model), "step": 0}
            dcp.load(state, checkpoint_id=arguments.checkpoint)
            set_model_state_dict(model, state["model"])
            first = state["step"]

    def train(x, y):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    train = torch.compile(train) if arguments.compile else train
    for step in range(first, first + arguments.steps):
        x, y = (each[rank * BATCH // size : (rank + 1) * BATCH // size] for each in text(BATCH, step))
        mean = train(x, y).detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.SUM)
        losses.append(mean.item() / size)
        if rank == 0 and step % 10 == 0:
            print(f"step {step + 1:5}   loss {losses[-1]:.4f}", flush=True)
    if arguments.checkpoint:
        dcp.save({"model": get_model_state_dict(model), "step": first + arguments.steps}, checkpoint_id=arguments.checkpoint)
    if rank == 0:
        print(f"{size} processes, {arguments.strategy}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
        if arguments.losses:
            with open(arguments.losses, "w") as file:
                json.dump(losses, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
