"""About how long each question of a comparison takes, so that the time that is left can be told."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Work:
    """Seconds of a core for questions to all columns together and for one column: only their ratios matter."""

    distance: float
    test: float  # and total variation
    regions: float
    pairs: float
    column: float

    def total(self, columns: int) -> float:
        """All questions and so many columns."""
        return self.distance + self.test + self.regions + self.pairs + columns * self.column


def expected_work(rows: int, columns: int) -> Work:
    """Fitted to tables of 1000 to 2,000,000 rows and of 5 to 300 columns, mostly right to a factor of two."""
    decades = float(np.log10(max(rows, 4000) / 4000))
    return Work(
        distance=0.05 + 0.004 * columns,
        test=0.4 + 0.01 * columns + 0.3 * decades,
        regions=0.2 + 0.005 * columns,
        pairs=min(2.0, 2e-4 * columns**2),
        column=0.02 + 0.05 * decades,
    )
