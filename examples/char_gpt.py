"""Train a character-level GPT on a short tale, then let it go on by itself.

The tale is part of the program.  The model is a decoder-only transformer of the usual shape: learned positions, causal
attention, layer norm before each part, weights of the last layer shared with the embedding.

    python examples/char_gpt.py --steps 600 --prompt "The candles"
"""

import argparse
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

TALE = """
When the nights grew long the old woman went down to the marsh and cut rushes. She cut them where the water was still
and the stems were tall, and she carried them home in her apron. By the door she peeled them, one by one, and left a
thin green rib on each so that the pith would hold. Then she drew them through the fat of the kitchen and laid them on
a piece of bark to dry.

A rush well made will burn for half an hour. It gives a clear light, and it costs nothing but the walk to the marsh. The
rich man on the hill had candles of wax and lamps of brass, and he laughed at the small light in the window below. But
the wind came over the hill in the first week of winter, and the snow came after the wind, and the road was closed.

The candles on the hill were burned in a week. The oil in the lamps was burned in a month. Then the great house was dark,
and the rich man sat in the dark and listened to the wind. Far below him he saw the small light in the window, and it
was there the next night, and the next night, and every night until the thaw.

When the road was open he came down the hill and knocked at the door. He said: teach me how to make the light. And the
old woman gave him a knife, and a pair of boots that had been her father's, and she took him down to the marsh where the
water was still and the stems were tall.
"""


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        split = (batch, length, self.heads, width // self.heads)
        query, key, value = (part.view(split).transpose(1, 2) for part in self.query_key_value(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.project(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a two-layer network, each added to what comes in."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.attention = Attention(width, heads)
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norms[0](x)))
        return x + self.dropout(self.network(self.norms[1](x)))


class GPT(nn.Module):
    """The next character's scores at every place of a text."""

    def __init__(self, characters, context, width=64, heads=4, layers=2, dropout=0.05):
        super().__init__()
        self.context = context
        self.embed = nn.Embedding(characters, width)
        self.positions = nn.Parameter(0.05 * torch.randn(context, width))
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, characters, bias=False)
        self.apply(self.initialise)
        self.head.weight = self.embed.weight

    @staticmethod
    def initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.05)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, text):
        x = self.embed(text) + self.positions[: text.shape[1]]
        return self.head(self.norm(self.blocks(x)))

    @torch.no_grad()
    def write(self, text, count, temperature=0.7):
        """Go on from `text` (1, length) for `count` characters."""
        self.eval()
        for _ in range(count):
            scores = self(text[:, -self.context :])[:, -1] / temperature
            text = torch.cat([text, torch.multinomial(scores.softmax(dim=-1), 1)], dim=1)
        return text


def learning_rate(step, steps, warm_up=10):
    """A short climb, then down along a cosine to a tenth."""
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warm_up) / max(1, steps - warm_up)))


def main():
    parser = argparse.ArgumentParser(description="A character-level GPT on a short tale.")
    parser.add_argument("--steps", type=int, default=600, help="optimisation steps (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=16, help="pieces of text in a batch (default %(default)s)")
    parser.add_argument("--context", type=int, default=32, help="characters the model can see (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=4e-3, help="the highest one (default %(default)s)")
    parser.add_argument("--write", type=int, default=160, help="characters to write at the end (default %(default)s)")
    parser.add_argument("--prompt", default="The ", help="how the model's own text begins (default %(default)r)")
    parser.add_argument("--seed", type=int, default=0, help="of the random stream (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    tale = " ".join(TALE.split())
    alphabet = sorted(set(tale))
    if not options.prompt:
        parser.error("the prompt needs a character at least")
    if unknown := set(options.prompt) - set(alphabet):
        parser.error(f"the tale does not have the characters {''.join(sorted(unknown))!r}")
    number = {character: index for index, character in enumerate(alphabet)}
    text = torch.tensor([number[character] for character in tale])

    model = GPT(len(alphabet), options.context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, options.steps))
    print(f"{len(tale)} characters of {len(alphabet)} kinds, {sum(p.numel() for p in model.parameters())} parameters")

    losses = []
    for step in range(1, options.steps + 1):
        starts = torch.randint(len(text) - options.context, (options.batch_size, 1))
        pieces = text[starts + torch.arange(options.context + 1)]
        scores = model(pieces[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), pieces[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 50 == 0 or step == 1:
            print(f"step {step:4d}   loss {loss.item():.4f}   perplexity {loss.exp().item():.2f}")
        elif sys.stdout.isatty():
            print(f"step {step:4d} of {options.steps}", end="\r", flush=True)

    prompt = torch.tensor([[number[character] for character in options.prompt]])
    written = model.write(prompt, options.write)[0].tolist()
    print("the model goes on:", "".join(alphabet[index] for index in written))
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
