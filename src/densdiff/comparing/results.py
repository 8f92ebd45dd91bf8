"""What `compare` returns: the answer, what it found, and its texts, tables and pages."""

from dataclasses import asdict, dataclass, replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from densdiff import messages
from densdiff.comparing.answer import SHOWN, headline, short_names, text_lines
from densdiff.comparing.findings import ColumnDifference, MissingDifference, PairDifference, RegionDifference
from densdiff.data.match import SchemaChanges
from densdiff.distance.total_variation import TotalVariationResult
from densdiff.estimators.results import DistanceResult
from densdiff.results import Receipt, table_html
from densdiff.testing.two_sample import TwoSampleResult


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison(Receipt):
    """Two tables compared.

    Attributes
    ----------
    differ : bool
        Whether, at level ``alpha`` in all, the columns together or any of them differ by at least ``min_effect``, or
        the tables do not have the same columns. The joint test and the columns take half of alpha each.
    reasons : list of str
        Why they differ, a short sentence each; empty if they do not.
    total_variation : TotalVariationResult
        How many rows would have to change, at least: by all columns but ``constants``, and no less than by any of them.
    distance : DistanceResult
        Of all columns together.
    effect : str
        The total variation in words: negligible, small, medium, large or very large.
    test : TwoSampleResult
        Of all columns together.
    columns : list of ColumnDifference
        Those that differ first, by the share of rows that moved between eight ranges or levels of them (`moved`).
    constants : list of str
        Columns that hold one value in A and another in B, as a month does: findings of their own, and no part of what
        is said of all columns together. If no other column varies, there are none.
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
    alpha : float
    min_effect : float or dict

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(200, shift=1.0, random_state=0)
    >>> dd.compare(tables.a, tables.b, columns=["spend", "age"], n_permutations=99, random_state=0)
    <Comparison of A and B: they differ; 1 of 2 columns differ>
    """

    differ: bool
    reasons: list[str]
    total_variation: TotalVariationResult
    distance: DistanceResult
    effect: str
    test: TwoSampleResult
    columns: list[ColumnDifference]
    constants: list[str]
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
    min_effect: float | dict[str, float]

    @property
    def p_text(self) -> str:
        """The p-value of all columns together in a sentence, such as "p <= 0.001"."""
        test = self.test
        is_smallest = test.null == "permutation" and test.pvalue * (test.n_permutations + 1) < 1.5
        return messages.p_text(test.pvalue, is_smallest)

    @property
    def min_effect_text(self) -> str:
        """The smallest effects that count, as text."""
        if not isinstance(self.min_effect, dict):
            return f"{self.min_effect:g}"
        return ", ".join(f"{messages.quote_name(name)} {least:g}" for name, least in self.min_effect.items())

    @property
    def answer(self) -> str:
        """The finding in one sentence, the size of the effect first."""
        return headline(self)

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
        return "\n".join(text_lines(self) + self._receipt_lines())

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

    def _html(self) -> str:
        names = short_names(self.names)
        rows = [
            (
                messages.quote_name(column.name),
                f"{column.total_variation:.3g}",
                column.p_text.removeprefix("p ").removeprefix("= "),
                column.direction,
            )
            for column in self.columns[:SHOWN]
        ]
        n_more = len(self.columns) - SHOWN
        more = f"{n_more} more columns" if n_more > 0 else ""
        findings = [region.text(names) for region in self.regions] + [pair.text(names) for pair in self.pairs]
        items = "".join(f"<li>{escape(text)}</li>" for text in findings[:SHOWN])
        titles = ("column", "total variation", "p, adjusted", "what changed")
        return f"{table_html(self.answer, titles, rows, more)}<ul>{items}</ul>"

    def _draw(self) -> Any:
        return self.plot() if self.columns else None

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
