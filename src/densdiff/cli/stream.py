"""Rows from standard input to a monitor, one at a time, alarms out as they happen.

What an alarm is lives in `series.monitor`; the reference is read in `inputs`.
"""

import csv
import itertools
import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, BinaryIO

from densdiff import messages
from densdiff.cli.failures import emit, remark
from densdiff.cli.inputs import Layout
from densdiff.errors import InputError

_LONGEST = 1 << 24  # bytes in a line
_EVERY = 1000  # rows after which the state is saved
_INPUT = "standard input"


@dataclass
class WatchCounts:
    """Counts of this run; an alarm is a rise above the threshold, however long the score stays there."""

    rows: int = 0
    alarms: int = 0
    above: int = 0

    def __str__(self) -> str:
        return (
            f"{self.rows} row{'s' * (self.rows != 1)}, {self.alarms} alarm{'s' * (self.alarms != 1)}, "
            f"{self.above} row{'s' * (self.above != 1)} above the threshold"
        )


class Interrupts:
    """Ctrl-C waits while ``busy``: a monitor interrupted within an update would be saved half-way."""

    def __init__(self) -> None:
        self.busy = self.pending = False
        self._usual: Any = None

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            self._usual = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._usual is not None:
            signal.signal(signal.SIGINT, self._usual)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self.pending = True
        if not self.busy:
            raise KeyboardInterrupt

    def end_row(self) -> None:
        """Let an interrupt through that came while a row was worked on."""
        self.busy = False
        if self.pending:
            raise KeyboardInterrupt


def watch(monitor: Any, rows: Iterable[tuple[int, Any]], counts: WatchCounts, save: Callable[[], None]) -> None:
    """Feed a monitor, print its alarms and count into ``counts``. The state is saved however it ends."""
    above = monitor.alarm_  # of a state that was taken up
    with Interrupts() as interrupts:
        try:
            interrupts.busy = True
            save()  # or a run that is killed early would begin anew by another seed
            interrupts.end_row()
            for line, row in rows:
                interrupts.busy = True
                try:
                    step = monitor.update(row)
                except InputError as error:
                    raise error.reworded(f"line {line} of {_INPUT}: {error.marked}") from None
                rises, above = step.alarm and not above, step.alarm
                counts.rows, counts.alarms, counts.above = counts.rows + 1, counts.alarms + rises, counts.above + above
                if rises:
                    fields = ("index", "score", "threshold", "strength")
                    if not emit(json.dumps({name: getattr(step, name) for name in fields})):
                        return  # nobody hears them
                if rises or counts.rows % _EVERY == 0:
                    save()
                interrupts.end_row()
        finally:
            interrupts.busy = True
            save()


def read_rows(stream: BinaryIO, names: Sequence[str], layout: Layout) -> Iterator[tuple[int, Any]]:
    """Line number and row of each row of CSV or JSON Lines, as soon as its line is there."""
    lines = _lines(stream)
    first = next(((number, text) for number, text in lines if text.strip()), None)
    if first is None:
        return
    lines = itertools.chain([first], lines)
    yield from _objects(lines, names) if first[1].lstrip().startswith("{") else _records(lines, first, names, layout)


def _note_extra_columns(columns: Iterable[str], names: Sequence[str]) -> None:
    """Note which columns are left out because the reference does not have them."""
    if extra := [name for name in columns if name not in names]:
        remark(f"note: left out, because the reference does not have them: {messages.listed(extra)}")


def _lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    for number in itertools.count(1):
        line = stream.readline(_LONGEST)
        if not line:
            return
        if len(line) == _LONGEST:
            raise InputError(f"line {number} of {_INPUT} is longer than {_LONGEST >> 20} MiB; is it text?")
        if b"\0" in line:
            raise InputError(f"line {number} of {_INPUT} has a NUL byte; save it as UTF-8")
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise InputError(f"line {number} of {_INPUT} is not UTF-8; save it as UTF-8") from None
        yield number, text.removeprefix("\ufeff") if number == 1 else text


