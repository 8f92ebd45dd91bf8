"""The paper as a run: resumed, chosen, with data missing; and verdicts that turn when the numbers do."""

import csv
import html
import json
import re

import numpy as np
import pytest
from scipy import linalg
from threadpoolctl import threadpool_info

import densdiff as dd
from paper import page as pages
from paper import reproduction
from paper.authors import LAMBDAS, SIGMAS, authors_distance, authors_lsdd
from paper.canvas import new_figure
from paper.jobs import Workers
from paper.part import SEED, Claim, Job, Part
from paper.reproduction import PARTS, reproduce

CALLS = []


def work(name, seed):
    CALLS.append(name)
    if name == "interrupted":
        raise KeyboardInterrupt
    return [name, seed]


def toy(names, figure="7", missing="", title="a <toy>"):
    """A part of one number a job, whose claim is that there are three of them."""

    def draw(rows):
        drawn = new_figure(2.0, 2.0)
        drawn.subplots().plot([row["seed"] for row in rows])
        return drawn

    return Part(
        figure=figure,
        title=title,
        jobs=lambda runs, data: [Job(f"{figure}-{k}", work, (name, SEED)) for k, name in enumerate(names)],
        table=lambda results: [{"name": name, "seed": seed} for name, seed in results],
        draw=draw,
        claims=lambda rows: [
            Claim(
                figure, f"{title}: there are 3.", f"{len(rows)}", len(rows) == 3 if rows else None, "Why." * bool(rows)
            )
        ],
        full_runs=1,
        missing=lambda data: missing,
    )


@pytest.fixture
def parts(monkeypatch):
    CALLS.clear()

    def use(*given):
        monkeypatch.setattr(reproduction, "PARTS", {part.figure: part for part in given})

    return use


def claims_on(page):
    text = re.search(r"<pre>(.*?)</pre>", page.read_text("utf-8"), re.DOTALL)[1]
    return json.loads(html.unescape(text))["claims"]


def files_in(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def test_an_interrupted_run_is_resumed_to_the_same_files_and_each_job_runs_once(tmp_path, parts):
    parts(toy(["a", "interrupted", "c"]))
    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path / "cut", processes=1)
    assert not (tmp_path / "cut" / "index.html").exists()
    parts(toy(["a", "b", "c"]))
    reproduce(tmp_path / "cut", processes=1)
    assert CALLS == ["a", "interrupted", "b", "c"]
    reproduce(tmp_path / "whole", processes=1)
    assert files_in(tmp_path / "cut") == files_in(tmp_path / "whole")
    CALLS.clear()
    lines = []
    reproduce(tmp_path / "whole", processes=1, tell=lines.append, progress=lines.append)
    assert CALLS == lines == []


def test_a_result_of_another_seed_or_a_broken_file_is_not_taken(tmp_path, parts):
    parts(toy(["a", "b"]))
    reproduce(tmp_path, processes=1)
    before = (tmp_path / "figure-7.csv").read_text()
    kept = tmp_path / "work" / "7-1.json"
    kept.write_text(kept.read_text()[:-5])
    reproduce(tmp_path, processes=1)
    assert CALLS == ["a", "b", "b"]
    assert (tmp_path / "figure-7.csv").read_text() == before
    reproduce(tmp_path, processes=1, seed=1)
    assert CALLS == ["a", "b", "b", "a", "b"]
    assert (tmp_path / "figure-7.csv").read_text() != before


def test_progress_says_the_time_before_the_work(tmp_path, parts):
    parts(toy(["a"] * 200))
    lines = []
    reproduce(tmp_path, processes=1, tell=lines.append, progress=lines.append)
    assert lines[:2] == ["1 part, about 3 min on 1 core", "Figure 7: 200 of 200 jobs to do, about 3 min"]
    assert lines[2:] == [f"Figure 7: {20 * k} of 200 done" for k in range(1, 11)]


def test_only_the_figures_asked_for_are_made_in_the_order_of_the_paper(tmp_path, parts):
    parts(toy(["a"], "1"), toy(["b"], "2"), toy(["c"], "3"))
    page = reproduce(tmp_path, ["3", 1], processes=1).read_text("utf-8")
    assert CALLS == ["a", "c"]
    assert re.findall(r'<section id="figure-(\d)"', page) == ["1", "3"]
    with pytest.raises(dd.InputError, match="the paper has no figure '13'; choose among 1, 2, 3"):
        reproduce(tmp_path, 13)


def test_missing_data_leave_a_sentence_and_no_verdict(tmp_path, parts):
    parts(toy(["a", "b", "c"], "1"), toy([], "2", missing="Get <it> with --data."))
    page = reproduce(tmp_path, processes=1)
    assert [claim["holds"] for claim in claims_on(page)] == [True, None]
    text = page.read_text("utf-8")
    assert "1 of 2 claims of the paper hold in our measurement, 1 could not be measured." in text
    assert "<p>Get &lt;it&gt; with --data.</p>" in text
    assert text.count("<img ") == 1
    assert sorted(files_in(tmp_path)) == ["figure-1.csv", "figure-1.png", "index.html"]


