"""No benchmark is run here: that they can be, what is kept of what they find, and that the README rests on them."""

import importlib
import inspect
import json
import re
from pathlib import Path

import matplotlib
import pytest

from benchmarks import measure, results
from benchmarks.__main__ import NAMES
from benchmarks.claims import CLAIMS
from tests.calibration.__main__ import NAMES as STUDIES

README = Path(__file__).parents[1] / "README.md"


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


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim[0][:40])
def test_every_claim_traced_is_in_the_readme_and_its_command_exists(claim):
    words, target, name = claim
    assert words in " ".join(README.read_text(encoding="utf-8").split())
    assert name in {"bench": NAMES, "calibrate": STUDIES}[target]


def test_every_figure_of_the_readme_is_traced_to_a_command():
    section = README.read_text(encoding="utf-8").split("\n## Accuracy and speed\n")[1].split("\n## ")[0]
    parts = [" ".join(part.split()) for part in re.split(r"\n\n|\n(?=\|)", section)]
    claims = [words for words, _, _ in CLAIMS]
    untraced = [part for part in parts if re.search(r"\d", part) and not any(words in part for words in claims)]
    assert untraced == []
