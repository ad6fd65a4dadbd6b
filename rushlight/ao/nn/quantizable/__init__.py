"""Modules written so that every step of theirs can be observed, and what is made of them when they are quantized.

``prepare`` puts them in the place of ``nn.LSTM`` and ``nn.MultiheadAttention``, and ``convert`` makes them quantized.
"""

from __future__ import annotations

from .attention import MultiheadAttention, QuantizedMultiheadAttention
from .recurrent import LSTM, LSTMCell, QuantizedLSTM

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention", "QuantizedLSTM", "QuantizedMultiheadAttention"]
