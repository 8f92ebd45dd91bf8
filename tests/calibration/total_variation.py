"""Total variation: how often its lower end is too high, and how much of the truth its value finds.

A run takes `total_variation` apart, since the permutation test is slow: the value needs no test, and the lower end
needs it only where the interval of what the witness separates begins above the truth. Ways known to be wrong are kept
beside the right one.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

import densdiff as dd
from densdiff import messages
from densdiff.core.separation import separated as separation
from densdiff.data.pair import check_pair
from densdiff.distance import total_variation as question
from densdiff.solvers.prepared import Prepared, prepare
from densdiff.solvers.witness import Judged, Table, judge, judge_by, separated
from densdiff.testing.two_sample import pair_test
from tests.calibration.known_variations import COMPETING, Cell, scale_variation
from tests.calibration.parallel import gathered, tabulated

LEVEL = 0.95
MOST_ABOVE = 0.03  # of the runs have a lower end above the truth
NEAR = 0.15  # of the truth, from 2000 rows on
TIMES_100 = 0.9  # least value if one of 50 columns is multiplied by 100
BEHIND = 0.03  # most that ours may lie below the better rival, on average over pairs
MOST_FOLDS = 20  # of a wrong way


class Split(NamedTuple):
    """Two samples as `total_variation` prepares them."""

    data: Prepared
    rows: tuple
    table: Table
    clusters: np.ndarray | None  # a number that copies share, if there are any


def split(x, y, run, folds=5):
    """The rows as witnesses see them, dealt into folds."""
    with messages.collect_warnings():
        data = prepare(check_pair(x, y), standardize=True, folds=folds, random_state=run)
        rows = question._drawn_rows(data, [])
        return Split(data, rows, *question._table(data, rows, []))


def with_copies_across_folds(parts):
    """Folds that do not know of equal rows."""
    random = np.random.default_rng([parts.data.seed, 9])
    folds = np.empty_like(parts.table.folds)
    for own in (parts.table.in_x, ~parts.table.in_x):
        folds[own] = random.permutation(int(own.sum())) % parts.table.n_folds
    return parts._replace(table=replace(parts.table, folds=folds), clusters=None)


def value_of(table: Table, judged: Judged):
    """What the witnesses separate, pooled over folds, as `TotalVariationResult.raw`."""
    return separated(judged.values, table, np.arange(len(table.folds)))


def result_of(parts, judged, pvalue):
    """The library's answer if its test had found this p-value."""
    found = separation(judged.values, parts.table.omega, parts.table.in_x, LEVEL, parts.clusters)
    return question._result(parts.data, parts.rows, parts.table, judged, found, pvalue, LEVEL, [], None)


def pvalue_of(parts):
    with messages.collect_warnings():
        model = dd.LSDD(random_state=parts.data.seed)
        pair = parts.data.pair
        if parts.clusters is not None:
            pair = question._tested_pair(parts.data, parts.rows, parts.clusters)
        return pair_test(model, pair, question._RELABELLINGS).pvalue


def is_above(cell, parts, gate):
    """Whether the lower end lies above the true total variation."""
    judged = judge(parts.table)
    if result_of(parts, judged, pvalue=0.0).interval[0] <= cell.truth:
        return False
    return not gate or result_of(parts, judged, pvalue_of(parts)).interval[0] > cell.truth


def right_way(cell, run):
    """The library's lower end."""
    return is_above(cell, split(*cell.draw(run), run), gate=True)


def without_gate(cell, run):
    """Wrong: folds share rows, and their pooled shares vary more than an interval of two shares knows."""
    return is_above(cell, split(*cell.draw(run), run), gate=False)


def twenty_folds(cell, run):
    """Wrong: the more folds, the more rows they share."""
    return is_above(cell, split(*cell.draw(run), run, MOST_FOLDS), gate=False)


def copies_across_folds(cell, run):
    """Wrong: a row of which a copy was learned gives itself away."""
    return is_above(cell, with_copies_across_folds(split(*cell.draw(run), run)), gate=True)


WAYS: dict[str, Callable] = {
    "": right_way,
    "without the test": without_gate,
    "20 folds without the test": twenty_folds,
    "copies across folds": copies_across_folds,
}


