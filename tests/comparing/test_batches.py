"""Many batches against a reference: which differ, since when, and how a history goes on."""

import json
from dataclasses import replace

import numpy as np
import pytest

import densdiff as dd
from densdiff.comparing.batch_dates import date_changes
from densdiff.comparing.batch_evidence import profile_tails
from densdiff.comparing.batch_labels import label_paths
from densdiff.comparing.batch_results import BatchColumn, BatchDifference
from densdiff.comparing.profile_comparison import pair_profiles
from densdiff.data.tables import Request
from densdiff.testing.sequential import error_share

SETTINGS = {"n_permutations": 39, "random_state": 1}
CHANGE = 4


def rows(place, shift=0.0, n=80):
    random = np.random.default_rng([7, place])
    return {"age": random.normal(size=n), "spend": random.normal(size=n) + shift}


DAYS = {f"2026-03-{k + 1:02d}": rows(k, 1.5 * (k >= CHANGE)) for k in range(6)}
LABELS = list(DAYS)
SINCE = LABELS[CHANGE]


@pytest.fixture(scope="module")
def found():
    return dd.track(DAYS, **SETTINGS)


class Once(dict):
    """Tables that count how often each is asked for."""

    def __init__(self, tables):
        super().__init__(tables)
        self.asked = []

    def __getitem__(self, label):
        self.asked.append(label)
        return super().__getitem__(label)


def some(*places):
    return {LABELS[k]: DAYS[LABELS[k]] for k in places}


def test_a_change_is_found_named_and_dated(found):
    assert [batch.label for batch in found.changed] == LABELS[CHANGE:]
    assert (found.differ, found.began, found.present) == (True, SINCE, ["spend"])
    assert found.changed[0].columns == ("spend",)
    assert found.answer == f"2 of 5 batches differ; since {SINCE}, most in spend"


def test_the_first_batch_is_listed_without_numbers(found):
    first, second = found.batches[:2]
    assert (first.n, first.is_compared, first.pvalue_adjusted) == (80, False, None)
    assert second.is_compared
    assert found.columns[0].total_variation[0] is None
    assert "no reference yet" in str(found)


def test_every_column_has_an_entry_for_every_batch(found):
    for column in found.columns:
        for values in (column.total_variation, column.distance, column.pvalue_adjusted):
            assert len(values) == len(found.batches)


def test_pvalues_pay_their_share_of_the_error(found):
    for look, batch in enumerate(found.compared, start=1):
        assert batch.pvalue_adjusted == min(1.0, batch.pvalue / error_share(look))
        assert batch.pvalue_adjusted <= min(p[look] for p in (c.pvalue_adjusted for c in found.columns))


def test_a_history_goes_on_as_if_all_batches_had_come_at_once(found):
    before = dd.track(some(0, 1, 2), **SETTINGS)
    tables = Once(DAYS)
    after = dd.track(tables, history=before, n_permutations=39)
    assert after.to_dict() == found.to_dict()
    assert tables.asked == LABELS[3:]


def test_a_saved_history_goes_on_and_reads_the_reference_again(found):
    before = dd.BatchesResult.from_json(dd.track(some(0, 1, 2), **SETTINGS).to_json())
    tables = Once(DAYS)
    after = dd.track(tables, history=before, n_permutations=39)
    assert after.to_dict() == found.to_dict()
    assert tables.asked == [LABELS[0], *LABELS[3:]]


def test_a_saved_history_says_which_batches_it_needs_again(found):
    before = dd.BatchesResult.from_json(found.to_json())
    with pytest.raises(dd.InputError, match=f"the batch '{LABELS[0]}' of the history must be given again"):
        dd.track({"new": rows(9)}, history=before, **SETTINGS)


def test_a_history_of_known_batches_only_compares_nothing(found):
    tables = Once(DAYS)
    assert dd.track(tables, history=found, n_permutations=39).to_dict() == found.to_dict()
    assert tables.asked == []


def test_json_holds_everything(found):
    again = dd.BatchesResult.from_json(found.to_json())
    assert again.to_dict() == found.to_dict()
    printed = json.dumps({"schema": 1, "command": "track"} | found.to_dict())
    assert dd.BatchesResult.from_json(printed).batches == found.batches


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"batches": [{"novel": 1}], "columns": []}', "5"])
def test_text_that_is_no_history_is_refused_in_one_sentence(text):
    with pytest.raises(dd.InputError, match=r"^history must be the JSON of a BatchesResult[^\n]*; got [^\n]+$"):
        dd.BatchesResult.from_json(text)


def test_the_batch_before_shows_a_change_once():
    found = dd.track(some(2, 3, 4, 5), reference="previous", **SETTINGS)
    assert [batch.label for batch in found.changed] == [SINCE]
    assert found.began == SINCE


