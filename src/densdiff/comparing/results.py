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
from densdiff.results import Curve, Map, Receipt, Shares
from densdiff.testing.two_sample import TwoSampleResult

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
    picture: Curve | Shares | None = field(default=None, repr=False)  # for pictures; not in `to_dict`


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
    """Two columns that depend on each other differently in the two tables, whatever each does by itself.

    ``measure`` says what the two dependences are: a correlation of ranks, or another measure if that changed more.
    ``change`` is how much the dependence changed, in units of a correlation.
    """

    first: str
    second: str
    measure: str
    dependence_a: float
    dependence_b: float
    change: float
    pvalue_adjusted: float
    map: Map | None = field(default=None, repr=False)  # for pictures; not in `to_dict`

    def __str__(self) -> str:
        names = f"{messages.quote_name(self.first)} and {messages.quote_name(self.second)}"
        return f"{names}: {self.measure} is {self.dependence_a:.2f} in A, {self.dependence_b:.2f} in B"


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
        Pairs of columns whose dependence differs significantly, the largest change first, at most ten. A pair that a
        reader can infer from those before it is not listed.
    more_pairs : int
        How many more pairs differ significantly: they follow from the listed ones, or changed by less than 0.1.
    regions : list of RegionDifference
        Where B has significantly more or fewer rows than A, at most ten; each finding once.
    more_regions : int
        How many more regions differ significantly: they restate a column that differs or a missing rate, or are about
        the columns of a listed region.
    missing : list of MissingDifference
        Columns with missing values; different rates are a finding of their own.
    left_out : list of tuple
        Names of columns that were not compared, and why.
    schema_changes : SchemaChanges
        Columns that one table lacks (missing: only in A; added: only in B) or that are of another kind in B.
    names : tuple of str
        What A and B are called.
    alpha, min_effect : float
    """

    differ: bool
    total_variation: TotalVariationResult
    distance: DistanceResult
    effect: str
    test: TwoSampleResult
    columns: list[ColumnDifference]
    adjustment: str
    pairs: list[PairDifference]
    more_pairs: int
    regions: list[RegionDifference]
    more_regions: int
    missing: list[MissingDifference]
    left_out: list[tuple[str, str]]
    schema_changes: SchemaChanges
    names: tuple[str, str]
    alpha: float
    min_effect: float

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

    def __repr__(self) -> str:
        first, second = map(messages.quote_name, self.names)
        found = "they differ" if self.differ else "no difference"
        n_changed = sum(column.differs for column in self.columns)
        return f"<Comparison of {first} and {second}: {found}; {n_changed} of {len(self.columns)} columns differ>"

    def __str__(self) -> str:
        changed = [column for column in self.columns if column.differs]
        lines = [self.answer]
        head = f"{len(changed)} of {len(self.columns)} differ ({self.adjustment}, alpha {self.alpha:g})"
        lines += _block("columns", [head, *map(_column_line, changed)])
        for what, findings in (("pairs", self.pairs), ("regions", self.regions)):
            more = [self.unlisted[what]] if what in self.unlisted else []
            lines += _block(what, [*map(str, findings), *more])
        lines += _block("missing", [f"{rate}{'' if rate.differs else ', not significant'}" for rate in self.missing])
        lines += _block("left out", [f"{messages.quote_name(name)}: {reason}" for name, reason in self.left_out])
        lines.append(f"  rows        {self.n_x} of A, {self.n_y} of B")
        return "\n".join(lines + self._receipt_lines())

    @property
    def unlisted(self) -> dict[str, str]:
        """What is said of the pairs and of the regions that are not listed; regions alone restate what is above."""
        texts = {}
        if more := self.more_pairs:
            differ = f"{more}{' more' * bool(self.pairs)} pair{'s' * (more > 1)} differ{'s' * (more == 1)}"
            texts["pairs"] = f"{differ}, but {'as these let expect or ' * bool(self.pairs)}by less than 0.1"
        if (more := self.more_regions) and self.regions:
            restate = "restates a column or is" if more == 1 else "restate a column or are"
            texts["regions"] = f"{more} more {restate} about the columns of these"
        return texts

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

    def to_frame(self) -> Any:
        """The columns as a pandas DataFrame, one row each; needs pandas.

        Its columns are name, kind, total_variation, lower (the lower end of its interval), normalized, pvalue,
        pvalue_adjusted, differs and direction.
        """
        from densdiff.comparing.export import frame_of

        return frame_of(self.columns)

    def to_markdown(self) -> str:
        """A summary in Markdown, at most 30 lines, for a pull request or a chat: the answer first."""
        from densdiff.comparing.export import markdown_of

        return markdown_of(self)

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