def bounds():
    """Cells of the lower end with their ways and runs, cheap ones first."""
    found = []
    for n, runs in ((60, 2000), (300, 2000), (1000, 1000)):
        cells = [Cell(d=d) for d in (1, 10, 50)]
        cells += [Cell(truth=truth, d=d) for truth in (0.04, 0.1) for d in (1, 10)]
        cells += [Cell("doubled", d=1), Cell("doubled", d=5), Cell("doubled", 0.1, d=5)]
        cells += [Cell("rounded", truth, d) for truth, d in ((0.0, 1), (0.1, 1), (0.0, 10))]
        cells += [Cell("categories", truth, 3) for truth in (0.0, 0.04, 0.1)]
        cells += [Cell("mixed", truth, 7) for truth in (0.0, 0.1)]
        found += [(replace(cell, n=n, m=n), "", runs) for cell in cells]
    found += [(Cell(truth=truth, d=d, n=5000, m=5000), "", 300) for truth, d in ((0.0, 1), (0.0, 10), (0.04, 10))]
    sizes = ((60, 600), (600, 60), (300, 1000))
    found += [(Cell(truth=truth, d=10, n=n, m=m), "", 2000) for n, m in sizes for truth in (0.0, 0.1)]
    wrong = [(Cell(d=10), "without the test"), (Cell(d=10), "20 folds without the test")]
    wrong += [(Cell("doubled", d=5), "copies across folds")]
    return found + [(cell, way, 2000) for cell, way in wrong]


COMPANY = tuple((others, n) for n in (500, 2000) for others in (0, 5, 20, 50))
SHIFT = 0.6  # deviations
SHIFTED = float(2.0 * ndtr(0.5 * SHIFT) - 1.0)  # the total variation of that


def value_in_company(others, n, run):
    """Value if one column is shifted and so many others are alike."""
    cell = Cell(truth=SHIFTED, d=1 + others, n=n, m=n)
    table = split(*cell.draw(run), run).table
    return value_of(table, judge(table))


def value_times_100(others, n, run):
    """Value if one column of Y is multiplied by 100."""
    x, y = Cell(d=1 + others, n=n, m=n).draw(run)
    y[:, 0] *= 100.0
    table = split(x, y, run).table
    return value_of(table, judge(table))


def competitors(name, n, run):
    """Values of ours, a forest and a logistic regression on the same folds."""
    draw = COMPETING[name]
    x, y = (draw(np.random.default_rng([run, n, side]), n, moved=side == 0) for side in (0, 1))
    table = split(x, y, run).table
    features = features_of(table)
    found = [value_of(table, judge(table))]
    for model in rivals(run):

        def says(training, rows, model=model):
            fitted = model.fit(features[training], table.in_x[training])
            return fitted.predict_proba(features[rows])[:, 1] - 0.5

        found.append(value_of(table, judge_by(says, table)))
    return found


def features_of(table):
    """What the rivals learn from: the scores, which suit a linear model, and an indicator for every level."""
    indicators = [np.eye(levels)[codes] for codes, levels in zip(table.codes.T, table.levels, strict=True)]
    return np.hstack([table.scores, *indicators])


def rivals(run):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    return (
        RandomForestClassifier(200, min_samples_leaf=5, random_state=run),
        LogisticRegression(max_iter=1000),
    )


BOUNDS_INTRO = """## Total variation

The share of runs in percent in which the lower end of the 95 % interval lies above the true total variation; at most 3
are asked for. One column differs unless the truth is 0. "doubled": every row of X stands twice. "rounded": about
thirteen whole numbers. "categories": columns of four levels. "mixed": numbers and two categories. The ways named in the
last rows are known to be wrong, and are kept to show that these runs can tell. A figure more than two of its standard
errors above what is asked is marked with !, and so is a wrong way that lies as far below it.
"""
BOUNDS_HEADER = "| data | columns | n, m | truth | way | runs | above |"
COMPANY_INTRO = """### Columns that do not matter

One column is shifted by 0.6 deviations, and others are added that are alike in both samples: mean value over the truth,
which should lie within 15 % of 1 from 2000 rows on. Last, one column of 51 is multiplied by 100 in one of the samples,
where the value itself should be at least 0.9. Standard errors are in brackets.
"""
COMPANY_HEADER = "| change | other columns | n | runs | truth | value | value over truth |"
RIVALS_INTRO = """### Beside other witnesses

Mean value of the library's witness, of a random forest (200 trees, at least 5 rows in a leaf) and of a logistic
regression on the same folds, 500 rows in each sample; in brackets standard errors of ours, and of ours less the better
of the two. On average over the pairs ours should not lie more than 0.03 below the better.
"""
RIVALS_HEADER = "| pair | runs | ours | forest | logistic | ours less the better |"


