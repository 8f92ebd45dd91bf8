"""Columns by name and by pattern."""

import pytest

import densdiff as dd
from densdiff.data.choosing import choose_kinds, choose_names
from densdiff.data.table import table_of


def tables(*names):
    return [table_of({name: [1.0, 2.0] for name in of}, where) for of, where in zip(names, "AB", strict=True)]


def chosen(names, columns=None, exclude=None):
    return choose_names(tables(names, names), columns, exclude)[0]


@pytest.mark.parametrize(
    ("columns", "exclude", "expected"),
    [
        (["b", "a"], None, ("b", "a")),
        ("a", None, ("a",)),
        ("price_*", None, ("price_in", "price_out")),
        (["price_*", "price_in", "a"], None, ("price_in", "price_out", "a")),
        ("?", None, ("a", "b")),
        ("[!ab]*", None, ("price_in", "price_out")),
        (None, "price_*", ("a", "b")),
        (["price_*", "a"], "*_in", ("price_out", "a")),
        (None, [], ("a", "b", "price_in", "price_out")),
    ],
)
def test_names_and_patterns(columns, exclude, expected):
    assert chosen(("a", "b", "price_in", "price_out"), columns, exclude) == expected


def test_patterns_are_case_sensitive():
    assert chosen(("Price", "price"), "P*") == ("Price",)


def test_a_name_that_a_table_has_is_no_pattern():
    names = ("a*", "ab", "x[0]", "x0")
    assert chosen(names, "a*") == ("a*",)
    assert chosen(names, exclude="x[0]") == ("a*", "ab", "x0")


def test_a_pattern_takes_of_each_table_what_it_has():
    assert choose_names(tables(("k", "x1"), ("x2", "k")), ["k", "x*"], None) == [("k", "x1"), ("k", "x2")]
    assert choose_names(tables(("k", "x1"), ("x2", "k")), None, "x1") == [("k",), ("x2", "k")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "prise"}, "A has no column 'prise' (did you mean 'price'?); it has 'price', 'Zip', 'k'"),
        ({"columns": ["k", "zip"]}, "A has no column 'zip' (did you mean 'Zip'?); it has 'price', 'Zip', 'k'"),
        ({"columns": "z*"}, "A has no column 'z*'; it has 'price', 'Zip', 'k'"),
        (
            {"exclude": ["k", "prices"]},
            "exclude: neither A nor B has a column 'prices' (did you mean 'price'?); they have 'price', 'Zip', 'k'",
        ),
        ({"exclude": "*"}, "exclude leaves no column of A; it has 'price', 'Zip', 'k'"),
        ({"exclude": 3}, "exclude must be a list of names; got 3"),
        ({"exclude": [3]}, "exclude must be a list of names as strings, such as '3'; got 3"),
    ],
)
def test_what_no_column_is_called_is_refused_with_what_is_near(options, message):
    with pytest.raises(dd.InputError) as caught:
        choose_names(
            tables(("price", "Zip", "k"), ("price", "Zip", "k")), **{"columns": None, "exclude": None} | options
        )
    assert str(caught.value) == message


def test_a_pattern_that_one_table_lacks_is_refused():
    with pytest.raises(dd.InputError, match=r"B has no column that matches 'x\*'; it has 'k'"):
        choose_names(tables(("x1", "k"), ("k",)), "x*", None)


def test_a_name_that_one_table_lacks_is_refused():
    with pytest.raises(dd.InputError, match="B has no column 'x1'; it has 'k'"):
        choose_names(tables(("x1", "k"), ("k",)), ["x1"], None)


def test_kinds_by_name_go_before_kinds_by_pattern():
    both = tables(("zip", "zip_2", "when"), ("zip", "x"))
    given = {"zip": "number", "zip*": "category", "when": "number"}
    assert choose_kinds(both, given) == {"zip": "number", "zip_2": "category", "when": "number"}


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["zip"], 'kinds must be a mapping such as {"zip": "category"}; got an object of type list'),
        ({"zip": "numbers"}, "a kind in kinds must be 'number' or 'category'; got 'numbers' (did you mean 'number'?)"),
        ({"zap": "number"}, "kinds: neither A nor B has a column 'zap' (did you mean 'zip'?); they have 'zip'"),
    ],
)
def test_kinds_that_make_no_sense_are_refused(kinds, message):
    with pytest.raises(dd.InputError) as caught:
        choose_kinds(tables(("zip",), ("zip",)), kinds)
    assert str(caught.value) == message
    assert caught.value.argument == "kinds"
