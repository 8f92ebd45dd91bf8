"""A saved monitor: it goes on bit by bit, holds nothing that could run, and a spoilt file is refused."""

import errno
import io
import json
import os
import pickle
import re
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import densdiff as dd
from densdiff import ChangeMonitor, DensDiffWarning, InputError
from densdiff.series.monitor import load_with_progress, save_with_progress
from densdiff.series.monitor_state import StreamProgress
from tests.monitors import FRAMED, PLAIN, REFERENCE, ROWS, STEPS, W, made, named, renewed, saving

plain = renewed(PLAIN)
framed = renewed(FRAMED)
state = pytest.fixture(saving)


def test_a_loaded_monitor_goes_on_bit_by_bit(framed, tmp_path):
    for seen in (0, 1, W - 1, W, W + 1, 3 * W, 3 * W + 2):
        framed.reset().update_many(ROWS[:seen])
        framed.save(tmp_path / "state")
        again = ChangeMonitor.load(tmp_path / "state")
        assert (str(again), repr(again), again.n_seen_) == (str(framed), repr(framed), seen)
        assert again.update_many(ROWS[seen:]) == STEPS[seen:]


def test_a_loaded_monitor_knows_all_that_the_saved_one_knew(tmp_path):
    with pytest.warns(DensDiffWarning, match="fewer than 40 windows"):
        monitor = made(named(REFERENCE), window=7, run_length=33.5)
    monitor.save(tmp_path / "state")
    again = ChangeMonitor.load(str(tmp_path / "state"))
    for name in (
        "window",
        "run_length",
        "seed_",
        "names_",
        "warnings_",
        "threshold_",
        "sigma_",
        "lam_",
        "n_reference_",
    ):
        assert getattr(again, name) == getattr(monitor, name), name
    assert again.warnings_


def test_saving_twice_writes_the_same_bytes(framed, state, tmp_path):
    framed.update_many(ROWS[:13])
    first = state(framed)
    ChangeMonitor.load(tmp_path / "state").save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == first == state(framed)


@pytest.mark.parametrize("name", ["state", "state.bin", "state.npz", "a b.state.1"])
def test_a_monitor_is_saved_to_exactly_that_path(name, framed, tmp_path):
    framed.save(str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert ChangeMonitor.load(tmp_path / name).threshold_ == framed.threshold_


def test_a_loaded_monitor_learns_a_new_reference_as_the_first_did(tmp_path):
    model = dd.LSDD(sigma=0.7, lam=0.3, solver="centers", n_centers=9, standardize=False)
    monitor = made(model=model, random_state=4)
    monitor.save(tmp_path / "state")
    again = ChangeMonitor.load(tmp_path / "state")
    assert again.update_many(ROWS)[-1].score is not None
    again.reset(REFERENCE[::-1])
    fresh = made(REFERENCE[::-1], model=model, random_state=4)
    assert again.update_many(ROWS) == fresh.update_many(ROWS)


def test_a_saved_monitor_holds_no_objects(plain, tmp_path):
    plain.save(tmp_path / "state")
    with np.load(tmp_path / "state", allow_pickle=False) as store:
        header = json.loads(store["header"].tobytes())
        assert {store[name].dtype.kind for name in store.files} <= set("fiu")
    assert (header["kind"], header["schema"], header["version"]) == ("densdiff monitor", 4, dd.__version__)


@pytest.mark.hostile(41)
def test_a_save_that_fails_leaves_the_last_state_and_nothing_else(plain, state, tmp_path, monkeypatch):
    before = state(plain)

    def full(file, **arrays):
        file.write(b"PK and no more")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full)
    plain.update_many(ROWS[:3])
    with pytest.raises(InputError, match=r"cannot write '.*state': no space left"):
        plain.save(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert plain.update_many(ROWS[3:]) == STEPS[3:]


def refused_save(monitor, path):
    with pytest.raises(InputError) as caught:
        monitor.save(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_that_does_not_exist_is_named_and_not_made(plain, tmp_path):
    text = refused_save(plain, tmp_path / "no" / "state")
    assert text.startswith("cannot write '")
    assert text.endswith("no' does not exist")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_overwritten(plain, state, tmp_path):
    before = state(plain)
    assert refused_save(plain, tmp_path).endswith("it is a folder")
    assert (tmp_path / "state").read_bytes() == before
    assert "folder" in refused_save(plain, tmp_path / "state" / "below")  # of a file
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def denied(*args, **more):
    raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.parametrize(("owner", "name"), [(Path, "open"), (os, "replace")], ids=["writing", "renaming"])
def test_a_folder_that_cannot_be_written_leaves_the_last_state(owner, name, plain, state, tmp_path, monkeypatch):
    before = state(plain)
    plain.update_many(ROWS[:3])
    with monkeypatch.context() as patch:  # the user of the tests may be root, whom no folder refuses
        patch.setattr(owner, name, denied)
        assert refused_save(plain, tmp_path / "state").endswith("state': permission denied")
    assert (tmp_path / "state").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert plain.update_many(ROWS[3:]) == STEPS[3:]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="no folder is read-only for root")
def test_a_read_only_folder_is_refused(plain, tmp_path):
    tmp_path.chmod(0o500)
    try:
        assert refused_save(plain, tmp_path / "state").endswith("permission denied")
    finally:
        tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [None, 3, b"state"])