def report(share=1.0):
    """The three tables as text, and a line for each figure outside its target."""
    parts = [_bounds_report(share), _company_report(share), _rivals_report(share)]
    return "\n".join(text for text, _ in parts), [line for _, lines in parts for line in lines]


def _chunk(k, run_one, arguments, runs):
    return k, [run_one(*arguments, run) for run in runs]


def _simulated(table, share, size=20):
    """Results of all runs of (function, its arguments, runs), in order."""
    many = [max(10, round(share * runs)) for *_, runs in table]
    jobs = (
        (k, run_one, arguments, range(first, min(first + size, count)))
        for k, ((run_one, arguments, _), count) in enumerate(zip(table, many, strict=True))
        for first in range(0, count, size)
    )
    return gathered(_chunk, jobs, len(table))


def _bounds_report(share):
    cells = bounds()
    tables = _simulated([(WAYS[way], (cell,), runs) for cell, way, runs in cells], share)
    return tabulated(BOUNDS_INTRO, BOUNDS_HEADER, cells, tables, _bounds_line)


def _bounds_line(described, found):
    cell, way, _ = described
    above = np.mean(found)
    error = np.sqrt(max(above * (1 - above), 1 / len(found)) / len(found))
    is_off = above + 2 * error < MOST_ABOVE if way else above - 2 * error > MOST_ABOVE
    parts = [cell.kind, str(cell.d), f"{cell.n}, {cell.m}", f"{cell.truth:g}", way, str(len(found))]
    parts.append(f"{100 * above:.1f} ({100 * error:.1f}){'!' if is_off else ''}")
    breach = f"total variation, {cell}{way and ', ' + way}: lower end above it in {100 * above:.1f} %"
    return "| " + " | ".join(parts) + " |", [breach] if is_off else []


def _company_report(share):
    cells = [("shift", others, n, 200) for others, n in COMPANY]
    cells += [("times 100", 50, n, 100) for n in (500, 2000)]
    ways = {"shift": value_in_company, "times 100": value_times_100}
    tables = _simulated([(ways[name], (others, n), runs) for name, others, n, runs in cells], share, 5)
    return tabulated(COMPANY_INTRO, COMPANY_HEADER, cells, tables, _company_line)


def _company_line(cell, values):
    name, others, n, _ = cell
    truth = SHIFTED if name == "shift" else scale_variation(100.0)
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    if name == "shift":
        is_off = n >= 2000 and abs(mean / truth - 1) > NEAR + 2 * error / truth
    else:
        is_off = mean < TIMES_100 - 2 * error
    parts = [name, str(others), str(n), str(len(values)), f"{truth:.3f}", f"{mean:.3f}"]
    parts.append(f"{mean / truth:.2f} ({error / truth:.2f}){'!' if is_off else ''}")
    breach = f"total variation, {name}, {others} other columns, {n} rows: {mean:.3f} of {truth:.3f}"
    return "| " + " | ".join(parts) + " |", [breach] if is_off else []


def _rivals_report(share):
    names = list(COMPETING)
    tables = _simulated([(competitors, (name, 500), 50) for name in names], share, 2)
    text, _ = tabulated(RIVALS_INTRO, RIVALS_HEADER, names, tables, _rivals_line)
    behind = np.mean([ahead_of_better(table)[0] for table in tables])
    is_off = behind < -BEHIND
    text += f"\nOn average over the pairs ours less the better is {behind:+.3f}{'!' if is_off else ''}.\n"
    return text, [f"total variation beside other witnesses: {behind:+.3f} on average"] if is_off else []


def ahead_of_better(values):
    """Mean of ours less that of the rival with the better mean, and its standard error."""
    values = np.array(values)  # (runs, 3)
    ahead = values[:, 0] - values[:, 1 + int(np.argmax(values[:, 1:].mean(axis=0)))]
    return ahead.mean(), ahead.std(ddof=1) / np.sqrt(len(ahead))


def _rivals_line(name, values):
    means, (ahead, error) = np.mean(values, axis=0), ahead_of_better(values)
    own_error = np.std(values, axis=0, ddof=1)[0] / np.sqrt(len(values))
    parts = [name, str(len(values)), f"{means[0]:.3f} ({own_error:.3f})", f"{means[1]:.3f}", f"{means[2]:.3f}"]
    return "| " + " | ".join([*parts, f"{ahead:+.3f} ({error:.3f})"]) + " |", []
