"""What every estimator, question and result promises, whatever it computes; the lists are in registry.py."""

import itertools
import json
import pickle
import random
import subprocess
import sys
import warnings
from dataclasses import FrozenInstanceError, fields, is_dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import densdiff as dd
from tests.contracts.registry import (
    BEYOND_MEMORY,
    ENGINES,
    ESTIMATORS,
    FORMS,
    MIXES,
    OF_NUMBERS,
    POINTS,
    QUESTIONS,
    Form,
    long_tables,
    named,
    samples,
    small,
)

N = 24
SEED = 7
each_case = pytest.mark.parametrize("case", [*ESTIMATORS, *QUESTIONS], ids=str)
each_question = pytest.mark.parametrize("case", QUESTIONS, ids=str)
each_estimator = pytest.mark.parametrize("case", ESTIMATORS, ids=str)
# A score needs half a window on both sides, and a score fitted anew at every position has no threshold.
DOCUMENTED = {"ChangesResult": {"scores", "threshold"}}
WITHOUT_PICTURE = {"MonitorStep", "Profile"}  # the answer to one row, and a table that nothing was asked of yet


def answer(case, seed=SEED, n=N, **given):
    """The answer; what it warns of is ours and stands in it too, other warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        return case.ask(seed, **(given or case.inputs(n)))


@cache
def first(case):
    return answer(case)


def bits(value, points=POINTS):
    """A value that is equal to another only if every bit is: of models what they learned and say, of results all."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return bits(value.tolist())
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return float(value).hex()
    if isinstance(value, dict):
        return {name: bits(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [bits(each) for each in value]
    if is_dataclass(value):
        return {field.name: bits(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "get_params"):
        return {name: bits(each) for name, each in said(value, points).items()}
    return value


def said(model, points):
    machinery = ("fit_", "prepared_")  # what the answers come from: solvers and samples, compared by the answers
    found = {name: each for name, each in vars(model).items() if name.endswith("_") and not name.startswith("_")}
    found = {name: each for name, each in found.items() if name not in machinery}
    found = {name: each for name, each in found.items() if not hasattr(each, "get_params")}
    distance = {"distance": model.l2_distance()} if hasattr(model, "l2_distance") else {}
    return found | distance | {"predicted": model.predict(points)}


def held(given, form):
    return {name: form.hold(each) if is_table(each) else each for name, each in given.items()}


def is_table(value):
    return isinstance(value, dict) or np.ndim(value) == 2


def contents(given):
    """All bytes of the inputs."""
    return {name: bits(each) if isinstance(each, list | np.ndarray) else columns(each) for name, each in given.items()}


def columns(frame):
    names = getattr(frame, "column_names", None) or list(getattr(frame, "columns", frame))
    return {name: repr(np.asarray(frame[name]).tolist()) for name in names}


def arrays_of(given):
    """Every array of the inputs, those of columns too."""
    parts = [list(each.values()) if isinstance(each, dict) else [each] for each in given.values()]
    return [array for part in parts for array in part if isinstance(array, np.ndarray)]


@each_case
def test_neither_inputs_nor_random_state_nor_terminal_are_touched(case, capfd):
    given = case.inputs(N)
    for array in arrays_of(given):
        array.flags.writeable = False
    before = contents(given), bits(np.random.get_state(legacy=False)), random.getstate()  # noqa: NPY002
    found = answer(case, **given)
    str(found), repr(found)
    assert (contents(given), bits(np.random.get_state(legacy=False)), random.getstate()) == before  # noqa: NPY002
    assert capfd.readouterr() == ("", "")


@each_case
def test_the_same_seed_gives_the_same_bits(case):
    found = answer(case)
    assert bits(found) == bits(first(case))
    assert getattr(found, "seed", SEED) == getattr(found, "seed_", SEED) == SEED


@each_case
def test_an_answer_does_not_follow_the_arrays_of_the_caller(case):
    given = case.inputs(N)
    found = answer(case, **given)
    for array in arrays_of(given):
        array[:] = array[0]
    assert bits(found) == bits(first(case))


@each_case
def test_one_thread_and_two_give_the_same_bits(case):
    n = {"two_sample_test refit": 2, "detect_changes window": 2, "compare mixed": 2}.get(case.name, 10) * N
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(bits(answer(case, n=n)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("case", "form"),
    [(case, form) for case in [*ESTIMATORS, *QUESTIONS] for form in FORMS if form.takes(case)],
    ids=str,
)
def test_every_container_gives_the_bits_of_the_array_and_is_not_changed(case, form):
    given = held(case.inputs(N), form)
    before = contents(given)
    assert bits(answer(case, **given), form.hold(POINTS)) == bits(first(case))
    assert contents(given) == before


@pytest.mark.parametrize(
    ("case", "mix"),
    [(case, mix) for case in [*ESTIMATORS, *QUESTIONS] for mix in MIXES if all(form.takes(case) for form in mix)],
    ids=lambda each: " and ".join(map(str, each)) if isinstance(each, tuple) else str(each),
)
def test_containers_of_different_kinds_go_together(case, mix):
    given = case.inputs(N)
    turns = itertools.cycle(mix)
    given = {name: next(turns).hold(each) if is_table(each) else each for name, each in given.items()}
    assert bits(answer(case, **given), next(turns).hold(POINTS)) == bits(first(case))


@pytest.mark.parametrize("kind", ["int8", "float32", "object"])
@pytest.mark.parametrize("case", [case for case in [*ESTIMATORS, *QUESTIONS] if case.name != "compare mixed"], ids=str)
@pytest.mark.hostile(19)
def test_narrow_numbers_give_the_bits_of_wide_ones(case, kind):
    tables, wide = of_whole_numbers(case)
    narrow = answer(case, **case.inputs(N) | {name: each.astype(kind) for name, each in tables.items()})
    assert bits(narrow) == bits(wide)


@cache
def of_whole_numbers(case):
    """The tables of a case rounded, and its answer to them."""
    given = {name: each for name, each in case.inputs(N).items() if is_table(each)}
    tables = {name: np.clip(np.round(each), -99, 99) + 0.0 for name, each in given.items()}  # an integer has no -0.0
    return tables, answer(case, **case.inputs(N) | tables)


@pytest.mark.parametrize(
    ("case", "engine"),
    [(case, engine) for case in [*ESTIMATORS, *QUESTIONS] for engine in ENGINES if engine.takes(case)],
    ids=str,
)
def test_rows_that_are_not_in_memory_give_the_answer_of_the_array_or_a_sentence(case, engine, monkeypatch):
    monkeypatch.setattr("densdiff.io.memory.room", lambda: 100.0)  # what a lazy table may take
    monkeypatch.setattr("densdiff.io.memory.VALUES", 20)
    given = case.inputs(N)
    whole = {"X"} if "y" in given else set()  # labelled rows are in memory; new ones need not be
    given = {name: each if name in whole or not is_table(each) else engine.hold(each) for name, each in given.items()}
    if case.name not in BEYOND_MEMORY:
        if whole:
            given["X"] = engine.hold(given["X"])
        with pytest.raises(dd.InputError, match=r"^[^\n]+$"):
            answer(case, **given)
        return
    assert apart(first(case), answer(case, **given), BEYOND_MEMORY[case.name]) == []


def apart(expected, found, ignored, where=""):
    """The places where two answers differ by more than rounding."""
    if hasattr(expected, "get_params"):
        expected, found = said(expected, POINTS), said(found, POINTS)
    if is_dataclass(expected):
        names = [field.name for field in fields(expected) if field.name not in ignored]
        expected, found = ({name: getattr(each, name) for name in names} for each in (expected, found))
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        return [at for name, each in expected.items() for at in apart(each, found[name], ignored, f"{where}.{name}")]
    if isinstance(expected, tuple) and isinstance(found, tuple):
        found = tuple(each for each in found if "read once into a temporary file" not in str(each))
    if isinstance(expected, list | tuple) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [at for k, pair in pairs for at in apart(*pair, ignored, f"{where}[{k}]")]
    if np.asarray(expected).dtype.kind == "f":
        close = np.shape(expected) == np.shape(found) and np.allclose(expected, found, 1e-9, 1e-9, equal_nan=True)
        return [] if close else [where]
    return [] if np.array_equal(expected, found) else [where]


def test_files_of_every_kind_give_the_bits_of_the_array(tmp_path):
    compare = next(case for case in QUESTIONS if case.name == "compare")
    for name, rows in compare.inputs(N).items():
        table = pa.table(named(rows))
        pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
        np.save(tmp_path / f"{name}.npy", rows)
    for ending in ("csv", "parquet", "npy"):
        found = answer(compare, A=tmp_path / f"A.{ending}", B=str(tmp_path / f"B.{ending}"))
        assert bits(found) == bits(first(compare))


@each_estimator
def test_a_refit_equals_a_fresh_fit(case):
    again = answer(case, n=2 * N)
    assert bits(again) != bits(first(case))
    again.fit(**_of_fit(case, case.inputs(N)))
    assert bits(again) == bits(first(case))


def _of_fit(case, given):
    names = {"wx": "weights_x", "wy": "weights_y", "w": "sample_weight", "X_new": "X_unlabeled"}
    if case.name in ("LeastSquaresClassifier", "ClassBalance"):
        given = {name: each for name, each in given.items() if name != "X_new"}
    return {names.get(name, name): each for name, each in given.items()}


@each_estimator
def test_a_refused_refit_leaves_the_model_as_it_was(case):
    model, given = answer(case), case.inputs(N)
    given["X"][0, 0] = np.nan
    with pytest.raises(ValueError, match=r"missing|NaN"):
        model.fit(**_of_fit(case, given))
    assert bits(model) == bits(first(case))


@each_estimator
def test_a_clone_has_the_parameters_and_nothing_learned(case):
    fitted = first(case)
    copy = clone(fitted)
    assert repr(copy) == repr(case.make(SEED)) == repr(fitted)
    assert copy.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    assert not [name for name in vars(copy) if name.endswith("_")]
    assert copy.set_params(**copy.get_params()) is copy
    with pytest.raises(ValueError, match="Invalid parameter 'no_such_name'"):
        copy.set_params(no_such_name=1)


@each_case
def test_pickles_answer_the_same(case):
    assert bits(pickle.loads(pickle.dumps(first(case)))) == bits(first(case))


@each_question
def test_results_go_to_json_and_back(case):
    found = first(case)
    for result in found if isinstance(found, list) else [found]:
        plain = result.to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        if hasattr(result, "to_json"):
            assert json.loads(result.to_json(), parse_constant=pytest.fail) == plain


def public_results():
    """Every public class that shows itself in a notebook, but estimators, which scikit-learn shows."""
    found = {name: getattr(dd, name) for name in dd.__all__}
    return [name for name, each in found.items() if hasattr(each, "_repr_html_") and not hasattr(each, "get_params")]


@cache
def shown_results():
    """Results of every public class. Bands have a picture if they are of one column; a profile is no answer yet."""
    answers = [first(case) for case in QUESTIONS]
    results = [result for answer in answers for result in (answer if isinstance(answer, list) else [answer])]
    rows = samples(N)
    one_column = small(SEED).fit(rows["X"][:, 0], rows["Y"][:, 0]).confidence_band(POINTS[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        table = dd.profile(long_tables(N)["A"], random_state=SEED)
    by_class = {type(result).__name__: [] for result in [*results, table]}
    for result in [*results, one_column, table]:
        by_class[type(result).__name__].append(result)
    return by_class


def test_every_public_result_shows_itself_in_a_notebook():
    assert set(public_results()) == shown_results().keys()


@pytest.mark.parametrize("name", public_results())
def test_a_notebook_shows_the_answer_and_its_picture(name, monkeypatch):
    results = shown_results()[name]
    pages = [result._repr_html_() for result in results]
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    texts = [result._repr_html_() for result in results]
    assert not any("<script" in page for page in pages)
    assert all(page.startswith(text) and text.startswith("<p") for page, text in zip(pages, texts, strict=True))
    pictures = [page.removeprefix(text) for page, text in zip(pages, texts, strict=True)]
    assert any(pictures) == (name not in WITHOUT_PICTURE)
    assert all(picture.startswith('<img alt="" src="data:image/png;base64,iVBOR') for picture in filter(None, pictures))


def test_names_of_columns_are_text_in_a_notebook():
    """A name may be anything, and a notebook would run a script that it holds."""
    hostile = Form("hostile names", lambda rows: {f"<script>{name}": column for name, column in named(rows).items()})
    for case in QUESTIONS:
        if case.name in ("compare_by", "two_sample_test refit", "detect_changes window"):  # names "x1", or is slow
            continue
        found = answer(case, **held(case.inputs(N), hostile))
        for result in found[-1:] if isinstance(found, list) else [found]:
            assert "<script" not in result._repr_html_(), case


@each_question
def test_results_are_frozen(case):
    found = first(case)
    result = found[0] if isinstance(found, list) else found
    for field in fields(result):
        with pytest.raises(FrozenInstanceError):
            setattr(result, field.name, None)


def not_finite(value, where=""):
    """The places in a result that hold nan or infinity."""
    if is_dataclass(value):
        known = DOCUMENTED.get(type(value).__name__, set())
        return [
            place
            for field in fields(value)
            if field.name not in known
            for place in not_finite(getattr(value, field.name), f"{where}.{field.name}")
        ]
    if isinstance(value, dict):
        return [place for name, each in value.items() for place in not_finite(each, f"{where}[{name!r}]")]
    if isinstance(value, list | tuple):
        return [place for k, each in enumerate(value) for place in not_finite(each, f"{where}[{k}]")]
    if isinstance(value, np.ndarray):
        return [where] if value.dtype.kind == "f" and not np.isfinite(value).all() else []
    return [where] if isinstance(value, float) and not np.isfinite(value) else []


ODD = {
    "ordinary": lambda rows: rows,
    "ties": lambda rows: np.round(rows / [1.0, 30.0]),
    "a constant column": lambda rows: rows * [1.0, 0.0],
    "nothing but a constant": lambda rows: rows * 0.0,
    "1e200": lambda rows: rows * 1e200,
    "1e-200 beside 1e200": lambda rows: rows * [1e-200, 1e200],
    "offset 1e12": lambda rows: rows + 1e12,
    "one wild row": lambda rows: np.vstack([rows[:-1], [[1e15, -1e300]]]),
}


@pytest.mark.parametrize(
    ("case", "odd"),
    [(case, odd) for case in QUESTIONS for odd in ODD if odd == "ordinary" or case.name != "compare mixed"],
    ids=str,
)
def test_no_result_holds_nan_or_infinity(case, odd):
    given = {name: ODD[odd](each) if np.ndim(each) == 2 else each for name, each in case.inputs(N).items()}
    try:
        found = answer(case, **given)
    except dd.DensDiffError:  # a sentence will do as well
        return
    for result in found if isinstance(found, list) else [found]:
        assert not_finite(result) == []


def test_importing_everything_prints_nothing_and_draws_nothing():
    code = (
        "import random, numpy as np\n"
        "state = lambda: (random.getstate(), np.random.get_state(legacy=False)['state']['key'].tolist())\n"
        "before = state()\n"
        "import densdiff as dd; [getattr(dd, name) for name in dd.__all__]\n"
        "assert state() == before"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_every_public_question_result_and_estimator_is_registered():
    """A name that is added to the public table has to be added to the registry too."""
    found = {type(first(case)).__name__ for case in [*ESTIMATORS, *QUESTIONS]}
    found |= {type(each).__name__ for case in QUESTIONS if isinstance(first(case), list) for each in first(case)}
    found |= {type(each).__name__ for case in QUESTIONS for each in _parts(first(case))}
    asked = {case.name.split()[0] for case in QUESTIONS}
    others = {"datasets", "metrics", "plots", "sql", "__version__", *OF_NUMBERS}  # sql is a container
    others |= {"profile", "Profile"}  # which "compare profile" makes
    public = {name for name in dd.__all__ if name not in others and not name.endswith(("Error", "Warning"))}
    assert public - found - asked == set()


def _parts(result):
    of = ("columns", "pairs", "regions", "missing", "groups", "batches")
    return [each for part in of for each in getattr(result, part, [])]