def test_what_is_no_path_is_refused(path, plain):
    assert refused_save(plain, path) == f"path must name a file; got {path!r}"
    with pytest.raises(InputError, match="path must name a file; got "):
        ChangeMonitor.load(path)


@pytest.fixture
def store(plain, tmp_path):
    """Arrays of a saved monitor by name, and a function that loads changed ones."""
    plain.update_many(ROWS[:8])
    plain.save(tmp_path / "state")
    with np.load(tmp_path / "state") as found:
        arrays = dict(found)

    def loaded(**changes):
        with (tmp_path / "changed").open("wb") as file:
            np.savez(file, **{name: array for name, array in {**arrays, **changes}.items() if array is not None})
        return ChangeMonitor.load(tmp_path / "changed")

    return arrays, loaded


def headed(arrays, **changes):
    header = {**json.loads(arrays["header"].tobytes()), **changes}
    return np.frombuffer(json.dumps({k: v for k, v in header.items() if v != "gone"}).encode(), np.uint8)


ARRAYS = {
    *(
        "threshold",
        "release",
        "heights",
        "reference_mean",
        "precision",
        "sums",
        "recent",
        "sigma_unit",
        "centers",
        "turn",
    ),
    *("evidence", "feature", "slope", "cost", "weight", "odds"),
    *("sigma", "lam", "keep", "shift", "exponent", "mean", "deviation", "low", "high", "middle", "total", "factors"),
}


def test_arrays_saved_again_unchanged_are_loaded(store):
    arrays, loaded = store
    assert set(arrays) == {"header", *ARRAYS}
    assert loaded(header=headed(arrays)).update_many(ROWS[8:]) == STEPS[8:]


SPOILT = {
    "missing": (lambda array: None, "is not a saved monitor: "),
    "of another shape": (lambda array: array[None], "is not a saved monitor: "),
    "empty": (lambda array: array.reshape(-1)[:0], "is not a saved monitor: "),
    "nan": (lambda array: array * np.nan, "must hold (finite|whole) numbers and have the shape"),
    "infinite": (lambda array: array + np.inf, "must hold (finite|whole) numbers and have the shape"),
    "text": (lambda array: array.astype(str), "must hold (finite|whole) numbers and have the shape"),
    "complex": (lambda array: array.astype(complex), "must hold (finite|whole) numbers and have the shape"),
    "objects": (lambda array: array.astype(object), "it holds Python objects, which are never loaded"),
}


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.hostile(34)
def test_every_array_that_is_spoilt_is_refused(how, store):
    arrays, loaded = store
    spoil, message = SPOILT[how]
    for name in sorted(ARRAYS):
        with pytest.raises(InputError, match=message) as caught:
            loaded(**{name: spoil(arrays[name])})
        assert "changed' is not a saved monitor: " in str(caught.value), name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sigma", 0.0),
        ("threshold", 0.0),
        ("threshold", -1.0),
        ("release", 0.0),
        ("release", 1e9),
        ("deviation", np.array([1.0, 0.0])),
        ("keep", np.array([0, 2])),
        ("keep", np.array([-1, 0])),
        ("lam", -1.0),
        ("evidence", 0.0),
        ("sigma_unit", 0.0),
        ("exponent", np.array([10**6, 0])),
        ("exponent", np.array([0, -1101])),
    ],
)
@pytest.mark.hostile(34)
def test_numbers_out_of_range_are_refused(name, value, store):
    with pytest.raises(InputError, match=r"is not a saved monitor: .*(positive|names|exponent|above its threshold)"):
        store[1](**{name: np.asarray(value)})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("feature", -1, "its hypotheses are not about its features"),
        ("feature", 6, "its hypotheses are not about its features"),
        ("weight", 0.0, "its weight must be positive"),
        ("cost", -0.1, "its costs and odds must not be negative"),
        ("odds", -0.1, "its costs and odds must not be negative"),
        ("slope", 1e101, "its slope is far outside the possible range"),
    ],
)
@pytest.mark.hostile(34)
def test_hypotheses_that_cannot_be_are_refused(name, value, message, store):
    arrays, loaded = store
    changed = arrays[name].copy()
    changed[-1] = value
    with pytest.raises(InputError, match=f"is not a saved monitor: {message}"):
        loaded(**{name: changed})


