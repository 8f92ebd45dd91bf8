"""What a comparison finds: columns, pairs of columns, regions and missing values that differ, and their texts."""

from dataclasses import dataclass, field
from typing import Any

from densdiff import messages
from densdiff.messages import percent
from densdiff.results import Bars, Curve, Map, Shares


@dataclass(frozen=True)
class ColumnDifference:
    """One column of two tables. Missing values belong to their column.

    Attributes
    ----------
    name, kind : str
        Of the column; the kind is "number" or "category".
    normalized, interval
        Its own L2 distance, 0 for equal and 1 for no overlap, and the interval of that.
    pvalue, pvalue_adjusted : float
        Of the column alone, and accounting for the number of columns.
    differs : bool
        Whether ``pvalue_adjusted`` is at most half of alpha.
    direction : str
        What changed, in words; for categories, which levels gained and lost.
    total_variation, total_variation_interval
        How many of the rows would have to move in this column, and limits for that.
    moved : float
        Share of rows that moved between eighths of all rows, or the eight most frequent levels.
    is_smallest : bool
        Whether no relabelling was as extreme: the p-value is at most that.
    picture
        Shares of categories, or densities of numbers that differ, for pictures; not in ``to_dict``.

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(200, shift=1.0, random_state=0)
    >>> result = dd.compare(tables.a, tables.b, columns=["spend", "plan"], n_permutations=99, random_state=0)
    >>> [(column.name, column.kind, column.differs) for column in result.columns]
    [('spend', 'number', True), ('plan', 'category', False)]
    """

    name: str
    kind: str
    normalized: float
    interval: tuple[float, float]
    pvalue: float
    pvalue_adjusted: float
    differs: bool
    direction: str
    total_variation: float = 0.0
    total_variation_interval: tuple[float, float] = (0.0, 1.0)
    moved: float = 0.0
    is_smallest: bool = False
    picture: Curve | Bars | Shares | None = field(default=None, repr=False)

    @property
    def p_text(self) -> str:
        """The adjusted p-value in a sentence, such as "p <= 0.001"."""
        return messages.p_text(self.pvalue_adjusted, self.is_smallest)


@dataclass(frozen=True)
class RegionDifference:
    """A rule in terms of the columns that holds for more or fewer rows of B than of A.

    The rule was found on one half of the rows; all numbers are those of the other half.

    Attributes
    ----------
    rule : str
        In words, such as "age > 60 and region = north".
    conditions : tuple of dict
        The same for programs: column, low, high, levels. It means low < column <= high, or one of the levels.
    share_a, share_b : float
        Share of the rows of A and of B that it holds for.
    interval : tuple of two floats
        Of share_b - share_a.
    pvalue_adjusted : float
        Accounts for the number of rules.
    count_a, count_b : int
        Rows that it holds for.

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(300, shift=0.0, share=0.4, random_state=0)
    >>> result = dd.compare(tables.a, tables.b, columns=["age", "region"], n_permutations=99, random_state=0)
    >>> result.regions[0].rule
    'age > 50 and region = north'
    """

    rule: str
    conditions: tuple[dict[str, Any], ...]
    share_a: float
    share_b: float
    interval: tuple[float, float]
    pvalue_adjusted: float
    count_a: int
    count_b: int

    def text(self, names: tuple[str, str] = ("A", "B")) -> str:
        """The rule and how many rows of each table it holds for."""
        low, high = (f"{100 * end:+.1f}" for end in self.interval)
        shares = f"{percent(self.share_a)} of {names[0]}, {percent(self.share_b)} of {names[1]}"
        return f"{self.rule}: {shares} ({low} to {high} points)"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class PairDifference:
    """Two columns that depend on each other differently in the two tables, whatever each does by itself.

    Attributes
    ----------
    first, second : str
        The columns.
    measure : str
        What the two dependences are: a correlation of ranks, or another measure if that changed more.
    dependence_a, dependence_b : float
        How the columns depend on each other in A and in B.
    change : float
        How much the dependence changed, in units of a correlation.
    pvalue_adjusted : float
        Accounts for the number of pairs.
    map
        The difference of both columns together, for pictures; not in ``to_dict``.

    Examples
    --------
    >>> import densdiff as dd
    >>> import numpy as np
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 100))
    >>> before, after = {"x": x, "y": noise}, {"x": x, "y": 0.8 * x + 0.6 * noise}
    >>> result = dd.compare(before, after, n_permutations=99, random_state=0)
    >>> [(pair.first, pair.second, pair.dependence_b > 0.7) for pair in result.pairs]
    [('x', 'y', True)]
    """

    first: str
    second: str
    measure: str
    dependence_a: float
    dependence_b: float
    change: float
    pvalue_adjusted: float
    map: Map | None = field(default=None, repr=False)

    def text(self, names: tuple[str, str] = ("A", "B")) -> str:
        """The columns and how they depend on each other in each table."""
        pair = f"{messages.quote_name(self.first)} and {messages.quote_name(self.second)}"
        both = f"{self.dependence_a:.2f} in {names[0]}, {self.dependence_b:.2f} in {names[1]}"
        return f"{pair}: {self.measure} is {both}"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class MissingDifference:
    """How often a column is missing in each table.

    Attributes
    ----------
    name : str
        Of the column.
    share_a, share_b : float
        Share of the rows of A and of B in which it is missing.
    pvalue_adjusted : float
        Accounts for the number of columns, too.
    differs : bool

    Examples
    --------
    >>> import densdiff as dd
    >>> import numpy as np
    >>> values = np.random.default_rng(0).normal(size=100)
    >>> holes = np.where(np.arange(100) % 5 == 0, np.nan, values)
    >>> result = dd.compare({"x": values}, {"x": holes}, n_permutations=99, random_state=0)
    >>> print(result.missing[0])
    x: 0.0 % of A, 20.0 % of B
    """

    name: str
    share_a: float
    share_b: float
    pvalue_adjusted: float
    differs: bool

    @property
    def size(self) -> float:
        """The total variation of missing or not."""
        return abs(self.share_a - self.share_b)

    def text(self, names: tuple[str, str] = ("A", "B")) -> str:
        """The column and how often it is missing in each table."""
        shares = f"{percent(self.share_a)} of {names[0]}, {percent(self.share_b)} of {names[1]}"
        return f"{messages.quote_name(self.name)}: {shares}"

    def __str__(self) -> str:
        return self.text()