@pytest.mark.hostile(33)
def test_texts_on_the_page_stay_text_and_its_policy_forbids_scripts_and_requests(tmp_path, parts):
    hostile = "</pre><script>alert(1)</script>{{ 7 * 7 }}\u202e\x1b[31m"
    parts(toy(["a"], missing=hostile))
    page = reproduce(tmp_path, processes=1)
    text = page.read_text("utf-8")
    head = text.split("<title>")[0]
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"" in head
    shown = "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{ 7 * 7 }}\ufffd\ufffd[31m"
    assert f"<p>{shown}</p>" in text
    assert f"<li>{shown}</li>" in text
    assert "<h2>Figure 7: a &lt;toy&gt;</h2>" in text
    assert text.replace("\n", "").isprintable()
    parts(toy(["a"], title=hostile))
    assert claims_on(reproduce(tmp_path / "json", processes=1))[0]["says"] == f"{hostile}: there are 3."


def test_files_appear_whole_through_links_and_are_refused_in_one_line(tmp_path, parts):
    parts(toy(["a"]))
    elsewhere = tmp_path / "elsewhere.html"
    elsewhere.write_text("old")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").symlink_to(elsewhere)
    page = reproduce(tmp_path / "out", processes=1)
    assert page.is_symlink()
    assert elsewhere.read_text("utf-8").startswith("<!DOCTYPE html>")
    table = tmp_path / "out" / "figure-7.csv"
    table.unlink()
    table.mkdir()
    with pytest.raises(dd.InputError, match=r"^cannot write '.*7\.csv': is a directory$"):
        reproduce(tmp_path / "out", processes=1)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 1}, "runs must be a whole number, at least 2; got 1"),
        ({"processes": 0}, "processes must be a whole number, at least 1; got 0"),
        ({"data": "absent"}, "data is 'absent', which is not a folder"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(tmp_path, parts, options, message):
    parts(toy(["a"]))
    with pytest.raises(dd.InputError, match=message):
        reproduce(tmp_path, **options)
    assert CALLS == []
    assert files_in(tmp_path) == {}


@pytest.mark.parametrize("d", [1, 3])
def test_authors_model_is_the_best_of_their_absolute_grid(d):
    pair = dd.datasets.gaussian_shift(0.5, d=d, n=18, m=14, random_state=2)
    # one search over the union of all relative grids; ours is where both belong together
    scale = {sigma: (np.pi * sigma**2) ** (d / 2) for sigma in SIGMAS}
    lams = np.concatenate([LAMBDAS / scale[sigma] for sigma in SIGMAS])
    union = dd.LSDD(sigma=SIGMAS, lam=lams, solver="centers", standardize=False, random_state=5).fit(pair.x, pair.y)
    found = union.cv_results_
    own = [
        (score, sigma, lam)
        for score, sigma, lam in zip(found["mean_score"], found["sigma"], found["lam"], strict=True)
        if np.isclose(LAMBDAS, lam * scale[sigma], rtol=1e-9).any()
    ]
    model = authors_lsdd(pair.x, pair.y, 5)
    assert (model.sigma_, model.lam_) == pytest.approx(min(own)[1:], rel=1e-12)


@pytest.mark.parametrize("d", [1, 5])
def test_authors_distance_is_the_regularization_corrected_estimate(d):
    pair = dd.datasets.gaussian_shift(0.4, d=d, n=30, m=21, random_state=1)
    model = authors_lsdd(pair.x, pair.y, 0)
    assert authors_distance(model) == pytest.approx(model.l2_distance().estimates["regularization_corrected"], rel=1e-9)


def holds(figure, rows):
    return [claim.holds for claim in PARTS[figure].claims(rows)]


@pytest.mark.parametrize("figure", ["1", "2"])
@pytest.mark.parametrize(
    ("runs", "kde", "held"), [(3, 0.03, True), (3, 0.02, None), (3, 0.01, False), (100, 0.02, False), (100, 0.03, True)]
)
def test_figures_1_and_2_turn_when_kde_is_as_close(figure, runs, kde, held):
    errors = {"LSDD (authors)": 0.02, "LSDD": 0.02, "KDE": kde}
    rows = [
        {"quantity": "integrated squared error", "of": name, "run": run, "x": None, "value": error * (1 + run % 3 / 10)}
        for run in range(runs)
        for name, error in errors.items()
    ]
    (claim,) = PARTS[figure].claims(rows)
    assert claim.holds is held
    assert bool(claim.reason) is (held is not True)
    assert claim.verdict == {True: "holds", False: "does not hold", None: "undecided"}[held]
    assert f"KDE {1.1 * kde:.4f}" in claim.measured or runs > 3


@pytest.mark.parametrize(
    ("lsdd", "kde", "expected"),
    [
        ((1.05, 1.2), (0.9, 0.3), [True, True, True, True]),
        ((1.15, 1.2), (0.9, 0.3), [False, True, True, True]),
        ((0.85, 0.7), (0.9, 0.3), [False, True, False, True]),
        ((1.0, 1.0), (1.01, 0.7), [True, False, True, False]),
        ((1.0, 1.0), (0.7, 0.3), [True, False, True, True]),
    ],
)
def test_figure_3_turns_with_the_means(lsdd, kde, expected):
    """Factors of the truth in d = 1 and in d = 5."""
    factors = {("LSDD (authors)", d): lsdd[d > 1] for d in (1, 5)} | {("KDE", d): kde[d > 1] for d in (1, 5)}
    rows = [
        {"d": d, "mu": mu, "method": method, "truth": truth, "mean": truth * factors.get((method, d), 1.0)}
        | {"standard_error": 0.01, "runs": 100}
        for d in (1, 5)
        for mu, truth in ((0.0, 0.0), (0.4, 0.79), (0.8, 1.73))
        for method in ("LSDD (authors)", "LSDD", "KDE")
    ]
    assert holds("3", rows) == expected


def test_figure_5_holds_for_the_truth_and_turns_with_each_number():
    part = PARTS["5"]
    rows = part.table([job.work(*job.arguments) for job in part.jobs(1, None)])
    assert holds("5", rows) == [True, True, True]
    assert holds("5", [row | {"L2": 1e-4 * row["mu"] ** 2} for row in rows]) == [True, False, True]
    assert holds("5", [row | {"KL": min(row["KL"], 5.0)} for row in rows]) == [True, True, False]
    assert holds("5", [row | {"KL": 10 * row["L2"]} for row in rows]) == [True, True, False]
    assert holds("5", [row | {"L2": 0.01 - 1e-5 * row["mu"]} for row in rows]) == [False, True, True]


def test_figure_6_turns_with_the_profiles_and_with_the_scale():
    truths = {"L2": [0.006, 0.013, 0.014], "KL": [0.01, 0.6, 4.8]}

    def rows(lsdd, kliep, runs=100):
        means = {"LSDD (authors)": ("L2", lsdd), "LSDD": ("L2", truths["L2"]), "KLIEP": ("KL", kliep)}
        return [
            {"mu": mu, "method": method, "of": of, "truth": truths[of][k], "mean": mean[k]}
            | {"standard_error": 0.0, "runs": runs}
            for k, mu in enumerate((0.0, 4.0, 10.0))
            for method, (of, mean) in means.items()
        ]

    off = [0.1, 2.0, 20.0]
    assert holds("6", rows(truths["L2"], off)) == [True, True, True]
    assert holds("6", rows([0.014, 0.013, 0.006], off)) == [False, True, True]
    assert holds("6", rows([0.01, 0.01, 0.01], off)) == [False, True, True]
    assert holds("6", rows([0.01, 0.01, 0.01], off, runs=4)) == [None, True, True]  # it may be noise
    assert holds("6", rows(truths["L2"], [20.0, 1.0, 0.5])) == [True, False, True]
    assert holds("6", rows(truths["L2"], truths["KL"])) == [True, True, False]


def test_the_answer_counts_the_verdicts():
    claims = [
        Claim("1", "", "", holds, reason) for holds, reason in ((True, ""), (False, "x"), (None, "x"), (None, ""))
    ]
    assert pages._answer(claims) == (
        "1 of 4 claims of the paper hold in our measurement, 1 does not, 1 needs more runs to be decided, "
        "1 could not be measured."
    )


@pytest.mark.parametrize("figure", ["1", "2", "3", "5", "6"])
def test_no_rows_give_no_verdict(figure):
    assert set(holds(figure, [])) == {None}


def test_figures_1_to_6_run_on_two_processes_and_resume_on_one(tmp_path):
    figures = range(1, 7)
    page = reproduce(tmp_path, figures, runs=2)
    before = files_in(tmp_path)
    assert sorted(before) == sorted(["index.html", *(f"figure-{k}.{end}" for k in figures for end in ("csv", "png"))])
    text = page.read_text("utf-8")
    assert text.count('<img src="data:image/png;base64,') == 6
    assert "<script" not in text
    assert [claim["figure"] for claim in claims_on(page)] == ["1", "2", *"3333", *"555", *"666"]
    with (tmp_path / "figure-3.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * 5 * 3
    assert {row["method"] for row in rows} == {"LSDD (authors)", "LSDD", "KDE"}
    reproduce(tmp_path, figures, runs=2, processes=1)
    assert files_in(tmp_path) == before


def blas_threads():
    """What a job may use of each BLAS in its process, those of NumPy and of SciPy."""
    np.linalg.inv(linalg.inv(np.eye(2)))
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_each_process_computes_on_one_thread(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")  # what the processes would begin with
    with Workers(2) as workers:
        found = dict(workers.computed({"a": (blas_threads, ()), "b": (blas_threads, ())}))
    assert all(found.values())
    assert {count for counts in found.values() for count in counts} == {1}


def test_keys_of_jobs_are_unique_names_of_files():
    keys = [job.key for figure in "123456" for job in PARTS[figure].jobs(3, None)]
    assert len(set(keys)) == len(keys)
    assert all(re.fullmatch(r"[A-Za-z0-9.-]+", key) for key in keys)
