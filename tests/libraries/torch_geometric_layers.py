# libraries: torch-geometric
"""torch-geometric: convolutions over graphs, pooling, batches of graphs and their loader."""

import torch
import torch.nn.functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, softmax, to_undirected

torch.manual_seed(0)
edges = to_undirected(torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 4, 4]]))
x = torch.randn(5, 6)
print(edges.tolist(), degree(edges[0], 5).tolist(), add_self_loops(edges)[0].shape)
for conv in (GCNConv(6, 4), SAGEConv(6, 4), GATConv(6, 4, heads=2), GINConv(torch.nn.Linear(6, 4))):
    out = conv(x, edges)
    out.square().sum().backward()
    grads = sum(p.grad.abs().sum().item() for p in conv.parameters())
    print(type(conv).__name__, tuple(out.shape), f"{out.sum().item():.4f} {grads:.4f}")
print(f"{softmax(torch.arange(4.0), torch.tensor([0, 0, 1, 1])).sum().item():.4f}")
graphs = [Data(x=torch.randn(n, 6), edge_index=edges[:, edges.max(0).values < n], y=torch.tensor([n % 2])) for n in (3, 4, 5, 5)]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = GCNConv(6, 8), GCNConv(8, 8), torch.nn.Linear(8, 2)

    def forward(self, data):
        h = F.relu(self.first(data.x, data.edge_index))
        h = F.relu(self.second(h, data.edge_index))
        return self.last(global_mean_pool(h, data.batch))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
for epoch in range(3):
    total = 0.0
    for batch in DataLoader(graphs, batch_size=2):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(batch), batch.y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, f"{total:.4f}")
print(Batch.from_data_list(graphs))
