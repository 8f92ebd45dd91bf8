"""A test and a distance of two tables of which only sums of features over all rows are left.

Features are waves of random frequencies, whose mean products are Gaussian kernels, and the low orders of
`row_features`. Sums tell their means, sums of squares how much each of these scatters. How they scatter together is
taken from rows that others make anew, as far as sums and counts describe rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from densdiff.core.resample import relabellings
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import IntArray
from densdiff.testing.combining import Combined, Part, combine
from densdiff.testing.feature_layout import Layout
from densdiff.testing.low_order import AnyFloats, LowOrder
from densdiff.testing.row_features import Features

_CATEGORIES = 1.5  # columns of categories that take part in a wave, on average, but each in no more than half of them
_ROUNDING = 1e-6  # of a mean of waves, in single precision
_UNKNOWN = 1e-4  # of the variance of all rows that a feature must have among some of them, or it has none there
_HANDFUL = 8.0  # rows: a feature must vary by as many, or it is taken to be normal
_NORMAL_ROWS = 50
_RADII, _TAIL_OF_RADII = 4000, 6.0  # of a filter's spectrum: how finely and how far beyond its edge it is looked at


@dataclass(frozen=True)
class Waves:
    """Cosines and sines of random frequencies, several for each width of a Gaussian kernel.

    The kernel that suits the density has one of these widths, or with a ``lam`` the last one, as a filter of E12.
    A column of categories takes part in some of the waves, by a random sign for each of its levels: products of two
    rows are then on average 1 on equal levels, and on others the share of waves in which it takes no part.
    """

    frequencies: FloatArray  # (d, R M)
    signs: tuple[npt.NDArray[np.float32], ...]  # (levels, R M) each
    widths: tuple[float, ...]  # (R,)
    suited: int = 0  # the place of the width that suits the density
    lam: float | None = None  # of the filter of that width; None for a Gaussian kernel

    @classmethod
    def drawn(
        cls,
        seed: int,
        d: int,
        levels: Sequence[int],
        widths: Sequence[float],
        count: int,
        suited: int = 0,
        lam: float | None = None,
    ) -> "Waves":
        """So many frequencies for each width."""
        random = np.random.default_rng([seed, 31])
        scale = np.repeat(1.0 / np.asarray(widths), count)
        frequencies = random.standard_normal((d, len(scale))) * scale
        if lam is not None:
            directions = frequencies[:, -count:] / np.linalg.norm(frequencies[:, -count:], axis=0)
            frequencies[:, -count:] = directions * filter_radii(d, lam, count) / widths[-1]
        share = min(0.5, _CATEGORIES / max(len(levels), 1)) if d else 1.0
        signs = []
        for n_levels in levels:
            takes_part = random.random(len(scale)) < share
            drawn = random.choice(np.array([-1.0, 1.0], dtype=np.float32), (n_levels, len(scale)))
            signs.append(np.where(takes_part, drawn, np.float32(1.0)))
        return cls(frequencies, tuple(signs), tuple(widths), suited, lam)

    @property
    def gaussians(self) -> int:
        """How many of the widths are of Gaussian kernels."""
        return len(self.widths) - (self.lam is not None)

    @property
    def size(self) -> int:
        """Cosines and sines of all widths."""
        return 2 * int(self.frequencies.shape[1])

    def __call__(self, numbers: FloatArray, codes: IntArray) -> Features:
        """The waves of rows of numbers in inner units and codes, (k, size)."""
        turns = numbers @ (self.frequencies / (2.0 * np.pi))
        turns -= np.rint(turns)  # cosines of large angles would lose their digits in single precision
        angles = turns.astype(np.float32)
        angles *= np.float32(2.0 * np.pi)
        waves = np.empty((len(numbers), self.size), dtype=np.float32)
        cosines, sines = np.split(waves, 2, axis=1)
        np.cos(angles, out=cosines)
        np.sin(angles, out=sines)
        if self.signs:
            signs = self.signs[0][codes[:, 0]]
            for more, column in zip(self.signs[1:], codes.T[1:], strict=True):
                signs *= more[column]
            cosines *= signs
            sines *= signs
        return waves

    def by_width(self, values: AnyFloats) -> FloatArray:
        """Sums of squares of (.., size) over the waves of each width, over their number, (.., R)."""
        return np.asarray(self.powers(values).mean(axis=-1))

    def powers(self, values: AnyFloats) -> FloatArray:
        """The sum of squares of cosine and sine of each frequency, (.., R, M), from values (.., size)."""
        squares = np.square(values, dtype=np.float64)
        half = self.size // 2
        power = squares[..., :half] + squares[..., half:]
        return np.asarray(power.reshape(*power.shape[:-1], len(self.widths), -1))


def filter_radii(d: int, lam: float, count: int) -> FloatArray:
    """Lengths of frequencies in d columns that stand for the spectrum 2F - F^2 of E12 at sigma = 1, (count,)."""
    longest = float(np.sqrt(d) + np.sqrt(2.0 * max(0.0, np.log(1.0 / lam))) + _TAIL_OF_RADII)
    radii: FloatArray = np.linspace(0.0, longest, _RADII)
    passed = expit(-np.log(lam) - 0.5 * np.square(radii))
    mass = np.cumsum(np.power(radii / longest, d - 1) * passed * (2.0 - passed))
    return np.interp((np.arange(count) + 0.5) / count, mass / mass[-1], radii)


@dataclass(frozen=True)
class FeatureSums:
    """Sums over n rows of features, waves first, and of their squares, (F,) each."""

    n: int
    sums: FloatArray
    squares: FloatArray

    def merged(self, other: "FeatureSums") -> "FeatureSums":
        """Sums over the rows of both."""
        return FeatureSums(self.n + other.n, self.sums + other.sums, self.squares + other.squares)

    def variances(self) -> FloatArray:
        """The variance of each feature, ddof 1; 0 where no more than rounding is left, (F,)."""
        spread = self.squares - np.square(self.sums) / self.n
        return np.where(spread > _ROUNDING * self.squares, spread, 0.0) / max(self.n - 1, 1)


@dataclass(frozen=True)
class SumsTest:
    """What a test of sums found: statistics of the data and of draws of the null, (1 + k, M), put together."""

    table: FloatArray
    parts: list[Part]
    found: Combined

    @property
    def strongest(self) -> str:
        """The statistic that was the least likely."""
        return self.parts[self.found.part].names[self.found.strongest[self.found.part]]

    def noise_of_kernels(self, widths: int) -> FloatArray:
        """Variance of the statistic of each width under the null, (R,)."""
        return np.asarray(self.table[1:, :widths].var(axis=0))


def sums_test(
    sums: tuple[FeatureSums, FeatureSums],
    some: Features,
    waves: Waves,
    names: Sequence[str],
    layout: Layout,
    count: int,
    random: np.random.Generator,
) -> SumsTest:
    """Whether the rows of two tables come from one population, from the sums of their features.

    A draw of the null relabels ``some`` rows, (N, F), whose features vary together as those of the tables do. There
    each feature is stretched to the variance that it has in the pooled rows of both tables, which the sums tell; E23.
    """
    a, b = sums
    split = _split(a.n, b.n, len(some))
    stretched = _stretched(a.merged(b), (1.0 / a.n + 1.0 / b.n) / sum(1.0 / k for k in split), some, random)
    summands = np.vstack([(a.sums / a.n - b.sums / b.n).astype(np.float32), stretched])
    labels = np.vstack(list(relabellings(np.repeat([True, False], split), None, count, random)))
    weights = np.zeros((1 + count, len(summands)), dtype=np.float32)
    weights[0, 0] = 1.0
    weights[1:, 1:] = np.where(labels, np.float32(1.0 / split[0]), np.float32(-1.0 / split[1]))
    sizes = np.sqrt((a.squares + b.squares) / (a.n + b.n))
    low = LowOrder(names, layout, summands[:, waves.size :], sizes[waves.size :])
    kernels = waves.by_width(weights @ summands[:, : waves.size])
    kernels[kernels <= _ROUNDING**2] = 0.0  # of rows that are all the same
    share = 1.0 - sum(part.share for part in low.parts)
    of_widths = [f"all columns at width {width:.2g}" for width in waves.widths]
    # as with rows: the kernel that suits the density has as much as all of them together
    parts = [Part(share / 2, of_widths, alike=False), Part(share / 2, [of_widths[waves.suited]]), *low.parts]
    table = np.hstack([kernels, kernels[:, [waves.suited]], low.table(weights)])
    return SumsTest(table, parts, combine(table, parts))


def _split(n: int, m: int, count: int) -> tuple[int, int]:
    """How many of some rows take the part of A and of B: in proportion, but of the smaller no fewer than its rows
    until they are enough for a mean to be about normal."""
    small = max(round(count * min(n, m) / (n + m)), min(n, m, _NORMAL_ROWS, count // 2), 1)
    return (count - small, small) if n >= m else (small, count - small)


def _stretched(pooled: FeatureSums, more: float, some: Features, random: np.random.Generator) -> Features:
    """Features of rows (N, F) around 0 that have ``more`` times the variance of the pooled rows each.

    What does not vary in these rows, or only by a handful of them, gets normal values: the difference of means of a
    feature that a single row has is the same in every draw, and any other would look as if it never occurred.
    """
    rows: Features = some - some.mean(axis=0)
    wanted = pooled.variances()
    own = np.einsum("ij,ij->j", rows, rows) / (len(rows) - 1)
    fourth = np.einsum("ij,ij->j", np.square(rows), np.square(rows), dtype=np.float64)
    is_known = (own > _UNKNOWN * wanted) & (np.square(own * len(rows)) >= _HANDFUL * fourth)
    rows *= np.sqrt(np.where(is_known, more * wanted / np.where(is_known, own, 1.0), 0.0)).astype(np.float32)
    lacking = np.flatnonzero(~is_known & (wanted > 0))
    rows[:, lacking] = random.standard_normal((len(rows), len(lacking))) * np.sqrt(more * wanted[lacking])
    return rows


@dataclass(frozen=True)
class BlurredDistance:
    """|p - q|^2 / (|p|^2 + |q|^2) of densities blurred by the kernel of one width, and its error."""

    width: float
    normalized: float
    error: float
    norms: float  # |p|^2 + |q|^2 as mean kernel values
    noise: float  # relative error of the norms


def blurred_distances(
    sums: tuple[FeatureSums, FeatureSums], anew: tuple[Features, Features], waves: Waves, null_variance: FloatArray
) -> list[BlurredDistance]:
    """The normalized distance at the width of every Gaussian kernel; E24.

    Its error has three parts: of the rows to first order, by the scatter of rows made anew; to second order, which is
    what is left where the tables are alike, by the variance of the statistics under the null; and of the waves, of
    which there are so many and no more.
    """
    (n, x), (m, y) = ((own.n, own.sums[: waves.size]) for own in sums)
    kept = slice(waves.gaussians)
    of_a, of_b, of_both = (waves.powers(total)[kept] for total in (x, y, x + y))
    own_a, own_b = ((power - size) / (size * (size - 1.0)) for power, size in ((of_a, n), (of_b, m)))
    across = (of_both - of_a - of_b) / (2.0 * n * m)  # (R, M)
    norms, mixed = (own_a + own_b).mean(axis=1), across.mean(axis=1)
    ratios = 1.0 - 2.0 * mixed / norms
    slopes_a = _slopes(anew[0], x / n, y / m, waves, norms, mixed)
    slopes_b = _slopes(anew[1], y / m, x / n, waves, norms, mixed)
    first = slopes_a[0] / n + slopes_b[0] / m
    of_norms = slopes_a[1] / n + slopes_b[1] / m + null_variance * (n**-2 + m**-2) / (1.0 / n + 1.0 / m) ** 2
    of_waves = np.var(own_a + own_b - 2.0 * across - ratios[:, None] * (own_a + own_b), axis=1) / across.shape[1]
    errors = np.sqrt(first + (null_variance + of_waves) / norms**2)
    relative = np.sqrt(of_norms) / np.abs(norms)
    return [
        BlurredDistance(width, *map(float, values))
        for width, *values in zip(waves.widths[kept], ratios, errors, norms, relative, strict=True)
    ]


def _slopes(
    anew: Features, own: FloatArray, other: FloatArray, waves: Waves, norms: FloatArray, mixed: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Variances over rows made anew of what a row adds to the ratio and to the norms, (R,) each."""
    shape = (len(anew), 2, len(waves.widths), -1)
    rows = anew[:, : waves.size].reshape(shape)
    count = rows.shape[3]
    to_own, to_other = (
        np.einsum("ihrm,hrm->ir", rows, mean.reshape(shape[1:]).astype(np.float32))[:, : waves.gaussians] / count
        for mean in (own, other)
    )
    ratio = -2.0 * to_other / norms + 4.0 * to_own * mixed / norms**2
    return ratio.var(axis=0), (2.0 * to_own).var(axis=0)
