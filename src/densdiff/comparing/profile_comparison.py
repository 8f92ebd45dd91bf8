"""A comparison in which at least one table is a profile: what rows would tell, as far as counts and sums do.

Columns are compared by values made anew from the counts of their cells, in no common order, so that the code of tables
tells of each column by itself. All columns together are compared by the sums of `testing.block_sums`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from densdiff import messages
from densdiff.comparing.columns import CONFIDENCE
from densdiff.comparing.profile import Profile, profile_like, refuse_unlike
from densdiff.comparing.profile_frame import OTHER_LEVELS
from densdiff.core.scaling import FloatArray
from densdiff.data.match import SchemaChanges
from densdiff.data.tables import MatchedTables, Request, match_tables
from densdiff.errors import InputError
from densdiff.estimators.results import DistanceResult
from densdiff.testing.block_sums import BlurredDistance, block_test, blurred_distances
from densdiff.testing.two_sample import TwoSampleResult

LEFT_OUT = (
    "a profile has no rows: pairs of columns, regions and what all columns separate together are left out, and total "
    "variation is that of single columns"
)
_MOST_NOISE = 0.2  # relative, of the norms: at finer widths too few rows are near one another
_MOST_ROWS = 1_000_000  # of a table that columns are made anew of


@dataclass(frozen=True)
class ProfilePair:
    """Two profiles of the same frame."""

    a: Profile
    b: Profile
    names: tuple[str, str]

    @property
    def schema_changes(self) -> SchemaChanges:
        """What B lacks and has beside A; what A lacks, B has added."""
        a, b = self.a.schema_changes, self.b.schema_changes
        return SchemaChanges(
            missing=tuple(name for name in (*b.missing, *a.added) if name not in a.missing),
            added=tuple(name for name in (*b.added, *a.missing) if name not in a.added),
            other_kind=(*b.other_kind, *((name, new, old) for name, old, new in a.other_kind)),
        )

    def tables(self, seed: int) -> MatchedTables:
        """Columns made anew of the counts, in any order: rows are not the same ones in all columns."""
        lost = {name for change in (self.a.schema_changes, self.b.schema_changes) for name in change.missing}
        lost |= {name for change in (self.a.schema_changes, self.b.schema_changes) for name, *_ in change.other_kind}
        kinds = {name: kind for name, kind in self.a.kinds.items() if name not in lost}
        a, b = (
            {name: column for name, column in _columns_anew(own, [seed, 41 + side]).items() if name in kinds}
            for side, own in enumerate((self.a, self.b))
        )
        return match_tables(a, b, Request(self.names, kinds=kinds))


def pair_profiles(A: Any, B: Any, names: tuple[str, str], request: Request) -> ProfilePair:
    """Two inputs of which at least one is a profile, both as profiles of one frame."""
    for name in ("columns", "exclude", "kinds"):
        if getattr(request, name) is not None:
            text = f"{messages.argument(name)} is chosen when a profile is made, not when it is compared"
            raise InputError(f"{text}; give it there", argument=name)
    if request.missing != "level":
        need = f"{messages.argument('missing')} must be 'level' with a profile, whose rows are gone"
        raise InputError(f"{need}; got {messages.shown(request.missing)}", argument="missing")
    if isinstance(A, Profile) and isinstance(B, Profile):
        refuse_unlike(A, B)
        return ProfilePair(A, B, names)
    if isinstance(A, Profile):
        return ProfilePair(A, profile_like(B, A, names[1]), names)
    return ProfilePair(profile_like(A, B, names[0]), B, names)


def _columns_anew(profile: Profile, seed: list[int]) -> dict[str, npt.NDArray[Any]]:
    """Columns with the counts of a profile, at most a million values each."""
    columns: dict[str, npt.NDArray[Any]] = {}
    random, factor = np.random.default_rng(seed), min(1.0, _MOST_ROWS / profile.n)
    for own, counts, missing in zip(profile.frame.numbers, profile.cells, profile.missing, strict=True):
        kept = _thinned(np.append(counts, missing), factor, random)
        values = own.values_anew(kept[:-1], random)
        columns[own.name] = random.permutation(np.concatenate([values, np.full(kept[-1], np.nan)]))
    for level, rows in zip(profile.frame.categories, profile.levels, strict=True):
        kept = _thinned(rows, factor, random)
        names = np.array([*level.levels, None, OTHER_LEVELS], dtype=object)
        columns[level.name] = random.permutation(np.repeat(names, kept))
    return columns


def _thinned(counts: npt.NDArray[np.int64], factor: float, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Counts of a random part of the rows."""
    if factor >= 1.0:
        return counts
    return random.multivariate_hypergeometric(counts, int(factor * counts.sum()), method="marginals")


