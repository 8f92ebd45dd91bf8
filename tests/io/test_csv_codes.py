"""Codes with leading zeros stay text where a caller wants to judge them, wherever in a file they are."""

import pyarrow as pa
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st

from densdiff.io import csv_codes, files, memory

FIELDS = st.sampled_from(["0", "01", "7", "12", "007", "", "1.5", "0.5", "-01", "x", "00"])


def kind_of(path, in_blocks=False, keep_text=True):
    with sklearn.config_context(working_memory=1e-3 if in_blocks else 1024):
        file = files.read(path, keep_text=keep_text)
    table = next(iter(file)) if isinstance(file, files.File) else file
    assert isinstance(file, files.File) == in_blocks
    return str(table.schema.field("zip").type)


@pytest.mark.parametrize(
    ("fields", "kept", "otherwise"),
    [
        (["01234", "90210"], "string", "int64"),
        (['"01234"', "90210"], "string", "int64"),
        ([" 01234", "90210"], "string", "int64"),
        (["90210", "", "00501"], "string", "int64"),
        (["0012345678901234567890", "1"], "string", "double"),
        (["0", "1", "10"], "int64", "int64"),
        (["0.5", "1", "-0.1"], "double", "double"),
        (["01.5", "2"], "double", "double"),
        (["-01", "02"], "int64", "int64"),
    ],
)
def test_leading_zeros_make_text(fields, kept, otherwise, tmp_path):
    path = tmp_path / "A.csv"
    path.write_text("zip,x\n" + "".join(f"{field},0.5\n" for field in fields))
    assert kind_of(path) == kept
    assert kind_of(path, keep_text=False) == otherwise
    last = tmp_path / "B.csv"
    last.write_text("x,zip\n" + "".join(f"0,{field}\n" for field in fields))
    assert kind_of(last) == kept


@pytest.mark.parametrize(
    ("early", "late", "kind"),
    [
        ("90210", "01234", "string"),
        ("01234", "90210", "string"),
        ("", "01234", "string"),
        ("01234", "1.5", "double"),
        ("01234", "X1", "string"),
        ("90210", "90211", "int64"),
    ],
)
def test_a_late_block_tells_too(early, late, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "TEXT_BLOCK", 1 << 12)
    path = tmp_path / "A.csv"
    path.write_text("zip,x\n" + f"{early},1.5\n" * 2000 + f"{late},1.5\n")
    assert kind_of(path, in_blocks=True) == kind_of(path) == kind


@given(st.lists(FIELDS, min_size=1, max_size=6))
def test_the_quick_look_misses_no_code(fields):
    data = ("zip\n" + "\n".join(fields) + "\n").encode()
    count = csv_codes.count_codes(pa.chunked_array([[field or None for field in fields]], pa.string()))
    assert count.zeros == sum(len(field) > 1 and field.isdigit() and field[0] == "0" for field in fields)
    assert csv_codes.may_hold_codes(data, ",") or not count.zeros
