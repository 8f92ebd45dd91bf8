"""E16: what agreement of two rows in columns of categories gives to each step of lam, the coefficients e_t.

With m_j = 1 where the rows agree in column j and else 0, e_t is the coefficient of u^t in the product over columns of
1/K_j + u^(a_j) (m_j - 1/K_j). Sums over many pairs are made in `engines`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

IntArray = npt.NDArray[np.integer]

_LARGE_LAM = 1e12  # from here on F is 1 / lam times a Gaussian, right to 1e-12, and F^2 is nothing beside it
_TABLE_CLASSES = 1 << 16
_PART_CLASSES = 1 << 12  # of the tables of more classes: tables of half a megabyte stay in the cache
_SAME_LAM = 1e-12  # relative


def agreement_steps(levels: IntArray, smoothing: int, ratio: float) -> IntArray:
    """Steps a_j of columns with K_j levels, (J,): smoothing + log of K_j - 1 in steps of lam, rounded (E16).

    ``ratio`` is that of neighbouring lams, below 1. Smoothing 0 is exact agreement: no steps in any column.
    """
    if smoothing == 0:
        return np.zeros(len(levels), dtype=np.intp)
    others = np.log(np.maximum(np.asarray(levels) - 1.0, 1.0))
    return np.asarray(smoothing + np.rint(others / np.log(1.0 / ratio)), dtype=np.intp)


def last_step(lam: float, ratio: float) -> int:
    """The step t from which lam ratio^-t is so large that all kernels beyond are one Gaussian times ratio^t."""
    return max(0, int(np.ceil(np.log(_LARGE_LAM / lam) / np.log(1.0 / ratio))))


@dataclass(frozen=True)
class AgreementClasses:
    """Pairs of rows by the columns of categories in which they agree.

    Of columns that are alike, with as many levels and equal steps, it only counts how many agree: twenty columns of
    two levels make 21 classes and not 2^20. The class of pairs that agree nowhere is 0, of equal rows the last one.
    """

    alike: IntArray  # (J,) a number that columns which are alike share: 0, 1, ..

    @cached_property
    def _place_values(self) -> list[int]:
        """What agreement in a column adds to the class, (J,), and the number of classes."""
        values, value = {}, 1
        for number, columns in enumerate(np.bincount(self.alike)):
            values[number] = value
            value *= int(columns) + 1
        return [*(values[int(number)] for number in self.alike), value]

    @property
    def count(self) -> int:
        """The number of classes, a product over kinds of columns of how many there are, plus one."""
        return self._place_values[-1]

    def of_pairs(self, a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> IntArray:
        """Class of each pair of rows with codes (k, J) and (l, J), (k, l) in the smallest type that holds it."""
        kind = np.min_scalar_type(self.count - 1)
        classes = np.zeros((len(a), len(b)), dtype=kind)
        for codes_a, codes_b, value in zip(a.T, b.T, self._place_values[:-1], strict=True):
            agree = np.equal.outer(codes_a, codes_b).view(np.uint8)
            classes += agree if value == 1 else agree * kind.type(value)
        return classes

    def examples(self) -> npt.NDArray[np.bool_]:
        """Columns in which an example of each class agrees, (C, J)."""
        agree = np.zeros((self.count, len(self.alike)), dtype=bool)
        classes = np.arange(self.count)
        for number, columns in enumerate(np.bincount(self.alike)):
            members = np.flatnonzero(self.alike == number)
            agreeing = classes // self._place_values[members[0]] % (columns + 1)  # (C,)
            agree[:, members] = agreeing[:, None] > np.arange(columns)
        return agree


@dataclass(frozen=True)
class AgreementPolynomial:
    """The coefficients e_t of one smoothing (E16), for those t that some columns' steps add up to.

    Steps beyond ``last`` are counted at ``last``, times ratio^(t - last), which is what their kernels lose.
    The sum of |e_t| is at most 1, so that nothing cancels badly.
    """

    classes: AgreementClasses
    levels: IntArray  # (J,) K
    steps: IntArray  # (J,) a
    ratio: float
    last: int

    @cached_property
    def exponents(self) -> IntArray:
        """The values of t, ascending, (T,)."""
        reached = {0}
        for step in map(int, self.steps):
            reached |= {min(t + step, self.last) for t in reached}
        return np.array(sorted(reached), dtype=np.intp)

    def coefficients(self, agree: npt.NDArray[np.bool_]) -> FloatArray:
        """e_t where columns agree or not, (J, ..): one product after the other, (T, ..)."""
        place = {int(t): i for i, t in enumerate(self.exponents)}
        e = np.zeros((len(place), *agree.shape[1:]))
        e[0] = 1.0
        for m, levels, step in zip(agree, map(int, self.levels), map(int, self.steps), strict=True):
            if step == 0:  # 1/K + m - 1/K, without its rounding
                e *= m
                continue
            taken = e * (m - 1.0 / levels)
            e /= levels
            for t, i in place.items():
                target = place.get(min(t + step, self.last))
                if target is not None:  # else no columns before this one add up to t
                    e[target] += taken[i] * self.ratio ** max(0, t + step - self.last)
        return e

    @cached_property
    def by_class(self) -> FloatArray:
        """e_t of every class, (C, T)."""
        return np.ascontiguousarray(self.coefficients(self.classes.examples().T).T)

    @cached_property
    def of_equal_rows(self) -> FloatArray:
        """e_t of a row with itself, (T,), none negative."""
        return self.coefficients(np.ones((len(self.levels), 1), dtype=bool))[:, 0]

    def of_pairs(self, a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> FloatArray:
        """e_t of each pair of rows with codes (k, J) and (l, J), (T, k, l).

        From a table up to 65,536 classes, beyond as a product of polynomials of some of the columns, which have tables.
        """
        if self.classes.count <= _TABLE_CLASSES:
            return self._from_table(a, b)
        e = {0: np.ones((len(a), len(b)))}
        for columns, part in self._parts:
            own = part._from_table(a[:, columns], b[:, columns])
            e = self._product(e, dict(zip(part.exponents.tolist(), own, strict=True)))
        return np.array([e[t] for t in self.exponents.tolist()])

    def _from_table(self, a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> FloatArray:
        classes = self.classes.of_pairs(a, b)
        return np.array([column[classes] for column in self.by_class.T])

    def _product(self, e: dict[int, FloatArray], other: dict[int, FloatArray]) -> dict[int, FloatArray]:
        """The coefficients of a product of two polynomials, by their exponents."""
        product: dict[int, FloatArray] = {}
        for s, e_s in other.items():
            for t, e_t in e.items():
                term, beyond = e_s * e_t, max(0, s + t - self.last)
                if beyond:
                    term *= self.ratio**beyond
                if (target := s + t - beyond) in product:
                    product[target] += term
                else:
                    product[target] = term
        return product

    @cached_property
    def _parts(self) -> list[tuple[IntArray, "AgreementPolynomial"]]:
        """Columns and their polynomials, those that are alike together, so that each has few classes."""
        parts: list[list[int]] = [[]]
        sizes = np.bincount(self.classes.alike) + 1
        for number in range(len(sizes)):
            if parts[-1] and np.prod(sizes[[*parts[-1], number]]) > _PART_CLASSES:
                parts.append([])
            parts[-1].append(number)
        columns = [np.flatnonzero(np.isin(self.classes.alike, part)) for part in parts]
        return [(own, self._of_columns(own)) for own in columns]

    def _of_columns(self, columns: IntArray) -> "AgreementPolynomial":
        """The polynomial of some of the columns."""
        alike = np.unique(self.classes.alike[columns], return_inverse=True)[1].reshape(-1)
        return replace(self, classes=AgreementClasses(alike), levels=self.levels[columns], steps=self.steps[columns])


def agreement_polynomials(
    levels: IntArray, steps: Sequence[IntArray], ratio: float, last: int
) -> list[AgreementPolynomial]:
    """The polynomials of several smoothings, each with its steps (J,), over the same classes of pairs."""
    kinds = np.column_stack([levels, *steps])  # (J, 1 + smoothings)
    alike = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
    classes = AgreementClasses(alike)
    return [AgreementPolynomial(classes, np.asarray(levels), np.asarray(a), ratio, last) for a in steps]


def stepped_lams(lams: FloatArray, polynomials: Sequence[AgreementPolynomial]) -> tuple[FloatArray, list[IntArray]]:
    """All lam ratio^-t that the polynomials need, (M,), and for each of them where its own are, (L, T).

    The given lams, which must differ, come first. On a ladder with the same ratio most steps meet another lam.
    """
    products = [np.multiply.outer(lams, p.ratio ** -p.exponents.astype(np.float64)) for p in polynomials]
    candidates = np.concatenate([lams, *(product.ravel() for product in products)])
    order = np.argsort(candidates, kind="stable")
    is_new = np.append(True, np.diff(np.log(candidates[order])) > _SAME_LAM)
    starts = np.flatnonzero(is_new)
    first = np.minimum.reduceat(order, starts)  # of equal ones the first to be named
    kept, rank = np.unique(first, return_inverse=True)
    places = np.empty(len(candidates), dtype=np.intp)
    places[order] = rank[np.cumsum(is_new) - 1]
    ends = np.cumsum([product.size for product in products])[:-1]
    parts = np.split(places[len(lams) :], ends)
    return candidates[kept], [part.reshape(product.shape) for part, product in zip(parts, products, strict=True)]
