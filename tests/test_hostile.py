"""Numbered hostile inputs at every entrance that they concern, as one table; ``pytest -k hostile_17`` finds row 17.

A row is two tables of columns and what must be seen: a refusal, a note, or numbers. More tests of single rows are
beside what they test, named row_17 or hostile_17 or marked ``hostile(17)``; test_faults.py has rows 31, 38 and 41.
"""

import json
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import densdiff as dd
from tests.command_line import as_csv, run

N = 24
ELSEWHERE = {40: "tests/sources/test_clusters.py"}
TABLES = ("arrays", "frames", "files", "command line")
NUMBERS = (*TABLES, "stream", "series", "balance")
OTHERS = tuple(entrance for entrance in NUMBERS if entrance not in TABLES[1:])  # not compare


def normal(seed, n=N, d=2, shift=0.0):
    return {f"x{j}": column for j, column in enumerate(np.random.default_rng([seed, n]).normal(shift, size=(n, d)).T)}


def with_(table, **columns):
    return table | {name: np.asarray(values) for name, values in columns.items()}


def spoilt(value, at=3):
    """A normal table with one value replaced."""
    column = normal(1)["x1"].copy()
    column[at] = value
    return normal(1) | {"x1": column}


# --- entrances: two tables in; the answer as plain values and all that was said out ---


def matrix(table):
    return np.column_stack(list(table.values()))


def arrays(a, b, folder):
    return dd.two_sample_test(matrix(a), matrix(b), n_permutations=19, random_state=0)


def frames(a, b, folder):
    return dd.compare(pd.DataFrame(a), pd.DataFrame(b), n_permutations=19, random_state=0)


def written(folder, **tables):
    for name, table in tables.items():
        (folder / f"{name}.csv").write_text(as_csv(table))
    return [folder / f"{name}.csv" for name in tables]


def on_files(a, b, folder):
    return dd.compare(*written(folder, A=a, B=b), n_permutations=19, random_state=0)


def command_line(a, b, folder):
    code, out, err = run("compare", *written(folder, A=a, B=b), "--permutations", 19, "--seed", 0, "--json")
    if code == 2:
        raise dd.InputError(err)
    return json.loads(out)


def stream(a, b, folder):
    calm = {name: np.tile(values, 10) for name, values in a.items()}  # a reference has to be longer than its window
    monitor = dd.ChangeMonitor(calm, window=10, run_length=100, random_state=0)
    return {"scores": [step.score for step in monitor.update_many(b)], "warnings": monitor.warnings_}


def series(a, b, folder):
    return dd.detect_changes(np.concatenate([matrix(a), matrix(b)]), random_state=0)


def balance(a, b, folder):
    labels = np.arange(len(next(iter(a.values())))) % 2
    return dd.ClassBalance(random_state=0).fit(matrix(a), labels).estimate(matrix(b))


ENTRANCES = {
    "arrays": arrays,
    "frames": frames,
    "files": on_files,
    "command line": command_line,
    "stream": stream,
    "series": series,
    "balance": balance,
}


def answered(entrance, a, b, folder):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dd.DensDiffWarning)
        found = ENTRANCES[entrance](a, b, folder)
    plain = found if isinstance(found, dict) else found.to_dict()
    said = [*plain["warnings"], *(f"{name}: {why}" for name, why in plain.get("left_out", []))]
    return plain, [*said, *(str(each.message) for each in caught)]


def pvalue(found):
    return found.get("test", found)["pvalue"]


def finite(found):
    """Whether all numbers are: None stands for what is not there."""
    return json.dumps(found, allow_nan=False) != ""


# --- the table ---


@dataclass(frozen=True)
class Row:
    number: int
    name: str
    a: Callable[[], Any]
    b: Callable[[], Any]
    where: tuple[str, ...] = TABLES
    refused: str = ""  # a pattern of the message
    told: str = ""  # a pattern of a note
    holds: Callable[[Any], bool] = finite


def plain():
    return normal(0)


def scaled(by, at=0.0, seed=1):
    """Each column multiplied and moved; multiples of 2^-20, so that offsets up to 1e9 are exact."""
    rows = {name: np.round(values * 2.0**20) / 2.0**20 for name, values in normal(seed).items()}
    return {name: values * factor + at for (name, values), factor in zip(rows.items(), by, strict=True)}


