"""What moved in a column: the explanation that leaves least of the difference, in words."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densdiff.comparing.movement import describe_levels, describe_numbers, moved_levels, moved_numbers
from densdiff.sources.array_sample import ArraySample


def described(a, b, name="B"):
    return describe_numbers(*(ArraySample(np.array([part], dtype=float).T) for part in (a, b)), name)


def normal(seed, n=2000):
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ([0, 1, 2, 3], [1, 2, 3, 4], "higher in B: mean 1.5 -> 2.5 (by 1, 0.89 deviations within the tables)"),
        ([1, 2, 3, 4], [0, 1, 2, 3], "lower in B: mean 2.5 -> 1.5 (by 1, 0.89 deviations within the tables)"),
        ([-1, 1, -1, 1], [-3, 3, -3, 3], "wider in B: standard deviation 1 -> 3"),
        ([-3, 3, -3, 3], [-1, 1, -1, 1], "narrower in B: standard deviation 3 -> 1"),
        ([5, 5, 5], [7, 7, 7], "5 -> 7 in every row"),
        ([5, 5, 5], [5, 7, 9], "higher in B: mean 5 -> 7"),
        (
            [-2, -2, 2, 2],
            [-2.5, 0, 0, 0, 0, 2.5, 2.5, 2.5, -2.5, -2.5],
            "fewer rows in B between -2.5 and 2 (by 60 % of the rows)",
        ),
    ],
)
def test_what_moved_in_few_numbers(a, b, words):
    assert described(a, b) == words


def test_a_shift_is_told_in_deviations_within_the_tables():
    """The pooled deviation of tables that are ten apart is five, and would call any shift two."""
    text = described(normal(0), 10 + normal(1), "July")
    assert text.startswith("higher in July: mean ")
    assert "(by 10, 10 deviations within the tables)" in text


def test_sizes_of_tables_do_not_change_their_deviations():
    narrow, wide = normal(0, 4000), 3 + 2 * normal(1, 4000)
    few, many = described(narrow, wide), described(narrow, np.tile(wide, 5))
    assert few == many
    assert few.endswith(f", and wider: standard deviation {narrow.std():.4g} -> {wide.std():.4g}")


def test_a_column_that_is_0_in_most_rows_has_no_factor_and_no_logarithm_of_0():
    mostly_zero = np.zeros(1000)
    mostly_zero[:10] = np.arange(10)
    assert "times" not in described(np.zeros(1000) + (np.arange(1000) == 0), mostly_zero)


def test_a_factor_is_told_where_the_whole_column_was_multiplied():
    kilograms = 70 + 10 * normal(0)
    text = described(kilograms, 2.20462 * (70 + 10 * normal(1)))
    assert text.startswith(("2.2 times as large in B: median ", "2.21 times as large in B: median "))
    assert described(2.20462 * kilograms, 70 + 10 * normal(1)).startswith("divided by 2.2")
    assert "times" not in described(kilograms, 110 + 10 * normal(1))  # a shift
    assert "times" not in described(normal(0), 3 * normal(1))  # numbers of both signs are wider, not larger


def test_a_single_value_explains_what_it_brought():
    waits, others = np.exp(normal(0)), np.exp(normal(1))
    waits[:240], others[:620] = 0.0, 0.0
    assert described(waits, others) == "0: 12.0 % -> 31.0 % of the rows"
    broken = 50 + normal(2)
    broken[::50] = -999.0
    assert described(50 + normal(3), broken) == "-999: 0.0 % -> 2.0 % of the rows"


def test_marks_on_a_short_scale_shift_instead():
    random = np.random.default_rng(0)
    marks = [random.choice(5, 3000, p=p) + 1 for p in ([0.05, 0.1, 0.15, 0.3, 0.4], [0.2, 0.2, 0.2, 0.2, 0.2])]
    assert described(*marks).startswith("lower in B: mean ")


def test_heavy_tails_are_told_with_medians():
    random = np.random.default_rng(0)
    late = [np.where(random.random(5000) < share, 60 * random.exponential(size=5000), random.normal(size=5000))
            for share in (0.1, 0.2)]  # fmt: skip
    text = described(late[0], late[1] + 0.5)
    assert text.startswith("higher in B: mean ")
    assert ", median " in text


def test_a_mean_that_few_rows_drive_says_so():
    a, b = normal(0, 5000), normal(1, 5000) + 0.3
    b[:10] += 1e4
    assert ", driven by few rows" in described(a, b)
    assert "driven" not in described(a, normal(1, 5000) + 0.3)


def test_rows_that_hide_the_others_leave_the_median():
    a, b = normal(0, 5000), normal(1, 5000) + 1.0
    b[:10] -= 1e4
    assert described(a, b) == f"higher in B: median {np.sort(a)[2499]:.4g} -> {np.sort(b)[2499]:.4g}"


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=40), st.lists(st.floats(-100, 100), min_size=3, max_size=40))
def test_higher_is_never_told_of_a_level_that_fell(a, b):
    text = described(a, b)
    if found := re.match(r"(higher|lower) in B: (?:mean|median) (\S+) -> (\S+)", text):
        side, old, new = found.groups()
        assert float(new) >= float(old) if side == "higher" else float(new) <= float(old), text


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e306])
def test_extreme_units_change_no_word(scale):
    a, b = 10 + normal(0, 300), 11 + normal(1, 300)
    words = described(a, b).split()
    assert [word for word in described(scale * a, scale * b).split() if word.isalpha()] == [
        word for word in words if word.isalpha()
    ]


def test_levels_that_moved_most_are_told_first():
    levels = ("a", "b", "c", "d", "e")
    text = describe_levels(levels, np.array([50, 20, 10, 10, 10]), np.array([10, 20, 60, 8, 2]))
    assert text == "c 10.0 % -> 60.0 %, a 50.0 % -> 10.0 %, e 10.0 % -> 2.0 %"
    text = describe_levels(("(missing)", "x", "y"), np.array([2, 50, 48]), np.array([30, 40, 30]))
    assert text == "missing 2.0 % -> 30.0 %, y 48.0 % -> 30.0 %, x 50.0 % -> 40.0 %"


def test_a_level_that_took_the_place_of_another_is_perhaps_renamed():
    levels = ("blue", "azure", "red")
    text = describe_levels(levels, np.array([250, 0, 750]), np.array([0, 262, 738]))
    assert text.startswith("azure 0.0 % -> 26.2 %, blue 25.0 % -> 0.0 % (perhaps renamed)")
    assert "renamed" not in describe_levels(levels, np.array([250, 0, 750]), np.array([0, 600, 400]))
    assert "renamed" not in describe_levels(levels, np.array([250, 10, 740]), np.array([0, 262, 738]))


def slow_moved(a, b):
    """Total variation of the pooled eighths, row by row."""
    pooled = sorted([*a, *b])
    edges = sorted({pooled[int(np.ceil(k / 8 * len(pooled))) - 1] for k in range(1, 8)})
    shares = [[sum(sum(edge < value for edge in edges) == k for value in rows) / len(rows) for k in range(8)]
              for rows in (a, b)]  # fmt: skip
    return sum(abs(p - q) for p, q in zip(*shares, strict=True)) / 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=40),
    st.lists(st.integers(-5, 5), min_size=1, max_size=40),
)
def test_what_moved_between_eighths_is_that_of_a_count(a, b):
    found = moved_numbers(np.array(a, dtype=float), np.array(b, dtype=float))
    assert found == pytest.approx(slow_moved(a, b), abs=1e-12)
    counts = [np.array([rows.count(value) for value in range(-5, 6)]) for rows in (a, b)]
    total = 0.5 * np.abs(counts[0] / len(a) - counts[1] / len(b)).sum()
    assert 0 <= found <= total + 1e-12  # coarser is never more
    assert 0 <= moved_levels(*counts) <= total + 1e-12


def test_levels_that_no_reader_can_keep_in_mind_count_together():
    counts = np.ones(1000, dtype=int)
    assert moved_levels(np.r_[counts, 0 * counts], np.r_[0 * counts, counts]) < 0.01
    few = np.array([5, 3, 2])
    assert moved_levels(few, few[::-1]) == pytest.approx(0.3)
