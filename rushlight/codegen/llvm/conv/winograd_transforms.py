"""Winograd transforms for convolutions of 3 x 3 taps with strides of 1 and 2, their transposes, and gradients of weights.

Along one dimension, a tile of a few results comes from a few sums of elements of the source, each multiplied by a sum of weights.  Two
results of 3 taps take 4 multiplications where a plain convolution takes 6; with a stride of 2 (odd and even
elements separately) they take 5.  Along two dimensions that is 16 or 25 instead of 36.  All coefficients are 0, 1, -1 or 1/2, so
little accuracy is lost: the error is about that of summing in another order.

For each of these products there is a matrix of weights, rows by channels, and one of the source, channels by tiles: a product of matrices.
Sizes are arguments of the functions here, so that they are compiled once for all convolutions.
"""

from __future__ import annotations

from typing import NamedTuple

from ..instructions import FunctionParameter
from ..ir import IRBuilder, Module, Scalar
from ..vectors import Vectors, fitting_lanes

Matrix = tuple[tuple[float, ...], ...]


class WinogradAxis(NamedTuple):
    """The transforms of tiles along one dimension: of the source, of the weights, and of the products to results."""

    source: Matrix  # of each product: coefficients of the elements of a tile
    weight: Matrix  # of each product: coefficients of the three weights
    result: Matrix  # of each result: coefficients of the products
    step: int  # from one tile to the next, in the source
    begin: int  # where the first tile begins in the source

    @property
    def reach(self) -> int:
        """The elements of the source that a tile has."""
        return len(self.source[0])

    @property
    def kinds(self) -> Matrix:
        """Sums of weights, each once."""
        return tuple(dict.fromkeys(self.weight))

    @property
    def shares(self) -> Matrix:
        """Sums of results that the gradient of a product is, each once."""
        return tuple(dict.fromkeys(zip(*self.result)))

    @property
    def kind_of(self) -> list[int]:
        """The number of the sum of weights, for each product."""
        return [self.kinds.index(each) for each in self.weight]

    @property
    def share_of(self) -> list[int]:
        """The number of the sum of results, for each product."""
        return [self.shares.index(each) for each in zip(*self.result)]


_PLAIN = WinogradAxis(
    ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1)),
    ((1, 1, 1, 0), (0, 1, -1, -1)), 2, 0,
)  # fmt: skip
_STEPS = WinogradAxis(  # adjacent tiles share the elements between those of the middle weight
    ((1, 0, -1, 0, 0), (0, 0, 1, 0, 0), (0, 0, -1, 0, 1), (0, 1, 0, 0, 0), (0, 0, 0, 1, 0)),
    ((1, 0, 0), (1, 0, 1), (0, 0, 1), (0, 1, 0), (0, 1, 0)),
    ((1, 1, 0, 1, 0), (0, 1, 1, 0, 1)), 4, 0,
)  # fmt: skip
_BACK = ((0, 0, 1), (1, 0, 1), (1, 0, 0), (0, 1, 0), (0, 1, 0))  # weights of the transpose of that
_BACK_EVEN = WinogradAxis(  # every other result has the middle weight alone: the second one of a tile, or the first
    ((1, -1, 0), (0, 1, 0), (0, -1, 1), (0, 1, 0), (0, 0, 1)), _BACK,
    ((1, 1, 0, 0, 0), (0, 0, 0, 1, 0), (0, 1, 1, 0, 0), (0, 0, 0, 0, 1)), 2, 0,
)  # fmt: skip
_BACK_ODD = WinogradAxis(
    ((1, -1, 0), (0, 1, 0), (0, -1, 1), (1, 0, 0), (0, 1, 0)), _BACK,
    ((0, 0, 0, 1, 0), (1, 1, 0, 0, 0), (0, 0, 0, 0, 1), (0, 1, 1, 0, 0)), 2, 0,
)  # fmt: skip


