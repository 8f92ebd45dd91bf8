"""The parts of a comparison put together: columns with their total variation, and the reasons of the answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from densdiff.comparing.columns import CONFIDENCE
from densdiff.comparing.decision import find_reasons, with_missing_rate, with_missing_rates
from densdiff.comparing.findings import ColumnDifference, MissingDifference, PairDifference, RegionDifference
from densdiff.comparing.results import Comparison
from densdiff.comparing.settings import Settings
from densdiff.comparing.wording import effect_word
from densdiff.core.separation import newcombe_interval
from densdiff.data.missing import mark_name
from densdiff.data.tables import MatchedTables
from densdiff.distance.total_variation import PairVariation
from densdiff.errors import named
from densdiff.estimators.results import DistanceResult
from densdiff.testing.two_sample import TwoSampleResult


@dataclass(frozen=True)
class Found:
    """The parts of an answer."""

    distance: DistanceResult
    test: TwoSampleResult
    columns: list[ColumnDifference]
    missing: list[MissingDifference]
    adjustment: str
    variation: PairVariation
    pairs: list[PairDifference] = field(default_factory=list)
    more_pairs: int = 0
    regions: list[RegionDifference] = field(default_factory=list)
    more_regions: int = 0


def put_together(
    tables: MatchedTables, settings: Settings, found: Found, constants: list[str], notes: Sequence[str]
) -> Comparison:
    """The answer, with what each column separates and the reasons why the tables differ."""
    distance, test, missing = found.distance, found.test, found.missing
    columns = _with_variations(found.columns, found.variation, missing, tables.sizes)
    changed = [own for column in columns if column.differs for own in (column.name, mark_name(column.name))]
    total = with_missing_rates(found.variation.with_columns(changed), missing, columns, tables.sizes)
    result = Comparison(
        differ=False,
        reasons=[],
        total_variation=total,
        distance=distance,
        effect=effect_word(total.value),
        test=test,
        columns=columns,
        constants=constants,
        adjustment=found.adjustment,
        pairs=found.pairs,
        more_pairs=found.more_pairs,
        regions=found.regions,
        more_regions=found.more_regions,
        missing=missing,
        left_out=[(name, named(reason)) for name, reason in tables.left_out],
        schema_changes=tables.schema_changes,
        names=(named(tables.where[0]), named(tables.where[1])),
        alpha=settings.alpha,
        min_effect=settings.min_effect,
        sigma=test.sigma,
        lam=test.lam,
        solver=test.solver,
        n_centers=test.n_centers,
        n_x=tables.sizes[0],
        n_y=tables.sizes[1],
        seed=settings.seed,
        tuning=f"{distance.tuning}; test {test.tuning}",
        warnings=tuple(dict.fromkeys(map(named, [*tables.notes, *notes]))),
    )
    reasons = find_reasons(result)
    return replace(result, differ=bool(reasons), reasons=reasons)


def _with_variations(
    columns: list[ColumnDifference],
    variation: PairVariation,
    missing: list[MissingDifference],
    sizes: tuple[int, int],
) -> list[ColumnDifference]:
    """The columns with their total variation and missing values, those that differ first, by how much is told."""
    own, rates = variation.of_columns(variation.shared_level), {rate.name: rate for rate in missing}
    found = []
    for column in columns:
        if column.name in own:
            interval = own[column.name].bounds(column.pvalue, CONFIDENCE)
            value = own[column.name].value
            column = replace(column, total_variation=value, total_variation_interval=interval)
        elif column.differs:  # another constant in each table
            lower = newcombe_interval(1.0, 0.0, *sizes, CONFIDENCE)[0]
            column = replace(column, total_variation=1.0, total_variation_interval=(lower, 1.0))
        rate = rates.get(column.name)
        found.append(column if rate is None else with_missing_rate(column, rate, sizes, CONFIDENCE))
    return sorted(found, key=lambda column: _rank(column, is_constant=column.name not in own))


def _rank(column: ColumnDifference, is_constant: bool) -> tuple[bool, bool, float, float, float]:
    """What columns are sorted by: those that differ first, by their total variation as far as it can be told."""
    lower, value = column.total_variation_interval[0], column.total_variation
    return not column.differs, is_constant, -min(value, column.moved), -lower, column.pvalue