def test_a_file_without_hypotheses_is_refused(store):
    none = dict.fromkeys(("slope", "cost", "weight", "odds"), np.empty(0))
    with pytest.raises(InputError, match="its hypotheses are not about its features"):
        store[1](feature=np.empty(0, np.int64), **none)


@pytest.mark.parametrize(("name", "kind"), [("recent", int), ("sums", bool), ("keep", float), ("exponent", float)])
def test_numbers_of_another_kind_are_refused(name, kind, store):
    arrays, loaded = store  # rows written into integers would be cut to integers
    with pytest.raises(InputError, match=f"is not a saved monitor: its array {name} must hold "):
        loaded(**{name: np.zeros_like(arrays[name], dtype=kind)})


def test_numbers_of_another_kind_are_not_said_to_be_of_another_shape(store):
    with pytest.raises(InputError, match=r"whole|integer|float"):
        store[1](keep=np.array([0.0, 1.0]))


PROGRESS = asdict(StreamProgress("2026-01-31T12:00:00Z", ended=False, alarms=2, bad_rows=3, recent="010"))
SPOILT_PROGRESS = (
    {"saved_at": "\x1b[31m"},
    {"saved_at": 7},
    {"ended": "no"},
    {"mostly_bad": 1},
    {"recent": "012"},
    {"recent": ["0"]},
    {"junk": 1},
)


