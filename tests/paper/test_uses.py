"""Figures 7 to 12 of the paper: verdicts that turn when the numbers do, and tiny runs."""

import json
from pathlib import Path

import numpy as np
import pytest

import densdiff as dd
from paper import balance, changes, drawings, reproduction, sequences, testing

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there")
PARTS = {part.figure: part for home in (testing, drawings, balance, changes) for part in home.PARTS}
LSDD, KLIEP = testing.METHODS[:2]


UNMET = ("does not hold", "undecided")


def holds(figure, rows):
    """Verdicts in order; each that does not hold, or cannot be told, comes with a reason and each other without."""
    claims = PARTS[figure].claims(rows)
    assert all(claim.figure == figure and bool(claim.reason) == (claim.verdict in UNMET) for claim in claims)
    return [claim.holds for claim in claims]


@pytest.fixture
def offline(monkeypatch):
    """OpenML is never asked."""

    def refused(name):
        raise OSError("no network")

    balance._reachable.cache_clear()
    monkeypatch.setattr(balance, "_fetched", refused)
    yield
    balance._reachable.cache_clear()


def test_every_figure_has_its_part():
    assert sorted(PARTS, key=int) == ["7", "8", "9", "10", "11", "12"]
    assert all(reproduction.PARTS[figure] is part for figure, part in PARTS.items())


@pytest.mark.parametrize(("figure", "count"), [("7", 2), ("8", 3), ("9", 0), ("10", 2), ("11", 0), ("12", 2)])
def test_without_rows_nothing_is_said_to_hold(figure, count):
    assert holds(figure, []) == [None] * count


# -- rejection rates -------------------------------------------------------------------------------------------------


def rejections(figure, runs=100, **rates):
    """Rows of a run in which LSDD and KLIEP rejected at the rates given, from p-values on."""
    cells = len(testing._CELLS[figure])
    given = {LSDD: rates["lsdd"], KLIEP: rates["kliep"], "LSDD (pooled)": [0.5] * cells, "LSDD": [0.5] * cells}
    results = [
        [{name: 0.05 if run < round(runs * rate[k]) else 0.06 for name, rate in given.items()} for k in range(cells)]
        for run in range(runs)
    ]
    return PARTS[figure].table(results)


FLAT, RISING = [0.1, 0.1, 0.12, 0.11, 0.1, 0.13], [0.1, 0.2, 0.5, 0.8, 0.9, 1.0]


@pytest.mark.parametrize(
    ("lsdd", "kliep", "expected"),
    [(FLAT, RISING, [True, True]), (RISING, RISING, [True, False]), (FLAT, FLAT, [False, True])],
)
def test_verdicts_on_the_outlier_mean_turn(lsdd, kliep, expected):
    assert holds("7", rejections("7", lsdd=lsdd, kliep=kliep)) == expected
    few = [None if held is False and k == 0 else held for k, held in enumerate(expected)]
    assert holds("7", rejections("7", runs=99, lsdd=lsdd, kliep=kliep)) == few  # more runs might show a rise


LATE = [0.04, 0.06, 0.1, 0.3, 0.6, 0.8, 0.95, 1.0]
EARLY = [0.05, 0.4, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("lsdd", "kliep", "expected"),
    [
        (LATE, EARLY, [True, True, True]),
        ([0.2, *LATE[1:]], EARLY, [False, True, True]),
        (LATE, [0.3, *EARLY[1:]], [False, True, True]),
        (EARLY, EARLY, [True, False, True]),
        (LATE, LATE, [True, False, True]),
        ([*LATE[:6], 0.6, 0.6], EARLY, [True, True, False]),
        ([*LATE[:6], 0.1, 0.1], [*EARLY[:6], 0.1, 0.1], [True, True, False]),
    ],
)
def test_verdicts_on_the_outlier_rate_turn(lsdd, kliep, expected):
    assert holds("8", rejections("8", lsdd=lsdd, kliep=kliep)) == expected


def test_rejections_are_counted_and_their_permutations_told():
    rows = rejections("7", runs=10, lsdd=[0.0, 0.1, 0.2, 0.3, 0.4, 1.0], kliep=[1.0] * 6)
    assert [row["rejected"] for row in rows if row["method"] == LSDD] == [0, 1, 2, 3, 4, 10]
    assert {row["permutations"] for row in rows if row["method"] == KLIEP} == {39}
    full = rejections("7", lsdd=FLAT, kliep=RISING)
    assert {row["method"]: row["permutations"] for row in full}[LSDD] == 999
    assert "999 permutations" in PARTS["7"].claims(full)[1].measured
    assert len(PARTS["7"].draw(full).axes[0].containers) == len(testing.METHODS)


