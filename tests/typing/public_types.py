"""What a type checker sees of the public names; checked by mypy in `make check` and by basedpyright in `make package`.

Nothing here is run.
"""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import densdiff as dd

Floats = npt.NDArray[np.float64]


def tables(a: Any, b: Any) -> None:
    result = assert_type(dd.compare(a, b, random_state=0), dd.Comparison)
    assert_type(result.differ, bool)
    assert_type(result.columns, list[dd.ColumnDifference])
    assert_type(result.columns[0].total_variation, float)
    assert_type(result.pairs, list[dd.PairDifference])
    assert_type(result.regions, list[dd.RegionDifference])
    assert_type(result.missing, list[dd.MissingDifference])
    assert_type(result.distance, dd.DistanceResult)
    assert_type(result.to_dict(), dict[str, Any])
    assert_type(result.to_markdown(), str)
    groups = assert_type(dd.compare_by(a, b, "region"), dd.GroupsResult)
    assert_type(groups.groups, list[dd.GroupDifference])
    history = assert_type(dd.track({"June": b}, reference=a), dd.BatchesResult)
    assert_type(history.began, str | None)
    assert_type(dd.profile(a), dd.Profile)
    assert_type(dd.Profile.load("a.profile"), dd.Profile)


def samples(x: Any, y: Any) -> None:
    distance = assert_type(dd.l2_distance(x, y), dd.DistanceResult)
    assert_type(distance.interval, tuple[float, float] | None)
    assert_type(dd.total_variation(x, y).interval, tuple[float, float])
    test = assert_type(dd.two_sample_test(x, y), dd.TwoSampleResult)
    assert_type(test.pvalue, float)
    model = assert_type(dd.LSDD(random_state=0).fit(x, y), dd.LSDD)
    assert_type(model.predict(x), Floats)
    assert_type(model.confidence_band(x), dd.Band)
    assert_type(dd.ClassBalance().fit(x, y).estimate(x), dd.ClassBalanceResult)


def series(rows: Any) -> None:
    assert_type(dd.detect_changes(rows), dd.ChangesResult)
    monitor = dd.ChangeMonitor(rows)
    assert_type(monitor.update(rows[0]), dd.MonitorStep)
    assert_type(monitor.update_many(rows), list[dd.MonitorStep])
    assert_type(dd.ChangeMonitor.load("monitor.npz"), dd.ChangeMonitor)
