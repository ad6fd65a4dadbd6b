"""Calls of aten overloads with arguments made from their schemas, the same under PyTorch (which records the results) and here."""

from __future__ import annotations

import math
import re
import zlib

SKIPPED = re.compile(
    r"^(_|empty|new_empty|rand|bernoulli|multinomial|normal|poisson|binomial|dropout|alpha_dropout|feature_|native_dropout|uniform|exponential|geometric|cauchy|log_normal|random|rrelu"
    r"|set_|resize|record_stream|from_file|pin_memory|data|requires_grad|retain_grad|rename|align|to_padded|is_vulkan|linalg_(eig|svd|qr|eigh|eigvals|ldl|lu|lstsq)"
    r"|svd|qr|geqrf|orgqr|ormqr|lu_|triangular|histogramdd|nonzero_static|embedding_renorm|segment_reduce|stft|istft|lstm|gru|rnn|quantized_|fbgemm|sym_|slow_|thnn|q_|int_repr|dequant"
    r"|fft_(hfftn|ihfftn)|cudnn|batch_norm_|convolution_over|conv_dep|mkl|hspmm|coalesce|values|indices|crow|col_ind|ccol|row_ind|sspaddmm|smm|hash|lift|zeros$|ones$|can_cast|native_batch_norm|promote|pad_seq)"
)
# Arguments by operator and name, where those made from the type alone say nothing.
GIVEN = {
    "dim": 1, "dim0": 0, "dim1": 1, "start_dim": 0, "end_dim": 1, "reduction": 1, "groups": 1, "eps": 1e-5, "momentum": 0.1, "p": 2.0, "size": [3, 4], "chunks": 2, "sections": 2,
    "k": 2, "diagonal": 0, "offset": 0, "repeats": [2, 1], "shifts": [1], "dims": [0, 1], "padding_idx": -1, "n": 2, "N": 3, "split_size": 2, "steps": 5, "start": 0, "end": 4, "step": 1,
    "kernel_size": [2, 2], "pad": [1, 1], "padding": [1, 1], "source": 0, "destination": 1, "alpha": 1, "dimension": 0, "index": 1,
}  # fmt: skip


def tensor(torch, text: str, kind: str = "float"):
    """A tensor of 3 x 4 whose elements follow from a text."""
    seed = zlib.crc32(text.encode()) % 97
    values = [math.sin(seed + 1.7 * i) * 0.9 + 0.05 for i in range(12)]
    made = torch.tensor(values, dtype=torch.float64).reshape(3, 4)
    return (made * 10).long() % 3 if kind == "int" else made > 0 if kind == "bool" else made


def arguments(torch, schema: str):
    """Positional and keyword arguments for a schema's text, or None where no rule makes them."""
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")] if ") ->" in schema else ""
    positional, keywords = [], {}
    only = False
    for part in re.split(r", (?![^\[]*\])", inside):
        if part in ("*", ""):
            only = only or part == "*"
            continue
        kind, _, name = part.partition(" ")
        if "!)" in kind and (only or "(a!)" not in kind):
            return None  # out=
        optional = "=" in name
        name, _, _ = name.partition("=")
        kind = re.sub(r"\([a-z]!?( -> [*a-z])?\)", "", kind)
        if optional:
            continue
        if kind == "Tensor":
            value = tensor(
                torch, name, "int" if name in ("index", "indices", "boundaries") else "bool" if name in ("mask", "condition") else "float"
            )
        elif kind.startswith("Tensor"):
            if kind.endswith("?"):
                value = None
            else:
                value = [tensor(torch, f"{name}{i}") for i in range(2)]
        elif name in GIVEN:
            value = GIVEN[name]
            if isinstance(value, int) and "[" in kind:
                value = [value]
            if isinstance(value, list) and "[" not in kind:
                value = value[0]
            if kind == "float":
                value = float(value)
        elif kind in ("Scalar", "float"):
            value = 2.5
        elif kind in ("int", "SymInt"):
            value = 1
        elif kind == "bool":
            value = False
        elif kind.startswith(("int[", "SymInt[")):
            value = [1]
        elif kind.startswith("ScalarType"):
            value = torch.float32
        else:
            return None
        if only:
            keywords[name] = value
        else:
            positional.append(value)
    return positional, keywords


def summary(torch, value):
    """Shape, dtype and three numbers of each tensor of a result."""
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            value = torch.view_as_real(value)
        flat = value.detach().double().reshape(-1)
        flat = torch.where(torch.isfinite(flat), flat, torch.zeros_like(flat))
        weights = torch.arange(1, flat.numel() + 1, dtype=torch.float64)
        return [list(value.shape), str(value.dtype)[6:], float(f"{float((flat * weights).sum()):.7g}")]
    if isinstance(value, (tuple, list)):
        return [summary(torch, each) for each in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