def test_a_window_of_batches_shows_a_change_until_it_is_full_of_it(found):
    rolling = dd.track(some(1, 2, 3, 4), reference=2, **SETTINGS)
    assert [batch.is_compared for batch in rolling.batches] == [False, False, True, True]
    assert rolling.batches[-1].n_reference == 160
    assert (rolling.began, rolling.reference) == (SINCE, "last 2 batches")


def test_profiles_stand_for_the_reference_and_for_batches(tmp_path):
    reference = dd.profile(rows(0, n=400), random_state=0)
    reference.save(tmp_path / "may.profile")
    days = {str(k): rows(k, 0.8 * (k >= 3), n=400) for k in range(1, 5)}
    found = dd.track(days, reference=tmp_path / "may.profile", **SETTINGS)
    assert (found.began, found.present, found.reference) == ("3", ["spend"], "may.profile")
    profiles = {label: dd.profile(table, like=reference) for label, table in days.items()}
    rolling = dd.track(profiles, reference=2, **SETTINGS)
    assert [batch.n_reference for batch in rolling.batches] == [None, None, 800, 800]
    assert rolling.began == "3"


def test_a_big_day_is_as_far_off_by_sets_of_the_reference_as_a_small_one():
    days = {str(n): rows(n, 0.8, n=n) for n in (400, 8000)}
    for reference in (rows(0, n=2000), dd.profile(rows(0, n=2000), random_state=0)):
        small, big = dd.track(days, reference=reference, **SETTINGS).batches
        assert big.frozen_variation == pytest.approx(0.31, abs=0.05)  # of two normals 0.8 deviations apart
        assert small.frozen_variation == pytest.approx(big.frozen_variation, abs=0.08)
        assert small.frozen_interval[0] <= big.frozen_variation <= small.frozen_interval[1]


def test_a_profile_sees_a_change_of_two_columns_together_without_a_floor():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 1000))
    reference = dd.profile({"x": x, "y": y}, random_state=0)
    same = pair_profiles(reference, {"x": y, "y": x}, ("A", "B"), Request())
    assert profile_tails(same).pairs > 0.05
    tied = pair_profiles(reference, {"x": x, "y": 0.6 * x + 0.8 * y}, ("A", "B"), Request())
    assert profile_tails(tied).pairs < 1e-6
    assert min(profile_tails(tied).columns.values()) > 0.001


def test_levels_that_were_rare_in_a_profile_raise_no_alarm():
    def words(seed):
        return {"word": [f"w{k}" for k in np.random.default_rng(seed).integers(0, 300, 1000)]}

    reference = dd.profile(words(0), random_state=0)
    pair = pair_profiles(reference, words(1), ("A", "B"), Request())
    assert profile_tails(pair).columns["word"] > 0.05


def test_columns_that_come_and_go_are_a_difference_and_leave_gaps():
    other = rows(9) | {"new": np.arange(80) % 3.0}
    with pytest.warns(dd.DensDiffWarning, match="new"):
        found = dd.track([("a", rows(0)), ("b", other)], reference=rows(1), **SETTINGS)
    assert [batch.differs for batch in found.batches] == [False, True]
    assert found.batches[1].schema == ("column new is only in b",)
    assert "new" not in [column.name for column in found.columns]


def test_an_effect_too_small_to_count_is_no_difference():
    found = dd.track(some(CHANGE), reference=DAYS[LABELS[0]], min_effect=0.9, **SETTINGS)
    assert (found.differ, found.batches[0].pvalue_adjusted, found.batches[0].columns) == (False, 1.0, ())


@pytest.mark.parametrize(
    ("batches", "settings", "message"),
    [
        ([], {}, "batches must be a mapping .*; got none"),
        (5, {}, "batches must be a mapping .*; got 5"),
        ([("a", rows(0)), rows(1)], {}, "batches must be .*; got an object of type dict among them"),
        ([("a", rows(0)), ("a", rows(1))], {}, "batches have the label 'a' twice; each needs its own"),
        ({"a": rows(0)}, {"reference": 0}, "reference must be a whole number, at least 1; got 0"),
        ({"a": rows(0)}, {"history": "x.json"}, "history must be what track returned, or .*; got 'x.json'"),
        ({"a": rows(0), "b": {"age": [1.0]}}, {}, "batch 'b': b has 1 data row; each table needs at least 2"),
    ],
)
def test_what_cannot_be_tracked_is_refused(batches, settings, message):
    with pytest.raises(dd.InputError, match=f"^{message}$"):
        dd.track(batches, **SETTINGS | settings)


def test_a_history_of_another_level_is_refused(found):
    with pytest.raises(dd.InputError, match=r"history was made with alpha 0.05, and alpha is now 0.01; give the same"):
        dd.track(DAYS, history=found, alpha=0.01)


def test_paths_are_labelled_by_what_tells_them_apart():
    assert [label for label, _ in label_paths(["x/a.csv", "x/b.csv"])] == ["a", "b"]
    assert [label for label, _ in label_paths(["x/a.csv", "x/a.npy"])] == ["a.csv", "a.npy"]
    assert [label for label, _ in label_paths(["x/a.csv", "y/a.csv"])] == ["x/a.csv", "y/a.csv"]


