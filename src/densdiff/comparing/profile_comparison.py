"""A comparison in which at least one table is a profile: what rows would tell, as far as counts and sums do.

Columns are compared by values made anew from the counts of their cells, in no common order, so that the code of tables
tells of each column by itself. All columns together are compared by the sums of `testing.feature_sums`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from densdiff import messages
from densdiff.comparing.columns import CONFIDENCE
from densdiff.comparing.joint import draw_joint_rows, joint_notes
from densdiff.comparing.profile import Profile, refuse_unlike
from densdiff.comparing.profile_columns import OTHER_LEVELS
from densdiff.comparing.profile_making import profile_like
from densdiff.comparing.profile_rows import DRAFTS, features_anew
from densdiff.comparing.settings import Settings
from densdiff.core.scaling import FloatArray
from densdiff.data.match import SchemaChanges
from densdiff.data.tables import MatchedTables, Request, match_tables
from densdiff.errors import InputError
from densdiff.estimators.results import DistanceResult
from densdiff.testing.feature_sums import BlurredDistance, SumsTest, blurred_distances, sums_test
from densdiff.testing.row_features import Features
from densdiff.testing.two_sample import TwoSampleResult

LEFT_OUT = (
    "a profile has no rows: pairs of columns, regions and what all columns separate together are left out, and total "
    "variation is that of single columns"
)
_MOST_NOISE = 0.2  # relative, of the norms: at finer widths too few rows are near one another
_MOST_ROWS = 1_000_000  # of a table that columns are made anew of
_RELABELLED = 1000  # rows of a table that are relabelled
_FEWEST = 10  # rows that tell an error
_ENOUGH = 150  # of these; if there are fewer, rows made anew join them
_ANEW = 400  # rows that are made anew of a profile
_DRAFTS_OF_ERRORS = 600  # of these, where rows of a table make the null and they tell the error of the distance only


@dataclass(frozen=True)
class ProfilePair:
    """Two profiles of the same frame."""

    a: Profile
    b: Profile
    names: tuple[str, str]
    rows_a: FloatArray | None = None  # some rows of each, if it came as a table
    rows_b: FloatArray | None = None

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
        spikes = [
            own.find_spikes(a + b) for own, a, b in zip(self.a.frame.numbers, self.a.cells, self.b.cells, strict=True)
        ]
        a, b = (
            {name: column for name, column in _columns_anew(own, spikes, [seed, 41 + side]).items() if name in kinds}
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
        b, rows = profile_like(B, A, names[1], _RELABELLED)
        return ProfilePair(A, b, names, rows_b=rows)
    a, rows = profile_like(A, B, names[0], _RELABELLED)
    return ProfilePair(a, B, names, rows_a=rows)


def _columns_anew(
    profile: Profile, spikes: list[npt.NDArray[np.bool_]], seed: list[int]
) -> dict[str, npt.NDArray[Any]]:
    """Columns with the counts of a profile, at most a million values each."""
    columns: dict[str, npt.NDArray[Any]] = {}
    random, factor = np.random.default_rng(seed), min(1.0, _MOST_ROWS / profile.n)
    for own, counts, stands_out, missing in zip(
        profile.frame.numbers, profile.cells, spikes, profile.missing, strict=True
    ):
        kept = _thinned(np.append(counts, missing), factor, random)
        values = own.values_anew(kept[:-1], stands_out, random)
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


def compare_profiles_together(
    pair: ProfilePair, tables: MatchedTables, settings: Settings
) -> tuple[DistanceResult, TwoSampleResult, list[str]]:
    """The distance and the test of all columns, with notes; of one column by its values made anew, as of a table."""
    if len(pair.a.names) == 1:
        joint = draw_joint_rows(tables, settings.seed)
        distance, test = joint.distance(settings.seed), joint.test(settings.seed, settings.permutations)
        return distance, test, [*joint_notes(tables, distance, test), *joint.notes]
    by_sums = JointProfiles.of(pair, settings.permutations, settings.seed)
    distance = by_sums.distance()
    return distance, by_sums.test_result(), list(distance.warnings)


@dataclass(frozen=True)
class JointProfiles:
    """Two profiles whose columns are compared all together, with features of some rows of each, (k, F)."""

    pair: ProfilePair
    some: tuple[Features, Features]
    test: SumsTest
    seed: int

    @classmethod
    def of(cls, pair: ProfilePair, count: int, seed: int) -> "JointProfiles":
        """By so many draws of the null."""
        frame, random = pair.a.frame, np.random.default_rng([seed, 43])
        known = pair.rows_a, pair.rows_b
        is_enough = sum(len(rows) for rows in known if rows is not None) >= _ENOUGH
        drafts = _DRAFTS_OF_ERRORS if is_enough else DRAFTS
        some = [_features(own, rows, random, drafts) for own, rows in zip((pair.a, pair.b), known, strict=True)]
        real = [features for features, rows in zip(some, known, strict=True) if rows is not None]
        test = sums_test(
            (pair.a.sums, pair.b.sums),
            np.vstack(real if is_enough else some),
            *(frame.waves, frame.all_names, frame.layout, count, random),
        )
        return cls(pair, (some[0], some[1]), test, seed)

    def test_result(self) -> TwoSampleResult:
        """Whether all columns together differ."""
        frame, test = self.pair.a.frame, self.test
        best, count = int(test.found.strongest[0]), len(test.table) - 1
        return TwoSampleResult(
            statistic=float(test.table[0, best]),
            pvalue=test.found.pvalue,
            null_distribution=test.table[1:, best],
            n_permutations=count,
            null="sums of features",
            strongest=test.strongest,
            tuning=f"waves of {len(frame.waves.widths)} widths, beside single columns, pairs and quadratic forms",
            sigma=float(frame.waves.widths[best]),
            lam=None,
            **self._receipt(),
        )

    def blurred(self) -> list[BlurredDistance]:
        """The normalized distance at every width."""
        waves = self.pair.a.frame.waves
        variance = self.test.noise_of_kernels(waves.gaussians)
        return blurred_distances((self.pair.a.sums, self.pair.b.sums), self.some, waves, variance)

    def distance(self) -> DistanceResult:
        """How far apart the densities of all columns are, blurred as finely as the rows of the profiles tell."""
        pair, found = self.pair, self.blurred()
        sure = [own for own in found if own.noise <= _MOST_NOISE]
        chosen = min(sure, key=lambda own: own.width) if sure else found[0]
        error = chosen.error if min(pair.a.n, pair.b.n) >= _FEWEST else 1.0
        reach = float(ndtri(0.5 + 0.5 * CONFIDENCE)) * error
        value = float(np.clip(chosen.normalized, 0.0, 1.0))
        low, high = max(0.0, value - reach), min(1.0, value + reach)
        unit = _volume(pair, chosen)
        note = "the L2 distance is that of densities which the profile blurs by"
        return DistanceResult(
            squared=value * unit,
            normalized=value,
            standard_error=error * unit,
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
            **self._receipt() | {"warnings": (f"{note} {chosen.width:.2g} deviations of a column",)},
        )

    def _receipt(self) -> dict[str, Any]:
        sizes = {"n_x": self.pair.a.n, "n_y": self.pair.b.n}
        return {"solver": "profile", "n_centers": None, **sizes, "seed": self.seed, "warnings": ()}


def _features(profile: Profile, rows: FloatArray | None, random: np.random.Generator, drafts: int) -> Features:
    """The features of rows of a table, or of rows made anew of its profile, (k, F)."""
    if rows is None:
        return features_anew(profile, min(profile.n, _ANEW), random, drafts)
    return np.vstack([*profile.frame.feature_rows(rows)])


def _volume(pair: ProfilePair, chosen: BlurredDistance) -> float:
    """|p|^2 + |q|^2 of the blurred densities in the user's units."""
    scales: FloatArray = np.array([own.scale for own in pair.a.frame.numbers])
    log_unit = -float(np.log(scales).sum()) - 0.5 * len(scales) * np.log(2.0 * np.pi * chosen.width**2)
    return float(max(chosen.norms, 0.0) * np.exp(np.clip(log_unit, -700.0, 700.0)))
