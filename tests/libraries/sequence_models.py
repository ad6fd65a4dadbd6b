"""Sequence models of other kinds, each small: hierarchical and recurrent attention, moving averages, state spaces, sampled positions."""

# libraries: h-transformer-1d Mega-pytorch gated-state-spaces-pytorch minGRU-pytorch deformable-attention n-grammer-pytorch charformer-pytorch siren-pytorch point-transformer-pytorch graph-transformer-pytorch mogrifier simple-hierarchical-transformer
import torch
from charformer_pytorch import GBST
from deformable_attention import DeformableAttention1D, DeformableAttention2D, DeformableAttention3D
from gated_state_spaces_pytorch import GatedDsConvLM, GatedExponentialSmoothingLM, GatedStateSpacesLM
from graph_transformer_pytorch import GraphTransformer
from h_transformer_1d import HTransformer1D
from mega_pytorch import Mega
from minGRU_pytorch.hybridLM import hybridLM
from minGRU_pytorch.minLM import minLM
from mogrifier import Mogrifier
from n_grammer_pytorch import VQNgrammer, get_ngrammer_param_groups
from point_transformer_pytorch import MultiheadPointTransformerLayer, PointTransformerLayer
from simple_hierarchical_transformer import HierarchicalTransformer
from siren_pytorch import SirenNet, SirenWrapper
from torch.nn import functional as F


def steps(name, model, loss, lr=1e-2, optimizer=None):
    """Three steps of training, the states through a file, and a fourth."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr, momentum=0.9)
    for number in range(4):
        torch.manual_seed(100 + number)
        value = loss(model)
        optimizer.zero_grad()
        value.backward()
        total = sum(each.grad.double().abs().sum().item() for each in model.parameters() if each.grad is not None)
        optimizer.step()
        print(f"{name} loss {value.item():.5f} gradients {total:.3f}")
        if number == 2:
            torch.save([model.state_dict(), optimizer.state_dict()], f"{name}.pt")
            weights, state = torch.load(f"{name}.pt", weights_only=True)
            print(name, model.load_state_dict(weights))
            optimizer.load_state_dict(state)


torch.manual_seed(0)
tokens = torch.randint(0, 40, (2, 31))
mask = torch.ones(2, 31, dtype=torch.bool)
mask[:, -7:] = False


def next_token(model):
    return F.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:])


def same_token(model):
    return F.cross_entropy(model(tokens, mask=mask).transpose(1, 2), tokens)


for causal, reversible in ((True, False), (False, True)):
    model = HTransformer1D(
        num_tokens=40,
        dim=32,
        depth=2,
        causal=causal,
        max_seq_len=32,
        heads=2,
        dim_head=8,
        block_size=8,
        reversible=reversible,
        shift_tokens=True,
    )
    steps(f"hierarchical-{causal}", model, same_token, 1e-3)
steps("mega", Mega(num_tokens=40, dim=32, depth=2, ema_heads=4, attn_dim_qk=16, attn_dim_value=32, laplacian_attn_fn=True), next_token)
spaces = {
    "gss": GatedStateSpacesLM(num_tokens=40, dim=16, depth=2, dss_kernel_N=16, dss_kernel_H=16),
    "dsconv": GatedDsConvLM(num_tokens=40, dim=16, depth=2, heads=2, dim_dsconv=16, max_seq_len=31),
    "smoothing": GatedExponentialSmoothingLM(num_tokens=40, dim=16, depth=2, heads=2, dim_mhesa=16),
}
for name, model in spaces.items():
    steps(name, model, lambda model: model(tokens, labels=tokens))
recurrent = {
    "minGRU": minLM(num_tokens=40, dim=16, depth=2, enable_conv=True),
    "minLSTM": minLM(num_tokens=40, dim=16, depth=2, use_lstm=True),
    "hybrid": hybridLM(num_tokens=40, dim=16, depth=2, heads=2, dim_head=8),
}
for name, model in recurrent.items():
    steps(name, model, lambda model: model(tokens, return_loss=True))
_, hidden = recurrent["minLSTM"](tokens[:, :5], return_prev_hiddens=True)
logits, _ = recurrent["minLSTM"](tokens[:, :6], prev_hiddens=hidden, return_prev_hiddens=True)
print("with hidden states", tuple(logits.shape), f"{logits.double().abs().sum().item():.4f}")
layers = HierarchicalTransformer(
    num_tokens=40, dim=16, depth=2, dim_head=8, heads=2, seq_len=32, hierarchies=(1, 2, 4), window_sizes=(8, 16, None)
)
long = torch.randint(0, 40, (2, 32))
steps("hierarchies", layers, lambda model: model(long, return_loss=True)[0], 1e-3)

for kind, shape in ((DeformableAttention1D, (2, 16, 32)), (DeformableAttention2D, (2, 16, 8, 8))):
    x = torch.randn(shape)
    model = kind(dim=16, dim_head=8, heads=2, downsample_factor=4, offset_scale=2, offset_kernel_size=6)
    steps(kind.__name__, model, lambda model, x=x: model(x).square().mean(), 0.1)
x = torch.randn(1, 16, 4, 8, 8)
model = DeformableAttention3D(
    dim=16, dim_head=8, heads=2, downsample_factor=(2, 4, 4), offset_scale=(2, 4, 4), offset_kernel_size=(4, 6, 6)
)
steps("DeformableAttention3D", model, lambda model: model(x).square().mean(), 0.1)

embeds = torch.randn(2, 12, 16)
grams = VQNgrammer(num_clusters=16, dim_per_head=8, num_heads=2, ngram_vocab_size=100, ngram_emb_dim=4)
steps(
    "n-grams",
    grams,
    lambda model: model(embeds, mask[:, :12]).square().mean(),
    optimizer=torch.optim.Adam(get_ngrammer_param_groups(grams)),
)
blocks = GBST(num_tokens=40, dim=16, blocks=((3, 0), (3, 1), (3, 2), (4, 0)), downsample_factor=4, score_consensus_attn=True)
steps("blocks", blocks, lambda model: model(tokens, mask=mask)[0].square().mean())
image, latent = torch.randn(1, 3, 8, 8), torch.zeros(8, requires_grad=True)
siren = SirenWrapper(
    SirenNet(dim_in=2, dim_hidden=16, dim_out=3, num_layers=3, final_activation=torch.nn.Sigmoid()),
    latent_dim=8,
    image_width=8,
    image_height=8,
)
steps("siren", siren, lambda model: model(image, latent=latent), 1e-3)
print("latent", f"{latent.grad.abs().sum().item():.5f}")
features, places = torch.randn(1, 12, 16), torch.randn(1, 12, 3)
near = dict(dim=16, pos_mlp_hidden_dim=8, attn_mlp_hidden_mult=2, num_neighbors=5)
for model in (PointTransformerLayer(**near), MultiheadPointTransformerLayer(heads=2, dim_head=8, **near)):
    steps(type(model).__name__, model, lambda model: model(features, places, mask=mask[:1, :12]).square().mean())
graph = GraphTransformer(
    dim=16, depth=2, edge_dim=8, with_feedforwards=True, rel_pos_emb=True, heads=2, dim_head=8, accept_adjacency_matrix=True
)
edges, adjacency = torch.randn(1, 12, 12, 8), torch.randint(0, 2, (1, 12, 12))
steps("graph", graph, lambda model: model(features, edges, adj_mat=adjacency)[0].square().mean())
steps(
    "mogrifier",
    Mogrifier(dim=16, iters=4, factorize_k=4),
    lambda model: sum(each.square().mean() for each in model(embeds, embeds + 1)),
    0.1,
)
