"""What `track` returns: one entry for each batch, the columns over all batches, when a change began, and its texts."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

from densdiff import messages
from densdiff.errors import InputError
from densdiff.results import Receipt, table_html

_SHOWN = 20  # batches in the text, the latest
_WIDEST = 40  # characters of a label in the text


@dataclass(frozen=True)
class BatchDifference:
    """One batch compared with its reference; numbers are None if there was no reference yet.

    Attributes
    ----------
    label : str
    n, n_reference : int
        Rows of the batch and of its reference.
    total_variation, interval
        How many of the rows would have to change, and its interval, which is open above.
    distance, distance_interval
        The normalized L2 distance, which does not grow with the number of rows, and its interval.
    frozen_variation, frozen_interval
        The largest difference of shares over ranges and levels of single columns that the reference alone fixes, and
        its interval: by it, batches of different size can be compared.
    pvalue, pvalue_adjusted : float
        Of this batch alone, and accounting for all batches, past and future.
    differs : bool
    columns : tuple of str
        Names of those that differ, the strongest first.
    schema : tuple of str
        Which columns were added, lost or of another kind.

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(60, random_state=0)
    >>> result = dd.track({"June": tables.b}, reference=tables.a, columns=["age"], n_permutations=39, random_state=0)
    >>> result.batches[0].label, result.batches[0].n, result.batches[0].differs
    ('June', 60, False)
    """

    label: str
    n: int
    n_reference: int | None = None
    total_variation: float | None = None
    interval: tuple[float, float] | None = None
    distance: float | None = None
    distance_interval: tuple[float, float] | None = None
    pvalue: float | None = None
    pvalue_adjusted: float | None = None
    differs: bool = False
    columns: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    frozen_variation: float | None = None
    frozen_interval: tuple[float, float] | None = None

    @property
    def is_compared(self) -> bool:
        """Whether there was a reference."""
        return self.pvalue is not None


@dataclass(frozen=True)
class BatchColumn:
    """A column over all batches, one entry each, None where it was not compared.

    Attributes
    ----------
    name : str
    total_variation, distance : list of float or None
        How many of the rows would have to change in this column, and its normalized L2 distance.
    pvalue_adjusted : list of float or None
        Accounts for all columns and all batches.
    began : str or None
        The label of the first batch of its present change, None if there is none.

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(60, random_state=0)
    >>> result = dd.track({"June": tables.b}, reference=tables.a, columns=["age"], n_permutations=39, random_state=0)
    >>> result.columns[0].name, len(result.columns[0].total_variation), result.columns[0].began
    ('age', 1, None)
    """

    name: str
    total_variation: list[float | None]
    distance: list[float | None]
    pvalue_adjusted: list[float | None]
    began: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchesResult(Receipt):
    """Many batches compared with a reference, one after the other.

    Attributes
    ----------
    differ : bool
        Whether any batch differs.
    batches : list of BatchDifference
        In the order in which they came.
    columns : list of BatchColumn
        Columns x batches; those of the present change first.
    began : str or None
        The label of the first batch of the present change, in whatever columns; None if there is none.
    reference : str
        What batches were compared with: "first", "previous", "last 7 batches", or the name of a table.
    alpha : float
        The probability that any batch, ever, is said to differ though nothing changes, is at most this.
    min_effect : float or dict
    held : list
        What the next batch is compared with, to go on from here; not part of the JSON.

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(60, random_state=0)
    >>> dd.track({"June": tables.b}, reference=tables.a, columns=["age"], n_permutations=39, random_state=0)
    <BatchesResult: 0 of 1 batches differ>
    """

    differ: bool
    batches: list[BatchDifference]
    columns: list[BatchColumn]
    began: str | None
    reference: str
    alpha: float
    min_effect: float | dict[str, float]
    held: list[Any] = field(default_factory=list, repr=False, compare=False)

    @property
    def changed(self) -> list[BatchDifference]:
        """The batches that differ."""
        return [batch for batch in self.batches if batch.differs]

    @property
    def compared(self) -> list[BatchDifference]:
        """The batches that had a reference."""
        return [batch for batch in self.batches if batch.is_compared]

    @property
    def present(self) -> list[str]:
        """The columns of the present change, the largest first."""
        return [column.name for column in self.columns if column.began is not None]

    @property
    def answer(self) -> str:
        """The finding in one sentence."""
        n_changed, n_compared = len(self.changed), len(self.compared)
        if not n_compared:
            n = len(self.batches)
            return (
                f"No batch was compared: {n} batch{'es' * (n != 1)} and no reference before {'them' if n > 1 else 'it'}"
            )
        if not n_changed:
            smallest = min(batch.pvalue_adjusted or 0.0 for batch in self.compared)
            of_all = f"none of {n_compared} batches differs" if n_compared > 1 else "the batch does not differ"
            return f"{of_all[0].upper()}{of_all[1:]} from {self.reference_text} ({messages.p_text(smallest)})"
        head = f"{n_changed} of {n_compared} batches differ{'s' * (n_changed == 1)}"
        last = self.changed[-1]
        if self.began is not None:
            where = f", most in {messages.quote_name(self.present[0])}" if self.present else ""
            return f"{head}; since {messages.quote_name(self.began)}{where}"
        where = f", most in {messages.quote_name(last.columns[0])}" if last.columns else ""
        over = "; the latest does not" if not self.compared[-1].differs else ""
        return f"{head}, {'last ' * (n_changed > 1)}{messages.quote_name(last.label)}{where}{over}"

    @property
    def reference_text(self) -> str:
        """What batches are compared with, in a sentence."""
        words = {"first": "the first batch", "previous": "the one before"}
        is_window = self.reference.startswith("last ")
        return words.get(self.reference, f"the {self.reference}" if is_window else self.reference)

    def where(self, batch: BatchDifference) -> str:
        """What differs in a batch, in words; empty if it does not."""
        return where_text(batch)

    def _contents(self) -> dict[str, Any]:
        """All attributes and the answer, without what the next batch is compared with."""
        contents = asdict(replace(self, held=[]))
        del contents["held"]
        return contents | {"answer": self.answer}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A result from its ``to_json``, or from what ``densdiff track --json`` prints, to go on from with ``history``.

        Examples
        --------
        >>> import densdiff as dd
        >>> tables = dd.datasets.mixed_tables(60, random_state=0)
        >>> result = dd.track({"June": tables.b}, reference=tables.a, columns=["age"], random_state=0)
        >>> dd.BatchesResult.from_json(result.to_json()).batches == result.batches
        True
        """
        try:
            content = json.loads(text)
            return cls(**_fields_of(content))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            need = "history must be the JSON of a BatchesResult, as its to_json() or densdiff track --json writes it"
            raise InputError(f"{need}; got {_problem(error)}", argument="history") from error

    def __repr__(self) -> str:
        return f"<BatchesResult: {len(self.changed)} of {len(self.compared)} batches differ>"

    def __str__(self) -> str:
        lines = [self.answer]
        if more := len(self.batches) - _SHOWN:
            lines += [
                f"  {more} earlier batch{'es' * (more > 1)}, {sum(b.differs for b in self.batches[:more])} differ"
            ] * (more > 0)
        rows = [TITLES, *(batch_cells(batch) for batch in self.batches[-_SHOWN:])]
        widths = [max(len(row[j]) for row in rows) for j in range(len(TITLES))]
        lines += [f"  {'  '.join(map(str.ljust, row, widths))}".rstrip() for row in rows]
        return "\n".join(lines + self._receipt_lines())

    def _html(self) -> str:
        return table_html(self.answer, TITLES, [batch_cells(batch) for batch in self.batches[-_SHOWN:]])

    def _draw(self) -> Any:
        return self.plot() if self.compared else None

    def to_frame(self) -> Any:
        """The batches as a pandas DataFrame, one row each; needs pandas.

        Its columns are batch, n, total_variation, lower, distance, pvalue, pvalue_adjusted, differs and columns (the
        names of those that differ). What is not known is missing.
        """
        from densdiff.comparing.export import frame_of_batches

        return frame_of_batches(self)

    def to_markdown(self) -> str:
        """A summary in Markdown, at most 30 lines, for a pull request or a chat: the answer first."""
        from densdiff.comparing.export import markdown_of_batches

        return markdown_of_batches(self)

    def plot(self, ax: Any = None) -> Any:
        """Total variation of each batch with its lower limit; needs matplotlib."""
        from densdiff.plots import plot_batches

        return plot_batches(self, ax)

    def plot_columns(self, ax: Any = None) -> Any:
        """Columns x batches as shades of total variation; needs matplotlib."""
        from densdiff.plots import plot_batch_columns

        return plot_batch_columns(self, ax)

    def to_html(self, path: str | PathLike[str], *, title: str | None = None) -> Path:
        """Write the whole history as one self-contained HTML page, headed by ``title``; needs Jinja2."""
        from densdiff.report import write_batches

        return write_batches(path, self, title)


