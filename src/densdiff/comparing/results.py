"""What `compare` returns: columns, pairs, regions and missing values that differ, and their texts."""

from dataclasses import asdict, dataclass, field, replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from densdiff import messages
from densdiff.comparing.wording import percent
from densdiff.data.match import SchemaChanges
from densdiff.distance.total_variation import TotalVariationResult
from densdiff.estimators.results import DistanceResult
from densdiff.results import Bars, Curve, Map, Receipt, Shares
from densdiff.testing.two_sample import TwoSampleResult

_ALIKE = 0.1  # measures of dependence closer than this tell no difference by themselves
_SHOWN = 10  # columns, pairs and regions in the text


@dataclass(frozen=True)
class ColumnDifference:
    """One column of two tables.

    ``normalized`` is its own distance, 0 for equal and 1 for no overlap; ``pvalue_adjusted`` accounts for the number
    of columns; ``direction`` says what changed: for categories, which levels gained and lost.
    """

    name: str
    kind: str  # "number" or "category"
    normalized: float
    interval: tuple[float, float]
    pvalue: float
    pvalue_adjusted: float
    differs: bool
    direction: str
    total_variation: float = 0.0  # how many of the rows would have to move in this column, from below
    total_variation_interval: tuple[float, float] = (0.0, 1.0)
    picture: Curve | Bars | Shares | None = field(default=None, repr=False)  # for pictures; not in `to_dict`


@dataclass(frozen=True)
class RegionDifference:
    """A rule in terms of the columns that holds for more or fewer rows of B than of A.

    The rule was found on one half of the rows; counts, shares, interval (of share_b - share_a) and p-value are those of
    the other half.
    """

    rule: str
    conditions: tuple[dict[str, Any], ...]  # column, low, high, levels: low < column <= high, or one of the levels
    share_a: float
    share_b: float
    interval: tuple[float, float]
    pvalue_adjusted: float
    count_a: int
    count_b: int

    def __str__(self) -> str:
        low, high = (f"{100 * end:+.1f}" for end in self.interval)
        return f"{self.rule}: {percent(self.share_a)} of A, {percent(self.share_b)} of B ({low} to {high} points)"


@dataclass(frozen=True)
class PairDifference:
    """Two columns that depend on each other differently in the two tables, whatever each does by itself."""

    first: str
    second: str
    measure: str
    dependence_a: float
    dependence_b: float
    pvalue_adjusted: float
    map: Map | None = field(default=None, repr=False)  # for pictures; not in `to_dict`

    def __str__(self) -> str:
        names = f"{messages.quote_name(self.first)} and {messages.quote_name(self.second)}"
        alike = abs(self.dependence_a - self.dependence_b) < _ALIKE
        another_way = ", but related in a different way" if alike else ""
        return f"{names}: {self.measure} {self.dependence_a:.2f} in A, {self.dependence_b:.2f} in B{another_way}"


