"""Texts: their parts, their cases, and what they contain."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .. import calls as rl
from ..registry import NodeContext, importer
from ..strings import Strings
from .values import is_text


def each_text(x: Strings, function: Any) -> np.ndarray:
    """A function of each text."""
    result = np.empty(x.array.size, object)
    result[:] = [function(each) for each in x.array.reshape(-1)]
    return result.reshape(x.shape)


@importer("StringConcat")
def string_concat(node: NodeContext, a: Any, b: Any) -> Any:
    return Strings(np.add(a.array, b.array))


@importer("StringSplit")
def string_split(node: NodeContext, x: Any) -> Any:
    delimiter, most = node.get("delimiter") or None, node.get("maxsplit")
    parts = [each.split(delimiter, -1 if most is None else most) for each in x.array.reshape(-1)]
    longest = max((len(each) for each in parts), default=0)
    pieces = np.empty((len(parts), longest), object)
    for row, each in enumerate(parts):
        pieces[row] = each + [""] * (longest - len(each))
    counts = np.array([len(each) for each in parts], np.int64).reshape(x.shape)
    return Strings(pieces.reshape(*x.shape, longest)), rl.from_numpy(counts)


@importer("StringNormalizer")
def string_normalizer(node: NodeContext, x: Any) -> Any:
    rows = x.array.reshape(-1)
    stop = set(node.get("stopwords") or ())
    if node["is_case_sensitive"]:
        kept = [each for each in rows if each not in stop]
    else:
        folded = {each.lower() for each in stop}
        kept = [each for each in rows if each.lower() not in folded]
    match node["case_change_action"]:
        case "LOWER":
            kept = [each.lower() for each in kept]
        case "UPPER":
            kept = [each.upper() for each in kept]
    kept = kept or [""]
    return Strings(np.array(kept, object).reshape((1, -1) if x.dim() == 2 else -1))


@importer("RegexFullMatch")
def regex_full_match(node: NodeContext, x: Any) -> Any:
    pattern = re.compile(node["pattern"])
    return rl.from_numpy(each_text(x, lambda each: pattern.fullmatch(each) is not None).astype(bool))


@importer("TfIdfVectorizer")
def tf_idf_vectorizer(node: NodeContext, x: Any) -> Any:
    """How often each n-gram of a pool is in each row, weighted."""
    indexes = node["ngram_indexes"]
    pool, starts = node.get("pool_int64s") or node["pool_strings"], node["ngram_counts"]
    columns: dict[tuple[Any, ...], int] = {}
    for length, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)]), 1):
        for place in range(start, end, length):
            columns[tuple(pool[place : place + length])] = len(columns)
    values = x.array if is_text(x) else x.numpy()
    rows = values.reshape(1, -1) if values.ndim < 2 else values
    counts = np.zeros((len(rows), max(indexes) + 1), np.float32)
    for row, items in enumerate(rows.tolist()):
        for gram in grams(items, node["min_gram_length"], node["max_gram_length"], node["max_skip_count"]):
            if gram in columns:
                counts[row, indexes[columns[gram]]] += 1
    weights = np.ones(counts.shape[1], np.float32)
    if node.get("weights"):
        weights[indexes] = node["weights"]
    if node["mode"] == "IDF":
        counts = np.minimum(counts, 1)
    result = counts if node["mode"] == "TF" else counts * weights
    return rl.from_numpy(result.reshape(-1) if values.ndim < 2 else result)


def grams(items: list[Any], shortest: int, longest: int, skips: int) -> Any:
    """All n-grams of a row, with every distance between their items; single items once."""
    for length in range(shortest, longest + 1):
        for distance in range(1, 2 if length == 1 else skips + 2):
            for start in range(len(items) - (length - 1) * distance):
                yield tuple(items[start : start + length * distance : distance])
