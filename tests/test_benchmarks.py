"""No benchmark is run here: they can be run, what they find is kept, and docs/benchmarks.md says what they found."""

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import types

import matplotlib
import pytest

import benchmarks.__main__
from benchmarks import claims, measure, results
from benchmarks.__main__ import NAMES, run_apart, run_here
from benchmarks.claims import CLAIMS
from benchmarks.page import NUMBER, PAGE, RESULTS, cells_of, refreshed, says, table_rows, values_of, with_numbers
from benchmarks.plain import authors_model
from tests.calibration.__main__ import NAMES as STUDIES

FIGURES = RESULTS.parent / "figures"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setattr(measure, "page", measure.Page())
    return measure.page


@pytest.mark.filterwarnings("ignore")  # of the peers' own imports
@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_called_quick_and_says_what_it_measures(name):
    before = dict(dict.items(matplotlib.rcParams))
    module = importlib.import_module(f"benchmarks.{name}")
    assert dict(dict.items(matplotlib.rcParams)) == before  # or figures of others look like a peer's
    assert inspect.signature(module.main).parameters["quick"].default is False
    assert module.__doc__.strip()


def kept(page, name="speed"):
    about = {
        "name": name,
        "about": "About it.",
        "quick": False,
        "date": "2026-01-01",
        "machine": "2 cores",
        "minutes": 1.0,
    }
    return about | {"rows": page.rows, "curves": page.curves, "skipped": page.skipped, "text": "printed"}


def test_a_line_becomes_a_row_that_says_whether_its_goal_is_met(page, capsys):
    measure.head("a fit", "the loop")
    measure.line("n = 200", 3.0, 0.25, "at least 12")
    measure.line("n = 400", 3.0, 1.5, "at most 0.4", "slower")
    measure.record("memory", 150, unit="MiB", goal="whole process under 100")
    for power in (0.94, 0.95, 1.05, 1.06):
        measure.record(f"power {power}", power, unit="", goal="0.95 to 1.05")
    text = results.section(kept(page), [])
    assert "| a fit | densdiff | peer |" in text
    assert "| n = 200 | 0.25 s | the loop: 3 s | 12 times faster | at least 12 | yes |" in text
    assert "| n = 400 | 1.5 s | the loop: 3 s | 0.5 times its time | at most 0.4 | no |" in text
    assert "| memory | 150 MiB |  |  | whole process under 100 | no |" in text
    assert [
        f"| power {power} | {power} |  |  | 0.95 to 1.05 | yes |" in text for power in (0.94, 0.95, 1.05, 1.06)
    ] == [
        False,
        True,
        True,
        False,
    ]
    assert "n = 200" in capsys.readouterr().out


def test_a_skipped_peer_is_named_with_the_reason(page, capsys):
    measure.skip("a peer", "no wheel for this Python")
    assert "- a peer: no wheel for this Python" in results.section(kept(page), [])
    assert "a peer skipped: no wheel" in capsys.readouterr().out


def test_the_exponent_is_that_of_the_large_end():
    sizes = [1, 2, 4, 8, 16, 32]
    assert measure.exponent(sizes, [9, 9, *(3 * n**2 for n in sizes[2:])]) == pytest.approx(2)
    assert measure.exponent(sizes[:2], [1, 2]) is None
    assert measure.exponent(sizes, [0, 0, 0, 0, 1, 2]) is None


def test_a_part_run_again_replaces_itself_and_keeps_the_others(page, tmp_path, capsys):
    measure.curve("fit", "n", "densdiff", [1000, 2000, 4000], [1.0, 2.0, 4.0], [0.0, 0.0, 1.0], "time")
    results.write(tmp_path, NAMES, kept(page, "growth"))
    results.write(tmp_path, NAMES, kept(measure.Page()) | {"text": "first printed"})
    results.write(tmp_path, NAMES, kept(measure.Page()) | {"text": "printed again"})
    text = (tmp_path / "results.md").read_text()
    assert "| fit | densdiff | n = 1,000 to 4,000 | 1.00 | - | 4 | 1 | time |" in text
    assert "(figures/growth_fit.png)" in text
    assert (tmp_path / "figures" / "growth_fit.png").stat().st_size > 1000
    assert "printed again" in text
    assert "first printed" not in text
    assert json.loads((tmp_path / "results" / "speed.json").read_text())["text"] == "printed again"


def test_figures_short_of_their_goals_are_named_before_all_others(page, tmp_path):
    measure.record("memory", 150, unit="MiB", goal="under 100", title="a fit")
    measure.record("time", 3.0, goal="under 5", title="a fit")
    results.write(tmp_path, NAMES, kept(page))
    short, _ = (tmp_path / "results.md").read_text().split("## The figures of docs/benchmarks.md")
    assert "| speed | a fit | memory | 150 MiB |  |  | under 100 |" in short
    assert "| time |" not in short


def part(monkeypatch, run):
    """A benchmark of this name that does something else."""
    module = types.SimpleNamespace(main=run, __doc__="About it.")
    monkeypatch.setattr(results, "import_module", lambda name: module)


def test_a_part_that_fails_is_named_and_keeps_what_it_found_before(page, tmp_path, monkeypatch, capsys):
    results.write(tmp_path, NAMES, kept(page) | {"text": "printed before"})

    def fails(quick):
        raise ValueError("no such peer\nand more")

    part(monkeypatch, fails)
    assert not run_here("speed", quick=True, folder=tmp_path)
    text = (tmp_path / "results.md").read_text()
    assert "- speed: ValueError: no such peer\n" in text
    assert "printed before" in text
    assert "no such peer" in capsys.readouterr().err
    part(monkeypatch, lambda quick: print("printed again"))
    assert run_here("speed", quick=True, folder=tmp_path)
    assert "no such peer" not in (tmp_path / "results.md").read_text()