def test_the_progress_of_a_stream_is_kept_beside_the_monitor_and_not_needed(plain, tmp_path):
    save_with_progress(plain, tmp_path / "state", StreamProgress(**PROGRESS))
    again, progress = load_with_progress(tmp_path / "state")
    assert asdict(progress) == PROGRESS
    assert again.update_many(ROWS) == ChangeMonitor.load(tmp_path / "state").update_many(ROWS)
    plain.save(tmp_path / "state")
    assert load_with_progress(tmp_path / "state")[1] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 5, "version": "9.1"}, "it has schema 5, this version reads 4; it was written by densdiff 9.1"),
        ({"schema": 1, "version": "0.1"}, "it is of version 1 (densdiff 0.1), which watched a single window; start"),
        ({"schema": 2, "version": "0.1"}, "it is of version 2 (densdiff 0.1), which watched sums only; start"),
        (
            {"schema": 3, "version": "0.1"},
            "it is of version 3 (densdiff 0.1), whose alarms ended at the threshold; start",
        ),
        ({"schema": True}, "it has schema True, this version reads 4"),
        ({"schema": "gone"}, "it has no 'schema'"),
        ({"kind": "other"}, "its header is not that of a monitor"),
        ({"kind": "gone"}, "its header is not that of a monitor"),
        ({"window": "gone"}, "it has no 'window'"),
        ({"window": 6}, "its array recent must hold finite numbers and have the shape (24, 2)"),
        ({"after_alarm": "stop"}, "after_alarm must be one of 'continue', 'reset'; got 'stop'"),
        ({"n_fresh": 9}, "its rows are not those of one stream"),
        ({"since": -1}, "since must be a whole number, at least 0; got -1"),
        ({"new_levels": {"z": []}}, "its rows are not those of one stream"),
        ({"new_levels": {"x0": [1]}}, "its new_levels are not a list of strings"),
        ({"levels": [None]}, "its levels do not match its names"),
        ({"marked": [[3], []]}, "its levels do not match its names"),
        ({"fills": [None, "1"]}, "is not a saved monitor"),
        ({"fills": [float("inf"), None]}, "its levels do not match its names"),
        ({"window": 2.5}, "window must be a whole number, at least 2; got 2.5"),
        ({"run_length": 1}, "run_length must be a number of rows above the window of 5; got 1"),
        ({"run_length": float("nan")}, "run_length must be a number of rows above the window of 5; got nan"),
        ({"seed": -1}, "seed must be a whole number, at least 0; got -1"),
        ({"n_seen": -1}, "n_seen must be a whole number, at least 0; got -1"),
        ({"n_seen": 8.5}, "n_seen must be a whole number, at least 0; got 8.5"),
        ({"n_reference": 0}, "n_reference must be a whole number, at least 1; got 0"),
        ({"names": ["a"]}, "its levels do not match its names"),
        ({"names": None}, "is not a saved monitor"),
        ({"settings": None}, "is not a saved monitor"),
        ({"settings": {"junk": 1}}, "its settings must be sigma, lam, n_centers and standardize; got junk"),
        ({"settings": {}}, "its settings must be sigma, lam, n_centers and standardize; got "),
        ({"names": "ab"}, "its names are not a list of strings"),
        ({"warnings": [1]}, "its warnings are not a list of strings"),
        *(({"progress": PROGRESS | spoilt}, "its progress is not that of a stream") for spoilt in SPOILT_PROGRESS),
        ({"progress": 3}, "its progress is not that of a stream"),
        ({"progress": PROGRESS | {"alarms": -1}}, "alarms must be a whole number, at least 0; got -1"),
        ({"progress": PROGRESS | {"bad_rows": "2"}}, "bad_rows must be a whole number, at least 0; got '2'"),
    ],
)
@pytest.mark.hostile(34)
def test_a_spoilt_header_is_refused(changes, message, store):
    arrays, loaded = store
    with pytest.raises(InputError, match=re.escape(message)):
        loaded(header=headed(arrays, **changes))


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"3", b"null", b"\xff\xfe", pytest.param(b"[" * 200_000, id="deep")],
)
def test_a_header_that_is_no_object_is_refused(text, store):
    with pytest.raises(InputError, match="is not a saved monitor: "):
        store[1](header=np.frombuffer(text, np.uint8))


@pytest.mark.parametrize("changes", [{"schema": 5, "version": "\x1b[31m\n" * 999}, {"settings": {"\u202e\n" * 999: 1}}])
@pytest.mark.hostile(33)
def test_words_of_a_hostile_header_are_one_harmless_line(changes, store):
    arrays, loaded = store
    with pytest.raises(InputError, match=r"is not a saved monitor: its? ") as caught:
        loaded(header=headed(arrays, **changes))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 2000


def test_an_array_too_many_is_refused(store):
    with pytest.raises(InputError, match=r"it has missing or unexpected arrays: surplus$"):
        store[1](surplus=np.ones(2))


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_payload_would_run_in_a_pickle(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "ran")))
    assert (tmp_path / "ran").is_dir()


@pytest.mark.parametrize("where", ["renamed pickle", "header", "recent", "surplus", "bare array"])
@pytest.mark.hostile(34)
def test_no_code_of_a_file_runs(where, store, tmp_path):
    objects = np.array([Payload(tmp_path / "ran")], dtype=object)
    file = tmp_path / "state"
    if where == "renamed pickle":
        file.write_bytes(pickle.dumps(objects[0]))
    elif where == "bare array":
        with file.open("wb") as out:
            np.save(out, objects, allow_pickle=True)
    else:
        with file.open("wb") as out:
            np.savez(out, **{**store[0], where: objects})
    no_zip = where in ("renamed pickle", "bare array")
    why = "it is not an npz file" if no_zip else "it holds Python objects, which are never loaded"
    with pytest.raises(InputError, match=why):
        ChangeMonitor.load(file)
    assert not (tmp_path / "ran").exists()


OTHER_FILES = {
    "empty": b"",
    "text": b"time,value\n0,1\n",
    "random bytes": np.random.default_rng(0).bytes(3000),
    "zip signature": b"PK\x03\x04",
    "array signature": b"\x93NUMPY",
}


