"""Dates, times and durations: as numbers, as texts, and recognized in text.

Dates and timestamps become days since 1 January 1970 in UTC, times of day and durations seconds, whatever they are
stored as, so that a table has the same numbers in CSV, Parquet and frames.
"""

import datetime
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.data.table import is_missing

FloatArray = npt.NDArray[np.float64]
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DAY = 86_400.0  # seconds
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": _DAY}
DURATION_UNITS = f"units {', '.join(_UNITS)}"  # in messages
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?"
_DATE = r"\d{4}-\d{1,2}-\d{1,2}|\d{4}[/.]\d{1,2}[/.]\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{4}|\d{1,2}/\d{1,2}/\d{2}"
_NAMED = r"\d{1,2}[ -][A-Za-z]{3}[ -]\d{2,4}"
_TEXT = re.compile(rf"\s*(?:(?:{_DATE}|{_NAMED})(?:[T ]{_TIME} ?(?:Z|UTC|[+-]\d{{2}}:?\d{{2}})?)?|{_TIME})\s*")


def reads_as_date(text: str) -> bool:
    """Whether a text is a date, a time of day or both, such as 2013-01-31, 31.1.2013 12:00 or 12:00."""
    return _TEXT.fullmatch(text) is not None


def duration_seconds(text: str) -> float | None:
    """Seconds of a duration such as 4s, 1.5 min or 2e3ms; None if the text is something else."""
    match = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?\d+)?)\s*([a-z]+)\s*", text)
    try:
        return float(match[1]) * _UNITS[match[2]] if match else None
    except (ValueError, KeyError):
        return None


def date_numbers(values: npt.NDArray[Any]) -> FloatArray:
    """Days since 1970-01-01 of dates and timestamps, seconds of times and durations, NaN where missing, (n,)."""
    if values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        numbers = days.astype(np.int64) + (values - days) / np.timedelta64(1, "D")
        return np.where(np.isnat(values), np.nan, numbers)
    if values.dtype.kind == "m":
        return np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "s"))
    return np.array([np.nan if is_missing(value) else _number(value) for value in values], dtype=np.float64)


def parse_dates(texts: list[str]) -> FloatArray | None:
    """Dates or times in ISO form as numbers; None if one of the texts is something else."""
    for parse in (datetime.datetime.fromisoformat, datetime.time.fromisoformat):
        try:
            return np.array([_number(parse(text.strip())) for text in texts], dtype=np.float64)
        except ValueError:
            continue
    return None


def date_texts(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Dates and times as text in UTC, None where missing, (n,); midnight is written as the day alone."""
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]").astype(object)
    texts = np.empty(len(values), dtype=object)
    texts[:] = [None if is_missing(value) else _text(value) for value in values]
    return texts


def _number(value: Any) -> float:
    value = _beginning(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return float(date_numbers(np.array([value]))[0])
    if isinstance(value, datetime.datetime):
        return (_in_utc(value) - _EPOCH).total_seconds() / _DAY
    if isinstance(value, datetime.date):
        return float((value - _EPOCH.date()).days)
    if isinstance(value, datetime.time):
        return 3600.0 * value.hour + 60.0 * value.minute + value.second + value.microsecond / 1e6
    return float(value.total_seconds())


def _text(value: Any) -> str:
    value = _beginning(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(date_texts(np.array([value]))[0])
    if isinstance(value, datetime.datetime):
        text = _in_utc(value).replace(tzinfo=None).isoformat(" ")
        return text.removesuffix(" 00:00:00")
    return str(value) if isinstance(value, datetime.timedelta) else str(value.isoformat())


def _beginning(value: Any) -> Any:
    """The first moment of a Period of pandas; other values as they are."""
    return value.to_timestamp() if hasattr(value, "to_timestamp") else value


def _in_utc(value: datetime.datetime) -> datetime.datetime:
    return value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)
