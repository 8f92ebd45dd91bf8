"""Which columns of two tables can be compared, which are left out and why, and all that is wrong with the others.

Everything is told at once, from summaries of all rows: a user should not need one run for each flaw of a table.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from densdiff.data.categories import DISTINCT
from densdiff.data.dates import reads_as_date
from densdiff.data.floats import infinite_text, refusal
from densdiff.data.kinds import are_categories
from densdiff.data.match import MatchedSources
from densdiff.data.summary import MOST_LEVELS, NUMBERS, WORDS, ColumnSummary, Summary
from densdiff.data.table import are_nearly_numbers
from densdiff.errors import InputError, NothingLeftError, mark
from densdiff.io.csv_flaws import NEARLY, THOUSANDS, cure_of_marks
from densdiff.io.csv_form import number_pattern
from densdiff.messages import argument, capped, listed, missing_text, shown, warn

_NUMBER_TEXT = re.compile(f"{number_pattern('.,')}|{THOUSANDS}", re.ASCII)
_CODE = re.compile(r"0\d+", re.ASCII)
_UNLIKE = 0.5  # of the rows have a text of their own where texts are sentences
_FEW = 20  # texts of both tables, fewer than which may be long labels
_WORDS = 4.0  # of a text on average, from which on many different texts are sentences
_ROWS = {True: 10, False: 100}  # that must be numbered for a column to be row numbers, with steps of 1 or with gaps
_SHOWN = 5  # flaws in one message
_DATES = "dates or durations"


@dataclass
class Judgement:
    """What becomes of the columns of two tables."""

    places: list[int] = field(default_factory=list)  # of those to compare
    left_out: dict[str, list[str]] = field(default_factory=dict)  # names by reason
    empty: list[tuple[str, str]] = field(default_factory=list)  # without any value in a table, and in which
    other_kind: list[tuple[str, str, str]] = field(default_factory=list)  # kinds in A and in B
    codes: list[str] = field(default_factory=list)  # with leading zeros
    numbers_as_codes: list[str] = field(default_factory=list)  # those of the codes that are numbers in one table
    flaws: list[tuple[str, int, str]] = field(default_factory=list)  # name, row and text

    def leave_out(self, name: str, why: str) -> None:
        """Leave a column out, for a reason that others may have too."""
        self.left_out.setdefault(why, []).append(name)


DATES, IDENTIFIER, SENTENCES, ROW_NUMBERS = (
    "dates or times",
    "almost every row has a level of its own",
    "free text",
    "row numbers",
)
_BECAUSE = {  # of a note: why columns are left out, and as what one could be compared after all
    DATES: ("they hold dates or times", "number"),
    IDENTIFIER: ("almost every row has a level of its own, as in an identifier", "category"),
    SENTENCES: ("they hold free text", "category"),
    ROW_NUMBERS: ("they number the rows", "number"),
}


def judge_columns(matched: MatchedSources, forced: Mapping[str, str], missing: str, notes: list[str]) -> Judgement:
    """What becomes of each column; all flaws of the tables as one error, what is left out as notes.

    ``forced`` has the kinds that a user gave columns, whose blocks are converted already; ``missing`` is "error",
    "drop" or "level".
    """
    judgement, row_numbers = Judgement(), list[int]()
    for j, (name, a, b) in enumerate(_columns(matched)):
        if not (a.kind and b.kind):
            _judge_empty(judgement, matched, j, a, b)
        elif flaw := _flaw(matched, j, forced.get(name)):
            judgement.flaws.append((name, *flaw))
        elif name in forced:
            _judge_forced(judgement, j, name, (a, b))
        elif are_categories([a, b]) or DATES in (kinds := {column_kind(a), column_kind(b)}) or len(kinds) > 1:
            _judge_words(judgement, j, name, (a, b))
        elif _are_row_numbers(a, matched.sizes[0]) and _are_row_numbers(b, matched.sizes[1]):
            row_numbers.append(j)
        else:
            judgement.places.append(j)
    judgement.flaws += _missing_flaws(matched, missing, judgement.places)
    judgement.flaws += _infinite_flaws(matched, missing, judgement.places)
    _refuse(judgement)
    if judgement.places:
        for j in row_numbers:
            judgement.leave_out(matched.names[j], ROW_NUMBERS)
    else:  # whatever they are, they are all there is
        judgement.places = row_numbers
    _refuse_nothing_left(judgement, matched)
    _tell(judgement, matched, notes)
    return judgement


def give_kind(name: str, kind: str) -> str:
    """How to give a column a kind, to stand in a message: ``kinds={"zip": "category"}``, or an option."""
    text = shown(name)
    quoted = f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
    return mark(f'kinds={{{quoted}: "{kind}"}}', kind, text[1:-1] if text[1:-1].isidentifier() else text)


def kinds_text(a: str, where_a: str, b: str, where_b: str) -> str:
    """Which kinds a column has in two tables."""
    a, b = ({"number": "numbers", "category": "categories"}.get(kind, kind) for kind in (a, b))
    return f"{a} in {where_a} and {b} in {where_b}"


def _columns(matched: MatchedSources) -> list[tuple[str, ColumnSummary, ColumnSummary]]:
    x, y = matched.summaries
    return list(zip(matched.names, x.columns, y.columns, strict=True))


def column_kind(column: ColumnSummary) -> str:
    """The kind of a column in one table, in the words of a person."""
    if column.kind == _DATES or _hold_dates(column):
        return DATES
    return {"numbers": "number", "booleans": "number", "text": "text", "categories": "category"}[column.kind]


def _hold_dates(column: ColumnSummary) -> bool:
    """Whether all texts of a column are dates or times, but for blanks."""
    if column.kind != "text":
        return False
    texts = [text for text in column.levels or () if text.strip()]
    return bool(texts) and all(map(reads_as_date, texts))


def _hold_codes(column: ColumnSummary) -> bool:
    """Whether a column holds text that is numbers but for leading zeros, as ZIP codes are."""
    if column.kind != "text" or not column.levels:
        return False
    return any(_CODE.fullmatch(text.strip()) for text in column.levels) and _hold_number_texts(column)


def _hold_number_texts(column: ColumnSummary) -> bool:
    """Whether text is so often a number, with whatever decimal mark, that it is hardly meant as categories."""
    if column.kind != "text" or not column.levels:
        return False
    if are_nearly_numbers(np.array(list(column.levels), dtype=object)):
        return True
    numbers = sum(count for text, count in column.levels.items() if _NUMBER_TEXT.match(text))
    return numbers >= NEARLY * sum(column.levels.values())


def _judge_empty(judgement: Judgement, matched: MatchedSources, j: int, a: ColumnSummary, b: ColumnSummary) -> None:
    where = [summary.where for summary, column in zip(matched.summaries, (a, b), strict=True) if not column.kind]
    judgement.empty.append((matched.names[j], f"all values are missing in {' and '.join(dict.fromkeys(where))}"))


def _judge_forced(judgement: Judgement, j: int, name: str, columns: Sequence[ColumnSummary]) -> None:
    """A column of the kind that a user gave it takes part; more levels than are kept cannot."""
    if any(column.levels is None for column in columns):
        judgement.leave_out(name, f"more than {MOST_LEVELS} levels in a table that is read in blocks")
    else:
        judgement.places.append(j)


def _judge_words(judgement: Judgement, j: int, name: str, columns: Sequence[ColumnSummary]) -> None:
    """A column of text or dates in a table."""
    kinds = [column_kind(column) for column in columns]
    if kinds == [DATES, DATES]:
        judgement.leave_out(name, DATES)
    elif are_categories(columns):
        if _are_sentences(columns):
            judgement.leave_out(name, SENTENCES)
        elif _are_identifiers(columns):
            judgement.leave_out(name, IDENTIFIER)
        else:
            judgement.places.append(j)
            judgement.codes += [name] if any(map(_hold_codes, columns)) else []
    elif any(map(_hold_codes, columns)) and any(kind == "number" for kind in kinds):
        judgement.places.append(j)
        judgement.codes.append(name)
        judgement.numbers_as_codes.append(name)
    else:
        judgement.other_kind.append((name, kinds[0], kinds[1]))


def _are_identifiers(columns: Sequence[ColumnSummary]) -> bool:
    """Whether levels name rows."""
    return any(column.levels is None for column in columns) or _are_distinct(columns, DISTINCT)


def _are_sentences(columns: Sequence[ColumnSummary]) -> bool:
    """Whether most rows have a text of their own that is several words long."""
    texts = [text for column in columns if column.kind == "text" for text in column.levels or ()]
    if len(texts) < _FEW or not _are_distinct(columns, _UNLIKE):
        return False
    return sum(len(text.split()) for text in texts) >= _WORDS * len(texts)


def _are_distinct(columns: Sequence[ColumnSummary], share: float) -> bool:
    """Whether there is a level for a share of all rows, or of the rows of each table.

    The same customers in both have two rows a name.
    """
    return _exceed(columns, share) or all(_exceed([column], share) for column in columns)


def _exceed(columns: Sequence[ColumnSummary], share: float) -> bool:
    """Whether there are more levels than two and a share of the rows."""
    levels: set[str] = set().union(*(column.levels or () for column in columns))
    return len(levels) > max(2.0, share * sum(sum((column.levels or {}).values()) for column in columns))


def _are_row_numbers(column: ColumnSummary, rows: int) -> bool:
    """Whether whole numbers grow from row to row: no measurement does, in any number of rows."""
    steps = column.steps
    return steps is not None and steps.least >= 1 and rows >= _ROWS[steps.least == steps.largest == 1]


def _flaw(matched: MatchedSources, j: int, forced: str | None) -> tuple[int, str] | None:
    """What makes a column unusable in a table, and the row, if anything does."""
    columns = [summary.columns[j] for summary in matched.summaries]
    are_words = are_categories(columns)
    for summary, other in zip(matched.summaries, matched.summaries[::-1], strict=True):
        column, label, name = summary.columns[j], summary.label(j), matched.names[j]
        if column.kind not in (*NUMBERS, *WORDS, _DATES):
            kind = other.columns[j].kind
            aside = "" if kind == column.kind else f" (in {other.where}: {kind})"
            return column.first.row, refusal(column, label, aside)
        if forced == "number" and column.kind not in NUMBERS:
            word = column.word if column.word.row >= 0 else column.first
            what = f"{label}: {shown(word.value)} at row {word.row} is not a number, but {give_kind(name, 'number')}"
            return word.row, f"{what} was given; correct it, or leave it empty"
        is_flawed = are_words or column.word.row >= 0  # numbers in the other table, and text of numbers throughout
        if is_flawed and not any(map(_hold_codes, columns)) and _hold_number_texts(column):
            return _number_text_flaw(column, label, name)
    return None


def _number_text_flaw(column: ColumnSummary, label: str, name: str) -> tuple[int, str]:
    """Text that is nearly all numbers: the first value that is not one, and the way out."""
    if column.word.row < 0:
        return column.first.row, f"{refusal(column, label)}, or give {give_kind(name, 'number')}"
    value, row = str(column.word.value), column.word.row
    total = sum((column.levels or {}).values())
    numbers = sum(count for text, count in (column.levels or {}).items() if _NUMBER_TEXT.match(text))
    ways = f"correct it, leave it empty, give {give_kind(name, 'category')}"
    cure = f", but {numbers} of {total} values are; {ways}, or leave the column out with {argument('exclude', ...)}"
    return row, f"{label}: {shown(value)} at row {row} is not a number{cure_of_marks(value, '.') or cure}"


def _missing_flaws(matched: MatchedSources, missing: str, places: Sequence[int]) -> list[tuple[str, int, str]]:
    """The missing values of the first column that has any, if they are an error, and in how many more there are."""
    incomplete = [j for j in places if any(summary.columns[j].missing for summary in matched.summaries)]
    if missing != "error" or not incomplete:
        return []
    j = incomplete[0]
    summary = next(summary for summary in matched.summaries if summary.columns[j].missing)
    column, more = summary.columns[j], len(incomplete) - 1
    what = f"{summary.label(j)}: {missing_text(column.missing, column.first_missing)}"
    others = f", and more in {more} other column{'s' * (more > 1)}" if more else ""
    cure = f"use {argument('missing', 'drop')} or {argument('missing', 'level')}"
    return [(summary.names[j], column.first_missing, f"{what}{others}; {cure}")]


def _infinite_flaws(matched: MatchedSources, missing: str, places: Sequence[int]) -> list[tuple[str, int, str]]:
    """Infinite values of each column; where rows are dropped, the row of one may go."""
    if missing == "drop" and any(summary.columns[j].missing for summary in matched.summaries for j in places):
        return []
    return [
        (matched.names[j], column.first_infinite.row, f"{_flawed(matched, j).label(j)}: {infinite_text(column)}")
        for j in places
        if (column := _flawed(matched, j).columns[j]).infinite
    ]


def _flawed(matched: MatchedSources, j: int) -> Summary:
    """The first table whose column has infinite values, else the second."""
    x, y = matched.summaries
    return x if x.columns[j].infinite else y


def _refuse(judgement: Judgement) -> None:
    """All flaws as one error, about the column of the first."""
    if not judgement.flaws:
        return
    (name, row, text), *others = judgement.flaws
    if others:
        more = [f"{len(others) - _SHOWN + 1} more columns"] if len(others) >= _SHOWN else []
        texts = [text, *(other for _, _, other in others[: _SHOWN - 1]), *more]
        text = f"{'. Also: '.join(texts)}. Or leave these columns out with {argument('exclude', ...)}"
    raise InputError(text, column=name, row=row)


def _refuse_nothing_left(judgement: Judgement, matched: MatchedSources) -> None:
    """An error if no column is left to compare, with the reasons."""
    if judgement.places:
        return
    where_a, where_b = (summary.where for summary in matched.summaries)
    reasons = [f"{shown(name)}, {why}" for name, why in judgement.empty]
    reasons += [f"{shown(name)}, {why}" for why, names in judgement.left_out.items() for name in names]
    reasons += [f"{shown(name)}, {kinds_text(a, where_a, b, where_b)}" for name, a, b in judgement.other_kind]
    reasons += [f"{shown(name)}, only in {where_a}" for name in matched.schema_changes.missing]
    reasons += [f"{shown(name)}, only in {where_b}" for name in matched.schema_changes.added]
    cure = ""
    if curable := [(why, names[0]) for why, names in judgement.left_out.items() if why in _BECAUSE]:
        cure = f"; to compare one all the same, give {give_kind(curable[0][1], _BECAUSE[curable[0][0]][1])}"
    raise NothingLeftError(f"no column is left to compare: {'; '.join(capped(reasons, 'columns are left out'))}{cure}")


def _tell(judgement: Judgement, matched: MatchedSources, notes: list[str]) -> None:
    """Notes on what is left out and on codes, one for each reason."""
    for why, names in judgement.left_out.items():
        because, kind = _BECAUSE.get(why, (why, ""))
        cure = f"; to compare one, give {give_kind(names[0], kind)}" if kind else ""
        if why == DATES:
            cure += f" (days since 1970-01-01, seconds of times) or {give_kind(names[0], 'category')}"
        warn(f"columns left out because {because}: {listed(names)}{cure}", notes)
    where_a, where_b = (summary.where for summary in matched.summaries)
    kinds = [f"{shown(name)}, {kinds_text(a, where_a, b, where_b)}" for name, a, b in judgement.other_kind]
    if kinds:
        more = f"; and {len(kinds) - _SHOWN} more" if len(kinds) > _SHOWN else ""
        cure = f"to compare one, give {give_kind(judgement.other_kind[0][0], 'category')}"
        warn(f"columns left out because their kind differs: {'; '.join(kinds[:_SHOWN])}{more}; {cure}", notes)
    if judgement.codes:
        cure = f"to take one as numbers, give {give_kind(judgement.codes[0], 'number')}"
        codes = f"columns taken as categories because they hold codes with leading zeros: {listed(judgement.codes)}"
        warn(f"{codes}; {cure}", notes)