COPIES = "every row occurs 10 times"
ROWS = [
    Row(1, "nan", plain, lambda: spoilt(np.nan), OTHERS, r"x1.*(1 missing value, at row|is nan|missing)"),
    Row(
        1, "nan", plain, lambda: spoilt(np.nan), TABLES[1:], told="missing values are a level of their column.* 'x1' 0"
    ),
    Row(3, "inf", plain, lambda: spoilt(np.inf), NUMBERS, r"x1.* (infinite|inf)"),
    Row(4, "all missing", plain, lambda: spoilt(np.nan, slice(None)), TABLES[1:], told="x1"),
    Row(4, "all missing", plain, lambda: spoilt(np.nan, slice(None)), ("arrays", "series", "balance"), "x1.*missing"),
    Row(
        5,
        "constant in both",
        lambda: with_(plain(), x1=np.ones(N)),
        lambda: with_(normal(1), x1=np.ones(N)),
        (*TABLES, "stream"),
        told="constant.*'x1'|'x1'.*constant|x1: constant",
    ),
    Row(
        6,
        "two constants",
        lambda: {"x0": np.zeros(N)},
        lambda: {"x0": np.ones(N)},
        TABLES,
        told="density",
        holds=lambda found: pvalue(found) == 1 / 20,
    ),
    Row(7, "constant in one", plain, lambda: with_(normal(1), x1=np.ones(N)), (*TABLES, "stream", "series", "balance")),
    Row(
        8,
        "integers 0 to 3",
        lambda: {name: np.arange(N) % 4 for name in "uv"},
        lambda: {name: np.arange(N) * 7 % 4 for name in "uv"},
        TABLES,
        holds=lambda found: pvalue(found) > 0.05,
    ),
    Row(
        9,
        "ten copies",
        lambda: {name: np.repeat(values, 10) for name, values in plain().items()},
        lambda: {name: np.repeat(values, 10) for name, values in normal(1).items()},
        TABLES,
        told=COPIES,
    ),
    Row(10, "the same", plain, plain, TABLES, told="same", holds=lambda found: pvalue(found) == 1),
    Row(11, "one row", plain, lambda: normal(1, 1), (*TABLES, "balance"), "1 (data )?row.*at least 2"),
    Row(
        12,
        "two against two",
        lambda: normal(0, 2, 1),
        lambda: normal(1, 2, 1),
        ("arrays",),
        told="no p-value can be below",
        holds=lambda found: pvalue(found) * 6 == pytest.approx(round(pvalue(found) * 6)),
    ),
    Row(
        12,
        "two against two",
        lambda: normal(0, 2, 1),
        lambda: normal(1, 2, 1),
        TABLES[1:],
        told="no p-value can be below",
    ),
    Row(13, "no rows", plain, lambda: normal(1, 0), (*TABLES, "balance"), "0 (data )?rows|no rows"),
    Row(14, "wide", lambda: normal(0, 5, 200), lambda: normal(1, 5, 200), ("arrays", "balance"), told="swapped"),
    Row(14, "wide", lambda: normal(0, 5, 12), lambda: normal(1, 5, 12), TABLES[1:], told="swapped"),
    Row(15, "2000 columns", lambda: normal(0, 12, 2000), lambda: normal(1, 12, 2000), ("arrays",), told="swapped"),
    Row(
        17,
        "clusters 1e9 apart",
        lambda: {"x0": np.r_[normal(0)["x0"], 1e9 + normal(1)["x0"]]},
        lambda: {"x0": np.r_[normal(2)["x0"], 1e9 + normal(3)["x0"] + 3.0]},
        TABLES,
        holds=lambda found: pvalue(found) <= 0.1,
    ),
    Row(
        20,
        "beyond 2^53",
        lambda: with_(plain(), x1=2**53 + 2 * np.arange(N) + 1),
        lambda: with_(normal(1), x1=2**53 + np.arange(N)),
        TABLES[1:],
        told="x1.*2\\^53|precision",
    ),
    Row(
        21,
        "numbers as text",
        plain,
        lambda: with_(normal(1), x1=["1.5"] * (N - 1) + ["2,5"]),
        TABLES[1:],
        "x1.*(2,5|text)",
    ),
    Row(
        22,
        "text",
        lambda: with_(plain(), x1=["u", "v"] * (N // 2)),
        lambda: with_(normal(1), x1=["u", "v"] * (N // 2)),
        TABLES[1:],
    ),
    Row(
        22,
        "names of rows",
        lambda: with_(plain(), id=[f"a{k}" for k in range(N)]),
        lambda: with_(normal(1), id=[f"b{k}" for k in range(N)]),
        TABLES[1:],
        told="id",
    ),
    Row(
        23,
        "dates",
        plain,
        lambda: with_(normal(1), x1=np.datetime64("2026-01-01") + np.arange(N)),
        TABLES[1:],
        told="x1.*numbers in .* and dates or times in ",
    ),
    Row(
        23,
        "dates in both",
        *(lambda seed=seed: with_(normal(seed), d=np.datetime64("2026-01-01") + np.arange(N)) for seed in (0, 1)),
        TABLES[1:],
        told="left out because they hold dates or times: 'd'; to compare one, give",
    ),
    Row(
        24,
        "column only in one",
        lambda: with_(plain(), z=np.zeros(N)),
        lambda: dict(reversed(normal(1).items())),
        TABLES[1:],
        told="z",
    ),
    Row(24, "none in common", plain, lambda: {"y": normal(1)["x0"]}, TABLES[1:], "common"),
    Row(
        26,
        "two kinds",
        plain,
        lambda: with_(normal(1), x1=["u", "v"] * (N // 2)),
        TABLES[1:],
        told="their kind differs: 'x1', numbers in .* and text in ",
        holds=lambda found: [*map(list, found["schema_changes"]["other_kind"])] == [["x1", "number", "text"]],
    ),
    Row(
        33,
        "escapes",
        lambda: {"\x1b[31m<script>": plain()["x0"]},
        lambda: {"\x1b[31m<script>": normal(1)["x0"] + 5},
        TABLES[1:],
    ),
    Row(
        42,
        "many rows, tiny shift",
        lambda: normal(0, 20_000, 1),
        lambda: normal(1, 20_000, 1, 0.04),
        ("files", "command line"),
        holds=lambda found: found["effect"] == "negligible" and found["answer"].startswith(("At least ", "A", "No ")),
    ),
]


@pytest.mark.parametrize(
    ("row", "entrance"),
    [
        pytest.param(
            row, entrance, id=f"hostile_{row.number:02d}-{row.name}-{entrance}", marks=pytest.mark.hostile(row.number)
        )
        for row in ROWS
        for entrance in row.where
    ],
)
def test_what_must_happen_happens(row, entrance, tmp_path):
    if row.refused:
        with pytest.raises(dd.InputError) as caught:
            answered(entrance, row.a(), row.b(), tmp_path)
        text = str(caught.value).rstrip("\n")
        assert re.search(row.refused, text)
        assert text.isprintable()
        return
    found, said = answered(entrance, row.a(), row.b(), tmp_path)
    assert finite(found)
    assert row.holds(found)
    assert re.search(row.told, "\n".join(said))
    assert all(text.isprintable() for text in said)


SAME = {  # tables that must have the answer of others
    16: ("offset 1e8", lambda seed: scaled((1, 1), 1e8, seed), lambda seed: scaled((1, 1), 0.0, seed)),
    18: ("scales", lambda seed: scaled((2.0**-40, 2.0**660), 0.0, seed), lambda seed: scaled((1, 1), 0.0, seed)),
    19: ("float32", lambda seed: float32(seed), lambda seed: {k: v.astype(float) for k, v in float32(seed).items()}),
}


def float32(seed):
    return {name: values.astype(np.float32) for name, values in normal(seed).items()}


def tell(found):
    """The part of an answer that is free of units."""
    distance = found.get("distance", found)
    parts = [pvalue(found)] if "pvalue" in found.get("test", found) else []
    parts += [distance[name] for name in ("normalized", "priors") if name in distance]
    return np.hstack([*parts, [score or 0.0 for score in found.get("scores", [])]])


@pytest.mark.parametrize(
    ("number", "entrance"),
    [
        pytest.param(number, entrance, id=f"hostile_{number}-{entrance}", marks=pytest.mark.hostile(number))
        for number in SAME
        for entrance in NUMBERS
        if (number, entrance) not in {(19, "files"), (19, "command line")}  # text has no types
    ],
)
def test_the_answer_is_that_of_ordinary_tables(number, entrance, tmp_path):
    _, odd, usual = SAME[number]
    (one, _), (other, _) = (answered(entrance, make(0), make(1), tmp_path) for make in (odd, usual))
    np.testing.assert_allclose(tell(one), tell(other), rtol=1e-6, atol=1e-9)
    assert finite(one)


ASKED = {
    "l2_distance": lambda **more: dd.l2_distance(matrix(plain()), matrix(normal(1)), **more),
    "two_sample_test": lambda **more: dd.two_sample_test(matrix(plain()), matrix(normal(1)), **more),
    "compare": lambda **more: dd.compare(plain(), normal(1), **more),
    "detect_changes": lambda **more: dd.detect_changes(matrix(plain()), **more),
    "ChangeMonitor": lambda **more: dd.ChangeMonitor(matrix(plain()), **more),
    "ClassBalance": lambda **more: (
        dd.ClassBalance(random_state=0).fit(matrix(plain()), np.arange(N) % 2).estimate(matrix(normal(1)), **more)
    ),
}
PARAMETERS = [
    *(
        (question, {"n_permutations": bad}, "n_permutations must be a whole number, at least 1")
        for question in ("two_sample_test", "compare")
        for bad in (0, -3, 2.5, np.nan)
    ),
    *(
        (question, {"model": dd.LSDD(sigma=bad)}, "sigma must be")
        for question in ("l2_distance", "two_sample_test", "detect_changes", "ChangeMonitor")
        for bad in (0, -1.0, np.nan)
    ),
    *(
        (question, {"alpha": bad}, "alpha must")
        for question in ("compare", "detect_changes")
        for bad in (0, 1, -0.1, np.nan, "a")
    ),
    *(
        (question, {"level": bad}, "level must")
        for question in ("l2_distance", "ClassBalance")
        for bad in (0, 1, np.nan)
    ),
    ("ChangeMonitor", {"window": 0}, "window must be"),
    ("ChangeMonitor", {"run_length": np.nan}, "run_length must be"),
    ("detect_changes", {"window": -4}, "window"),
]


@pytest.mark.hostile(35)
@pytest.mark.parametrize(("question", "given", "message"), PARAMETERS, ids=str)
def test_impossible_parameters_are_named_with_their_range(question, given, message):
    with pytest.raises(dd.InputError, match=message):
        ASKED[question](**given)


@pytest.mark.hostile(35)
def test_an_alpha_that_permutations_cannot_reach_is_told():
    with pytest.warns(dd.DensDiffWarning, match="99 permutations cannot reach a p-value of 0.0005"):
        dd.compare(plain(), normal(1), alpha=0.001, n_permutations=99, random_state=0)


@pytest.mark.hostile(35)
@pytest.mark.parametrize(
    "arguments",
    [("--permutations", "0"), ("--permutations", "-3"), ("--alpha", "0"), ("--alpha", "nan"), ("--min-effect", "2")],
)
def test_impossible_options_are_named_on_the_command_line(arguments, tmp_path):
    code, out, err = run("compare", *written(tmp_path, A=plain(), B=normal(1)), *arguments)
    assert (code, out) == (2, "")
    assert arguments[0] in err


def series_file(folder, **columns):
    return written(folder, S={"x": np.sin(np.arange(N) * 2.0)} | columns)[0]


@pytest.mark.hostile(37)
@pytest.mark.parametrize(
    ("times", "options", "message"),
    [
        (np.r_[0, 2, 1, np.arange(3, N)], (), "row 2"),
        (np.arange(N), ("--window", "20"), "20 samples on each side"),
        (np.r_[0, 1, 1, np.arange(3, N)], (), "note: .*row 2"),
        (np.r_[np.arange(N - 1), 500], (), "note: .*row 23|irregular"),
    ],
    ids=["unsorted", "longer than the series", "twice", "irregular"],
)
def test_series_that_cannot_be_meant_are_told_on_the_command_line(times, options, message, tmp_path):
    code, out, err = run("changes", series_file(tmp_path, t=times), "--time", "t", "--seed", 0, *options)
    assert code == (0 if message.startswith("note") else 2)
    assert re.search(message, err + out)


@pytest.mark.hostile(36)
def test_a_series_without_change_is_calm_on_the_command_line(tmp_path):
    season = written(tmp_path, S={"x": np.sin(np.arange(400) * 2 * np.pi / 20)})[0]
    code, out, _ = run("changes", season, "--seed", 0, "--fail-on-difference")
    assert (code, out.splitlines()[0]) == (0, "No changes in 400 samples")


@pytest.mark.hostile(39)
def test_a_balance_that_cannot_be_known_is_told_on_the_command_line(tmp_path):
    train = with_(normal(0), label=np.array(["u", "v"] * (N // 2)))
    files = written(tmp_path, T=train, N=normal(1))
    code, out, err = run("balance", *files, "--label", "label", "--seed", 0, "--json")
    assert code == 0
    assert json.loads(out)["intervals"] == [[0, 1], [0, 1]]
    assert "can hardly be told apart" in err
    lone = with_(normal(0), label=np.array(["u"] * N))
    code, _, err = run("balance", *written(tmp_path, T=lone, N=normal(1)), "--label", "label")
    assert code == 2
    assert "1 class, 'u'; at least 2 are needed" in err


@pytest.mark.hostile(34)
def test_a_pickle_for_a_state_is_refused_on_the_command_line(tmp_path):
    state, ran = tmp_path / "state", tmp_path / "ran"
    state.write_bytes(b"cos\nmknod\n(S'" + str(ran).encode() + b"'\ntR.")
    code, out, err = run("monitor", *written(tmp_path, R=normal(0, 200)), "--state", state, given="x0,x1\n1,2\n")
    assert (code, out) == (2, "")
    assert "is not a saved monitor" in err
    assert not ran.exists()


def test_every_row_has_its_tests():
    """By number: in the table above, in a name or in a mark."""
    text = "\n".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    found = re.findall(r"def test_(?:row|hostile)_(\d\d)_|mark\.hostile\((\d+)\)", text)
    covered = {int(number) for pair in found for number in pair if number} | {row.number for row in ROWS} | set(SAME)
    assert set(range(1, 43)) - covered - set(ELSEWHERE) == set()
