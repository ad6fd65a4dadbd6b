# ruff: noqa
"""skorch: fitting, callbacks, pickles, grid search with scikit-learn."""

# libraries: skorch scikit-learn
import torch, numpy as np, pickle
from torch import nn
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EpochScoring, LRScheduler, EarlyStopping, Checkpoint, GradientNormClipping
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

X, y = make_classification(200, 20, n_informative=10, random_state=0)
X = X.astype(np.float32)
y = y.astype(np.int64)


class M(nn.Module):
    def __init__(s, h=10):
        super().__init__()
        s.a = nn.Linear(20, h)
        s.d = nn.Dropout(0.2)
        s.b = nn.Linear(h, 2)

    def forward(s, X):
        return torch.softmax(s.b(s.d(torch.relu(s.a(X)))), -1)


torch.manual_seed(0)
net = NeuralNetClassifier(
    M,
    max_epochs=5,
    lr=0.1,
    iterator_train__shuffle=True,
    verbose=0,
    callbacks=[
        EpochScoring("roc_auc", name="auc", lower_is_better=False),
        LRScheduler("StepLR", step_size=2),
        EarlyStopping(),
        GradientNormClipping(1.0),
    ],
)
net.fit(X, y)
for row in net.history:
    print(row["epoch"], f"{row['train_loss']:.5f} {row['valid_loss']:.5f} {row['valid_acc']:.4f} {row['auc']:.5f}")
print(net.predict(X[:8]), net.predict_proba(X[:2]).sum().round(4))
n2 = pickle.loads(pickle.dumps(net))
print(np.allclose(n2.predict_proba(X), net.predict_proba(X)))
net.save_params(f_params="p.pt", f_optimizer="o.pt", f_history="h.json")
n3 = NeuralNetClassifier(M).initialize()
n3.load_params(f_params="p.pt")
print((n3.predict(X) == net.predict(X)).all())
net.save_params(f_params="p.safetensors", use_safetensors=True)
n3.load_params(f_params="p.safetensors", use_safetensors=True)
torch.manual_seed(0)
gs = GridSearchCV(
    Pipeline([("s", StandardScaler()), ("n", NeuralNetClassifier(M, max_epochs=2, verbose=0, train_split=None))]),
    {"n__lr": [0.05, 0.1], "n__module__h": [5, 10]},
    cv=2,
    scoring="accuracy",
)
gs.fit(X, y)
print(gs.best_params_, round(gs.best_score_, 4))
torch.manual_seed(1)
r = NeuralNetRegressor(lambda: nn.Linear(20, 1), max_epochs=3, lr=0.01, verbose=0)
r.fit(X, X[:, :1])
print(f"{r.history[-1]['train_loss']:.5f}")
from skorch.helper import SliceDataset, predefined_split
from skorch.dataset import Dataset, ValidSplit

print(len(SliceDataset(Dataset(X, y))))