def test_a_run_tests_every_cell_by_every_method():
    (found,) = testing.one_run([(10.0, 0.35)], (39, 19), 3)
    assert found == {LSDD: 1 / 40, KLIEP: 1 / 20, "LSDD (pooled)": 1 / 40, "LSDD": 1 / 40}
    first = PARTS["8"].jobs(2, None)[0]
    assert first.arguments[:2] == (testing._CELLS["8"], (99, 39))


# -- drawings --------------------------------------------------------------------------------------------------------


def test_the_matched_mixture_has_the_smallest_distance():
    rows = drawings.mixture(0)
    shares, distances = drawings._line(rows, "distance", "share")
    (estimate,), _ = drawings._line(rows, "estimate", "share")
    assert abs(shares[int(np.argmin(distances))] - estimate) <= 0.5 * (shares[1] - shares[0]) + 1e-9
    assert abs(estimate - 0.7) < 0.1
    for name in ("y = +1", "y = -1", "new rows", "matched mixture"):
        assert np.trapezoid(*drawings._line(rows, "density", name)[::-1]) == pytest.approx(1.0, abs=0.01)
    assert len(PARTS["9"].draw(rows).axes) == 3


def test_the_score_of_the_drawn_segments_peaks_at_the_change():
    rows = drawings.sliding(0)
    scored = {row["t"]: row["score"] for row in rows if row["score"] is not None}
    assert abs(max(scored, key=scored.get) - 120) <= 5
    assert len(PARTS["11"].draw(rows).axes) == 2


# -- class balance ---------------------------------------------------------------------------------------------------


def balances(lsdd, kde, runs=20):
    """Results of jobs in which squared error and misclassification of both methods scatter around what is given."""
    noise = np.random.default_rng(0).normal(0.0, 0.01, (len(balance.OPENML), runs, 9, 2))

    def cell(scatter):
        return {"LSDD (paper)": [*(lsdd + scatter)], "LSDD": [*(lsdd + scatter)], "KDE": [*(kde - scatter)]}

    return [
        {"data": name, "runs": [[cell(prior) for prior in run] for run in noise[k]]}
        for k, name in enumerate(balance.OPENML)
    ]


@pytest.mark.parametrize(
    ("lsdd", "kde", "expected"),
    [
        ((0.02, 0.2), (0.04, 0.25), [True, True]),
        ((0.04, 0.2), (0.02, 0.25), [False, True]),
        ((0.02, 0.25), (0.04, 0.2), [True, False]),
        ((0.02, 0.2), (0.02, 0.2), [None, None]),
    ],
)
def test_verdicts_on_the_balance_turn(lsdd, kde, expected):
    rows = PARTS["10"].table(balances(np.array(lsdd), np.array(kde)))
    assert len(rows) == 4 * 9 * 3
    assert holds("10", rows) == expected


def write_classes(folder, names=tuple(balance.OPENML), classes=2):
    """Sets whose classes are ten deviations apart."""
    (folder / "class_balance").mkdir()
    y = np.repeat(np.arange(classes), 80)
    rows = np.random.default_rng(0).normal(10.0 * y[:, None], 1.0, (len(y), 2))
    lines = ["a,b,label", *(f"{a},{b},c{label}" for (a, b), label in zip(rows.tolist(), y, strict=True))]
    for name in names:
        (folder / "class_balance" / f"{name}.csv").write_text("\n".join(lines))


def test_classes_far_apart_are_balanced_and_classified_without_error(tmp_path):
    write_classes(tmp_path)
    found = balance.some_runs("heart", str(tmp_path / "class_balance"), 1, 0)
    cells = found["runs"][0]
    assert len(cells) == 9
    assert max(cell["LSDD"][0] for cell in cells) < 0.02**2  # one row of the fifty
    assert max(cell[method][1] for cell in cells for method in balance.METHODS) == 0.0


def test_a_set_that_is_not_there_is_named_and_left_out(tmp_path):
    write_classes(tmp_path, ["heart", "german"])
    part = PARTS["10"]
    assert [(job.key, job.arguments[2]) for job in part.jobs(12, tmp_path)] == [
        ("10-german-0", 10),
        ("10-german-10", 2),
        ("10-heart-0", 10),
        ("10-heart-10", 2),
    ]
    assert part.missing(tmp_path).startswith("No data for australian, diabetes: give --data a folder")
    rows = part.table(balances(0.2, 0.3)[3:])
    assert {row["data"] for row in rows} == {"heart"}
    assert len(part.draw(rows).axes) == 2


