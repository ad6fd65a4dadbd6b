"""Modules written so that every step of theirs can be observed, and what is made of them when they are quantized.

``prepare`` replaces ``nn.LSTM`` and ``nn.MultiheadAttention`` with them, and ``convert`` quantizes them.
"""

from __future__ import annotations

from .attention import MultiheadAttention, QuantizedMultiheadAttention
from .recurrent import LSTM, LSTMCell, QuantizedLSTM

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention", "QuantizedLSTM", "QuantizedMultiheadAttention"]
