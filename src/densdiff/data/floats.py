"""Columns as finite numbers, or the first thing that stands in the way, by what a summary of them says.

Summaries are made in `summary`; which columns are categories is decided in `kinds`.
"""

from collections.abc import Sequence

from densdiff.core.scaling import FloatArray, stack_columns
from densdiff.data.categories import Levels
from densdiff.data.summary import NUMBERS, ColumnSummary, Summary, summarize_column
from densdiff.data.table import EXACT, Table, reads_as_number
from densdiff.errors import InputError
from densdiff.messages import missing_text, shown, warn

_NUMERIC = "numeric columns are needed"
_CAST = "cast it to numbers (pandas: .astype(float), polars: .cast(float))"
_ADVICE = {
    "complex numbers": "pass the real and the imaginary part as two columns",
    "dates or durations": "turn them into numbers first, such as seconds since a fixed day, or leave them out",
    "nested values": "give each entry a column of its own",
}
ROWS = "drop or fill those rows"


def float_matrix(table: Table, names: Sequence[str], notes: list[str]) -> FloatArray:
    """The table as a finite float64 matrix of our own, columns contiguous, or the first obstacle as an error."""
    columns = tuple(summarize_column(column, 0, None) for column in table.columns)
    refuse_unusable(Summary(table.where, tuple(names), len(table), columns), notes)
    return stack_columns([column.values for column in table.columns])


def refuse_unusable(
    summary: Summary,
    notes: list[str],
    other: Summary | None = None,
    levels: Sequence[Levels] = (),
    cure: str = f"{ROWS} first",
) -> None:
    """An error if a column of numbers holds anything else, or missing or infinite values; warn of lost precision.

    ``other`` is the sample it is compared with; columns that have ``levels`` are not looked at.
    """
    numbers = [j for j in range(len(summary.names)) if not levels or levels[j] is None]
    for j in numbers:
        column = summary.columns[j]
        if column.kind and column.kind not in NUMBERS:
            aside = "" if other is None else _other_kind_text(column, other.columns[j], other.where)
            raise InputError(refusal(column, summary.label(j), aside), column=summary.names[j], row=column.first.row)
        if column.largest > EXACT:
            warn_of_precision(column.largest, summary.label(j), notes)
    incomplete = [j for j in numbers if summary.columns[j].missing]
    if incomplete:
        j = incomplete[0]
        column = summary.columns[j]
        what = f"{missing_text(column.missing, column.first_missing)}{_other_columns_text(len(incomplete) - 1)}"
        raise InputError(f"{summary.label(j)}: {what}; {cure}", column=summary.names[j], row=column.first_missing)
    infinite = [j for j in numbers if summary.columns[j].infinite]
    if infinite:
        column = summary.columns[infinite[0]]
        text = f"{summary.label(infinite[0])}: {infinite_text(column, len(infinite) - 1)}"
        raise InputError(text, column=summary.names[infinite[0]], row=column.first_infinite.row)


def infinite_text(column: ColumnSummary, others: int = 0) -> str:
    """How many values are infinite, the first of them, and what to do; ``others`` are columns that have some too."""
    count, first = column.infinite, column.first_infinite
    what = f"{count} infinite value{'s' * (count > 1)}, {'first ' * (count > 1)}{first.value} at row {first.row}"
    return f"{what}{_other_columns_text(others)}; drop or correct those rows first"


def refuse_missing(summary: Summary, cure: str) -> None:
    """An error that names the first column with missing values, how many, and the first row."""
    for j, column in enumerate(summary.columns):
        if column.missing:
            text = f"{summary.label(j)}: {missing_text(column.missing, column.first_missing)}; {cure}"
            raise InputError(text, column=summary.names[j], row=column.first_missing)


def _other_columns_text(count: int) -> str:
    return f", and more in {count} other column{'s' * (count > 1)}" if count else ""


def _other_kind_text(column: ColumnSummary, other: ColumnSummary, where: str) -> str:
    kind = other.kind or "numbers"
    return "" if kind == column.kind else f" (in {where}: {kind})"


def warn_of_precision(largest: int, label: str, notes: list[str]) -> None:
    """Warn that a column holds integers which float64 cannot tell apart, up to ``largest``."""
    text = f"integers up to {largest} are beyond 2**53, where float64 skips whole numbers"
    warn(
        f"precision lost in {label}: {text}; subtract an offset, or leave the column out if it is an identifier", notes
    )


def refusal(column: ColumnSummary, label: str, aside: str = "") -> str:
    """Why a column that holds no numbers cannot be used, and the way out."""
    kind, first = column.kind, f"{shown(column.first.value)} at row {column.first.row}"
    if kind in _ADVICE:
        return f"{label} holds {kind}{aside}, first {first}; {_ADVICE[kind]}"
    if kind not in ("text", "categories"):
        return f"{label} holds {kind}{aside}, first {first}; {_NUMERIC}: {_CAST} or leave it out"
    n_values, n_words = _count_words(column)
    if not n_words:
        return f"{label} holds numbers stored as {kind}{aside}, first {first}; {_NUMERIC}: {_CAST}"
    if n_words == n_values:
        return f"{label} holds {kind}{aside}, first {first}; {_NUMERIC}: encode it as numbers or leave it out"
    many = f" ({n_words} of {n_values} values are not)" if n_words > 1 else ""
    odd = f"{shown(column.word.value)} at row {column.word.row} is not a number{many}"
    return f"{label} holds {kind}{aside}: {odd}; {_NUMERIC}: replace such values, then {_CAST}"


def _count_words(column: ColumnSummary) -> tuple[int, int]:
    """How many values there are, and how many of them do not read as numbers; few are known of too many levels."""
    if column.levels is None:
        return 2, 0 if column.word.row < 0 else 2 if column.word.row == column.first.row else 1
    return sum(column.levels.values()), sum(count for text, count in column.levels.items() if not reads_as_number(text))
