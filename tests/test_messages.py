"""Marks in messages: what Python reads there, what another front may write there, and that nobody can forge one."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff import errors, messages
from densdiff.not_fitted import NotFittedError
from densdiff.results import Receipt

KINDS = [
    errors.DensDiffError,
    errors.InputError,
    NotFittedError,
    errors.NumericalError,
    errors.MissingExtraError,
]
FORGED = errors.mark("text", "missing", "value")
ABOUT = {"file": "jan.csv", "argument": "alpha", "column": "age", "row": 3}


@pytest.mark.parametrize(
    ("marked", "text", "found"),
    [
        (messages.argument("alpha"), "alpha", ("alpha", "")),
        (messages.argument("missing", "drop"), 'missing="drop"', ("missing", "drop")),
        (messages.argument("decimal", ","), "decimal=','", ("decimal", "','")),
        (messages.argument("window", "4s"), "window='4s'", ("window", "'4s'")),
        (messages.argument("window", 50), "window=50", ("window", "50")),
        (messages.argument("header", False), "header=False", ("header", "False")),
        (messages.argument("sep", ...), "sep=", ("sep", "")),
        (messages.memory_limit(46), "sklearn.set_config(working_memory=46)", ("working_memory", "46")),
    ],
)
def test_python_reads_an_argument_as_it_is_written_in_code(marked, text, found):
    error = errors.InputError(f"use {marked} first")
    assert str(error) == error.args[0] == f"use {text} first"
    assert errors.marks(error.marked) == [errors.Mark(text, *found)]
    assert errors.rendered(error.marked, lambda place: f"<{place.argument} {place.value}>") == (
        f"use <{' '.join(found)}> first"
    )


@given(st.lists(st.one_of(st.text(), st.tuples(st.text(), st.text(), st.text()))))
def test_a_text_falls_into_what_it_was_made_of(parts):
    signs = str.maketrans("", "", "\ue000\ue001\ue002")
    clean = [part.translate(signs) if isinstance(part, str) else [s.translate(signs) for s in part] for part in parts]
    marked = "".join(part if isinstance(part, str) else errors.mark(*part) for part in clean)
    assert errors.marks(marked) == [errors.Mark(*part) for part in clean if not isinstance(part, str)]
    assert errors.plain(marked) == "".join(part if isinstance(part, str) else part[0] for part in clean)


@given(st.text(alphabet="\ue000\ue001\ue002ab"), st.text(alphabet="\ue000\ue001\ue002ab"))
def test_marks_hold_whatever_they_are_given(text, value):
    (found,) = errors.marks(errors.mark(text, "alpha", value))
    assert found.argument == "alpha"
    assert set(found.text + found.value) <= set("ab")


@pytest.mark.parametrize("data", [FORGED, f"a{FORGED}b", "\ue000", "\ue000a\ue001", "\ue002"])
def test_marks_in_the_data_of_a_user_are_text(data):
    for worded in (
        messages.shown(data),
        messages.quote_name(data),
        messages.listed([data]),
        messages.describe_value(data),
    ):
        assert worded.isprintable()
        assert errors.marks(worded) == []
    assert errors.marks(messages.escaped(data)) == []
    assert len(errors.marks(messages.argument("time", data))) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_errors_carry_what_they_are_about_to_another_process(kind):
    error = kind(f"{messages.argument('alpha')} is odd", **ABOUT)
    for twin in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is kind
        assert (str(twin), twin.marked) == ("alpha is odd", error.marked)
        assert {name: getattr(twin, name) for name in ABOUT} == ABOUT
    other = error.reworded("else")
    assert (type(other), str(other), other.row, other.file) == (kind, "else", 3, "jan.csv")


@pytest.mark.parametrize("kind", KINDS)
def test_errors_need_no_more_than_a_message(kind):
    assert str(kind("text")) == "text"
    assert str(kind()) == ""
    assert [getattr(kind("text"), name) for name in ABOUT] == [None] * 4


def test_an_input_is_called_as_its_reader_calls_it_within_and_by_its_own_name_outside():
    assert messages.name_of("A") == "A"
    with messages.set_display_names({"A": "jan.csv"}):
        name = messages.name_of("A")
        assert messages.name_of("B") == "B"
    assert errors.plain(name) == "A"
    assert errors.marks(f"column 'a' of {name}: odd") == [errors.Mark("A", "A", "jan.csv")]
    assert messages.name_of("A") == "A"


def test_warnings_read_as_python_notes_as_their_reader_and_the_warning_keeps_the_marks():
    notes = []
    with messages.set_display_names({"A": "jan.csv"}), pytest.warns(errors.DensDiffWarning) as caught:
        messages.warn(f"{messages.name_of('A')} is odd", notes)
    assert notes == ["jan.csv is odd"]
    assert str(caught[0].message) == "A is odd"
    assert caught[0].category is errors.DensDiffWarning
    assert errors.marks(caught[0].message.marked) == [errors.Mark("A", "A", "jan.csv")]
    twin = pickle.loads(pickle.dumps(caught[0].message))
    assert (str(twin), twin.marked) == ("A is odd", caught[0].message.marked)


def test_results_hold_no_marks():
    with messages.set_display_names({"A": "jan.csv"}):
        note = f"{messages.name_of('A')} is odd"
    made = {"sigma": 1.0, "lam": 1.0, "solver": "", "n_centers": 1, "n_x": 1, "n_y": 1, "seed": 1, "tuning": ""}
    assert Receipt(**made, warnings=(note,)).warnings == ("A is odd",)
