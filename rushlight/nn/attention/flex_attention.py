"""Attention whose scores a function changes: ``flex_attention``, and the masks of blocks that go with it.

A function of a score and its place, or of the place alone, is written for one element; here it is called once, on tensors of all places that
broadcast against each other, and its ops are a part of the program.  A mask alone makes blocked attention, which passes over the keys at the end that
a block of queries does not see; compiled, scores, a function of them, mask and softmax are fused.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.declare import table
from ...core.dtypes import bool_, float32, float64, int32, int64
from ...core.errors import NotSupported
from ...core.missing import missing

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_SCORE_ARGUMENTS, _MASK_ARGUMENTS = 5, 4
Mod = Callable[..., Any]
FlexKernelOptions = dict[str, Any]


class AuxRequest(NamedTuple):
    """What ``flex_attention`` gives beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an `AuxRequest`."""

    lse: Any = None
    max_scores: Any = None


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """The mask that leaves everything."""
    return table["ones"].call((), dtype=bool_, device=batch.device)


def _combined(mask_mods: tuple[Mod, ...], op: str, start: bool) -> Mod:
    if not all(callable(each) for each in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def combined(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = noop_mask(b, h, q_idx, kv_idx)
        result = result if start else ~result
        for each in mask_mods:
            found = each(b, h, q_idx, kv_idx)
            result = result & found if op == "and" else result | found
        return result

    return combined


def or_masks(*mask_mods: Mod) -> Mod:
    """The mask that leaves what one of several masks leaves."""
    return _combined(mask_mods, "or", False)


def and_masks(*mask_mods: Mod) -> Mod:
    """The mask that leaves what all of several masks leave."""
    return _combined(mask_mods, "and", True)


def _places(batch: int, heads: int, queries: int, keys: int, device: Any) -> tuple[Any, ...]:
    """The four places of all elements, as tensors that broadcast against each other."""
    found = []
    for at, size in enumerate((batch, heads, queries, keys)):
        shape = [1, 1, 1, 1]
        shape[at] = size
        found.append(table["arange"].call(size, device=device).reshape(shape))
    return tuple(found)


def _takes_scores(mod: Mod) -> bool:
    """Whether a function takes a score and its place; otherwise it takes the place alone."""
    parameters = inspect.signature(mod).parameters.values()
    count = sum(
        1
        for each in parameters
        if each.default is inspect.Parameter.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    )
    if count not in (_SCORE_ARGUMENTS, _MASK_ARGUMENTS):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == _SCORE_ARGUMENTS


def create_mask(mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Any:
    """A mask function as a tensor of booleans; of a score function, where it does not give minus infinity."""
    batch, heads = B or 1, H or 1
    places = _places(batch, heads, Q_LEN, KV_LEN, "cpu" if device is None else device)
    if _takes_scores(mod_fn):
        scores = table["zeros"].call((batch, heads, Q_LEN, KV_LEN), device=places[0].device)
        found = mod_fn(scores, *places)
        return ~table["isneginf"].call(found.expand(batch, heads, Q_LEN, KV_LEN))
    return mod_fn(*places).expand(batch, heads, Q_LEN, KV_LEN).contiguous()


def _ordered(dense: Any) -> tuple[Any, Any]:
    """Of a matrix of blocks: how many there are in each row, and their columns, those that are there first."""
    return dense.sum(-1).to(int32), table["argsort"].call(dense.to(int32), -1, True, stable=True).to(int32).contiguous()


def _dense(counts: Any, columns: Any) -> Any:
    """The matrix of blocks, of as many columns as there are indices."""
    rows, width = counts.shape[-1], columns.shape[-1]
    there = table["arange"].call(width, device=counts.device) < counts[..., None]
    made = table["zeros"].call((*counts.shape[:-1], rows, width), dtype=counts.dtype, device=counts.device)
    return made.scatter(-1, columns.to(int64), there.to(counts.dtype))


class BlockMask:
    """Which blocks of a matrix of scores attention looks at: for rows of blocks, those that a mask leaves in part and those that it leaves whole."""

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any,
        full_kv_indices: Any,
        q_num_blocks: Any,
        q_indices: Any,
        full_q_num_blocks: Any,
        full_q_indices: Any,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: Mod = noop_mask,
    ) -> None:
        if kv_indices.ndim < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) is not (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Mod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask from the blocks of each row of blocks; those of each column follow."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        columns: Any = [None, None, None, None]
        if compute_q_blocks:
            columns[:2] = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None:
                columns[2:] = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]) if seq_lengths is None else seq_lengths
        make: Any = cls
        made = make(lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *columns, size, mask_mod or noop_mask)
        return made  # type: ignore[no-any-return]

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Its parts."""
        lengths, size = (self.seq_lengths, self.BLOCK_SIZE) if flatten else ((self.seq_lengths,), (self.BLOCK_SIZE,))
        return (*lengths, *self._tensors(), *size, self.mask_mod)

    def _tensors(self) -> tuple[Any, ...]:
        return (
            self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices, self.q_num_blocks, self.q_indices,
            self.full_q_num_blocks, self.full_q_indices,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the matrix of scores: batch, heads, queries and keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches and heads; dimensions stay."""
        parts = index if isinstance(index, tuple) else (index,)
        kept = tuple([slice(each, each + 1 or None) if isinstance(each, int) else each for each in parts])
        taken: Any = [None if each is None else each[kept] for each in self._tensors()]
        make: Any = BlockMask
        return make(self.seq_lengths, *taken, self.BLOCK_SIZE, self.mask_mod)  # type: ignore[no-any-return]

    def numel(self) -> int:
        """The number of scores."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of scores in blocks that are left out."""
        blocks = int(self.kv_num_blocks.sum()) + (0 if self.full_kv_num_blocks is None else int(self.full_kv_num_blocks.sum()))
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Any:
        """The matrix of blocks: 1 for those that are looked at."""
        found = _dense(self.kv_num_blocks, self.kv_indices)
        return found if self.full_kv_num_blocks is None else found | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def to(self, device: Any) -> BlockMask:
        """The mask on another device."""
        moved: Any = [None if each is None else each.to(device) for each in self._tensors()]
        make: Any = BlockMask
        return make(self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod)  # type: ignore[no-any-return]

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of the blocks of the first batches and heads."""
        dense = self.to_dense()
        size = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        lines: list[str] = []
        for count, place in enumerate(_indices(dense.shape[:-2])):
            if count == limit:
                lines += [
                    "...", "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]  # fmt: skip
                break
            lines += [str(place), *_picture(dense[place].tolist(), size), ""]
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().rstrip(chr(10))}\n)"

    def __repr__(self) -> str:
        names = (
            "kv_num_blocks kv_indices full_kv_num_blocks full_kv_indices q_num_blocks q_indices full_q_num_blocks full_q_indices".split()
        )
        parts = [f"    {name}={None if each is None else each.shape}," for name, each in zip(names, self._tensors())]
        parts += [f"    BLOCK_SIZE={self.BLOCK_SIZE},", f"    shape={self.shape},", f"    sparsity={self.sparsity():.2f}%,"]
        return "\n".join(["BlockMask(", *parts, f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}", ")"])


def _indices(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not sizes:
        yield ()
        return
    for at in range(sizes[0]):
        for rest in _indices(sizes[1:]):
            yield (at, *rest)


def _picture(rows: list[list[int]], size: tuple[int, int]) -> list[str]:
    """Rows of blocks as text, at most so many rows and columns: a character is light where only some of its blocks are there."""
    height, width = len(rows), len(rows[0])
    steps = (-(-height // size[0]) if size[0] > 0 else 1, -(-width // size[1]) if size[1] > 0 else 1)
    lines = []
    for top in range(0, height, steps[0]):
        line = ""
        for left in range(0, width, steps[1]):
            block = [each for row in rows[top : top + steps[0]] for each in row[left : left + steps[1]]]
            line += "██" if all(block) else "░░" if any(block) else "  "
        lines.append(line)
    return lines


def create_block_mask(
    mask_mod: Mod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The `BlockMask` of a mask function; None for a batch or heads that the mask does not depend on."""
    if _takes_scores(mask_mod):
        raise AssertionError("create_block_mask requires a mask_mod function")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = -(-Q_LEN // size[0]), -(-KV_LEN // size[1])
    padded = table["pad"].call(mask, (0, columns * size[1] - KV_LEN, 0, rows * size[0] - Q_LEN))
    counts = padded.reshape(*mask.shape[:2], rows, size[0], columns, size[1]).sum((3, 5))
    whole = counts == size[0] * size[1]
    if not separate_full_blocks:
        return BlockMask.from_kv_blocks(*_ordered(counts > 0), BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))
    return BlockMask.from_kv_blocks(
        *_ordered((counts > 0) & ~whole), *_ordered(whole), BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN)
    )


