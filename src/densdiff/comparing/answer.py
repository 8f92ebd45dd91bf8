"""The answer of a comparison in words: one sentence, and a few lines below it."""

from typing import Any

from densdiff import messages
from densdiff.comparing.effects import smallest_effect
from densdiff.comparing.wording import emptied_text, schema_texts, whole_percent

SHOWN = 10  # columns, pairs and regions in the text
_LONG = 40  # characters of a table's name in a sentence
_NAMED = 3  # of the things that a sentence lists


def short_names(names: tuple[str, str]) -> tuple[str, str]:
    """What the tables are called in a sentence; one that is compared with itself has two names."""
    return messages.short_names(names, _LONG) if names[0] != names[1] else ("A", "B")


def headline(result: Any) -> str:
    """The finding in one sentence: schema, how many rows would have to change, where most, how sure."""
    a, b = short_names(result.names)
    lower, p = result.total_variation.interval[0], result.p_text
    compared = {column.name for column in result.columns}
    emptied = [rate for rate in result.missing if rate.differs and rate.name not in compared]
    schema = schema_texts(result.schema_changes, (a, b)) + [emptied_text(rate, (a, b)) for rate in emptied]
    fixed, moved = _split_columns(result)
    apart = [f"{messages.quote_name(column.name)} ({column.direction})" for column in fixed]
    is_found = result.test.pvalue <= 0.5 * result.alpha or bool(moved)
    if not is_found:
        schema += [f"{a} and {b} differ in {_listed(apart)}"] if apart else []
        text = f"no {'other ' if schema else ''}difference was found between {a} and {b} ({p})"
        return _sentence(schema, text)
    if moved and result.test.pvalue > 0.5 * result.alpha:
        p = moved[0].p_text
    less = "" if _counts(result, moved) else f", less than the smallest effect that counts ({result.min_effect_text})"
    if lower > 0:
        text = f"at least {whole_percent(lower)} of the rows would have to change for {b} to look like {a}{less}"
    else:
        text = f"{a} and {b} differ, but in too few rows to say in how many{less}"
    text += f", apart from {_listed(apart)}" if apart else ""
    return _sentence(schema, f"{text}; {_where(result, moved)} ({p})")


def _split_columns(result: Any) -> tuple[list[Any], list[Any]]:
    """The columns that differ: those that are another constant in each table, if others vary, and those."""
    changed = [column for column in result.columns if column.differs]
    fixed = [column for column in changed if column.name in result.constants]
    return fixed, [column for column in changed if column.name not in result.constants]


def _counts(result: Any, moved: list[Any]) -> bool:
    """Whether what moved, together or in a column, is large enough to count."""
    together = result.test.pvalue <= 0.5 * result.alpha
    return (together and result.total_variation.value >= smallest_effect(result.min_effect)) or any(
        column.total_variation >= smallest_effect(result.min_effect, column.name) for column in moved
    )


def _sentence(schema: list[str], text: str) -> str:
    """What changed in the schema, if anything, then what else there is."""
    whole = f"{_listed(schema)}; {text}" if schema else text
    is_ours = whole.startswith(("at least ", "no ", "column "))  # else it begins with the name of a table
    return whole[0].upper() + whole[1:] if is_ours else whole


def _where(result: Any, moved: list[Any]) -> str:
    """The column that moved most, or what else to look at."""
    if moved:
        return f"most in {messages.quote_name(moved[0].name)}"
    if result.pairs:
        pair = result.pairs[0]
        return f"most in how {messages.quote_name(pair.first)} and {messages.quote_name(pair.second)} go together"
    return "no single column differs"


def _listed(texts: list[str]) -> str:
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more


def text_lines(result: Any) -> list[str]:
    """The answer, and below it each part of it."""
    a, b = names = short_names(result.names)
    changed = [column for column in result.columns if column.differs]
    lines = [result.answer, f"  effect      {size_text(result)}"]
    head = f"{len(changed)} of {len(result.columns)} differ ({result.adjustment}, p at most {0.5 * result.alpha:g})"
    lines += _block("columns", [*map(column_line, changed)], [head])
    for title, findings in (("pairs", result.pairs), ("regions", result.regions)):
        more = [result.unlisted[title]] if title in result.unlisted else []
        lines += _block(title, [finding.text(names) for finding in findings], more)
    lines += _block("missing", _missing_lines(result, names))
    lines += _block("left out", [f"{messages.quote_name(name)}: {reason}" for name, reason in result.left_out])
    lines.append(f"  rows        {result.n_x} of {a}, {result.n_y} of {b}")
    return lines


def size_text(result: Any) -> str:
    """The size of the difference in a word, as total variation and as L2 distance."""
    low, high = result.distance.normalized_interval or (0.0, 1.0)
    variation = result.total_variation
    size = f"{result.effect}: total variation {variation.value:.3g}, at least {variation.interval[0]:.3g}"
    return f"{size}; L2 distance {result.distance.normalized:.3g} [{low:.3g}, {high:.3g}] out of 1"


def column_line(column: Any) -> str:
    """A column, how much of it moved, how sure that is, and what moved."""
    size = f"{column.total_variation:.3g}, at least {column.total_variation_interval[0]:.3g}"
    return f"{messages.quote_name(column.name)}: {size}, {column.p_text}; {column.direction}"


def _missing_lines(result: Any, names: tuple[str, str]) -> list[str]:
    """Rates that no column that differs has told already; those that are alike in one line."""
    told = {column.name for column in result.columns if column.differs and "missing " in column.direction}
    lines = [rate.text(names) for rate in result.missing if rate.differs and rate.name not in told]
    alike = [rate for rate in result.missing if not rate.differs]
    if len(alike) == 1:
        lines.append(f"{alike[0].text(names)}, not significant")
    elif alike:
        most = max(max(rate.share_a, rate.share_b) for rate in alike)
        listed = _listed([messages.quote_name(rate.name) for rate in alike])
        lines.append(f"{listed}: at most {100 * most:.2g} %, no significant difference")
    return lines


def _block(title: str, lines: list[str], last: list[str] | None = None) -> list[str]:
    """Lines beside a title, the first ones if they are many."""
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    shown = lines[:SHOWN] + more + (last or [])
    return [f"  {title if k == 0 else '':10s}  {line}" for k, line in enumerate(shown)]