TITLES = ("batch", "rows", "moved", "at least", "distance", "p, adjusted", "differs in")


def batch_cells(batch: BatchDifference) -> tuple[str, ...]:
    """A batch as a row of a table, below `TITLES`."""
    label = messages.one_line(messages.quote_name(batch.label), _WIDEST)
    if batch.total_variation is None or batch.interval is None or batch.distance is None:
        return (label, f"{batch.n}", "", "", "", "", "no reference yet")
    return (
        label,
        f"{batch.n}",
        f"{batch.total_variation:.3g}",
        f"{batch.interval[0]:.3g}",
        f"{batch.distance:.3g}",
        messages.p_number(batch.pvalue_adjusted or 0.0),
        where_text(batch),
    )


def where_text(batch: BatchDifference) -> str:
    """What differs in a batch, in words."""
    if not batch.differs:
        return ""
    names = [messages.quote_name(name) for name in batch.columns[:3]]
    more = f" and {len(batch.columns) - 3} more" if len(batch.columns) > 3 else ""
    texts = [*batch.schema[:2], ", ".join(names) + more] if names else list(batch.schema[:2])
    return "; ".join(texts) or "no single column"


def _fields_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a result from its JSON."""
    fields = {name: value for name, value in content.items() if name not in ("answer", "schema", "command")}
    fields["batches"] = [BatchDifference(**_with_tuples(entry)) for entry in content["batches"]]
    fields["columns"] = [BatchColumn(**entry) for entry in content["columns"]]
    if any(len(column.total_variation) != len(fields["batches"]) for column in fields["columns"]):
        raise ValueError("columns and batches of different number")
    return fields | {"warnings": tuple(content["warnings"])}


def _with_tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a batch: JSON has lists for tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


def _problem(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"text that is no JSON ({messages.one_line(str(error))})"
    return messages.one_line(f"another object ({error})", 120)
