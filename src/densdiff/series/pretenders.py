"""What passes for changes and is none: seasons, slow waves, clusters of volatility, long memory.

The first three are taken off and the series is searched again; the last one can only be named. The search itself lives
in `search`.
"""

from dataclasses import dataclass, replace

import numpy as np

from densdiff import messages
from densdiff.core.contrasts import IntArray
from densdiff.core.scaling import FloatArray
from densdiff.estimators.lsdd import LSDD
from densdiff.series import volatility
from densdiff.series.features import moderate_units
from densdiff.series.kinds import ChangeKind
from densdiff.series.period import Period, autocorrelation, find_period
from densdiff.series.scan import Plan
from densdiff.series.search import Search
from densdiff.series.season import even_spread, find_slow_wave, remove_seasons

_PERIODS = 8  # of a period in the series, at least
_REMAINING = 2  # changes for each that remains once a wave is off, or the wave was none
_WEEK = 7
_FEWEST = 800  # samples: fewer do not tell clusters
_OF_SPREAD = ("spread", "distribution")
_SHORT = 2000  # samples: clusters with a persistence of 0.98 leave 40 independent stretches

CLUSTERS = "clusters of volatility cannot be told from changes of spread here"
_LONG_MEMORY = (
    "what is left between the changes has a long memory; such noise makes changes like these by itself, "
    "and they cannot be told apart"
)


@dataclass(frozen=True)
class Outcome:
    """The changes of a series, the search that found them, and what is to be said about them."""

    changes: IntArray
    pvalues: FloatArray
    search: Search
    period: Period | None
    flat: FloatArray  # the series without its seasons, (T, d)
    notes: tuple[str, ...] = ()


def search_series(rows: FloatArray, names: tuple[str, ...], plan: Plan, model: LSDD, n_changes: int | None) -> Outcome:
    """The changes of rows (T, d) that are not made by a season, a slow wave or clusters of volatility."""
    rows = moderate_units(rows)[0] if model.standardize else rows
    correlation = autocorrelation(rows)
    period = find_period(rows, len(rows) / _PERIODS, correlation)
    season = remove_seasons(rows, plan.window, correlation)
    outcome = _search(rows, season.rows, plan, model, n_changes, period)
    if len(outcome.changes) and n_changes is None:
        outcome = _beyond_wave(outcome, rows, names, plan, model)
    if len(outcome.changes) and period is None and n_changes is None and len(rows) >= _FEWEST:
        outcome = _beyond_clusters(outcome, rows, plan, model)
    notes = list(outcome.notes)
    lines = outcome.search.lines
    if len(lines) and not len(outcome.changes):
        notes.append(trend_note(names, lines))
    if len(outcome.changes) and season.periods and len(rows) < 2 * _WEEK * min(season.periods):
        cycle = f"a cycle of {_WEEK} periods of {min(season.periods):.3g} samples, as a week has days,"
        notes.append(f"{cycle} would be seen less than twice: changes cannot be told from it")
    if len(outcome.changes):
        residuals = volatility.segment_residuals(season.rows, outcome.changes)
        if volatility.has_long_memory(residuals, max(season.periods, default=None)):
            notes.append(_LONG_MEMORY)
        is_chance_period = period is not None and period.lasting < 0.5 * period.strength
        if is_chance_period and volatility.has_clusters(residuals):
            notes.append(CLUSTERS)
    return replace(outcome, flat=season.rows, notes=tuple(notes))


def spread_note(rows: FloatArray, kinds: tuple[ChangeKind, ...], plan: Plan) -> str | None:
    """What is said of changes without a new level, correlation or rhythm that clusters of volatility could have made.

    In a short series clusters leave few traces but such changes, so usual ones are supposed rather than looked for.
    """
    if len(rows) >= _SHORT or not any(kind.what in _OF_SPREAD for kind in kinds):
        return None
    moderate = moderate_units(rows)[0]
    shocks = [volatility.whitened(column) for column in moderate.T if column.min() < column.max()]
    pvalues = [volatility.spread_pvalue(own, volatility.USUAL, plan.random(14 + j)) for j, own in enumerate(shocks)]
    if len(pvalues) * min(pvalues) <= plan.alpha:
        return None
    return f"{CLUSTERS}: in {len(rows)} samples they can change it as much as this"