def test_a_set_with_other_classes_is_refused(tmp_path):
    write_classes(tmp_path, ["heart"], classes=3)
    with pytest.raises(dd.InputError, match="heart has 240 rows of 3 classes; two of at least 65 are needed"):
        balance.read("heart", str(tmp_path / "class_balance"))


def test_openml_is_asked_only_without_a_folder(tmp_path, monkeypatch, offline):
    part = PARTS["10"]
    assert part.jobs(2, None) == []
    assert "australian, diabetes, german, heart" in part.missing(None)
    write_classes(tmp_path)
    assert len(part.jobs(2, tmp_path)) == 4
    rows, codes = balance.read("heart", str(tmp_path / "class_balance"))
    balance._reachable.cache_clear()
    monkeypatch.setattr(balance, "_fetched", lambda name: (rows, np.array(["no", "yes"])[codes]))
    assert [job.arguments[:2] for job in part.jobs(2, None)] == [(name, None) for name in balance.OPENML]
    assert part.missing(None) == ""
    np.testing.assert_array_equal(balance.read("german", None)[1], codes)


@needs_data
def test_a_tiny_run_on_the_papers_sets():
    part = PARTS["10"]
    assert part.missing(DATA) == ""
    jobs = part.jobs(1, DATA)
    assert [job.arguments[0] for job in jobs] == list(balance.OPENML)
    name, folder, _, _ = jobs[-1].arguments
    found = json.loads(json.dumps(balance.some_runs(name, folder, 2, 0)))
    rows = part.table([found])
    assert len(rows) == 27
    for method in balance.METHODS:  # a share of a half for all would have 0.0667
        assert np.mean([row["squared_error"] for row in rows if row["method"] == method]) < 0.0667
    assert [claim.verdict for claim in part.claims(rows)].count("not measured") == 0


# -- changes ---------------------------------------------------------------------------------------------------------

TRUE = (200, 400)


def scores(good):
    """30 at the changes and at most 3 elsewhere; or a score that is highest where nothing changes."""
    t, at = np.arange(600), TRUE if good else (100, 300)
    far = np.abs(t[:, None] - at).min(axis=1)
    return np.where(far <= 20, 30.0 - 0.1 * far, 1.0 + t % 3)


def scored(kliep, lsdd, kinds=(changes.SPEECH, changes.ACCELERATION)):
    results = []
    for kind in kinds:
        results.append({"data": kind, "sequence": "one", "values": [0.0] * 600, "changes": list(TRUE)})
        for score in (kliep, lsdd, lsdd, lsdd):
            there = [None if not 50 <= t < 550 else float(value) for t, value in enumerate(score)]
            results.append({"scores": there, "found": [190, 390]})
    return PARTS["12"].table(results)


@pytest.mark.parametrize(("kliep", "lsdd", "expected"), [(False, True, True), (True, False, False)])
def test_verdicts_on_changes_turn(kliep, lsdd, expected):
    assert holds("12", scored(scores(kliep), scores(lsdd))) == [expected, expected]
    assert holds("12", scored(scores(kliep), scores(lsdd), [changes.SPEECH])) == [expected, None]


def test_a_clear_score_that_peaks_elsewhere_does_not_hold():
    """More contrast at the changes and a smaller F1, because of one spike."""
    spiked = scores(True)
    spiked[[100, 300, 500]] = 100.0
    rows = scored(scores(True) * np.where(scores(True) > 5, 0.5, 1.0), spiked)
    assert holds("12", rows) == [False, False]


def test_measures_of_a_known_score():
    found = changes.measured(scored(scores(False), scores(True)), changes.SPEECH, "LSDD (authors)")
    assert found == pytest.approx(changes.Measured(contrast=30 / 3, noise=3 / 30, f1=1.0, delay=0.0))
    default = changes.measured(scored(scores(False), scores(True)), changes.SPEECH, "LSDD")
    assert (default.f1, default.delay) == (1.0, 10.0)
    wrong = changes.measured(scored(scores(False), scores(True)), changes.SPEECH, "KLIEP")
    assert wrong == pytest.approx(changes.Measured(contrast=3 / 30, noise=30 / 3, f1=0.0, delay=100.0), rel=0.1)


def test_a_sequence_without_changes_or_elsewhere_is_not_measured():
    rows = [row | {"change": 0} for row in scored(scores(True), scores(True))]
    assert holds("12", rows) == [None, None]
    rows = [row | {"change": int(row["t"] % 50 == 0)} for row in scored(scores(True), scores(True))]
    assert holds("12", rows) == [None, None]