def history_of(distances, alarms, sizes=None):
    """Batches with one column 'c' of such distances, of which some are found to differ."""
    sizes = sizes or [2000] * len(distances)
    batches = [
        BatchDifference(str(k), n, 2000, 0.1, (0.0, 1.0), distance, (0.0, 1.0), 0.5, 0.5, k in alarms, ("c",))
        for k, (distance, n) in enumerate(zip(distances, sizes, strict=True))
    ]
    pvalues = [0.0 if k in alarms else 1.0 for k in range(len(distances))]
    return batches, [BatchColumn("c", [0.1] * len(distances), list(distances), pvalues)]


@pytest.mark.parametrize(
    ("distances", "alarms", "is_moving", "began"),
    [
        ([0.0] * 10 + [0.06] * 5, set(range(10, 15)), False, "10"),
        ([0.0] * 10 + [0.01] * 20, {25, 28}, False, "10"),  # small: found late, dated well
        ([0.0] * 10 + [0.06] + [0.0] * 5, {10}, False, None),  # over
        ([0.0] * 10 + [0.06] + [0.0] * 5, {10}, True, "10"),  # taken in by the reference
        ([0.06] * 6, set(range(6)), False, "0"),
        ([0.0] * 10 + [0.06] * 5 + [0.3] * 5, set(range(10, 20)), False, "10"),  # and grew
        ([0.0] * 20, set(), False, None),
        ([0.0] * 19 + [0.0001], {19}, False, "19"),  # no step: the batch itself
        ([0.05], {0}, False, "0"),
        ([0.0, 0.01, 0.3, 0.1], {2, 3}, True, "2"),
    ],
)
def test_the_date_is_that_of_the_step_and_not_of_the_first_alarm(distances, alarms, is_moving, began):
    batches, columns = history_of(distances, alarms)
    dated, since = date_changes(batches, columns, 0.05, is_moving)
    assert (since, dated[0].began) == (began, began)


def test_batches_that_all_differ_have_one_date_though_columns_take_turns():
    batches, columns = history_of([0.0, 0.0, 0.3, 0.0, 0.3, 0.3], {2, 4, 5})
    turns = [replace(batch, differs=k >= 2) for k, batch in enumerate(batches)]
    dated, since = date_changes(turns, columns, 0.05, False)
    assert (since, dated[0].began) == ("2", "4")


def test_a_small_noisy_batch_moves_no_date():
    batches, columns = history_of([0.0, 0.0, 0.05, 0.0, 0.0, 0.06, 0.06], {5, 6}, [2000, 2000, 20] + [2000] * 4)
    assert date_changes(batches, columns, 0.05, False)[1] == "5"


def test_a_big_day_is_no_drift():
    """Neither the distance, which is unbiased at any size, nor the lower limit grows with the number of rows."""
    sizes = [300, 300, 20_000, 300]
    days = [(str(k), rows(50 + k, n=n)) for k, n in enumerate(sizes)]
    found = dd.track(days, reference=rows(49, n=2000), columns=["age"], **SETTINGS)
    assert not found.differ
    usual = max(batch.distance for batch in found.batches if batch.n == 300)
    assert found.batches[2].distance <= usual + 0.002
    assert [batch.interval[0] for batch in found.batches] == [0.0] * 4


def test_texts_and_tables_say_the_same(found):
    frame = found.to_frame()
    assert frame.loc[frame["differs"], "batch"].tolist() == LABELS[CHANGE:]
    assert np.isnan(frame["total_variation"][0])
    assert len(found.to_markdown().splitlines()) <= 30
    assert found.answer in found.to_markdown()
    assert f"<b>{found.answer}</b>" in found._repr_html_()
    assert repr(found) == "<BatchesResult: 2 of 5 batches differ>"


def test_pictures_show_all_batches(found):
    assert found.plot().get_xlim() == found.plot_columns().get_xlim() == (-0.5, 5.5)
    for draw in (dd.plots.plot_batches, dd.plots.plot_batch_columns):
        with pytest.raises(dd.InputError, match="draws what track returns; got int"):
            draw(5)


def test_a_page_shows_all_batches_and_escapes_their_labels(found, tmp_path):
    page = found.to_html(tmp_path / "page.html").read_text("utf-8")
    assert page.count("<svg") == 2
    assert all(label in page for label in LABELS)
    wild = dd.track({"<script>": rows(0)}, reference=rows(1), columns=["age"], **SETTINGS)
    assert "<script>" not in wild.to_html(tmp_path / "wild.html").read_text("utf-8")


def test_a_result_without_a_comparison_has_texts_and_a_page(tmp_path):
    found = dd.track({"only": rows(0)}, **SETTINGS)
    assert found.answer == "No batch was compared: 1 batch and no reference before it"
    assert found.answer in found.to_html(tmp_path / "page.html").read_text("utf-8")
    found.plot(), found.plot_columns(), found.to_frame(), found.to_markdown()