@dataclass(frozen=True)
class MissingDifference:
    """How often a column is missing in each table."""

    name: str
    share_a: float
    share_b: float
    pvalue_adjusted: float
    differs: bool

    def __str__(self) -> str:
        return f"{messages.quote_name(self.name)}: {percent(self.share_a)} of A, {percent(self.share_b)} of B"


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison(Receipt):
    """Two tables compared.

    Attributes
    ----------
    differ : bool
        Whether the joint test is significant at ``alpha`` and the normalized distance at least ``min_effect``.
    total_variation : TotalVariationResult
        How many rows would have to move, at least.
    distance : DistanceResult
        Of all columns together.
    effect : str
        The normalized distance in words: negligible, small, medium, large or very large.
    test : TwoSampleResult
        Of all columns together.
    columns : list of ColumnDifference
        The most different first.
    adjustment : str
        How p-values account for the number of columns: "Westfall-Young" or "Holm".
    pairs : list of PairDifference
        Pairs of columns whose dependence differs significantly.
    regions : list of RegionDifference
        Where B has significantly more or fewer rows than A.
    missing : list of MissingDifference
        Columns with missing values; different rates are a finding of their own.
    left_out : list of tuple
        Names of columns that were not compared, and why.
    schema_changes : SchemaChanges
        Columns that one table lacks (missing: only in A; added: only in B) or that are of another kind in B.
    names : tuple of str
        What A and B are called.
    alpha, min_effect : float
    reasons : list of str
        Which parts of the comparison say that the tables differ.
    """

    differ: bool
    total_variation: TotalVariationResult
    distance: DistanceResult
    effect: str
    test: TwoSampleResult
    columns: list[ColumnDifference]
    adjustment: str
    pairs: list[PairDifference]
    regions: list[RegionDifference]
    missing: list[MissingDifference]
    left_out: list[tuple[str, str]]
    schema_changes: SchemaChanges
    names: tuple[str, str]
    alpha: float
    min_effect: float
    reasons: list[str] = field(default_factory=list)

    @property
    def answer(self) -> str:
        """The finding in one sentence, the size of the effect first."""
        low, high = self.distance.normalized_interval or (0.0, 1.0)
        size = f"distance {self.distance.normalized:.3g} [{low:.3g}, {high:.3g}] out of 1, p = {self.test.pvalue:.3g}"
        if self.differ:
            return f"A and B differ, {self.effect} effect: {size}"
        if self.test.pvalue <= self.alpha:
            small = f"by less than the minimum effect of {self.min_effect:g}, {self.effect} effect"
            return f"A and B differ, but {small}: {size}"
        changed = [column.name for column in self.columns if column.differs]
        whole = " as a whole" if changed else ""
        more = f"; single columns do: {', '.join(map(messages.quote_name, changed[:5]))}" if changed else ""
        return f"A and B do not differ significantly{whole}: {size}{more}"

    def _contents(self) -> dict[str, Any]:
        """All attributes and the answer, without what only pictures need."""
        without_pictures = replace(
            self,
            total_variation=replace(self.total_variation, judged_x=None, judged_y=None),
            columns=[replace(column, picture=None) for column in self.columns],
            pairs=[replace(pair, map=None) for pair in self.pairs],
        )
        contents = asdict(without_pictures)
        for column in contents["columns"]:
            del column["picture"]
        for pair in contents["pairs"]:
            del pair["map"]
        del contents["total_variation"]["judged_x"], contents["total_variation"]["judged_y"]
        return contents | {"answer": self.answer}

    def __str__(self) -> str:
        changed = [column for column in self.columns if column.differs]
        lines = [self.answer]
        head = f"{len(changed)} of {len(self.columns)} differ ({self.adjustment}, alpha {self.alpha:g})"
        lines += _block("columns", [head, *map(_column_line, changed)])
        lines += _block("pairs", list(map(str, self.pairs)))
        lines += _block("regions", list(map(str, self.regions)))
        lines += _block("missing", [f"{rate}{'' if rate.differs else ', not significant'}" for rate in self.missing])
        lines += _block("left out", [f"{messages.quote_name(name)}: {reason}" for name, reason in self.left_out])
        lines.append(f"  rows        {self.n_x} of A, {self.n_y} of B")
        return "\n".join(lines + self._receipt_lines())

    def _repr_html_(self) -> str:
        titles = ("column", "distance", "p, adjusted", "what changed")
        header = "".join(f"<th>{title}</th>" for title in titles)
        rows = "".join(
            f"<tr><td>{escape(messages.quote_name(c.name))}</td><td>{c.normalized:.3g}</td><td>{c.pvalue_adjusted:.3g}</td>"
            f"<td>{escape(c.direction)}</td></tr>"
            for c in self.columns[:_SHOWN]
        )
        findings = [*map(str, self.regions), *map(str, self.pairs)]
        items = "".join(f"<li>{escape(text)}</li>" for text in findings[:_SHOWN])
        more = f"<p>{len(self.columns) - _SHOWN} more columns</p>" if len(self.columns) > _SHOWN else ""
        return f"<p><b>{escape(self.answer)}</b></p><table><tr>{header}</tr>{rows}</table>{more}<ul>{items}</ul>"

    def plot(self, ax: Any = None) -> Any:
        """The columns ranked by distance; needs matplotlib."""
        from densdiff.plots import plot_comparison

        return plot_comparison(self, ax)

    def to_html(self, path: str | PathLike[str], *, title: str | None = None) -> Path:
        """Write the result as one self-contained HTML page, headed by ``title``, and return its path; needs Jinja2."""
        from densdiff.report import write_comparison

        return write_comparison(path, self, title)


def _block(title: str, lines: list[str]) -> list[str]:
    """Lines beside a title, the first ones if they are many."""
    more = [f"and {len(lines) - _SHOWN - 1} more"] if len(lines) > _SHOWN + 1 else []
    return [f"  {title if k == 0 else '':10s}  {line}" for k, line in enumerate(lines[: _SHOWN + 1] + more)]


def _column_line(column: ColumnDifference) -> str:
    size = f"{column.normalized:.3g} [{column.interval[0]:.3g}, {column.interval[1]:.3g}]"
    return f"{messages.quote_name(column.name)}: {size}, p = {column.pvalue_adjusted:.3g}; {column.direction}"
