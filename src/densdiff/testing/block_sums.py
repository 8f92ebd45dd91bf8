"""A test and a distance of two tables of which only sums of features over blocks of rows are left.

Features are waves of random frequencies, whose mean products are Gaussian kernels, and the low orders of
`row_features`. Rows of a block are many, so that its sum tells of no row; how much the sums of blocks scatter tells
how much the means of all rows do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray
from densdiff.core.selection import IntArray
from densdiff.testing.combining import Combined, Part, combine
from densdiff.testing.low_order import Layout, LowOrder, add_by_unit

_AT_ONCE = 1 << 21  # waves held at a time
_CATEGORIES = 1.5  # columns of categories that take part in a wave, on average, but each in no more than half of them
_ROUNDING = 1e-6  # of a mean of waves, in single precision
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class HashedBlocks:
    """The block of each row, from its number alone: rows of any table fall into as many blocks, about evenly."""

    seed: int
    n_groups: int

    def part(self, start: int, count: int) -> IntArray:
        """The blocks of some consecutive rows, (count,)."""
        mixed = (np.arange(start, start + count, dtype=np.uint64) + np.uint64(1)) * _MIX + np.uint64(self.seed % 2**64)
        mixed ^= mixed >> np.uint64(31)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(27)
        return np.asarray((mixed >> np.uint64(11)) % np.uint64(self.n_groups)).astype(np.int64)


@dataclass(frozen=True)
class Waves:
    """Cosines and sines of random frequencies, several for each width of a Gaussian kernel.

    A column of categories takes part in some of the waves, by a random sign for each of its levels: products of two
    rows are then on average 1 on equal levels, and on others the share of waves in which it takes no part.
    """

    frequencies: FloatArray  # (d, R M)
    signs: tuple[npt.NDArray[np.float32], ...]  # (levels, R M) each
    widths: tuple[float, ...]  # (R,)

    @classmethod
    def drawn(cls, seed: int, d: int, levels: Sequence[int], widths: Sequence[float], count: int) -> "Waves":
        """So many frequencies for each width."""
        random = np.random.default_rng([seed, 31])
        scale = np.repeat(1.0 / np.asarray(widths), count)
        frequencies = random.standard_normal((d, len(scale))) * scale
        share = min(0.5, _CATEGORIES / max(len(levels), 1)) if d else 1.0
        signs = []
        for n_levels in levels:
            takes_part = random.random(len(scale)) < share
            drawn = random.choice(np.array([-1.0, 1.0], dtype=np.float32), (n_levels, len(scale)))
            signs.append(np.where(takes_part, drawn, np.float32(1.0)))
        return cls(frequencies, tuple(signs), tuple(widths))

    @property
    def size(self) -> int:
        """Cosines and sines of all widths."""
        return 2 * int(self.frequencies.shape[1])

    def sums(self, numbers: FloatArray, codes: IntArray, blocks: IntArray, n_blocks: int) -> FloatArray:
        """Sums over the rows of each block, (n_blocks, size), of numbers in inner units and codes."""
        sums = np.zeros((n_blocks, self.size))
        step = max(64, _AT_ONCE // self.size)
        for first in range(0, len(blocks), step):
            part = slice(first, first + step)
            angles = numbers[part] @ self.frequencies
            waves = np.hstack([np.cos(angles), np.sin(angles)])
            for signs, column in zip(self.signs, codes.T, strict=True):
                waves *= np.tile(signs[column[part]], 2)
            add_by_unit(sums, waves, blocks[part])
        return sums

    def by_width(self, values: FloatArray) -> FloatArray:
        """Sums of squares of (.., size) over the waves of each width, over their number, (.., R)."""
        squares = np.square(values)
        half = self.size // 2
        power = squares[..., :half] + squares[..., half:]
        return np.asarray(power.reshape(*power.shape[:-1], len(self.widths), -1).mean(axis=-1))


@dataclass(frozen=True)
class BlockSums:
    """Rows of each block, (K,), and sums of waves and of low orders over them, (K, F) each."""

    rows: npt.NDArray[np.int64]
    waves: FloatArray
    low_order: FloatArray

    @property
    def n(self) -> int:
        return int(self.rows.sum())

    def merged(self, other: "BlockSums") -> "BlockSums":
        """Sums over the rows of both."""
        return BlockSums(self.rows + other.rows, self.waves + other.waves, self.low_order + other.low_order)


@dataclass(frozen=True)
class BlockTest:
    """What a test of block sums found: statistics of the data and of draws of the null, (1 + k, M), put together."""

    table: FloatArray
    parts: list[Part]
    found: Combined

    @property
    def strongest(self) -> str:
        """The statistic that was the least likely."""
        return self.parts[self.found.part].names[self.found.strongest[self.found.part]]


def block_test(
    sums: tuple[BlockSums, BlockSums],
    waves: Waves,
    names: Sequence[str],
    layout: Layout,
    count: int,
    random: np.random.Generator,
) -> BlockTest:
    """Whether the rows of two tables come from one population, from the sums of their blocks.

    A draw gives the deviation of each block's sum from what its rows would have of the mean of both tables a random
    factor. So means scatter as the blocks of both do, whatever table these are of, as relabelled blocks would: a table
    of few rows does not tell by itself how much its mean scatters. Blocks count by their rows: what is in one table
    only would else look as if it never varied.
    """
    a, b = sums
    own = np.repeat([1.0 / a.n, -1.0 / b.n], [len(a.rows), len(b.rows)])
    null = _multipliers(np.concatenate([a.rows, b.rows]), count, random) / np.sqrt(float(a.n) * b.n)
    weights = np.vstack([own, null])
    low_order = np.concatenate([a.low_order, b.low_order]).astype(np.float32)
    sizes = np.abs(low_order).sum(axis=0, dtype=np.float64) / (a.n + b.n)
    low = LowOrder(names, layout, low_order, sizes)
    kernels = waves.by_width(weights @ np.concatenate([a.waves, b.waves]))
    kernels[kernels <= _ROUNDING**2] = 0.0  # of rows that are all the same
    share = 1.0 - sum(part.share for part in low.parts)
    of_widths = [f"all columns at width {width:.2g}" for width in waves.widths]
    parts = [Part(share, of_widths, alike=False), *low.parts]
    table = np.hstack([kernels, low.table(weights)])
    return BlockTest(table, parts, combine(table, parts))


def _multipliers(rows: npt.NDArray[np.int64], count: int, random: np.random.Generator) -> FloatArray:
    """Weights of block sums whose sum is a draw of the error of the sum over all rows, (count, K).

    Few blocks tell the size of that error only roughly, which Student's t makes up for.
    """
    n, used = rows.sum(), max(2, int((rows > 0).sum()))
    factors = random.standard_normal((count, len(rows)))
    factors -= (factors @ rows / n)[:, None]
    doubt = np.sqrt(used / random.chisquare(used - 1.0, count))  # with the loss of one block by the mean
    return np.asarray(factors * doubt[:, None])


@dataclass(frozen=True)
class BlurredDistance:
    """|p - q|^2 / (|p|^2 + |q|^2) of densities blurred by the kernel of one width, and its error."""

    width: float
    normalized: float
    error: float
    norms: float  # |p|^2 + |q|^2 as mean kernel values
    noise: float  # relative error of the norms


def blurred_distances(a: BlockSums, b: BlockSums, waves: Waves) -> list[BlurredDistance]:
    """The normalized distance at every width, with errors by leaving out one block at a time."""
    n, m, x, y = a.n, b.n, a.waves.sum(axis=0), b.waves.sum(axis=0)
    whole = _norms(n, m, x, y, waves)  # (3, R)
    without_a = [_norms(n - a.rows[k], m, x - a.waves[k], y, waves) for k in _apart(a)]
    without_b = [_norms(n, m - b.rows[k], x, y - b.waves[k], waves) for k in _apart(b)]
    left_out = [np.array(norms).reshape(-1, *whole.shape) for norms in (without_a, without_b)]  # (K, 3, R) each
    found = []
    for r, width in enumerate(waves.widths):
        total = float(whole[0, r] + whole[1, r])
        ratio = 1.0 - 2.0 * float(whole[2, r]) / total
        error = _jackknife_error([1.0 - 2.0 * norms[:, 2, r] / (norms[:, 0, r] + norms[:, 1, r]) for norms in left_out])
        noise = _jackknife_error([norms[:, 0, r] + norms[:, 1, r] for norms in left_out])
        found.append(BlurredDistance(width, ratio, error, total, noise / abs(total)))
    return found


def _apart(sums: BlockSums) -> IntArray:
    """Blocks that hold rows and leave at least two to the others."""
    return np.flatnonzero((sums.rows > 0) & (sums.n - sums.rows > 1))


def _jackknife_error(left_out: list[FloatArray]) -> float:
    """The error of a value from what it is without each block of either table; 1 if no block can be left out."""
    if min(map(len, left_out)) < 2:
        return 1.0
    return float(np.sqrt(sum((len(own) - 1) * np.var(own) for own in left_out)))


def _norms(n: int, m: int, x: FloatArray, y: FloatArray, waves: Waves) -> FloatArray:
    """Mean kernel values of pairs of different rows of A, of B, and of a row of each, (3, R)."""
    own = [(waves.by_width(sums) - size) / (size * (size - 1.0)) for sums, size in ((x, n), (y, m))]
    across = (waves.by_width(x + y) - waves.by_width(x) - waves.by_width(y)) / (2.0 * n * m)
    return np.array([*own, across])
