"""Saved profiles that are damaged, of another version or none at all: refused with the reason, and no code runs."""

import json
import pickle

import numpy as np
import pytest

import densdiff as dd
from densdiff.messages import shown
from tests.command_line import refusal, run
from tests.comparing.test_profile import night
from tests.fuzz.corpus import Trap, npz

pytestmark = pytest.mark.hostile(53)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The header and the arrays of a saved profile."""
    path = tmp_path_factory.mktemp("profile") / "ref.profile"
    dd.profile(night(300), random_state=0).save(path)
    with np.load(path) as store:
        arrays = dict(store)
    return json.loads(arrays.pop("header").tobytes()), arrays


def written(path, header, arrays):
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    path.write_bytes(npz({"header": text, **arrays}))
    return path


def reason(path):
    with pytest.raises(dd.InputError) as error:
        dd.Profile.load(path)
    text = str(error.value)
    assert text.startswith(f"{shown(str(path))} is not a saved profile: ")
    assert text.isprintable()
    return text.split("is not a saved profile: ")[1]


HEADERS = {
    "kind": ({"kind": "densdiff state"}, "its header is not that of a profile"),
    "schema": ({"schema": 9, "version": "99"}, "it has schema 9, this version reads 3; it was written by densdiff 99"),
    "earlier schema": ({"schema": 2}, "it was written by an earlier version, with other sums over rows; make it again"),
    "filter of categories": ({"lam": 0.1, "suited": 0}, "its filter needs a lam above 0, the last of the widths"),
    "lam": ({"lam": "0.1"}, "its lam must be finite numbers"),
    "many widths": ({"widths": [1.0] * 9}, "it has more widths than a profile can have"),
    "width": ({"suited": 6}, "or names one that there is not"),
    "names": ({"categories": [["height", [], None], ["paid", [], None]]}, "its columns need different names"),
    "no columns": ({"numbers": [], "categories": []}, "its columns need different names"),
    "rows": ({"n": 3}, "its counts of pairs do not fit its columns and rows"),
    "negative rows": ({"n": -3}, "n must be"),
    "missing": ({"missing": [0]}, "each column of numbers needs its missing values"),
    "widths": ({"widths": [1.0, 0.0]}, "its widths must be above 0"),
    "endless width": ({"widths": [float("inf")]}, "its widths must be finite numbers"),
    "notes": ({"notes": [1]}, "its notes are not a list of strings"),
    "levels": ({"categories": [["city", "Bonn", None], ["paid", [], None]]}, "its levels are not a list of strings"),
    "text as number": ({"numbers": [["height", "0", 1.0, False, 1.0, False]]}, "its numbers must be finite numbers"),
    "seed": ({"seed": -1}, "seed must be"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_does_not_fit_is_told(parts, tmp_path, name):
    header, arrays = parts
    changes, why = HEADERS[name]
    assert why in reason(written(tmp_path / "x.profile", header | changes, arrays))


def negative(array):
    return -array


def with_nan(array):
    return np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array)


ARRAYS = {
    "negative counts": ("cells_0", negative, "its array cells_0 must hold cells and counts"),
    "negative levels": ("levels_0", negative, "its array levels_0 does not count its levels"),
    "too many": ("cells_0", lambda array: np.add(array, [[0, 1]]), "its counts do not add up to its rows"),
    "a cell too far": ("cells_0", lambda array: np.add(array, [[9999, 0]]), "names cells that there are not"),
    "counts beyond all rows": ("knot_rows_0", lambda array: array + 2**62, "not finite, or too large"),
    "NaN": ("sums", with_nan, "its array sums holds numbers that are not finite"),
    "other kind": ("levels_0", lambda array: array.astype(float), "its array levels_0 holds float64"),
    "text": ("sums", lambda array: np.array(["a"]), "its array sums holds <U1"),
    "shape of sums": ("sums", lambda array: array[1:], "its sums do not fit its columns"),
    "negative squares": ("squares", negative, "its sums do not fit its columns"),
    "shape of pairs": ("counts_of_pairs", lambda array: array[1:], "its counts of pairs do not fit"),
    "negative pairs": ("counts_of_pairs", negative, "its counts of pairs do not fit"),
    "pairs": ("pairs", lambda array: array + 99, "its pairs or quantiles do not fit its columns"),
    "pairs of one": ("pairs", lambda array: array[:, :1], "its pairs or quantiles do not fit its columns"),
    "forms": ("form_quantiles", lambda array: array[1:], "its quadratic forms are not four"),
    "knots": ("knots_1", negative, "its array knots_1 is not ascending, or has no rows"),
    "moved twice": ("merged_0", lambda array: array[:, [0, 0]], "its array merged_0 names cells that there are not"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_does_not_fit_is_told(parts, tmp_path, name):
    header, arrays = parts
    place, change, why = ARRAYS[name]
    assert why in reason(written(tmp_path / "x.profile", header, arrays | {place: change(arrays[place])}))


def test_missing_and_foreign_arrays_are_told(parts, tmp_path):
    header, arrays = parts
    fewer = {name: array for name, array in arrays.items() if name != "sums"}
    assert reason(written(tmp_path / "x.profile", header, fewer)) == "it has no 'sums'"
    more = arrays | {"more": np.zeros(3, dtype=int)}
    assert reason(written(tmp_path / "x.profile", header, more)) == "it has unexpected arrays: more"


def test_no_code_of_a_file_runs(parts, tmp_path):
    header, arrays = parts
    path = tmp_path / "x.profile"
    path.write_bytes(pickle.dumps(Trap()))
    assert reason(path) == "it is not an npz file"
    objects = np.array([Trap(), None], dtype=object)
    assert (
        reason(written(path, header, arrays | {"sums": objects})) == "it holds Python objects, which are never loaded"
    )


def test_what_is_no_file_of_ours_is_told(parts, tmp_path):
    path = tmp_path / "x.profile"
    header, arrays = parts
    whole = written(path, header, arrays).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    reason(path)
    path.write_bytes(b"")
    assert reason(path) == "it is not an npz file"
    assert reason(tmp_path) == "it is a folder"
    with pytest.raises(dd.InputError, match="there is no file"):
        dd.Profile.load(tmp_path / "none.profile")
    with pytest.raises(dd.InputError, match="path must name a file"):
        dd.Profile.load(3)


def test_a_table_of_other_columns_is_refused(tmp_path):
    dd.profile(night(300), random_state=0).save(tmp_path / "ref.profile")
    with pytest.raises(dd.InputError) as error:
        dd.compare(tmp_path / "ref.profile", {"other": np.arange(90.0), "word": ["a", "b"] * 45})
    assert str(error.value).isprintable()


def test_the_command_line_makes_profiles_and_compares_them(tmp_path):
    paths = [tmp_path / name for name in ("january.csv", "february.csv")]
    for seed, path in enumerate(paths):
        night(300, seed).assign(when="2024-01-01").to_csv(path, index=False)
    january, february = (path.with_suffix(".profile") for path in paths)
    code, out, _ = run("profile", paths[0], "-o", january, "--seed", 0)
    assert (code, out.splitlines()[0]) == (0, f"Profile of 300 rows: 3 numbers, 2 categories; written to {january}")
    assert "left out: 'when'" in out
    assert run("profile", paths[1], "--like", january, "-o", february)[0] == 0
    for other in (paths[1], february):
        code, out, err = run("compare", january, other, "--permutations", 99, "--seed", 0)
        assert code == 0, err
        assert "300 of january.profile, 300 of february" in out
    wrong = refusal("profile", paths[0], "-o", tmp_path / "january.npz")
    assert wrong == f"the name of a profile ends in .profile; got {shown(str(tmp_path / 'january.npz'))}"
    late = refusal("compare", january, paths[1], "--columns", "height")
    assert late == "--columns is chosen when a profile is made, not when it is compared; give it there"
    paths[0].write_text("a,b\n1,2\n3,4\n")
    few = refusal("profile", paths[0], "-o", january)
    assert few == "january.csv has 2 rows; a profile of so few would show them: at least 50 are needed"
