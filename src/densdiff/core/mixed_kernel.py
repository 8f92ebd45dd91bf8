"""E16: kernels on numbers x levels, from radial kernels of many lams and the agreement of the rows in categories."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.core.agreement import AgreementPolynomial, IntArray
from densdiff.core.radial import RadialTable, cubic_at, cubic_places, parts_in_cache
from densdiff.core.scaling import FloatArray

MOST_CLASSES = 128  # of agreement, with a table of 0.3 megabytes for each; beyond that one for each step
MOST_ENTRIES = 1 << 22  # of the tables of more classes, 32 MiB: shorter tables may be as many


@dataclass(frozen=True)
class MixedRadial:
    """Kernels of one lam and one smoothing as tables of r = 0, step, 2 step, ..: even, ending in two zeros.

    A row of a table is the kernel of a class of agreement, sum_t e_t K_t, or K_t itself where classes are too many.
    """

    step: float
    values: tuple[FloatArray, ...]  # (C, R) or (T, R)
    polynomial: AgreementPolynomial
    is_by_class: bool

    @property
    def n_codes(self) -> int:
        """How many columns of a row are codes, the last ones."""
        return len(self.polynomial.levels)

    @property
    def of_equal_rows(self) -> list[float]:
        """Each kernel of a row with itself."""
        if self.is_by_class:
            return [float(kernel[-1, 0]) for kernel in self.values]
        return [float(self.polynomial.of_equal_rows @ kernel[:, 0]) for kernel in self.values]

    def at(self, r: FloatArray, codes_a: npt.NDArray[np.generic], codes_b: npt.NDArray[np.generic]) -> list[FloatArray]:
        """Each kernel, (k, l), of rows at distances r, (k, l) in sigmas, with codes (k, J) and (l, J)."""
        results = [np.zeros(r.shape) for _ in self.values]
        size = self.values[0].shape[1]
        # classes of many pairs at once, since a column costs a call; coefficients take much more memory
        classes = self.polynomial.classes.of_pairs(codes_a, codes_b) if self.is_by_class else None
        for part in parts_in_cache(r.shape):
            places = cubic_places(self.step, size, r[part])
            if classes is not None:
                places = places.moved(classes[part].astype(np.intp) * size)
                for result, kernel in zip(results, self.values, strict=True):
                    result[part] = cubic_at(kernel.ravel(), places)
                continue
            e = self.polynomial.of_pairs(codes_a[part], codes_b)  # (T, k, l)
            for result, kernel in zip(results, self.values, strict=True):
                for e_t, kernel_t in zip(e, kernel, strict=True):
                    result[part] += e_t * cubic_at(kernel_t, places)
        return results


def has_few_classes(polynomial: AgreementPolynomial) -> bool:
    """Whether every class of agreement can have a table of its own, however long."""
    return polynomial.classes.count <= MOST_CLASSES


def fits_by_class(polynomial: AgreementPolynomial, nodes: int) -> bool:
    """Whether every class of agreement can have a table of so many entries."""
    return has_few_classes(polynomial) or polynomial.classes.count * nodes <= MOST_ENTRIES


def mixed_plain_kernel(table: RadialTable, rows: IntArray, polynomial: AgreementPolynomial) -> MixedRadial:
    """The kernel of F; ``rows``, (T,), are those of the table with lam ratio^-t."""
    return mixed(table.step, (table.plain[rows],), polynomial)


def mixed_plain_and_squared(table: RadialTable, rows: IntArray, polynomial: AgreementPolynomial) -> MixedRadial:
    """The kernels of F and F^2; ``rows``, (T,), are those of the table with lam ratio^-t."""
    return mixed(table.step, (table.plain[rows], table.squared[rows]), polynomial)


def mixed_statistic_kernel(table: RadialTable, rows: IntArray, polynomial: AgreementPolynomial) -> MixedRadial:
    """The kernel of E12, 2F - F^2; ``rows``, (T,), are those of the table with lam ratio^-t."""
    return mixed(table.step, (2.0 * table.plain[rows] - table.squared[rows],), polynomial)


def mixed(step: float, kernels: tuple[FloatArray, ...], polynomial: AgreementPolynomial) -> MixedRadial:
    """Kernels from their tables of steps, (T, R), kept as they are or summed up for every class, (C, R)."""
    is_by_class = fits_by_class(polynomial, kernels[0].shape[1])
    if is_by_class:
        kernels = tuple(polynomial.by_class @ kernel for kernel in kernels)
    return MixedRadial(step, kernels, polynomial, is_by_class)


def weighted_by_lam(kernels: FloatArray, rows: IntArray, weights: FloatArray) -> FloatArray:
    """Kernels of every step, (T, nodes), summed over lams with weights, (L,).

    ``kernels``, (M, nodes), are of all stepped lams; ``rows``, (L, T), tells which are lam ratio^-t.
    """
    by_row = np.zeros((rows.shape[1], len(kernels)))
    steps = np.arange(rows.shape[1])
    for lam in np.flatnonzero(weights):
        by_row[steps, rows[lam]] += weights[lam]
    return np.asarray(by_row @ kernels)


def sum_over_steps(kernels: FloatArray, rows: IntArray, sums: FloatArray) -> FloatArray:
    """Sums over pairs of e_t times a kernel for every lam, (L, k), from those of e_t at every node, (T, nodes, k).

    ``kernels``, (M, nodes), are of all stepped lams; ``rows``, (L, T), tells which are lam ratio^-t.
    """
    total = np.zeros((len(rows), sums.shape[2]))
    for t, pairs in enumerate(sums):
        total += kernels[rows[:, t]] @ pairs
    return total
