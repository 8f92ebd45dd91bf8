"""What every benchmark measures with: least times, one core, and lines that are printed and kept for results.md."""

import io
import os
import time
from contextlib import contextmanager, redirect_stdout

import numpy as np

FASTER, TIME, MEMORY, ERROR = "times faster", "times its time", "of its memory", "of its error"


class Page:
    """What one benchmark has found so far; `benchmarks.results` stores it."""

    def __init__(self):
        self.title, self.peer = "", ""
        self.rows, self.curves, self.skipped = [], [], []


page = Page()


def new_page():
    """Begin the page of another benchmark."""
    global page
    page = Page()
    return page


def all_cores():
    """The environment of a process that may use every core it is given; `python -m benchmarks` has one thread."""
    return {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}


def fastest(call, repeats, clock=time.perf_counter):
    """Least of a few wall times: the others carry the machine's noise."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


@contextmanager
def one_core():
    """Keep this process and its children on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def head(title, peer):
    """Print what the following lines compare, and with whom."""
    page.title, page.peer = title, peer
    print(f"\n{title}\n{'':44s}{peer:>12s}{'densdiff':>12s}{'ratio':>8s}   to reach")


def line(label, baseline, ours, goal, factor="faster"):
    """Print and keep a time beside the peer's named by `head`."""
    means = FASTER if factor == "faster" else TIME
    ratio = record(label, ours, baseline, goal=goal, means=means)
    print(f"{label:44s}{baseline:11.4f}s{ours:11.4f}s{ratio:8.1f}   {goal}", flush=True)


def record(what, ours, theirs=None, *, peer=None, unit="s", goal="", means=FASTER, title=None):
    """Keep a measurement without printing it; the ratio to the peer's, which the goal is about, is returned."""
    ratio = None
    if theirs is not None:
        ratio = float(theirs / ours if means == FASTER else ours / theirs)
    row = {"title": page.title if title is None else title, "what": what, "ours": float(ours), "unit": unit}
    if theirs is not None:
        row |= {"peer": page.peer if peer is None else peer, "theirs": float(theirs), "ratio": ratio, "means": means}
    page.rows.append(row | {"goal": goal})
    return ratio


def recorded(work, *arguments):
    """The page and the text of a call that prints and keeps what it finds: it may run in another process."""
    global page
    before, text = page, io.StringIO()
    try:
        with redirect_stdout(text):
            found = new_page()
            work(*arguments)
    finally:
        page = before
    return found, text.getvalue()


def show_recorded(found, text):
    """Print and keep what `recorded` has returned."""
    print(text, end="", flush=True)
    page.rows += found.rows
    page.curves += found.curves
    page.skipped += found.skipped


def skip(peer, why):
    """Print and keep the name of a peer that is not in the tables, and why."""
    print(f"{peer} skipped: {why}", flush=True)
    page.skipped.append([peer, str(why)])


def exponent(sizes, values, last=4):
    """Slope of log value on log size over the last few points; None with fewer than three that are positive."""
    sizes, values = np.asarray(sizes, float)[-last:], np.asarray(values, float)[-last:]
    there = values > 0
    if there.sum() < 3:
        return None
    return float(np.polyfit(np.log(sizes[there]), np.log(values[there]), 1)[0])


def curve(figure, axis, method, sizes, seconds, memory, end=""):
    """Print and keep a method's seconds and MiB at growing sizes, their exponents at the large end, and why it ends."""
    found = {"figure": figure, "axis": axis, "method": method}
    found |= {"sizes": list(sizes), "seconds": list(seconds), "memory": list(memory), "end": end}
    # A few MiB are the interpreter's, not the method's.
    found["time_exponent"] = exponent(sizes, seconds)
    found["memory_exponent"] = exponent(sizes, np.where(np.asarray(memory) < 4, 0, memory))
    page.curves.append(found)
    slopes = [f"{found[name]:.2f}" if found[name] is not None else "-" for name in ("time_exponent", "memory_exponent")]
    span = f"{axis} = {sizes[0]:,} to {sizes[-1]:,}"
    largest = f"{seconds[-1]:11.4f} s{memory[-1]:9.0f} MiB"
    print(f"{method:28s}{span:28s}{largest}{slopes[0]:>10s}{slopes[1]:>10s}   {end}", flush=True)


def standardized(x, x_new):
    """Both in units of the pooled deviation; a constant column stays constant."""
    pooled = np.vstack([x, x_new])
    mean, deviation = pooled.mean(axis=0), pooled.std(axis=0)
    deviation[deviation == 0] = 1.0
    return (x - mean) / deviation, (x_new - mean) / deviation