def trend_note(names: tuple[str, ...], lines: IntArray) -> str:
    """What is said if columns follow straight lines, and nothing else happens."""
    which = ", ".join(messages.shown(names[j]) for j in lines)
    return f"the level of {which} follows a straight line, and nothing changes besides that trend"


def _search(
    rows: FloatArray, flat: FloatArray, plan: Plan, model: LSDD, n_changes: int | None, period: Period | None
) -> Outcome:
    search = Search.of(rows, flat, plan, model, period)
    changes, pvalues = search.segment(plan.alpha, n_changes)
    return Outcome(changes, pvalues, search, period, flat)


def _beyond_wave(
    outcome: Outcome,
    rows: FloatArray,
    names: tuple[str, ...],
    plan: Plan,
    model: LSDD,
) -> Outcome:
    """The changes that remain once a slow wave is off, if one explains more of the level than the changes do.

    The spread may follow the wave too, as that of counts does.
    """
    scan, changes = outcome.search.level, outcome.search.level_changes(plan.alpha)
    if len(changes) < 2:
        return outcome
    wave = find_slow_wave(
        scan.level, np.unique(np.clip(np.searchsorted(scan.borders(), changes), 1, len(scan.level) - 1))
    )
    if wave is None:
        return outcome
    middles = scan.borders()[:-1] + plan.block / 2
    left = rows.copy()
    for j, values in zip(wave.columns, wave.values.T, strict=True):
        level = np.interp(np.arange(len(rows)), middles, values) * rows[:, j].std() + rows[:, j].mean()
        left[:, j] = even_spread(rows[:, j] - level, wave.cycles)
    which = ", ".join(messages.shown(names[j]) for j in wave.columns)
    seen = f"a slow wave, seen {wave.cycles:.1f} times"
    note = f"the level of {which} follows {seen}; so few do not tell a season from changes, and the wave was taken off"
    again = _search(left, remove_seasons(left, plan.window).rows, plan, model, None, outcome.period)
    if len(again.changes) > len(outcome.changes) / _REMAINING:
        return outcome
    return replace(again, notes=(*outcome.notes, note))


def _beyond_clusters(outcome: Outcome, rows: FloatArray, plan: Plan, model: LSDD) -> Outcome:
    """The changes that clusters of volatility do not make, if there are clusters between the changes.

    Changes of spread count if simulated clusters rarely show as much, other changes if they are there once the
    volatility is divided out.
    """
    residuals = volatility.segment_residuals(rows, outcome.changes)
    if not volatility.has_clusters(residuals):
        return outcome
    calm, pvalues = rows.copy(), []
    for j, column in enumerate(rows.T):
        shocks = volatility.whitened(column)
        clusters = volatility.Clusters.fit(shocks)
        pvalues.append(volatility.spread_pvalue(shocks, clusters, plan.random(14 + j)))
        missing = len(column) - len(shocks)
        spread = np.sqrt(clusters.variances(shocks))
        calm[:, j] = (column - column.mean()) / np.append(np.repeat(spread[:1], missing), spread)
    p = min(1.0, 2.0 * len(pvalues) * min(pvalues))
    note = "volatility comes in clusters: changes of spread count only beyond what such clusters make"
    if len(rows) < _SHORT:
        note = f"{note}; {CLUSTERS}, in a series so short"
    if p <= plan.alpha:
        return replace(outcome, pvalues=np.maximum(outcome.pvalues, p), notes=(*outcome.notes, note))
    half = replace(plan, alpha=plan.alpha / 2)
    again = _search(calm, calm, half, model, None, None)
    return replace(again, pvalues=np.minimum(1.0, 2.0 * again.pvalues), notes=(*outcome.notes, note))