def run_instead(monkeypatch, program, longest):
    """A program takes the place of every part."""
    start = subprocess.Popen
    monkeypatch.setattr(benchmarks.__main__, "LONGEST", longest)
    monkeypatch.setattr(subprocess, "Popen", lambda _, **how: start([sys.executable, "-c", program], **how))


@pytest.mark.parametrize(
    ("program", "longest", "why"),
    [
        ("import os; os.kill(os.getpid(), 9)", 60, "was ended by signal 9"),
        ("import time; time.sleep(60)", 0.1, "took longer than 0 minutes"),
    ],
)
def test_a_part_whose_process_is_killed_is_named(program, longest, why, tmp_path, monkeypatch):
    run_instead(monkeypatch, program, longest)
    assert not run_apart("speed", quick=False, folder=tmp_path)
    assert f"- speed: {why}\n" in (tmp_path / "results.md").read_text()


def test_no_process_that_a_part_has_started_outlives_it(tmp_path, monkeypatch):
    reading, writing = os.pipe()
    sleeper = f"import os, time; time.sleep(5); os.write({writing}, b'alive')"
    program = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleeper!r}], pass_fds=[{writing}])"
    start = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda _, **how: start([sys.executable, "-c", program], pass_fds=[writing], **how)
    )
    assert run_apart("speed", quick=False, folder=tmp_path)
    os.close(writing)
    assert os.read(reading, 1) == b""  # at the end of the last process that could write
    os.close(reading)


def test_the_authors_distance_follows_from_their_f(draw):
    x, y = draw(0, 40, 55, 2)
    model = authors_model(x, y, seed=3)
    linear = model.predict(x).mean() - model.predict(y).mean()  # h'theta
    assert model.squared == pytest.approx(linear + model.lam * model.theta @ model.theta, rel=1e-9)


def agrees(cell, source, target, name):
    numbers = NUMBER.findall(cell)
    if target == "calibrate":
        return len(numbers) == 2 and all(map(says, numbers, values_of(source, target, name)))
    scale = 1000 if cell.endswith(" ms") else 100 if cell.endswith(" %") else 1
    return len(numbers) == 1 and says(numbers[0], scale * values_of(source, target, name)[0])


def rows_of_the_page():
    lines = PAGE.read_text(encoding="utf-8").splitlines(keepends=True)
    return [cells_of(lines[place]) for place in table_rows(lines)]


@pytest.mark.parametrize("label", CLAIMS)
def test_the_figures_of_a_row_are_what_its_command_last_found(label):
    target, name, *sources = CLAIMS[label]
    assert name in {"bench": NAMES, "calibrate": STUDIES}[target]
    (cells,) = [row[1:] for row in rows_of_the_page() if row[0] == label]
    figures = [cell for cell in cells if re.search(r"\d", cell)]
    assert len(figures) == len(sources)
    wrong = [(f, s) for f, s in zip(figures, sources, strict=True) if not agrees(f, s, target, name)]
    assert wrong == []


def test_every_row_with_figures_has_a_command():
    assert [row[0] for row in rows_of_the_page() if row[0] not in CLAIMS] == []


def test_writing_the_page_anew_changes_figures_that_changed_and_no_other():
    text = PAGE.read_text(encoding="utf-8")
    assert refreshed(text) == text
    (row,) = re.findall(r"^\| `centers`, 1 column, 99 models \| \d+ ms \|", text, re.MULTILINE)
    wrong = text.replace(row, re.sub(r"\d+ ms", "7777 ms", row))
    assert wrong != text
    assert refreshed(wrong) == text


@pytest.mark.parametrize(
    ("cell", "values", "written"),
    [
        (" 1.38 s ", [2.2841], " 2.28 s "),
        (" 0.0897 s ", [0.2071], " 0.207 s "),
        (" 34 ms ", [0.0583], " 58 ms "),
        (" 14169 MiB ", [9020.4], " 9020 MiB "),
        (" 63 % ", [0.6045], " 60 % "),
        (" 94 to 100 % ", [93.6, 99.9], " 94 to 100 % "),
        (" 0 MiB ", [0.0], " 0 MiB "),
    ],
)
def test_a_figure_keeps_its_unit_and_its_digits(cell, values, written):
    assert with_numbers(cell, values) == written


def test_a_figure_that_is_off_in_its_last_digit_is_noticed():
    source = claims.Row(claims.FIT, "n = m = 200, d = 1, centers, 99 models")
    milliseconds = 1000 * values_of(source, "bench", "speed")[0]
    assert agrees(f"{milliseconds:.0f} ms", source, "bench", "speed")
    assert not agrees(f"{milliseconds + 1:.0f} ms", source, "bench", "speed")
    assert not agrees(f"{milliseconds:.0f} s", source, "bench", "speed")


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_results_is_made_of_what_is_stored(name):
    path = RESULTS / f"{name}.json"
    if path.exists():  # a benchmark that has not been run in full has nothing to show
        stored = json.loads(path.read_text(encoding="utf-8"))
        figures = [FIGURES / f"{name}_{figure}.png" for figure in dict.fromkeys(c["figure"] for c in stored["curves"])]
        assert results.section(stored, figures) in (RESULTS.parent / "results.md").read_text(encoding="utf-8")


def test_the_page_of_results_names_the_command_of_every_row():
    assert results.traced() in (RESULTS.parent / "results.md").read_text(encoding="utf-8")
