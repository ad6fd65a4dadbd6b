"""Layers whose archives are written, each in a Module that calls it, with arguments."""

from __future__ import annotations

from typing import Any

_IMAGE = "torch.randn(2, 4, 8, 8)"
LAYERS: dict[str, tuple[str, str]] = {
    "Linear": ("Linear(3, 4)", "torch.randn(2, 3)"), "Bilinear": ("Bilinear(2, 2, 3)", "torch.randn(3, 2), torch.randn(3, 2)"),
    "Conv1d": ("Conv1d(2, 3, 3)", "torch.randn(2, 2, 8)"), "Conv2d": ("Conv2d(4, 6, 3, 2, 1, groups=2, bias=False)", _IMAGE),
    "Conv2d circular": ("Conv2d(4, 2, 3, padding=1, padding_mode='circular')", _IMAGE), "Conv2d same": ("Conv2d(4, 2, 3, padding='same')", _IMAGE),
    "Conv3d": ("Conv3d(2, 2, 3)", "torch.randn(1, 2, 4, 4, 4)"), "ConvTranspose2d": ("ConvTranspose2d(4, 2, 2, 2)", _IMAGE),
    "BatchNorm1d": ("BatchNorm1d(2)", "torch.randn(2, 2, 8)"), "BatchNorm2d": ("BatchNorm2d(4)", _IMAGE), "InstanceNorm2d": ("InstanceNorm2d(4, affine=True)", _IMAGE),
    "BatchNorm2d plain": ("BatchNorm2d(4, affine=False, track_running_stats=False)", _IMAGE),
    "LayerNorm": ("LayerNorm(8)", _IMAGE), "GroupNorm": ("GroupNorm(2, 4)", _IMAGE), "RMSNorm": ("RMSNorm(8)", _IMAGE),
    "MaxPool2d": ("MaxPool2d(2)", _IMAGE), "AvgPool2d": ("AvgPool2d(2)", _IMAGE), "AdaptiveAvgPool2d": ("AdaptiveAvgPool2d((2, None))", _IMAGE),
    "AdaptiveMaxPool2d": ("AdaptiveMaxPool2d(2)", _IMAGE), "Embedding": ("Embedding(5, 3, padding_idx=1)", "torch.tensor([[0, 2], [1, 4]])"),
    "EmbeddingBag": ("EmbeddingBag(5, 3)", "torch.tensor([[0, 2], [1, 4]])"), "Dropout": ("Dropout(0.5)", _IMAGE), "Dropout2d": ("Dropout2d(0.5)", _IMAGE),
    "Flatten": ("Flatten()", _IMAGE), "LSTM": ("LSTM(2, 3, 2, bidirectional=True)", "torch.randn(4, 2, 2)"), "GRU": ("GRU(2, 3, batch_first=True)", "torch.randn(4, 2, 2)"),
    "RNN": ("RNN(2, 3, bias=False)", "torch.randn(4, 2)"), "LSTMCell": ("LSTMCell(2, 3)", "torch.randn(4, 2)"), "GRUCell": ("GRUCell(2, 3)", "torch.randn(4, 2)"),
    "MultiheadAttention": ("MultiheadAttention(4, 2)", "torch.randn(3, 2, 4), torch.randn(5, 2, 4), torch.randn(5, 2, 4)"),
    "TransformerEncoderLayer": ("TransformerEncoderLayer(4, 2, 8, batch_first=True)", "torch.randn(2, 3, 4)"),
    "TransformerEncoder": ("TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)", "torch.randn(3, 2, 4)"),
    "Upsample": ("Upsample(scale_factor=2)", _IMAGE), "Upsample bilinear": ("Upsample(size=(5, 7), mode='bilinear')", _IMAGE),
    "PixelShuffle": ("PixelShuffle(2)", _IMAGE), "ZeroPad2d": ("ZeroPad2d(1)", _IMAGE), "ReflectionPad2d": ("ReflectionPad2d(2)", _IMAGE),
    "Unfold": ("Unfold((2, 2))", _IMAGE), "CrossEntropyLoss": ("CrossEntropyLoss(label_smoothing=0.1)", "torch.rand(2, 3), torch.tensor([0, 2])"),
    "BCEWithLogitsLoss": ("BCEWithLogitsLoss(reduction='sum')", "torch.rand(2, 3), torch.rand(2, 3)"), "MSELoss": ("MSELoss()", "torch.rand(2, 3), torch.rand(2, 3)"),
    "Softmax": ("Softmax(1)", _IMAGE), "PReLU": ("PReLU()", _IMAGE), "Sequential": ("Sequential(nn.ReLU(inplace=True), nn.Sequential(nn.Sigmoid()))", _IMAGE),
    **{f"{name}": (f"{name}()", _IMAGE) for name in "ReLU6 ELU SELU CELU GELU SiLU Mish Hardswish Hardsigmoid Hardtanh LeakyReLU Tanh Softplus Softsign LogSigmoid Tanhshrink GLU".split()},
}  # fmt: skip


def layer(name: str, torch: Any) -> tuple[Any, tuple[Any, ...]]:
    """A Module that calls one layer, and its arguments."""
    torch.manual_seed(0)
    nn = torch.nn
    made = eval(f"nn.{LAYERS[name][0]}", {"nn": nn}).eval()
    arguments = eval(f"({LAYERS[name][1]},)", {"torch": torch})

    class One(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = made

        def forward(self, x):
            return self.inner(x)

    class Two(One):
        def forward(self, x, y):
            return self.inner(x, y)

    class Three(One):
        def forward(self, x, y, z):
            return self.inner(x, y, z)

    return (One, Two, Three)[len(arguments) - 1]().eval(), arguments
