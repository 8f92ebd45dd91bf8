"""Distances of many rows to a few others in columns of categories, looked up in tables.

A table holds the distances of every combination of levels of some columns: one line of it is added for each row.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

_MOST_LINES = 1024  # of a table: with 300 others, 2.4 megabytes
_ROWS_A_LINE = 32  # at least, or making the table takes longer than it saves


@dataclass(frozen=True)
class _Table:
    """The squared distances of combinations of levels, (lines, l), and which columns they are of."""

    columns: list[int]
    place_values: npt.NDArray[np.intp]  # what the code of each column counts in the number of a line
    distances: FloatArray


@dataclass(frozen=True)
class LevelTables:
    """Squared distances between levels of several columns, each column adding so much where levels are unequal."""

    tables: list[_Table]

    @classmethod
    def of(cls, others: FloatArray, levels: npt.NDArray[np.intp], apart: FloatArray, n_rows: int) -> "LevelTables":
        """Tables of the distances of so many rows to others with codes (l, J); codes are -1 where unknown."""
        sizes, most = np.asarray(levels) + 1, min(_MOST_LINES, n_rows // _ROWS_A_LINE)
        runs: list[list[int]] = []
        for j in range(len(sizes)):
            if runs and np.prod(sizes[[*runs[-1], j]]) <= most:
                runs[-1].append(j)
            else:
                runs.append([j])
        return cls([_table(others, run, sizes[run], apart[run]) for run in runs])

    def add(self, squared: FloatArray, codes: FloatArray) -> None:
        """Add the distances of rows with codes (k, J) to squared ones (k, l), in place."""
        for table in self.tables:
            lines = (codes[:, table.columns].astype(np.intp) + 1) @ table.place_values
            squared += table.distances.take(lines, axis=0)


def _table(others: FloatArray, columns: list[int], sizes: npt.NDArray[np.intp], apart: FloatArray) -> _Table:
    place_values = np.cumprod(np.append(1, sizes[:-1])).astype(np.intp)
    distances = np.zeros((int(np.prod(sizes)), len(others)))
    for j, value, size, distance in zip(columns, place_values, sizes, apart, strict=True):
        own = np.arange(len(distances)) // value % size - 1  # the code of this column in each line
        distances += distance * (own[:, None] != others[:, j])
    return _Table(columns, place_values, distances)