def profile_test(pair: ProfilePair, count: int, seed: int) -> TwoSampleResult:
    """Whether all columns together differ."""
    frame, random = pair.a.frame, np.random.default_rng([seed, 43])
    test = block_test((pair.a.sums, pair.b.sums), frame.waves, frame.all_names, frame.layout, count, random)
    best = int(test.found.strongest[0])
    return TwoSampleResult(
        statistic=float(test.table[0, best]),
        pvalue=test.found.pvalue,
        null_distribution=test.table[1:, best],
        n_permutations=count,
        null="blocks of rows",
        strongest=test.strongest,
        tuning=f"waves of {len(frame.waves.widths)} widths, beside single columns, pairs and quadratic forms",
        sigma=float(frame.waves.widths[best]),
        lam=None,
        **_receipt(pair, seed),
    )


def profile_distance(pair: ProfilePair, seed: int) -> DistanceResult:
    """How far apart the densities of all columns are, blurred as finely as the rows of the profiles tell."""
    found = blurred_distances(pair.a.sums, pair.b.sums, pair.a.frame.waves)
    sure = [own for own in found if own.noise <= _MOST_NOISE]
    chosen = min(sure, key=lambda own: own.width) if sure else found[0]
    blocks = min(len(own.sums.rows) for own in (pair.a, pair.b))
    reach = float(stdtrit(max(1, blocks - 1), 0.5 + 0.5 * CONFIDENCE)) * chosen.error
    value = float(np.clip(chosen.normalized, 0.0, 1.0))
    low, high = max(0.0, value - reach), min(1.0, value + reach)
    unit = _volume(pair, chosen)
    note = f"the L2 distance is that of densities which the profile blurs by {chosen.width:.2g} deviations of a column"
    return DistanceResult(
        squared=value * unit,
        normalized=value,
        standard_error=chosen.error * unit,
        interval=(low * unit, high * unit),
        normalized_interval=(low, high),
        level=CONFIDENCE,
        estimates={f"width {own.width:.3g}": own.normalized for own in found},
        log_squared=float(np.log(value * unit)) if value * unit > 0 else None,
        resolution=chosen.width,
        metric="columns",
        tuning="waves of random frequencies",
        sigma=chosen.width,
        lam=None,
        **_receipt(pair, seed) | {"warnings": (note,)},
    )


def _volume(pair: ProfilePair, chosen: BlurredDistance) -> float:
    """|p|^2 + |q|^2 of the blurred densities in the user's units."""
    scales: FloatArray = np.array([own.scale for own in pair.a.frame.numbers])
    log_unit = -float(np.log(scales).sum()) - 0.5 * len(scales) * np.log(2.0 * np.pi * chosen.width**2)
    return float(max(chosen.norms, 0.0) * np.exp(np.clip(log_unit, -700.0, 700.0)))


def _receipt(pair: ProfilePair, seed: int) -> dict[str, Any]:
    return {
        "solver": "profile",
        "n_centers": None,
        "n_x": pair.a.n,
        "n_y": pair.b.n,
        "seed": seed,
        "warnings": (),
    }
