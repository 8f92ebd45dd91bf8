"""Numbers in place of missing ones, the same for the same tables whether they are in memory or come in blocks.

What fills a hole depends on the number of its row alone, and so does which known values are drawn to fill with.
"""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Donors = tuple[npt.NDArray[np.int64], FloatArray]  # scattered row numbers and values
_KNOWN = 5000  # values of a column of a table that stand for all of them
_BITS = 31


def draw_donors(values: FloatArray, start: int = 0) -> Donors:
    """Some of the known values of a column; ``start`` is the number of its first row."""
    known_rows = np.flatnonzero(~np.isnan(values))
    return _first(_scattered(start + known_rows), values[known_rows])


def merge_donors(a: Donors, b: Donors) -> Donors:
    """The donors of two stretches of rows together, as `draw_donors` gives them for each."""
    return _first(np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]]))


def pool_donors(of_a: Donors, of_b: Donors) -> FloatArray:
    """Known values of both tables, sorted: what fills either, so that it says nothing about the tables apart."""
    return np.sort(np.concatenate([of_a[1], of_b[1]]))


def impute(values: FloatArray, start: int, fill: FloatArray) -> FloatArray:
    """A copy whose missing values are spread evenly over ``fill``.

    One value for all, such as the median, would be a point mass in the table that lacks more.
    """
    imputed = np.array(values, dtype=np.float64)
    missing = np.flatnonzero(np.isnan(imputed))
    imputed[missing] = fill[(_scattered(start + missing) * len(fill)) >> _BITS]
    return imputed


def _first(numbers: npt.NDArray[np.int64], values: FloatArray) -> Donors:
    order = np.argsort(numbers, kind="stable")[:_KNOWN]
    return numbers[order], values[order]


def _scattered(rows: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Row numbers as numbers below 2^31 that any stretch of rows spreads evenly: Weyl's sequence, its high bits."""
    return ((rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _BITS)).astype(np.int64)
