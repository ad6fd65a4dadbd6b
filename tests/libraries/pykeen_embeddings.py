# ruff: noqa
"""Embeddings of knowledge graphs by pykeen: real and complex ones, with gradients."""

# libraries: pykeen
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show

warnings.simplefilter("ignore")
torch.manual_seed(0)

import numpy as np
from pykeen.models import ComplEx, DistMult, RotatE, TransE
from pykeen.triples import TriplesFactory

triples = TriplesFactory.from_labeled_triples(
    np.array([["a", "r", "b"], ["b", "r", "c"], ["c", "s", "a"], ["a", "s", "c"], ["d", "r", "a"], ["b", "s", "d"]])
)
for kind in (TransE, DistMult, ComplEx, RotatE):
    model = kind(triples_factory=triples, embedding_dim=4, random_seed=0)
    optimizer = torch.optim.Adagrad(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.softplus(-model.score_hrt(triples.mapped_triples)).mean()
        loss.backward()
        optimizer.step()
        model.post_parameter_update()
        show(kind.__name__, loss)
    show("tails", model.score_t(triples.mapped_triples[:2, :2]))
