"""Histograms of pair distances with the coefficients e_t of E16: numbers x levels, by groups of rows.

Tiles and tasks are those of `pair_distances`: the answer does not depend on the number of cores.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.core.agreement import AgreementPolynomial
from densdiff.core.radial import Bins
from densdiff.core.scaling import FloatArray
from densdiff.engines.pair_distances import TileRows, add_counts, tiles
from densdiff.threads import cores, map_in_order

_TILE, _LARGEST_TILE = 1 << 16, 1 << 19  # distances at a time: more where histograms are large too
_PARALLEL_ROWS = 2000
_MOST_CELLS = 1 << 25  # half of which are kept: 128 MiB


@dataclass(frozen=True)
class MixedHistograms:
    """Sums of omega_i omega_j over pairs i < j by groups and distance: by class of agreement, or with weights e_t."""

    polynomials: tuple[AgreementPolynomial, ...]
    of_classes: FloatArray | None  # (Q, C, bins), Q pairs of groups g <= h
    of_steps: tuple[FloatArray, ...]  # (Q, T, bins) for each polynomial, where classes are too many

    def sums(self, smoothing: int, weights: FloatArray) -> FloatArray:
        """Sums of omega_i omega_j e_t over ordered pairs i != j, weighted by their groups, (T, bins, k).

        ``weights``, (k, G * G), are those of pairs of groups; ``smoothing`` is the number of a polynomial.
        """
        return next(self._sums([smoothing], weights))

    def every_sum(self, weights: FloatArray) -> Iterator[FloatArray]:
        """`sums` of each polynomial in turn; classes of agreement are summed over groups once for all of them."""
        return self._sums(range(len(self.polynomials)), weights)

    def _sums(self, smoothings: Iterable[int], weights: FloatArray) -> Iterator[FloatArray]:
        n_groups = round(weights.shape[1] ** 0.5)
        square = weights.reshape(-1, n_groups, n_groups)
        upper = (square + square.transpose(0, 2, 1))[:, *np.triu_indices(n_groups)]  # (k, Q), both orders of a pair
        if self.of_classes is None:
            for smoothing in smoothings:
                yield _over_groups(upper, self.of_steps[smoothing])
            return
        of_classes = _over_groups(upper, self.of_classes)
        for smoothing in smoothings:
            yield np.tensordot(self.polynomials[smoothing].by_class.T, of_classes, 1)  # (T, C) with (C, bins, k)


def _over_groups(weights: FloatArray, histograms: FloatArray) -> FloatArray:
    """Weighted sums, weights (k, Q), over pairs of groups of histograms (Q, c, bins): (c, bins, k)."""
    sums = histograms.reshape(len(histograms), -1).T @ weights.T
    return np.asarray(sums.reshape(*histograms.shape[1:], -1))


def mixed_histograms(
    rows: FloatArray,
    omega: FloatArray,
    groups: npt.NDArray[np.intp],
    bins: Bins,
    polynomials: Sequence[AgreementPolynomial],
    *,
    direct: bool,
) -> MixedHistograms:
    """Histograms for all smoothings of rows with numbers first and codes last; ``groups`` must be sorted.

    While classes of agreement are few, one count of the pairs serves every smoothing. With many of them each smoothing
    takes as much time and memory as it has steps: pass one at a time.
    """
    numbers, codes = _split(rows, len(polynomials[0].levels))
    bounds = np.searchsorted(groups, np.arange(int(groups[-1]) + 2))
    even = bool(np.all(omega == np.repeat(omega[bounds[:-1]], np.diff(bounds))))  # one weight per group: weigh once
    pairs = _Pairs(TileRows(numbers, direct), codes, None if even else omega, groups, bins)

    def histograms(polynomial: AgreementPolynomial | None) -> FloatArray:
        def task(g: int) -> FloatArray:
            members = range(bounds[g], bounds[g + 1])
            if polynomial is None:
                return _class_counts(pairs, polynomials[0], members)[g:].copy()
            return _step_counts(pairs, polynomial, members)[g:].copy()

        threads = 1 if len(rows) < _PARALLEL_ROWS else cores()
        upper = np.concatenate(list(map_in_order(task, range(len(bounds) - 1), threads)))  # (Q, c, bins)
        if even:
            firsts = omega[bounds[:-1]]
            upper *= np.outer(firsts, firsts)[np.triu_indices(len(firsts))][:, None, None]
        return upper

    if _is_cheaper_by_class(polynomials, len(bounds) - 1, len(rows), bins):
        return MixedHistograms(tuple(polynomials), histograms(None), ())
    return MixedHistograms(tuple(polynomials), None, tuple(map(histograms, polynomials)))


def _is_cheaper_by_class(polynomials: Sequence[AgreementPolynomial], n_groups: int, n_rows: int, bins: Bins) -> bool:
    """Whether histograms of classes fit into memory and cost less than weights for every step of every smoothing.

    Both cost about as much for a pair as for a cell of a histogram.
    """
    classes, steps = polynomials[0].classes.count, sum(len(p.exponents) for p in polynomials)
    cells, pairs = n_groups**2 * bins.count, n_rows**2 // 2
    return classes * cells <= _MOST_CELLS and classes * cells + pairs <= steps * (cells + pairs)


@dataclass(frozen=True)
class _Pairs:
    """Rows whose pairs are counted."""

    numbers: TileRows  # (N, d)
    codes: npt.NDArray[np.integer]  # (N, J)
    omega: FloatArray | None  # (N,), None where each pair counts as 1
    groups: npt.NDArray[np.intp]  # (N,) ascending
    bins: Bins

    @property
    def n_groups(self) -> int:
        return int(self.groups[-1]) + 1


def _split(rows: FloatArray, n_codes: int) -> tuple[FloatArray, npt.NDArray[np.integer]]:
    """The numbers, (N, d), and the codes as the smallest integers, (N, J), which compare fastest."""
    d = rows.shape[1] - n_codes
    codes = np.empty((len(rows), n_codes), dtype=np.intp)
    for j in range(n_codes):
        codes[:, j] = np.unique(rows[:, d + j], return_inverse=True)[1].reshape(-1)
    kind = np.min_scalar_type(int(codes.max(initial=0)))
    return np.ascontiguousarray(rows[:, :d]), np.asfortranarray(codes.astype(kind))


def _class_counts(pairs: _Pairs, polynomial: AgreementPolynomial, members: range) -> FloatArray:
    """Histograms of the pairs i < j with i in one group, by group of j and class of agreement, (G, C, bins)."""
    width, n_groups = pairs.bins.count + 1, pairs.n_groups
    classes = polynomial.classes
    counts = np.zeros(classes.count * n_groups * width)
    tile = min(max(_TILE, counts.size), _LARGEST_TILE)
    for start, stop, cell, fraction in tiles(pairs.numbers, pairs.groups, pairs.bins, members, tile):
        agreement = classes.of_pairs(pairs.codes[start:stop], pairs.codes[start:])
        cell += agreement * np.int32(n_groups * width)
        add_counts(counts, cell, fraction, _weights(pairs, start, stop))
    return counts.reshape(-1, n_groups, width)[:, :, :-1].transpose(1, 0, 2)


def _step_counts(pairs: _Pairs, polynomial: AgreementPolynomial, members: range) -> FloatArray:
    """Histograms of the pairs i < j with i in one group, by group of j, with weights e_t, (G, T, bins)."""
    width, n_groups = pairs.bins.count + 1, pairs.n_groups
    counts = np.zeros((len(polynomial.exponents), n_groups * width))
    for start, stop, cell, fraction in tiles(pairs.numbers, pairs.groups, pairs.bins, members, _TILE):
        e = polynomial.of_pairs(pairs.codes[start:stop], pairs.codes[start:])  # (T, k, N - start)
        weights = _weights(pairs, start, stop)
        for counts_t, e_t in zip(counts, e, strict=True):
            add_counts(counts_t, cell, fraction, e_t if weights is None else e_t * weights)
    return counts.reshape(-1, n_groups, width)[:, :, :-1].transpose(1, 0, 2)


def _weights(pairs: _Pairs, start: int, stop: int) -> FloatArray | None:
    """Products of two rows' weights in a tile, (stop - start, N - start), or None where each pair counts as 1."""
    if pairs.omega is None:
        return None
    return np.asarray(np.multiply.outer(pairs.omega[start:stop], pairs.omega[start:]))
