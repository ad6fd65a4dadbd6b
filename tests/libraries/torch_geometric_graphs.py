"""torch-geometric: graphs and batches of them, convolutions, attention, pooling, training, adjacency as sparse tensors, and its utilities."""

# libraries: torch_geometric

import warnings

import torch
import torch.nn.functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GraphConv,
    SAGEConv,
    TransformerConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.utils import (
    add_self_loops,
    degree,
    scatter,
    softmax,
    to_dense_adj,
    to_dense_batch,
    to_torch_coo_tensor,
    to_torch_csr_tensor,
    to_undirected,
)

warnings.simplefilter("ignore")
torch.manual_seed(0)


def show(name, value):
    value = value.detach().double()
    print(name, tuple(value.shape), f"{float(value.sum()):.3f} {float(value.abs().max()):.3f}")


def graph(count, reach, label):
    source = torch.arange(count).repeat_interleave(reach)
    target = (source + torch.arange(1, reach + 1).repeat(count)) % count
    return Data(x=torch.randn(count, 5) + label, edge_index=torch.stack([source, target]), y=torch.tensor([label]))


graphs = [graph(4 + number % 3, 2, number % 2) for number in range(12)]
print(graphs[0], graphs[0].is_undirected(), graphs[0].has_self_loops(), Batch.from_data_list(graphs[:3]))


class Net(torch.nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.first, self.second = conv(5, 8), conv(8, 8)
        self.head = torch.nn.Linear(24, 2)

    def forward(self, x, edge_index, batch):
        x = F.relu(self.first(x, edge_index))
        x = F.dropout(F.relu(self.second(x, edge_index)), 0.1, self.training)
        pooled = [global_mean_pool(x, batch), global_max_pool(x, batch), global_add_pool(x, batch)]
        return self.head(torch.cat(pooled, 1))


def gin(inputs, outputs):
    return GINConv(torch.nn.Sequential(torch.nn.Linear(inputs, 8), torch.nn.ReLU(), torch.nn.Linear(8, outputs)))


for conv in (GCNConv, SAGEConv, GATConv, GATv2Conv, GraphConv, TransformerConv, gin):
    torch.manual_seed(1)
    net = Net(conv)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    loader = DataLoader(graphs, batch_size=4, shuffle=True)
    losses = []
    for _ in range(3):
        total = 0.0
        for batch in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(batch.x, batch.edge_index, batch.batch), batch.y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        losses.append(f"{total:.3f}")
    print(conv.__name__, *losses)
print(net)

# -- adjacency as sparse tensors
one = graphs[1]
size = (one.num_nodes, one.num_nodes)
rows, coordinates = to_torch_csr_tensor(one.edge_index, size=size), to_torch_coo_tensor(one.edge_index, size=size)
print(rows, coordinates)
for conv in (GCNConv, SAGEConv, GraphConv):
    torch.manual_seed(2)
    layer = conv(5, 3)
    plain = layer(one.x, one.edge_index)
    for adjacency in (rows.t().to_sparse_csr(), coordinates.t()):
        found = layer(one.x, adjacency)
        print(conv.__name__, adjacency.layout, torch.allclose(found, plain, atol=1e-5))
    found.sum().backward()
    show(conv.__name__, next(layer.parameters()).grad)

# -- utilities
print(degree(one.edge_index[0]), softmax(torch.arange(4.0), torch.tensor([0, 0, 1, 1])))
for reduce in ("sum", "mean", "max", "min", "mul"):
    print(reduce, scatter(torch.arange(1.0, 5), torch.tensor([0, 0, 1, 1]), reduce=reduce))
print(add_self_loops(one.edge_index)[0].shape, to_undirected(one.edge_index).shape, to_dense_adj(one.edge_index).shape)
dense, mask = to_dense_batch(torch.arange(6.0).reshape(3, 2), torch.tensor([0, 0, 1]))
print(dense.tolist(), mask.tolist())
