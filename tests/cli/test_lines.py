"""Lines of a pipe: whole whatever the parts they come in, given up to a signal, and waited for with timers."""

import contextlib
import io
import os
import resource
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.cli import lines
from densdiff.cli.lines import LineInput
from densdiff.cli.signals import StopSignals


@pytest.fixture
def pipe():
    """A stream to read and the file number of its other end."""
    reading, writing = os.pipe()
    with open(reading, "rb") as stream:
        yield stream, writing
        with contextlib.suppress(OSError):  # a test closed it
            os.close(writing)


def all_lines(source):
    return list(iter(source.next_line, None))


class Parts(io.RawIOBase):
    """A stream in memory whose reads give parts of set sizes."""

    def __init__(self, data, sizes):
        self._data, self._sizes = io.BytesIO(data), list(sizes)

    def read1(self, most):
        return self._data.read(min(most, self._sizes.pop(0) if self._sizes else most))


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\x01", b"\n")), st.lists(st.integers(1, 9)))
def test_lines_are_those_of_readline_whatever_the_parts(data, sizes):
    assert all_lines(LineInput(Parts(data, sizes))) == io.BytesIO(data).readlines()


def test_a_line_that_is_too_long_is_cut_and_the_next_one_whole(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 10)
    assert all_lines(LineInput(Parts(b"x" * 500 + b"\nabc\n", [7] * 30))) == [b"x" * 10, b"abc\n"]


def test_a_wait_calls_the_timer_until_a_line_comes(pipe):
    stream, writing = pipe
    calls = []

    def tick():
        calls.append(len(calls))
        if len(calls) == 3:
            os.write(writing, b"late\n")
        return 0.0

    assert LineInput(stream, tick=tick).next_line() == b"late\n"
    assert calls == [0, 1, 2]


def test_a_pipe_that_does_not_block_is_waited_for_all_the_same(pipe, monkeypatch):
    """As systemd opens a named pipe; another reader may be quicker."""
    stream, writing = pipe
    os.set_blocking(stream.fileno(), False)
    os.write(writing, b"1\n")
    usual, others = os.read, [b"1\n"]

    def read(file, most):
        if others:
            assert usual(file, most) == others.pop()
            os.write(writing, b"2\n")
            raise BlockingIOError
        return usual(file, most)

    monkeypatch.setattr(os, "read", read)
    assert LineInput(stream).next_line() == b"2\n"


def test_a_signal_ends_a_wait_and_leaves_what_comes_later_in_the_pipe(pipe):
    stream, writing = pipe
    with StopSignals() as signals, signals.held():
        source = LineInput(stream, signals, lambda: signal.raise_signal(signal.SIGTERM))
        os.write(writing, b"1\n2\n")
        assert source.next_line() is None
        assert signals.received == signal.SIGTERM
        assert os.read(stream.fileno(), 100) == b"1\n2\n"  # it came while nothing had been read
        assert not source.is_cut


def test_lines_that_were_read_before_a_signal_are_given_and_no_others_read(pipe):
    stream, writing = pipe
    with StopSignals() as signals, signals.held():
        source = LineInput(stream, signals)
        os.write(writing, b"1\n2\n3\n")
        assert source.next_line() == b"1\n"
        signal.raise_signal(signal.SIGTERM)
        os.write(writing, b"4\n")
        assert all_lines(source) == [b"2\n", b"3\n"]
        assert os.read(stream.fileno(), 100) == b"4\n"


def test_the_rest_of_a_line_that_was_begun_is_waited_for_and_the_next_left_unread(pipe):
    stream, writing = pipe
    with StopSignals() as signals, signals.held():
        source = LineInput(stream, signals, clock=lambda: 0.0)
        os.write(writing, b"1\n2")
        assert source.next_line() == b"1\n"
        signal.raise_signal(signal.SIGTERM)
        os.write(writing, b"34\n5\n")
        assert all_lines(source) == [b"234\n"]
        assert not source.is_cut
        assert os.read(stream.fileno(), 100) == b"5\n"


def test_a_line_whose_rest_does_not_come_is_not_given(pipe):
    stream, writing = pipe
    moments = iter([0.0, 0.0, 5.0])
    with StopSignals() as signals, signals.held():
        source = LineInput(stream, signals, clock=lambda: next(moments))
        os.write(writing, b"1\n2")
        assert source.next_line() == b"1\n"
        signal.raise_signal(signal.SIGTERM)
        os.write(writing, b"3")
        assert source.next_line() is None
        assert source.is_cut


def test_the_last_line_of_a_closed_pipe_needs_no_end_also_after_a_signal(pipe):
    stream, writing = pipe
    with StopSignals() as signals, signals.held():
        source = LineInput(stream, signals, clock=lambda: 0.0)
        os.write(writing, b"1\n2")
        os.close(writing)
        assert source.next_line() == b"1\n"
        signal.raise_signal(signal.SIGTERM)
        assert all_lines(source) == [b"2"]


def test_a_signal_ends_a_read_where_there_is_no_way_to_wait():
    class Blocking(io.RawIOBase):
        def read1(self, most):
            signal.raise_signal(signal.SIGTERM)
            raise AssertionError("the read went on")

    with StopSignals() as signals, signals.held():
        assert LineInput(Blocking(), signals).next_line() is None


def test_other_signals_do_not_keep_a_wait_awake(pipe):
    stream, writing = pipe
    usual = signal.signal(signal.SIGUSR1, lambda *_: None)
    ticks = []

    def tick():
        ticks.append(os.read(signals.waking_end, 9) if len(ticks) == 1 and is_awake(signals) else b"")
        if not ticks[1:]:
            signal.raise_signal(signal.SIGUSR1)
            return 0.0
        os.write(writing, b"1\n")
        return None

    try:
        with StopSignals() as signals, signals.held():
            assert LineInput(stream, signals, tick).next_line() == b"1\n"
            assert ticks == [b"", b""]
    finally:
        signal.signal(signal.SIGUSR1, usual)


def is_awake(signals):
    return bool(lines._poll_of(signals.waking_end).poll(0))


def test_a_quick_writer_waits_for_a_slow_reader(pipe):
    """Lines that nobody has taken stay in the pipe: one part at most is held."""
    stream, writing = pipe
    os.set_blocking(writing, False)
    source = LineInput(stream)
    written = 0
    for _ in range(50):
        try:
            while True:
                written += os.write(writing, b"1,2,3\n" * 100)
        except BlockingIOError:
            pass
        assert source.next_line()
    assert written < 4 * max(lines._PART, resource.getpagesize() * 16)


def test_signals_are_as_before_afterwards_and_ignored_ones_stay_so():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with StopSignals() as signals, signals.held():
            signal.raise_signal(signal.SIGHUP)
            assert signals.received is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, usual)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert signal.set_wakeup_fd(-1) == -1