@pytest.mark.parametrize("method", ["KLIEP", "LSDD (authors)"])
def test_fitted_scores_compare_the_segments_around_a_sample(method):
    values = np.random.default_rng(0).normal(np.where(np.arange(130) < 65, 0.0, 3.0), 1.0)
    found = changes.fitted_scores(values, method, 0, stride=13)
    assert np.flatnonzero(~np.isnan(found)).tolist() == [52, 65, 78]
    subsequences = np.array([[values[t + k] for k in range(5)] for t in range(126)])
    before, after = subsequences[13:63], subsequences[63:113]
    if method == "KLIEP":
        expected = dd.KLIEP(standardize=False, random_state=0).fit(after, before).kl_divergence_
    else:
        model = changes.authors_lsdd(after, before, 0)
        expected = model.l2_distance().estimates["regularization_corrected"]
    assert found[65] == pytest.approx(expected, rel=1e-9)


def write_series(folder, source, name="paperlike_a"):
    """A series of noise whose mean rises at 115, as the files of a source are."""
    home = folder / "changes" / source.folders.replace("*", "_toy")
    home.mkdir(parents=True)
    values = np.random.default_rng(1).normal(np.where(np.arange(230) < 115, 0.0, 2.0), 1.0)
    (home / f"{name}{source.end}.csv").write_text("\n".join(["value", *map(str, values)]))
    labels = {name: {source.label: [115]}, "absent": {source.label: [1]}, "other": {}}
    (home / "labels.json").write_text(json.dumps(labels))


def test_the_whole_figure_from_a_folder(tmp_path):
    source = changes.SOURCES[changes.ACCELERATION]
    assert PARTS["12"].missing(None).startswith("No data for speech and acceleration: give --data a folder")
    write_series(tmp_path, source)
    missing = PARTS["12"].missing(tmp_path)
    assert "CENSREC" in missing
    assert "HASC" not in missing
    page = reproduction.reproduce(tmp_path / "out", "12", runs=2, data=tmp_path, processes=1)
    assert missing.split(":")[0] in page.read_text("utf-8")
    lines = (tmp_path / "out" / "figure-12.csv").read_text().splitlines()
    assert lines[0] == "data,sequence,t,value,change,found,KLIEP,LSDD (authors),LSDD (window),LSDD"
    assert len(lines) == 231
    cells = [line.split(",") for line in lines[1:]]
    assert [int(row[2]) for row in cells if row[4] == "1"] == [115]
    (found,) = [int(row[2]) for row in cells if row[5] == "1"]
    assert abs(found - 115) <= 5


def test_a_series_of_several_columns_is_refused(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(dd.InputError, match="must have one column of numbers below a header"):
        changes.one_sequence(changes.SPEECH, str(path), [1], 0.0, "LSDD", 0)


def test_speech_is_its_wave_and_a_clean_recording_is_also_heard_in_noise(tmp_path):
    source = changes.SOURCES[changes.SPEECH]
    home = tmp_path / "changes" / "censrec_toy"
    home.mkdir(parents=True)
    rate, wave = source.every, np.sin(np.arange(2400.0)) * np.where(np.arange(2400) // 800 == 1, 0.5, 0.001)
    for name in ("a_clean", "a_loud"):
        (home / f"{name}{source.end}.csv").write_text("\n".join(["value", *map(str, wave)]))
    labels = {name: {source.label: [[800 // rate, 1600 // rate]]} for name in ("a_clean", "a_loud")}
    (home / "labels.json").write_text(json.dumps(labels))
    found = sequences.find_sequences(changes.SPEECH, tmp_path)
    assert list(found) == ["a_clean", "a_loud", "a_clean_in_noise"]
    plain, loud = (
        sequences.read_sequence(changes.SPEECH, str(of.path), of.changes, of.noise)
        for of in (found["a_clean"], found["a_clean_in_noise"])
    )
    np.testing.assert_allclose(plain, wave[::rate] / np.abs(wave[::rate]).max())
    assert np.abs(loud).max() == 1.0
    pause, spoken = loud[: 800 // rate].std(), loud[800 // rate : 1600 // rate].std()
    assert pause / spoken == pytest.approx(0.3 / np.sqrt(1 + 0.3**2), rel=0.3)  # four standard errors of 100 samples


@needs_data
def test_the_series_of_the_shared_folder_are_found():
    part = PARTS["12"]
    assert part.missing(DATA) == ""
    jobs = part.jobs(2, DATA)
    assert len({job.key for job in jobs}) == len(jobs) == 2 * 2 * (1 + len(changes.METHODS))
    described = [job.work(*job.arguments) for job in jobs if job.work is changes._described]
    assert [(each["data"], len(each["changes"])) for each in described] == [("speech", 20)] * 2 + [
        ("acceleration", 4)
    ] * 2
    for each in described:
        assert max(each["changes"]) < len(each["values"])