def axis_for(stride: int, padding: int, transposed: bool) -> WinogradAxis:
    """The tiles of a convolution of 3 taps."""
    if not transposed:
        return (_PLAIN if stride == 1 else _STEPS)._replace(begin=-padding)
    if stride == 1:  # a convolution with its taps the other way round
        return _PLAIN._replace(weight=tuple(each[::-1] for each in _PLAIN.weight), begin=padding - 2)
    if padding % 2:
        return _BACK_ODD._replace(begin=(padding - 1) // 2)
    return _BACK_EVEN._replace(begin=padding // 2 - 1)


class WinogradAxes(NamedTuple):
    """Tiles of two dimensions."""

    down: WinogradAxis
    across: WinogradAxis

    @property
    def products(self) -> int:
        return len(self.down.source) * len(self.across.source)

    @property
    def kinds(self) -> int:
        return len(self.down.kinds) * len(self.across.kinds)

    @property
    def shares(self) -> int:
        return len(self.down.shares) * len(self.across.shares)


def combine(c: IRBuilder, kind: Vectors, values: list[Scalar], factors: tuple[float, ...]) -> Scalar:
    """A linear combination; values with coefficients of equal magnitude are added before they are multiplied."""
    total: Scalar | None = None
    for size in sorted({abs(factor) for factor in factors if factor}, reverse=True):
        used = sorted([(-factor, at) for at, factor in enumerate(factors) if abs(factor) == size])
        negative, at = used[0]
        part = values[at] if negative < 0 else c.neg(values[at])
        for negative, at in used[1:]:
            part = c.binary("fadd" if negative < 0 else "fsub", part, values[at])
        if size != 1:
            part = c.binary("fmul", part, kind.splat(c.constant(kind.element, size)))
        total = part if total is None else c.binary("fadd", total, part)
    assert total is not None, "a sum of nothing"
    return total


def transformed(c: IRBuilder, kind: Vectors, values: list[list[Scalar]], down: Matrix, across: Matrix) -> list[list[Scalar]]:
    """Sums along both dimensions."""
    columns = [[combine(c, kind, [row[at] for row in values], factors) for at in range(len(values[0]))] for factors in down]
    return [[combine(c, kind, row, factors) for factors in across] for row in columns]


class SizedCode(IRBuilder):
    """The body of a function on pointers whose sizes are all arguments, so that it is compiled once for all convolutions."""

    def __init__(self, module: Module, pointers: str, sizes: str) -> None:
        super().__init__(module)
        self.rolled = True
        self.pointers, self.names = pointers.split(), sizes.split()

    @property
    def arguments(self) -> tuple[Scalar, ...]:
        """The sizes."""
        return tuple([Scalar(f"%{each}", "i64") for each in self.names])

    def finish(self, name: str) -> str:
        """Add the function to the module.  Its name."""
        pointers = [FunctionParameter("ptr", f"%{each}", True) for each in self.pointers]
        return self.module.add(name, self.function("", [*pointers, *[FunctionParameter("i64", f"%{each}") for each in self.names]]))


def lanes_for(type: str, tiles: int) -> int:
    """The number of tiles of a row that are computed together."""
    return fitting_lanes(type, max(tiles, 2))


def line_length(axes: WinogradAxes, wide: int, tiles: int) -> int:
    """The padded length of a source row: as far as vectors of tiles reach."""
    return axes.across.step * (-(-tiles // wide) * wide + 1)


# -- the source --------------------------------------------------------------------------------------------------


def transform_source(module: Module, type: str, axes: WinogradAxes, wide: int) -> str:
    """The function that transforms a strip of the source: for each product a matrix, channels by tiles.

    ``border`` is zero but for what is written here, the inside of an image: ``lines`` rows from ``first`` on, ``length`` elements each, from
    a place of the source and to a place of the border.
    """
    c = SizedCode(module, "source border panel", "channels image width lines length line offset tile_rows tile_columns row_step block")
    channels, image, width, lines, length, line, offset, tile_rows, tile_columns, row_step, block = c.arguments
    vector, both = Vectors(c, type, wide), Vectors(c, type, wide * axes.across.step)
    with c.loop(channels) as channel:
        base = c.mul(channel, image)
        whole = c.div(length, wide)
        last = c.sub(length, wide)
        with c.loop(lines) as row:
            at, to = c.add(base, c.mul(row, width)), c.add(offset, c.mul(row, line))
            with c.loop(whole) as number:
                place = c.scale(number, wide)
                vector.store(vector.load("%source", c.add(at, place)), "%border", c.add(to, place))
            vector.store(vector.load("%source", c.add(at, last)), "%border", c.add(to, last))
        panel = c.mul(channel, row_step)
        columns = c.ceil_div(tile_columns, wide)
        with c.loop(tile_rows) as row, c.loop(columns) as number:
            column = c.scale(number, wide)
            here = c.add(c.mul(c.scale(row, axes.down.step), line), c.scale(column, axes.across.step))
            values: list[list[Scalar]] = []
            for down in range(axes.down.reach):
                at = c.add(here, c.mul(down, line))
                loaded: dict[int, Scalar] = {}
                values.append([])
                for across in range(axes.across.reach):
                    shift, lane = divmod(across, axes.across.step)
                    if shift not in loaded:
                        loaded[shift] = both.load("%border", c.add(at, shift * axes.across.step))
                    order = [lane + axes.across.step * each for each in range(wide)]
                    values[-1].append(both.shuffle(loaded[shift], order))
            made = transformed(c, vector, values, axes.down.source, axes.across.source)
            to = c.add(c.add(panel, c.mul(row, tile_columns)), column)
            for each in [value for row_ in made for value in row_]:
                vector.store(each, "%panel", to)
                to = c.add(to, block)
    return c.finish("spread")


# -- results -----------------------------------------------------------------------------------------------------


def transform_products(module: Module, type: str, axes: WinogradAxes, wide: int, starts: bool) -> str:
    """The function that transforms products into results: for some rows of weights, the tiles of a strip."""
    c = SizedCode(module, "products start result", "rows tile_rows tile_columns row_step block first height width")
    rows, tile_rows, tile_columns, row_step, block, first, height, width = c.arguments
    count = len(axes.across.result)
    vector, joined = Vectors(c, type, wide), Vectors(c, type, wide * count)
    rest = c.slot(type, wide * count)
    plane = c.mul(height, width)
    columns = c.ceil_div(tile_columns, wide)
    with c.loop(rows) as row:
        start = vector.splat(c.load("%start", row, type)) if starts else None
        with c.loop(tile_rows) as down, c.loop(columns) as number:
            column = c.scale(number, wide)
            at = c.add(c.add(c.mul(row, row_step), c.mul(down, tile_columns)), column)
            values: list[list[Scalar]] = []
            for _ in axes.down.source:
                values.append([])
                for _ in axes.across.source:
                    values[-1].append(vector.load("%products", at))
                    at = c.add(at, block)
            made = transformed(c, vector, values, axes.down.result, axes.across.result)
            begin_row = c.add(first, c.scale(down, len(made)))
            for line, results in enumerate(made):
                y = c.add(begin_row, line)
                with c.when(c.compare("slt", y, height)):
                    if start is not None:
                        results = [c.binary("fadd", each, start) for each in results]
                    all_of = vector.interleaved(results)
                    x = c.scale(column, count)
                    to = c.add(c.add(c.mul(row, plane), c.mul(y, width)), x)
                    left = c.sub(width, x)
                    fits = c.compare("sge", left, c.integer(wide * count))
                    with c.when(fits):
                        joined.store(all_of, "%result", to)
                    with c.when(c.invert(fits)):
                        joined.store(all_of, rest, c.integer(0))
                        with c.not_vectorized(), c.loop(left) as index:
                            c.store(c.load(rest, index, type), "%result", c.add(to, index))
    return c.finish("gather")


# -- weights -----------------------------------------------------------------------------------------------------


def transform_weights(module: Module, type: str, axes: WinogradAxes) -> str:
    """The function that transforms weights, packed as the micro-kernel reads them: by tiles of ``height`` rows, the last one with zeros.

    A unit is a tile of a group, which has ``tiles`` of them.
    """
    c = SizedCode(module, "weight sums", "first last rows tiles channels row_step channel_step group_step height block")
    c.scalar = True  # strided elements
    first, last, rows, tiles, channels, row_step, channel_step, group_step, height, block = c.arguments
    scalar = Vectors(c, type, 1)
    with c.loop(first, last) as unit:
        group, tile = (c.div(unit, tiles), c.rem(unit, tiles))
        begin_row = c.mul(tile, height)
        base = c.mul(group, group_step)
        goal = c.add(c.mul(c.scale(group, axes.kinds), block), c.mul(begin_row, channels))
        vectors = Vectors(c, type)
        at_once = Scalar("false", "i1")
        if vectors.count >= 9:  # a full tile as high as a vector: the weights of a row fit in a vector, and are transposed
            at_once = c.binary(
                "and", c.compare("eq", height, c.integer(vectors.count)), c.compare("sle", c.add(begin_row, vectors.count), rows)
            )
            with c.when(at_once), c.loop(channels) as channel:
                at = c.add(c.add(base, c.mul(begin_row, row_step)), c.mul(channel, channel_step))
                lines = [vectors.load("%weight", c.add(at, c.mul(line, row_step)), 9) for line in range(vectors.count)]
                taps = vectors.transposed(lines)
                to = c.add(goal, c.mul(channel, height))
                for line_ in transformed(c, vectors, [taps[0:3], taps[3:6], taps[6:9]], axes.down.kinds, axes.across.kinds):
                    for each in line_:
                        vectors.store(each, "%sums", to)
                        to = c.add(to, block)
        with c.when(c.invert(at_once)), c.loop(channels) as channel, c.loop(height) as lane:
            row = c.add(begin_row, lane)
            known = c.compare("slt", row, rows)
            at = c.add(c.add(base, c.select(known, c.mul(row, row_step), c.integer(0))), c.mul(channel, channel_step))
            values = [[c.load("%weight", c.add(at, 3 * down + across), type) for across in range(3)] for down in range(3)]
            to = c.add(c.add(goal, c.mul(channel, height)), lane)
            for row_ in transformed(c, scalar, values, axes.down.kinds, axes.across.kinds):
                for each in row_:
                    c.store(c.select(known, each, c.constant(type, 0)), "%sums", to)
                    to = c.add(to, block)
    return c.finish("weights")


def transform_weight_sums(module: Module, type: str, axes: WinogradAxes) -> str:
    """The function that transforms sums over parts of a batch into gradients of weights, rows by channels and taps; of some channels.

    A part has a matrix of channels by rows for each sum of weights; the parts are added in their order.
    """
    c = SizedCode(module, "sums result", "first last parts part rows channels row_step block")
    first, last, parts, part, rows, channels, row_step, block = c.arguments
    scalar, vector = Vectors(c, type, 1), Vectors(c, type)
    vectors = c.div(row_step, vector.count)
    with c.loop(first, last) as channel:
        begin_at = c.mul(channel, row_step)
        with c.loop(axes.kinds) as kind:
            begin_kind = c.add(begin_at, c.mul(kind, block))
            with c.loop(1, parts) as number, c.loop(vectors) as index:
                here = c.add(begin_kind, c.scale(index, vector.count))
                other = vector.load("%sums", c.add(here, c.mul(number, part)))
                vector.store(c.binary("fadd", vector.load("%sums", here), other), "%sums", here)
    down, across = (tuple(zip(*each.kinds)) for each in axes)

    def weights(kind: Vectors, at: Scalar) -> list[Scalar]:
        """The nine weights of as many rows as there are lanes."""
        values: list[list[Scalar]] = []
        for _ in axes.down.kinds:
            values.append([])
            for _ in axes.across.kinds:
                values[-1].append(kind.load("%sums", at))
                at = c.add(at, block)
        return [value for line in transformed(c, kind, values, down, across) for value in line]

    several = vector.count if vector.count >= 9 else 0  # rows computed together, where the weights of a row fit in a vector
    done = c.integer(0)
    if several:  # of these rows, channel after channel: stores to a row are contiguous, and so are loads of the sums
        whole = c.div(rows, several)
        with c.loop(whole) as number, c.loop(first, last) as channel:
            row = c.scale(number, several)
            made = weights(vector, c.add(c.mul(channel, row_step), row))
            lines = vector.transposed([*made, *[vector.zero()] * (several - 9)])
            for line, each in enumerate(lines):
                vector.store(each, "%result", c.scale(c.add(c.mul(c.add(row, line), channels), channel), 9), 9)
        done = c.scale(whole, several)
    with c.not_vectorized(), c.loop(done, rows) as row, c.loop(first, last) as channel:
        to = c.scale(c.add(c.mul(row, channels), channel), 9)
        for tap, each in enumerate(weights(scalar, c.add(c.mul(channel, row_step), row))):
            c.store(each, "%result", c.add(to, tap))
    return c.finish("gradients")


# -- gradients of results ----------------------------------------------------------------------------------------


def transpose(module: Module, type: str) -> str:
    """The function that transposes a strip of an image to channels-last: ``lines`` rows of ``width`` pixels."""
    c = SizedCode(module, "source transposed", "channels plane lines width row_step line")
    channels, plane, lines, width, row_step, line = c.arguments
    block = Vectors(c, type, 8)
    high, wide = (c.div(each, 8) for each in (channels, width))
    with c.loop(lines) as row:
        begin_at, begin_to = c.mul(row, width), c.mul(row, line)
        with c.loop(high) as number, c.loop(wide) as other:
            channel, column = c.scale(number, 8), c.scale(other, 8)
            at, to = (c.add(c.add(begin_at, c.mul(channel, plane)), column), c.add(c.add(begin_to, c.mul(column, row_step)), channel))
            values = []
            for _ in range(8):
                values.append(block.load("%source", at))
                at = c.add(at, plane)
            for each in block.transposed(values):
                block.store(each, "%transposed", to)
                to = c.add(to, row_step)
        done, over = c.scale(high, 8), c.scale(wide, 8)
        for first, last, begin_column in ((c.integer(0), done, over), (done, channels, c.integer(0))):
            with c.not_vectorized(), c.loop(first, last) as channel, c.loop(begin_column, width) as column:
                value = c.load("%source", c.add(c.add(begin_at, c.mul(channel, plane)), column), type)
                c.store(value, "%transposed", c.add(c.add(begin_to, c.mul(column, row_step)), channel))
    return c.finish("transpose")


def transform_gradient(module: Module, type: str, axes: WinogradAxes) -> str:
    """The function that transforms a channels-last strip of a gradient: for each sum a matrix, tiles by channels."""
    c = SizedCode(module, "transposed panel", "vectors tile_rows tile_columns row_step line block")
    vectors, tile_rows, tile_columns, row_step, line, block = c.arguments
    vector = Vectors(c, type)
    with c.loop(tile_rows) as row, c.loop(tile_columns) as column:
        here = c.add(c.mul(c.scale(row, len(axes.down.result)), line), c.mul(c.scale(column, len(axes.across.result)), row_step))
        goal = c.mul(c.add(c.mul(row, tile_columns), column), row_step)
        with c.loop(vectors) as number:
            offset = c.scale(number, vector.count)
            values: list[list[Scalar]] = []
            for down in range(len(axes.down.result)):
                at = c.add(c.add(here, offset), c.mul(down, line))
                values.append([])
                for _ in axes.across.result:
                    values[-1].append(vector.load("%transposed", at))
                    at = c.add(at, row_step)
            to = c.add(goal, offset)
            for row_ in transformed(c, vector, values, axes.down.shares, axes.across.shares):
                for each in row_:
                    vector.store(each, "%panel", to)
                    to = c.add(to, block)
    return c.finish("share")
