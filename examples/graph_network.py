"""Find the communities of a graph with a graph neural network that passes messages by `index_add_`.

The graph is random: two nodes of one community are joined more often than two of different ones.  What a node carries
says little about its community, and only a few nodes are labelled; the network learns the rest from who is joined to whom.

    python examples/graph_network.py --steps 100
"""

import argparse
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Graph:
    """Nodes with features and communities, and edges (2, count) that run both ways."""

    def __init__(self, nodes, communities, features, within=0.06, between=0.006, signal=0.7):
        self.labels = torch.arange(nodes) % communities
        same = self.labels.unsqueeze(0) == self.labels.unsqueeze(1)
        chance = torch.where(same, within, between)
        joined = torch.triu(torch.rand(nodes, nodes) < chance, diagonal=1)
        one_way = joined.nonzero().t()
        self.edges = torch.cat([one_way, one_way.flip(0)], dim=1)
        self.features = torch.randn(nodes, features)
        self.features[:, :communities] += signal * F.one_hot(self.labels, communities)
        self.labelled = torch.zeros(nodes, dtype=torch.bool)
        self.labelled[torch.randperm(nodes)[: nodes // 10]] = True


class GraphConvolution(nn.Module):
    """Each node takes the mean of its neighbours' messages, and adds what it makes of itself."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.message = nn.Linear(inputs, outputs, bias=False)
        self.itself = nn.Linear(inputs, outputs)

    def forward(self, x, edges):
        source, target = edges
        messages = self.message(x)[source]
        total = x.new_zeros(len(x), messages.shape[1]).index_add_(0, target, messages)
        degree = x.new_zeros(len(x)).index_add_(0, target, torch.ones_like(target, dtype=x.dtype))
        return self.itself(x) + total / degree.clamp(min=1).unsqueeze(1)


class GraphNetwork(nn.Module):
    """Three rounds of messages, so that a node hears from those three steps away."""

    def __init__(self, inputs, hidden, outputs, dropout=0.3):
        super().__init__()
        sizes = [inputs, hidden, hidden, outputs]
        self.layers = nn.ModuleList(GraphConvolution(a, b) for a, b in zip(sizes, sizes[1:]))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in sizes[1:-1])
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, edges):
        for layer, norm in zip(self.layers, self.norms):
            x = self.dropout(F.elu(norm(layer(x, edges))))
        return self.layers[-1](x, edges)


def accuracy(scores, labels, chosen):
    """The share of the chosen nodes whose community is found."""
    return (scores.argmax(dim=1) == labels)[chosen].float().mean().item()


def main():
    parser = argparse.ArgumentParser(description="A graph neural network that finds communities.")
    parser.add_argument("--steps", type=int, default=100, help="optimisation steps (default %(default)s)")
    parser.add_argument("--nodes", type=int, default=600, help="nodes of the graph (default %(default)s)")
    parser.add_argument("--communities", type=int, default=4, help="how many there are (default %(default)s)")
    parser.add_argument("--features", type=int, default=16, help="numbers at each node (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=1e-2, help="of AdamW (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random stream (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    graph = Graph(options.nodes, options.communities, options.features)
    model = GraphNetwork(options.features, 32, options.communities)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate, weight_decay=1e-2)
    print(f"{options.nodes} nodes, {graph.edges.shape[1] // 2} edges, {graph.labelled.sum().item()} nodes labelled")

    losses = []
    for step in range(1, options.steps + 1):
        model.train()
        scores = model(graph.features, graph.edges)
        loss = F.cross_entropy(scores[graph.labelled], graph.labels[graph.labelled], label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 20 == 0 or step == 1:
            found = accuracy(scores, graph.labels, graph.labelled)
            print(f"step {step:4d}   loss {loss.item():.4f}   labelled nodes {found:.1%}")
        elif sys.stdout.isatty():
            print(f"step {step:4d} of {options.steps}", end="\r", flush=True)

    model.eval()
    with torch.no_grad():
        joined = accuracy(model(graph.features, graph.edges), graph.labels, ~graph.labelled)
        alone = accuracy(model(graph.features, graph.edges[:, :0]), graph.labels, ~graph.labelled)
    print(f"nodes without a label: {joined:.1%} found; with the edges taken away {alone:.1%}")
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
