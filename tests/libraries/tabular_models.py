"""Models of tables: features as tokens, factorization machines, click-through rates by the library's own training loop."""

# libraries: rtdl rtdl_revisiting_models rtdl_num_embeddings torchfm deepctr-torch
import numpy as np
import rtdl
import torch
from deepctr_torch.inputs import DenseFeat, SparseFeat
from deepctr_torch.models import DCN, AutoInt, DeepFM
from rtdl_num_embeddings import PeriodicEmbeddings, PiecewiseLinearEmbeddings, compute_bins
from rtdl_revisiting_models import ResNet
from shared.reporting import show, train
from torch.nn import functional as F
from torchfm.model.dfm import DeepFactorizationMachineModel
from torchfm.model.xdfm import ExtremeDeepFactorizationMachineModel

torch.manual_seed(0)
numbers, kinds = torch.randn(4, 3), torch.tensor([[0, 0], [0, 2], [1, 1], [1, 2]])
tokens = rtdl.FTTransformer.make_default(n_num_features=3, cat_cardinalities=[2, 3], last_layer_query_idx=[-1], d_out=2).eval()
optimizer = tokens.make_default_optimizer()
for _ in range(2):
    optimizer.zero_grad()
    loss = tokens(numbers, kinds).pow(2).mean()
    loss.backward()
    optimizer.step()
    show("tokens", loss)
residual = ResNet(d_in=3, d_out=1, n_blocks=2, d_block=16, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.1, dropout2=0.0)
show("residual", *train(residual, numbers, lambda y: y.pow(2).mean()))
show("periodic", PeriodicEmbeddings(3, 8, lite=False)(numbers))
bins = compute_bins(torch.randn(50, 3), n_bins=4)
show("piecewise", *bins, PiecewiseLinearEmbeddings(bins, 6, activation=False, version="B")(numbers))

fields, clicks = torch.randint(0, 8, (6, 3)), torch.rand(6)
for kind, options in (
    (DeepFactorizationMachineModel, {"mlp_dims": (8,), "dropout": 0.1}),
    (ExtremeDeepFactorizationMachineModel, {"cross_layer_sizes": (4, 4), "split_half": True, "mlp_dims": (8,), "dropout": 0.0}),
):
    show(kind.__name__, *train(kind([8, 8, 8], 4, **options), fields, lambda y: F.binary_cross_entropy(y, clicks)))

np.random.seed(0)
columns = [SparseFeat("a", 5, 4), SparseFeat("b", 6, 4), DenseFeat("c", 1)]
table = {"a": np.random.randint(0, 5, 32), "b": np.random.randint(0, 6, 32), "c": np.random.rand(32)}
clicked = np.random.randint(0, 2, 32)
for kind in (DeepFM, DCN, AutoInt):
    model = kind(columns, columns, device="cpu")
    model.compile("adam", "binary_crossentropy", metrics=["auc"])
    history = model.fit(table, clicked, 16, 2, 0, shuffle=False)
    show(kind.__name__, *map(float, history.history["loss"]), float(model.predict(table, 16).sum()))
