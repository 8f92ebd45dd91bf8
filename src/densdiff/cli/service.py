"""The command `monitor` from its options to its last line: a monitor that is learned or resumed, and standard input.

How rows are watched lives in `stream`, how signals are heard in `signals`.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from densdiff import messages
from densdiff.cli import rows
from densdiff.cli.failures import remark
from densdiff.cli.inputs import Layout, column_names, name_inputs, refuse_clock, split_column
from densdiff.cli.lines import LineInput
from densdiff.cli.signals import Stopped, StopSignals
from densdiff.cli.stream import Watch, WatchOptions, count_text
from densdiff.data.dates import DURATION_UNITS, duration_seconds
from densdiff.errors import InputError
from densdiff.progress import Progress
from densdiff.series.stream_progress import StreamProgress

if TYPE_CHECKING:
    from densdiff.series.monitor import ChangeMonitor

_SHORTEST = 0.1  # seconds between heartbeats or saves


def parse_watch_options(
    time: str | None, save_every: str | None, heartbeat: str | None, bad_rows: str, state: Path | None
) -> WatchOptions:
    """Options as given; an error if one of them cannot be meant."""
    if bad_rows not in ("stop", "skip"):
        raise InputError(f"--bad-rows must be stop or skip; got {messages.shown(bad_rows)}")
    if save_every is not None and state is None:
        raise InputError("--save-every needs a file to save to; give --state FILE")
    seconds = (_seconds(save_every, "--save-every"), _seconds(heartbeat, "--heartbeat"))
    return WatchOptions(time, *seconds, skips_bad_rows=bad_rows == "skip")


def _seconds(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    seconds = duration_seconds(text)
    if seconds is None or not math.isfinite(seconds) or seconds < _SHORTEST:
        need = f"{option} must be a duration such as 10s, at least {_SHORTEST:g}s, {DURATION_UNITS}"
        raise InputError(f"{need}; got {messages.shown(text)}")
    return seconds


def run_service(
    reference: str,
    layout: Layout,
    state: Path | None,
    options: WatchOptions,
    *,
    window: int | None,
    run_length: float | None,
    after_alarm: str | None,
    seed: int | None,
) -> bool:
    """Watch standard input until it ends or a signal comes; whether an alarm was printed that a user may fail on."""
    with StopSignals() as signals:
        try:
            with name_inputs(reference=reference):
                monitor, progress = start_monitor(
                    reference,
                    layout,
                    state,
                    time=options.time,
                    window=window,
                    run_length=run_length,
                    after_alarm=after_alarm,
                    seed=seed,
                )
            signals.is_held = True  # from here to the end: no row may be left half-way
        except Stopped:
            remark(
                f"stopped by {signals.received.name if signals.received else 'a signal'} before the first row was read"
            )
            return False
        return _watch_input(Watch(monitor, state, options, progress=progress, signals=signals), layout, signals)


def _watch_input(watch: Watch, layout: Layout, signals: StopSignals) -> bool:
    monitor, counts = watch.monitor, watch.counts
    lines = LineInput(sys.stdin.buffer, signals, watch.tick)
    try:
        watch.run(rows.read_rows(lines, _stream_columns(monitor, watch.options.time), layout))
    finally:
        stop = None if signals.is_interrupt else signals.received
        if lines.is_cut and stop:
            remark(f"note: the last row had not come in full when {stop.name} came and is not counted; send it again")
        why = f"stopped by {stop.name}: " if stop else ""
        remark(f"{why}{counts}; {count_text(monitor.n_seen_, 'row')} in all; seed {monitor.seed_}")
    return stop is None and counts.alarms + counts.bad_alarms > 0


def _stream_columns(monitor: ChangeMonitor, time: str | None) -> rows.Columns:
    """What is read of each line."""
    kinds = list(zip(monitor.names_, monitor.levels_, strict=True))
    texts = frozenset(name for name, levels in kinds if levels is not None)
    return rows.Columns(monitor.names_, time, texts, frozenset(monitor.incomplete_))


def start_monitor(
    reference: str,
    layout: Layout,
    state: Path | None,
    *,
    time: str | None,
    window: int | None,
    run_length: float | None,
    after_alarm: str | None,
    seed: int | None,
) -> tuple[ChangeMonitor, StreamProgress | None]:
    """A monitor of the reference, or the saved one; options that were given must be those it was started with."""
    from densdiff.series.monitor import ChangeMonitor, load_with_progress  # after options and names were looked at

    layout = layout if time is None else layout.without(time)
    if state is not None and state.exists():
        monitor, progress = load_with_progress(state)
        chosen: dict[str, Any] = {"--window": window, "--run-length": run_length, "--after-alarm": after_alarm}
        chosen |= {"--seed": seed, "--columns": layout.columns}
        _refuse_other_options(monitor, chosen, time, state)
        remark(f"note: {_resumed_text(monitor, progress, state)}")
        return monitor, progress
    if reference == "-":
        raise InputError("standard input, '-', holds the rows to watch; give a file for the reference")
    monitor = ChangeMonitor(
        _read_reference(reference, layout, time),
        window=50 if window is None else window,
        run_length=1000 if run_length is None else run_length,
        after_alarm="continue" if after_alarm is None else after_alarm,
        random_state=seed,
    )
    return monitor, None


def _read_reference(reference: str, layout: Layout, time: str | None) -> Any:
    """The reference without its time; an error if a column looks like one and is not said to be one."""
    with Progress("reading", None):
        table = layout.read(reference)
    if time is not None and time in column_names(table):
        table = split_column(table, time)[0]
    refuse_clock(table, reference)
    return table


def _refuse_other_options(monitor: ChangeMonitor, chosen: dict[str, Any], time: str | None, state: Path) -> None:
    cure = "leave it out, or give another --state to start afresh"
    saved = {
        "--window": monitor.window,
        "--run-length": monitor.run_length,
        "--seed": monitor.seed_,
        "--columns": list(monitor.names_),
        "--after-alarm": monitor.after_alarm,
    }
    for option, value in chosen.items():
        if value is not None and value != saved[option]:
            was = messages.listed(monitor.names_) if option == "--columns" else f"{saved[option]}".removesuffix(".0")
            raise InputError(f"{option} differs from {was}, which is saved in {messages.shown(state.name)}; {cure}")
    if time in monitor.names_:
        what = f"--time names column {messages.shown(time)}, which is data in {messages.shown(state.name)}"
        raise InputError(f"{what}; {cure}")


def _resumed_text(monitor: ChangeMonitor, progress: StreamProgress | None, state: Path) -> str:
    bad = progress.bad_rows if progress else 0
    skipped = f", after {count_text(bad, 'bad row')}," if bad else ""
    text = f"resumed at row {monitor.n_seen_:,}{skipped} from {messages.shown(state.name)}"
    if progress is None:
        return f"{text}, which includes its reference"
    text += f", saved {progress.saved_at}, which includes its reference"
    if progress.ended:
        return text
    return f"{text}; the run that saved it did not end in order, so send again what came after these rows"
