"""The whole corpus and a few hundred changed files: only our exceptions come out. `make fuzz` takes minutes."""

import shutil

import numpy as np
import pytest

from densdiff import ChangeMonitor, InputError
from densdiff.io import files
from tests.fuzz import corpus, mutations, targets

MUTATIONS = 40  # of each target


@pytest.mark.parametrize("target", targets.TARGETS)
def test_every_file_of_the_corpus_is_read_or_refused(target, tmp_path):
    seeds = corpus.seeds(targets.TARGETS[target][1])
    assert len(seeds) >= 6
    findings = [(seed.name, targets.broken(target, shutil.copy(seed, tmp_path / seed.name))) for seed in seeds]
    assert [each for each in findings if each[1]] == []


@pytest.mark.parametrize("target", targets.TARGETS)
def test_changed_files_are_read_or_refused(target, tmp_path):
    random = np.random.default_rng(0)
    seeds = corpus.seeds(targets.TARGETS[target][1])
    for number in range(MUTATIONS):
        seed = seeds[random.integers(len(seeds))]
        path = tmp_path / f"{number}.{seed.name.split('.', 1)[1]}"
        path.write_bytes(mutations.mutated(seed.read_bytes(), seed.name, random))
        assert targets.broken(target, path) is None, path


def test_a_finding_is_found(tmp_path, monkeypatch):
    path = shutil.copy(corpus.FOLDER / "reader" / "plain.csv", tmp_path)
    for error, said in ((KeyError("x"), "KeyError at"), (SystemExit("ran"), "SystemExit at")):
        monkeypatch.setattr(files, "table", lambda path, error=error: (_ for _ in ()).throw(error))
        assert targets.broken("reader", path).startswith(said)
    monkeypatch.setattr(files, "table", lambda path: (_ for _ in ()).throw(InputError("two\nlines")))
    assert "no short line" in targets.broken("reader", path)
    monkeypatch.setattr(files, "table", lambda path: np.log(np.zeros((2, 1))))
    assert targets.broken("reader", path).startswith("RuntimeWarning")


def test_the_valid_files_of_the_corpus_are_read(tmp_path):
    for name in ("plain.csv", "plain.csv.gz", "plain.jsonl", "plain.parquet", "plain.npy", "numbers.csv"):
        assert len(files.table(corpus.FOLDER / "reader" / name)) >= 2, name
    assert ChangeMonitor.load(corpus.FOLDER / "state" / "plain.npz").n_seen_ == 7


def test_a_small_state_that_unpacks_to_a_large_one_is_refused_before(tmp_path):
    import sklearn

    with (
        sklearn.config_context(working_memory=targets.MEMORY),
        pytest.raises(
            InputError, match=r"needs 25 MiB of memory, the limit is 16 MiB; raise the limit with sklearn\.set_config"
        ),
    ):
        ChangeMonitor.load(corpus.FOLDER / "state" / "bomb.npz")