@pytest.mark.parametrize("content", OTHER_FILES.values(), ids=list(OTHER_FILES))
def test_another_file_is_no_saved_monitor(content, tmp_path):
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(InputError, match=r"state' is not a saved monitor: .+"):
        ChangeMonitor.load(tmp_path / "state")


def test_a_file_without_objects_is_not_said_to_hold_them(tmp_path):
    (tmp_path / "state").write_bytes(b"time,value\n0,1\n")
    with pytest.raises(InputError, match=r"state' is not a saved monitor: it is not an npz file$"):
        ChangeMonitor.load(tmp_path / "state")


def test_other_arrays_are_no_saved_monitor(tmp_path):
    np.save(tmp_path / "one.npy", np.ones(3))
    np.savez(tmp_path / "some.npz", a=np.ones(3))
    with pytest.raises(InputError, match="it is not an npz file"):
        ChangeMonitor.load(tmp_path / "one.npy")
    with pytest.raises(InputError, match="it has no 'header'"):
        ChangeMonitor.load(tmp_path / "some.npz")


def test_a_path_without_a_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no file '.*nowhere'"):
        ChangeMonitor.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"is not a saved monitor: it is a folder"):
        ChangeMonitor.load(tmp_path)


def test_a_file_that_cannot_be_read_is_not_said_to_be_damaged(plain, tmp_path, monkeypatch):
    plain.save(tmp_path / "state")
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(InputError, match=r"state' cannot be read: permission denied$"):
        ChangeMonitor.load(tmp_path / "state")


def test_a_path_with_hostile_characters_is_one_harmless_line(plain, tmp_path):
    for name in ("a\nb\x1b[31m", "nul\0"):
        with pytest.raises(InputError) as caught:
            ChangeMonitor.load(tmp_path / name)
        assert str(caught.value).isprintable()
    assert refused_save(plain, tmp_path / "a\nb\x1b[31m" / "state").isprintable()


def test_a_truncated_file_is_refused_wherever_it_ends(plain, state, tmp_path):
    whole = state(plain)
    for end in range(0, len(whole), 61):
        (tmp_path / "part").write_bytes(whole[:end])
        with pytest.raises(InputError, match="part' is not a saved monitor: "):
            ChangeMonitor.load(tmp_path / "part")


def flipped(whole, place, bit):
    return whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]


def test_a_flipped_bit_of_the_data_never_gives_another_monitor(plain, state, tmp_path):
    whole, file = state(plain), tmp_path / "flipped"
    refused = 0
    for place in range(0, whole.index(b"PK\x01\x02"), 13):
        file.write_bytes(flipped(whole, place, 1 << place % 8))
        try:
            found = ChangeMonitor.load(file)
        except InputError:
            refused += 1
            continue
        assert found.update_many(ROWS) == STEPS  # a time or a flag of the container
    assert refused > 100


@pytest.mark.parametrize(("offset", "bit"), [(6, 128), (8, 1), (10, 1)], ids=["version", "encrypted", "compression"])
def test_a_flipped_bit_of_the_directory_is_refused(offset, bit, plain, state, tmp_path):
    whole = state(plain)
    (tmp_path / "flipped").write_bytes(flipped(whole, whole.index(b"PK\x01\x02") + offset, bit))
    with pytest.raises(InputError, match="is not a saved monitor"):
        ChangeMonitor.load(tmp_path / "flipped")


def test_an_array_that_claims_to_be_huge_is_refused(store, tmp_path):
    with zipfile.ZipFile(tmp_path / "huge", "w") as out:
        for name, array in store[0].items():
            with io.BytesIO() as file:
                if name == "turn":
                    claim = {"descr": "<f8", "fortran_order": False, "shape": (10**14,)}
                    np.lib.format.write_array_header_1_0(file, claim)
                else:
                    np.save(file, array)
                out.writestr(f"{name}.npy", file.getvalue())
    with pytest.raises(InputError, match="is not a saved monitor"):
        ChangeMonitor.load(tmp_path / "huge")


def test_a_constant_column_survives_a_file(tmp_path):
    with pytest.warns(DensDiffWarning, match="constant in the reference"):
        made(np.insert(REFERENCE, 1, 7.0, axis=1)).save(tmp_path / "state")
    again = ChangeMonitor.load(tmp_path / "state")
    assert "'x1'" in again.warnings_[0]
    assert again.update_many(np.insert(ROWS, 1, 7.0, axis=1)) == STEPS
