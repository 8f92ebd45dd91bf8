"""Rows made anew of a profile: each column has the counts of its cells, and columns depend on each other about as the
sums tell. They are nobody's rows; a test takes from them how features vary together."""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from densdiff.comparing.profile import Profile
from densdiff.comparing.profile_columns import CountArray
from densdiff.core.scaling import FloatArray
from densdiff.testing.row_features import Features

DRAFTS = 1500  # rows of which some are drawn
_MOST_CORRELATED = 0.95
_STEPS = 20  # of the search for weights
_TILTING = 2  # which of the widths has the waves that drafts are weighted by: half of the median distance


def features_anew(profile: Profile, count: int, random: np.random.Generator, drafts: int = DRAFTS) -> Features:
    """The features of so many rows made anew, (count, F), of so many drafts.

    Drafts have the columns of the profile and the correlations of their normal scores. Of these, rows are drawn with
    weights by which the mean features come near those of the profile: the weights of least information, E25.
    """
    frame = profile.frame
    features = np.vstack([*frame.feature_rows(_drafts(profile, drafts, random))])
    waves, width = frame.waves, min(_TILTING, len(frame.widths) - 1)
    used = np.zeros(frame.n_features, dtype=bool)
    used[: waves.size].reshape(2, len(frame.widths), -1)[:, width] = True
    used[waves.size :] = True
    weights = _weights(features[:, used], profile.sums.sums[used] / profile.n, profile.n)
    places = (np.arange(count) + random.random()) / count  # each draft about as often as its weight says
    chosen = np.searchsorted(np.cumsum(weights), places)
    return np.asarray(features[np.minimum(chosen, len(weights) - 1)])


def _weights(features: Features, means: FloatArray, n: int) -> FloatArray:
    """Weights of rows, (k,), by which the means of their features are about those of n other rows."""
    deviations = features.std(axis=0)
    varies = deviations > 1e-6
    scaled = (features[:, varies] - means[varies].astype(np.float32)) / deviations[varies]

    def loss(tilt: FloatArray) -> tuple[float, FloatArray]:
        logs = scaled @ tilt.astype(np.float32)
        weights = np.exp(logs - logs.max(), dtype=np.float64)
        total = float(weights.sum())
        slope = (weights / total).astype(np.float32) @ scaled + tilt / n
        return float(logs.max()) + np.log(total) + 0.5 * float(tilt @ tilt) / n, slope.astype(np.float64)

    from scipy.optimize import minimize  # a tenth of the time to import all that a comparison needs

    found = minimize(loss, np.zeros(int(varies.sum())), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    logs = (scaled @ found.x.astype(np.float32)).astype(np.float64)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _drafts(profile: Profile, count: int, random: np.random.Generator) -> FloatArray:
    """Rows with the columns of a profile, (count, D), marks included, that depend on each other by normal scores."""
    frame = profile.frame
    latent = random.standard_normal((count, len(frame.names))) @ np.linalg.cholesky(_correlations(profile)).T
    columns = []
    for own, cells, missing, scores in zip(frame.numbers, profile.cells, profile.missing, latent.T, strict=False):
        known = np.ones(count, dtype=bool)
        known[random.permutation(count)[: round(count * missing / profile.n)]] = False
        values = np.full(count, np.nan)
        if known.any():
            anew = np.sort(own.values_anew(_thinned(cells, int(known.sum())), own.find_spikes(cells), random))
            values[known] = anew[np.argsort(np.argsort(scores[known]))]
        columns.append(values)
    for level, rows, scores in zip(frame.categories, profile.levels, latent.T[len(columns) :], strict=True):
        by_frequency = np.argsort(level.rows, kind="stable")
        codes = np.repeat(by_frequency, _thinned(rows[by_frequency], count))
        columns.append(codes[np.argsort(np.argsort(scores))].astype(np.float64))
    return frame.with_marks(np.column_stack(columns))


def _thinned(counts: CountArray, count: int) -> CountArray:
    """Counts of so many rows in the proportions of others."""
    below = np.cumsum(counts)
    places = (np.arange(count) + 0.5) * below[-1] / count
    return np.bincount(np.searchsorted(below, places, side="right"), minlength=len(counts)).astype(np.int64)


def _correlations(profile: Profile) -> FloatArray:
    """Correlations of the normal scores behind the columns, (d, d), from the sums of products of first features."""
    frame, layout = profile.frame, profile.frame.layout
    sums, squares = (each[frame.waves.size :] for each in (profile.sums.sums, profile.sums.squares))
    means, starts = sums / profile.n, np.cumsum((0, *layout.widths[:-1]))
    variances = (squares / profile.n - means**2)[starts]
    d, first = len(frame.names), layout.size_of_columns
    kept = _kept_of_scores(profile)
    found = np.eye(d)
    for (i, j), size in zip(layout.pairs, layout.of_pairs, strict=True):
        if max(i, j) < d and min(variances[i], variances[j]) > 0:
            together = means[first] - means[starts[i]] * means[starts[j]]
            found[i, j] = found[j, i] = together / (np.sqrt(variances[i] * variances[j]) * kept[i] * kept[j])
        first += size
    np.fill_diagonal(found, 1.0 / _MOST_CORRELATED)
    values, axes = np.linalg.eigh(_MOST_CORRELATED * np.clip(found, -1.0, 1.0 / _MOST_CORRELATED))
    near = (axes * np.maximum(values, 1e-3)) @ axes.T
    deviations = np.sqrt(np.diag(near))
    return np.asarray(near / np.outer(deviations, deviations))


def _kept_of_scores(profile: Profile) -> FloatArray:
    """How much of a correlation of scores is left in the first feature of each column, (d,): that of a category tells
    only whether the row has the most frequent level."""
    shares = [own.rows.max() / own.rows.sum() for own in profile.frame.categories]
    cut = np.clip(np.array(shares, dtype=np.float64), 0.02, 0.98)
    of_levels: npt.NDArray[np.float64] = np.exp(-0.5 * ndtri(cut) ** 2) / np.sqrt(2.0 * np.pi * cut * (1.0 - cut))
    return np.concatenate([np.ones(len(profile.frame.numbers)), of_levels])