def _check(query: Any, key: Any, value: Any, block_mask: Any, enable_gqa: bool) -> None:
    """Refuse sizes that do not fit together."""
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise ValueError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype}, key.dtype: {key.dtype}, "
            f"and value.dtype: {value.dtype} instead."
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"Expect query and key/value to have the same embedding dimension but got E={query.shape[-1]} and E={key.shape[-1]}."
        )
    heads, groups = query.shape[1], key.shape[1]
    if not enable_gqa and heads != groups:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={groups}. Try setting enable_gqa=True for GQA."
        )
    if heads % groups:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={groups}.")
    if query.shape[0] != key.shape[0] and key.shape[0] != 1:
        raise ValueError(
            f"Expect query and key/value to have the same batch size, or non-none block_mask, but got {block_mask=}, Bq={query.shape[0]}, and Bkv={key.shape[0]}."
        )
    if block_mask is not None:
        queries, keys = block_mask.seq_lengths
        if query.shape[2] > queries or key.shape[2] > keys:
            raise ValueError(
                f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={query.shape[2]} and kv_len={key.shape[2]}. "
                "As the block mask was created for a smaller length than you're using it for, you likely need to create a new block mask."
            )


def flex_attention(
    query: Any,
    key: Any,
    value: Any,
    score_mod: Mod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention with scores that ``score_mod(score, batch, head, query, key)`` changes, as far as ``block_mask`` leaves them."""
    if return_aux is not None and return_aux.max_scores:
        raise NotSupported("flex_attention: max_scores are not there on the CPU")
    _check(query, key, value, block_mask, enable_gqa)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (each.repeat_interleave(groups, 1) for each in (key, value))
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    places = _places(query.shape[0], query.shape[1], query.shape[2], key.shape[2], query.device)
    mask = None if block_mask is None or block_mask.mask_mod is noop_mask else block_mask.mask_mod(*places)
    if score_mod is None and not return_lse and return_aux is None and (mask is None or mask.dtype is bool_):
        return table["attention"].call(query, key, value, mask, False, factor)[0]
    scores = (query @ key.transpose(-2, -1)).to(float64 if query.dtype == float64 else float32) * factor
    if score_mod is not None:
        scores = score_mod(scores, *places)
    if mask is not None:
        scores = table["where"].call(mask, scores, -math.inf)
    top = scores.amax(-1, True).clamp(min=-3.0e38)  # rows of which nothing is left become zeros
    raised = (scores - top).exp()
    total = raised.sum(-1, True)
    weights = raised / total.clamp(min=1e-38)
    result = weights.to(query.dtype) @ value
    if not return_lse and (return_aux is None or not return_aux.lse):
        return result if return_aux is None else (result, AuxOutput())
    lse = (total.log() + top).squeeze(-1)
    return (result, lse) if return_aux is None else (result, AuxOutput(lse=lse))


if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]
