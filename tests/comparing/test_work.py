"""How long the questions of a comparison take, in proportion."""

import pytest

from densdiff.comparing.work import expected_work


@pytest.mark.parametrize(("rows", "columns"), [(10, 1), (4000, 20), (2_000_000, 300)])
def test_all_work_is_that_of_its_questions(rows, columns):
    work = expected_work(rows, columns)
    questions = (work.distance, work.test, work.regions, work.pairs)
    assert min(questions) > 0
    assert work.total(columns) == pytest.approx(sum(questions) + columns * work.column)


def test_more_rows_and_columns_are_never_less_work():
    few, rows, columns = expected_work(4000, 20), expected_work(400_000, 20), expected_work(4000, 200)
    for name in ("distance", "test", "regions", "pairs", "column"):
        assert getattr(few, name) <= min(getattr(rows, name), getattr(columns, name))
    assert rows.total(20) > few.total(20)
    assert columns.total(200) > 2.0 * few.total(20)