def _objects(lines: Iterator[tuple[int, str]], names: Sequence[str]) -> Iterator[tuple[int, Any]]:
    known = set(names)
    for number, text in lines:
        if not text.strip():
            continue
        try:
            row = json.loads(text, object_pairs_hook=_refuse_repeated_keys)
        except InputError as error:
            raise error.reworded(f"line {number} of {_INPUT} {error.marked}") from None
        except (ValueError, RecursionError):
            raise InputError(f"line {number} of {_INPUT} is not valid JSON; write one object per line") from None
        if not isinstance(row, dict):
            raise InputError(f"line {number} of {_INPUT} is not a JSON object; write one object per line")
        _note_extra_columns([name for name in row if name not in known], names)
        known |= row.keys()
        yield number, row


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The entries of a JSON object; an error if two have one name."""
    if len(entries := dict(pairs)) < len(pairs):
        twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        raise InputError(f"has more than one value named {messages.listed(twice)}")
    return entries


def _records(
    lines: Iterator[tuple[int, str]], first: tuple[int, str], names: Sequence[str], layout: Layout
) -> Iterator[tuple[int, Any]]:
    sep = layout.sep.replace(r"\t", "\t") if layout.sep else _separator(first[1], names, layout.header)
    last = first[0] - 1

    def texts() -> Iterator[str]:
        nonlocal last
        for last, text in lines:  # noqa: B007
            yield text

    reader = csv.reader(texts(), delimiter=sep, strict=True)
    places: list[int] = list(range(len(names)))
    width, start, blank = len(names), first[0], 0
    header = layout.header
    try:
        for fields in reader:
            line, start = start, last + 1
            if header:
                header, width, places = False, len(fields), _places(fields, names, line)
                continue
            if not fields:
                blank = blank or line
                continue
            if blank and width == 1:
                raise InputError(f"line {blank} of {_INPUT} is empty; a value is missing")
            blank = 0
            if len(fields) != width:
                many = f"{len(fields)} field{'s' * (len(fields) != 1)}, but {width} are expected"
                raise InputError(f"line {line} of {_INPUT} has {many}")
            yield (
                line,
                [_number(fields[j], name, line, layout.decimal) for j, name in zip(places, names, strict=True)],
            )
    except csv.Error as error:
        raise InputError(f"line {start} of {_INPUT} cannot be read: {error}") from None


def _separator(line: str, names: Sequence[str], header: bool) -> str:
    """The one with which the first line has the columns of the reference."""
    for sep in ",;\t|":
        try:
            fields = next(csv.reader([line], delimiter=sep), [])
        except csv.Error:  # reading the line says why
            continue
        if set(names) <= set(fields) if header else len(fields) == len(names):
            return sep
    return ","


def _places(fields: list[str], names: Sequence[str], line: int) -> list[int]:
    if lacking := [name for name in names if name not in fields]:
        hint = "give --no-header if it holds data, --sep if another character separates the fields"
        has = f"it has {messages.listed(fields)}; {hint}"
        raise InputError(f"line {line} of {_INPUT} lacks column {messages.listed(lacking)}; {has}")
    if twice := [name for name in names if fields.count(name) > 1]:
        raise InputError(f"line {line} of {_INPUT} has more than one column named {messages.listed(twice)}")
    _note_extra_columns(fields, names)
    return [fields.index(name) for name in names]


def _number(field: str, name: str, line: int, decimal: str | None) -> float:
    text = field.strip()
    if decimal == ",":
        text = text.replace(".", "_").replace(",", ".")
    try:
        if "_" in text:  # Python reads 1_000
            raise ValueError
        return float(text)
    except ValueError:
        where = f"line {line} of {_INPUT}: column {messages.shown(name)}"
        if not text:
            raise InputError(f"{where} is empty; a value is missing") from None
        hint = "; give --decimal ',' if that is a decimal comma" if "," in text and decimal is None else ""
        raise InputError(f"{where}: {messages.shown(field)} is not a number{hint}") from None


def start_monitor(
    reference: Path,
    layout: Layout,
    state: Path | None,
    *,
    window: int | None,
    run_length: float | None,
    seed: int | None,
) -> Any:
    """A monitor of the reference, or the saved one; options that were given must be those it was started with."""
    from densdiff import ChangeMonitor

    if state is None or not state.exists():
        if str(reference) == "-":
            raise InputError("standard input, '-', holds the rows to watch; give a file for the reference")
        return ChangeMonitor(
            layout.read(reference),
            window=50 if window is None else window,
            run_length=1000 if run_length is None else run_length,
            random_state=seed,
        )
    monitor = ChangeMonitor.load(state)
    chosen = {"--window": window, "--run-length": run_length, "--seed": seed, "--columns": layout.columns}
    saved = {
        "--window": monitor.window,
        "--run-length": monitor.run_length,
        "--seed": monitor.seed_,
        "--columns": list(monitor.names_),
    }
    for option, value in chosen.items():
        if value is not None and value != saved[option]:
            was = messages.listed(monitor.names_) if option == "--columns" else f"{saved[option]:g}"
            cure = "leave it out, or give another --state to start afresh"
            raise InputError(f"{option} differs from {was}, which is saved in {messages.shown(state.name)}; {cure}")
    remark(f"note: resumed at row {monitor.n_seen_} from {messages.shown(state.name)}, which includes its reference")
    return monitor
