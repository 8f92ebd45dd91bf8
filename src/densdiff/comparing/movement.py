"""What moved in a column, in words, and how much of it a reader can be told.

Numbers: a factor, a single value, a shift, a spread or a range. The explanations compete: one is given if little of the
difference is left once it is taken out. Categories: the levels that gained and lost most.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.core.scaling import FloatArray
from densdiff.data.categories import MISSING_LEVEL
from densdiff.messages import percent
from densdiff.sources.sample import Sample

CountArray = npt.NDArray[np.integer]

_ROWS = 20_000  # of a table, evenly spaced, that words rest on
_CELLS = 8  # ranges of numbers, or frequent levels, that a reader can keep in mind
_LEVELS = 3  # told of a column
_FEW_VALUES = 10  # numbers with so few values are marks on a scale: none of them is a spike
_LEFT = 0.5  # of the difference may be left by a spike that explains it
_ONE_SIDED = 2.0  # times as far to one side as to the other is a shift
_FACTOR, _WIDER, _SPREAD = 1.4, 1.5, 1.1  # ratios from which on they are told
_ONE_SIGN = 0.99  # of the values: such numbers can be said to grow by a factor
_HEAVY = 1.5  # standard deviations in an interquartile range; normal numbers have 0.74
_TAIL = 0.01  # at each end: few rows, though they may drive the mean
_CRITICAL = 1.36  # of Kolmogorov's statistic, at 5 %
_CLEAR = 4.0  # standard errors that the share of one value changed by
_MANY = 100  # rows of each table, of which few can be told from the others


def spaced_values(sample: Sample) -> FloatArray:
    """The values of a column of numbers, evenly spaced ones if they are many, (k,)."""
    rows = sample.spaced(_ROWS)[:, 0]
    return rows[:: -(-len(rows) // _ROWS)]


def moved_numbers(a: FloatArray, b: FloatArray) -> float:
    """The share of rows that moved between eighths of all rows: what is told of total variation by ranges."""
    edges = np.unique(np.quantile(np.concatenate([a, b]), np.arange(1, _CELLS) / _CELLS, method="inverted_cdf"))
    shares = [np.bincount(np.searchsorted(edges, rows), minlength=len(edges) + 1) / len(rows) for rows in (a, b)]
    return 0.5 * float(np.abs(shares[0] - shares[1]).sum())


def moved_levels(a: CountArray, b: CountArray) -> float:
    """The share of rows that moved between the most frequent levels and all others together."""
    frequent = np.argsort(-(a / a.sum() + b / b.sum()), kind="stable")[:_CELLS]
    difference = (a / a.sum() - b / b.sum())[frequent]
    return 0.5 * float(np.abs(difference).sum() + abs(difference.sum()))


def describe_numbers(a: Sample, b: Sample, name: str) -> str:
    """What changed in a column of numbers; ``name`` is that of the second table."""
    ends = a.ends()[:, 0], b.ends()[:, 0]
    if ends[0][0] == ends[0][1] and ends[1][0] == ends[1][1]:
        return f"{ends[0][0]:.10g} -> {ends[1][0]:.10g} in every row"
    rows_a, rows_b = (np.sort(spaced_values(sample)) for sample in (a, b))
    up, down = _rises(rows_a, rows_b)
    text = _describe_factor(rows_a, rows_b, name) or _describe_spike(rows_a, rows_b, max(up, down))
    if not text and max(up, down) >= _ONE_SIDED * min(up, down):
        text = _describe_shift(a, b, (rows_a, rows_b), up > down, name)
    return text or _describe_spread(a, b, name) or _describe_range(rows_a, rows_b, name)


def _rises(a: FloatArray, b: FloatArray) -> tuple[float, float]:
    """How far b lies above a and how far below, as the largest differences of shares below a value; both sorted."""
    values = np.concatenate([a, b])
    rise = np.searchsorted(a, values, "right") / len(a) - np.searchsorted(b, values, "right") / len(b)
    return max(float(rise.max()), 0.0), max(float(-rise.min()), 0.0)


def _median(values: FloatArray) -> float:
    """The middle value, or the lower of two: a mean of them could overflow; sorted."""
    return float(values[(len(values) - 1) // 2])


def _describe_factor(a: FloatArray, b: FloatArray, name: str) -> str:
    """Whether the whole column was multiplied: b is like a times a factor, and not like a plus a shift."""
    medians = [_median(rows) for rows in (a, b)]
    signs = [float(np.sign(median)) for median in medians]
    if (
        not signs[0]
        or signs[0] != signs[1]
        or not all(np.mean(np.sign(rows) == signs[0]) >= _ONE_SIGN for rows in (a, b))
    ):
        return ""
    same_sign = [np.abs(rows[np.sign(rows) == signs[0]]) for rows in (a, b)]
    logs = [float(np.median(np.log(rows))) for rows in same_sign]
    if not np.log(_FACTOR) <= abs(logs[1] - logs[0]) <= 600.0:
        return ""
    factor, noise = float(np.exp(logs[1] - logs[0])), _CRITICAL * np.sqrt(1 / len(a) + 1 / len(b))
    if np.abs(a[[0, -1]]).max() > np.finfo(float).max / max(factor, 1.0):
        return ""
    with np.errstate(over="ignore"):
        shifted = a + (medians[1] - medians[0])
    if max(_rises(a * factor, b)) > noise or max(_rises(shifted, b)) <= noise:
        return ""
    times = f"{factor:.3g} times as large" if factor > 1 else f"divided by {1 / factor:.3g}"
    return f"{times} in {name}: median {medians[0]:.4g} -> {medians[1]:.4g}"


def _describe_spike(a: FloatArray, b: FloatArray, difference: float) -> str:
    """A single value whose share changed, if without its rows little of the difference is left; rows are sorted."""
    values, inverse = np.unique(np.concatenate([a, b]), return_inverse=True)
    if len(values) <= _FEW_VALUES:
        return ""
    shares = [np.bincount(own, minlength=len(values)) / len(own) for own in (inverse[: len(a)], inverse[len(a) :])]
    k = int(np.argmax(np.abs(shares[1] - shares[0])))
    share_a, share_b = float(shares[0][k]), float(shares[1][k])
    rest = [rows[rows != values[k]] for rows in (a, b)]
    size, pooled = 1 / len(a) + 1 / len(b), (share_a * len(a) + share_b * len(b)) / (len(a) + len(b))
    is_clear = abs(share_b - share_a) > _CLEAR * np.sqrt(pooled * (1.0 - pooled) * size)
    if not all(map(len, rest)) or not (is_clear or abs(share_b - share_a) >= _LEFT * difference):
        return ""
    left = (1.0 - 0.5 * (share_a + share_b)) * max(_rises(rest[0], rest[1]))
    if left > max(_LEFT * difference, is_clear * _CRITICAL * np.sqrt(size)):
        return ""
    return f"{values[k]:.10g}: {percent(share_a)} -> {percent(share_b)} of the rows"


def _describe_shift(a: Sample, b: Sample, rows: tuple[FloatArray, FloatArray], is_higher: bool, name: str) -> str:
    """The level, in units and in deviations within the tables; medians too where tails are heavy."""
    means, spreads, gap = _moments(a, b)
    medians = [_median(part) for part in rows]
    side = f"{'higher' if is_higher else 'lower'} in {name}"
    if gap == 0 or (gap > 0) != is_higher:  # a few rows hide what most of them did
        has_moved = medians[0] != medians[1] and (medians[1] > medians[0]) == is_higher
        return f"{side}: median {medians[0]:.4g} -> {medians[1]:.4g}" if has_moved else ""
    text = f"{side}: mean {means[0]:.4g} -> {means[1]:.4g}"
    within = float(np.hypot(spreads[0], spreads[1]) / np.sqrt(2.0))  # both tables alike, whatever their sizes
    if min(spreads) <= 1e-12 * max(within, abs(gap)):
        return text
    text += f" (by {abs(gap):.3g}, {abs(gap) / within:.2g} deviations within the tables)"
    ends = [_TAIL, 0.25, 0.75, 1.0 - _TAIL]
    low, middle_low, middle_high, high = np.quantile(np.concatenate(rows), ends, method="inverted_cdf")
    if within > _HEAVY * (middle_high - middle_low) > 0 and medians[0] != medians[1]:
        text += f", median {medians[0]:.4g} -> {medians[1]:.4g}"
    with np.errstate(over="ignore", invalid="ignore"):
        usual = [float(np.mean(part[(part >= low) & (part <= high)])) for part in rows]
    if min(map(len, rows)) >= _MANY and abs(usual[1] - usual[0]) < _LEFT * abs(gap):
        text += ", driven by few rows"
    if not 1 / _WIDER < spreads[1] / spreads[0] < _WIDER:
        text += f", and {_spread_text(spreads)}"
    return text


def _moments(a: Sample, b: Sample) -> tuple[list[float], list[float], float]:
    """Means and standard deviations of both tables, and the difference of the means."""
    (level_a, spread_a), (level_b, spread_b) = (rows.moments.level_and_spread() for rows in (a, b))
    gap = float(a.moments.gap(b.moments)[0])
    return [float(level_a[0]), float(level_b[0])], [float(spread_a[0]), float(spread_b[0])], gap


def _describe_spread(a: Sample, b: Sample, name: str) -> str:
    _, spreads, _ = _moments(a, b)
    if not min(spreads) or 1 / _SPREAD < spreads[1] / spreads[0] < _SPREAD:
        return ""
    word, _, rest = _spread_text(spreads).partition(":")
    return f"{word} in {name}:{rest}"


def _spread_text(spreads: list[float]) -> str:
    ratio = spreads[1] / spreads[0]
    return f"{'wider' if ratio > 1 else 'narrower'}: standard deviation {spreads[0]:.4g} -> {spreads[1]:.4g}"


def _describe_range(a: FloatArray, b: FloatArray, name: str) -> str:
    """The range in which the share of rows changed most."""
    values = np.sort(np.concatenate([a, b]))
    below_a, below_b = (np.searchsorted(rows, values, "right") / len(rows) for rows in (a, b))
    rise = below_b - below_a
    low, high = sorted((int(rise.argmin()), int(rise.argmax())))
    more = "more" if rise[high] > rise[low] else "fewer"
    change = 100 * abs(rise[high] - rise[low])
    return f"{more} rows in {name} between {values[low]:.4g} and {values[high]:.4g} (by {change:.2g} % of the rows)"


def describe_levels(levels: Sequence[str], a: CountArray, b: CountArray) -> str:
    """Which levels gained and lost most; one that took the place of another is perhaps another name for it."""
    shares_a, shares_b = a / a.sum(), b / b.sum()
    changed = np.argsort(-np.abs(shares_b - shares_a), kind="stable")
    changed = changed[shares_a[changed] != shares_b[changed]]
    if len(changed) == 2 and max(shares_a.max(), shares_b.max()) == 1.0:
        old, new = (messages.quote_name(levels[int(shares.argmax())]) for shares in (shares_a, shares_b))
        if shares_a.max() == shares_b.max() and old != new:
            return f"{old} -> {new} in every row"
    texts = [
        f"{level_text(levels[k])} {percent(shares_a[k])} -> {percent(shares_b[k])}" for k in changed[:_LEVELS].tolist()
    ]
    if len(changed) > 1 and _is_renamed(a, b, *map(int, changed[:2])):
        texts[1] += " (perhaps renamed)"
    return ", ".join(texts)


def level_text(level: str) -> str:
    """A level in a sentence."""
    return "missing" if level == MISSING_LEVEL else messages.quote_name(level)


def _is_renamed(a: CountArray, b: CountArray, i: int, j: int) -> bool:
    """Whether one level is only in a and another only in b, with shares that chance could make equal."""
    gone, new = (i, j) if a[i] else (j, i)
    if a[new] or b[gone]:
        return False
    share_a, share_b = a[gone] / a.sum(), b[new] / b.sum()
    noise = np.sqrt(share_a * (1 - share_a) / a.sum() + share_b * (1 - share_b) / b.sum())
    return bool(abs(share_a - share_b) <= 3.0 * noise)
