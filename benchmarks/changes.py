"""Changes found in real series with known changes, beside ruptures and claspy, and what a score of a series costs.

The series are read from ../shared/data/changes, beside the repository, and a set that is not there is skipped. Every
method gets the same standardized columns and one fixed setting for all series of a set. The peers need an older NumPy,
so they run in a virtual environment of their own, made once in the user's cache, in two processes of one thread each;
seconds are processor time over all series of a set. "3 log n": the penalty of a change. "number known": the peer is
told how many changes there are, which no user knows. Of the longest series the peers that are slow there get less: Pelt
and Binseg consider every 50th sample, a tenth of the windows and of the margins or less, and claspy sees every second.
"""

import csv
import gzip
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import NamedTuple

import numpy as np

import densdiff as dd
from benchmarks.measure import fastest, head, line, record, skip
from benchmarks.peers import Skipped, call, peer_python
from densdiff import metrics
from densdiff.core import contrasts as scan
from densdiff.series.features import CENTERS, series_features
from densdiff.series.scan import Plan

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "changes"
PEERS = ("ruptures==1.1.10", "claspy==0.2.8")
RUN_SECONDS = 600
PEERS_LONGEST = 2500  # samples of a series of TSSB
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
OURS = "densdiff"
NOISES = {"MAH_clean": "clean", "MAH_N1_SNR20": "20 dB", "MAH_N1_SNR15": "15 dB"}
PUBLISHED_ON_HASC = ("binseg", "mssa_mw", "bocpdms")
PUBLISHED_ON_TURING = ("amoc", "binseg", "pelt", "bocpd", "zero")

# Pelt takes no number of changes; KernelCPD with the linear kernel minimizes the same cost for a given number, exactly,
# and with the rbf kernel and a penalty it is Pelt on that cost. Pelt and Binseg with the rbf cost themselves are left
# out: going by their growth up to 2,000 samples, one sequence of 12,000 would take them a quarter of an hour or more.
# A method that fails on a series has found nothing there. A process serves all sets, because claspy compiles for more
# than a minute in each. A search is fitted once for both ways to ask it, and its seconds count in both.
PROGRAM = """
import json, sys, time, warnings
import numpy as np
import ruptures
from claspy.segmentation import BinaryClaSPSegmentation
warnings.simplefilter("ignore")

LONG = 8000  # samples

def searches(width, long):
    jump = 50 if long else 5
    yield "Window, l2", lambda z: ruptures.Window(width=min(width, len(z) // 2), model="l2")
    yield "KernelCPD, rbf", lambda z: ruptures.KernelCPD(kernel="rbf")
    yield "Window, rbf", lambda z: ruptures.Window(width=min(width, len(z) // 2), model="rbf")
    yield "Pelt, l2", lambda z: ruptures.Pelt(model="l2", jump=jump)
    if is_whole:
        yield "claspy", None
    yield "Binseg, l2", lambda z: ruptures.Binseg(model="l2", jump=jump)

def by_claspy(z, long):
    step = 2 if long else 1
    return {"claspy": lambda: step * BinaryClaSPSegmentation(n_jobs=1).fit_predict(z[::step])}

def by_search(name, search, z, k):
    model = search(z).fit(z)
    told = ruptures.KernelCPD(kernel="linear").fit(z) if name == "Pelt, l2" else model
    return {
        name + ", 3 log n": lambda: model.predict(pen=3 * np.log(len(z))),
        name + ", number known": lambda: told.predict(n_bkps=k) if k else [],
    }

def run(name, search, series, numbers, long):
    ways = ["claspy"] if search is None else [name + ", 3 log n", name + ", number known"]
    rows = {way: dict(name=way, found=[], failed=0, seconds=0.0) for way in ways}
    for z, k in zip(series, numbers):
        start, answers = time.process_time(), {}
        try:
            answers = by_claspy(z, long) if search is None else by_search(name, search, z, int(k))
        except Exception:
            pass
        fitting = time.process_time() - start
        for way, row in rows.items():
            start = time.process_time()
            try:
                row["found"].append([int(t) for t in answers[way]() if 0 < t < len(z)])
            except Exception:
                row["found"].append([])
                row["failed"] += 1
            row["seconds"] += fitting + time.process_time() - start
    return list(rows.values())

turn, is_whole = int(sys.argv[1]), len(sys.argv) == 2
if is_whole and turn == 0:
    BinaryClaSPSegmentation(n_jobs=1).fit_predict(np.random.default_rng(0).standard_normal((500, 2)))
for order in sys.stdin:
    path, width = json.loads(order)
    with np.load(path) as store:
        numbers = store["numbers"]
        series = [store[f"series{i}"] for i in range(len(numbers))]
    long = max(map(len, series)) > LONG
    for name, search in list(searches(width, long))[turn::2]:
        for row in run(name, search, series, numbers, long):
            print(json.dumps(row), flush=True)
    print("null", flush=True)
"""
PEER_ORDER = ("Pelt", "Binseg", "Window, l2", "Window, rbf", "KernelCPD", "claspy")
# The peak is VmHWM and not ru_maxrss, which a child takes over from its parent.
PEAK = """
import json, sys, time
import numpy as np

def peak():
    return int(next(row for row in open("/proc/self/status") if row.startswith("VmHWM")).split()[1]) / 1024
"""
WINDOW = f"""{PEAK}
import ruptures
n, width, jump = map(int, sys.argv[1:])
z = np.random.default_rng(0).standard_normal((n, 3))
ruptures.Window(width=width, model="rbf").fit(z[:300])
before, start = peak(), time.perf_counter()
ruptures.Window(width=width, model="rbf", jump=jump).fit(z)
print(json.dumps(dict(seconds=time.perf_counter() - start, memory=peak() - before)))
"""


LONG = f"""{PEAK}
import densdiff as dd
z = np.random.default_rng(0).standard_normal(int(sys.argv[1]))
dd.detect_changes(z[:2000], window=50, random_state=0)
before = peak()
dd.detect_changes(z, window=int(sys.argv[2]), random_state=0)
print(round(peak() - before))
"""


class Series(NamedTuple):
    name: str
    values: np.ndarray  # (T, d)
    truth: object  # changes, or {annotator: changes}
    number: int  # of changes, for the peers that are told


class Run(NamedTuple):
    found: list  # changes of each series
    seconds: float
    failed: int


# -- the data sets ---------------------------------------------------------------------------------------------------


def labels(folder):
    path = DATA / folder / "labels.json"
    if not path.exists():
        raise Skipped(f"no shared/data/changes/{folder}/labels.json")
    return json.loads(path.read_text())


def table(folder, name, columns=None):
    return np.genfromtxt(DATA / folder / f"{name}.csv", delimiter=",", skip_header=1, ndmin=2, usecols=columns)


def plain(folder, start="", columns=None):
    """Series with one list of changes each, those whose name begins with `start`."""
    named = {name: label["change_points"] for name, label in labels(folder).items() if name.startswith(start)}
    return [Series(name, table(folder, name, columns), truth, len(truth)) for name, truth in named.items()]


def turing():
    """Missing values (2 of 105 in uk_coal_employ) are interpolated; the number is the annotators' mean, rounded."""
    series = []
    for name, label in labels("tcpd").items():
        truth = {who: sorted(marked) for who, marked in label["annotations"].items()}
        values = table("tcpd", name)
        for column in values.T:
            gap = np.isnan(column)
            column[gap] = np.interp(np.flatnonzero(gap), np.flatnonzero(~gap), column[~gap])
        series.append(Series(name, values, truth, round(np.mean([len(marked) for marked in truth.values()]))))
    return series


def speech():
    """Log energy at 100 Hz; onsets as marked by users of the corpus, starts and ends from the energy when clean."""
    series = []
    for name, label in labels("censrec1c_mah").items():
        bounds = np.array(label["speech_intervals_100hz"])
        truth = {"onsets": [t // 8 for t in label["onsets_800hz"]], "starts": bounds[:, 0], "ends": bounds[:, 1]}
        series.append(Series(name, table("censrec1c_mah", f"{name}_logenergy100hz"), truth, bounds.size))
    return series


def standardized(values):
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


# -- the methods -----------------------------------------------------------------------------------------------------


def ours(series, window, **options):
    """This library's changes."""
    with warnings.catch_warnings():  # a series may be too short for its window
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        return dd.detect_changes(series, window=window, **{"random_state": 0, **options}).changes.tolist()


def our_runs(series, window, which=("default", "scores"), **options):
    """The default with three seeds, which draw the centers, and the scores of KLIEP and of the KDE difference."""
    ways = {f"{OURS}, seed {seed}": {"random_state": seed} for seed in range(3)}
    if "scores" in which:
        ways |= {"KLIEP scores": {"model": dd.KLIEP()}, "KDE difference scores": {"model": dd.KDEDifference()}}
    runs = {}
    for name, way in ways.items():
        start = time.process_time()
        found = [ours(one.values, window, **way, **options) for one in series]
        runs[name] = Run(found, time.process_time() - start, 0)
    return runs


class Peers:
    """Two processes that share the peers, set after set; without an interpreter they have no results."""

    def __init__(self, python, quick):
        self.processes = []
        for turn in (0, 1) if python is not None else ():
            command = [python, "-c", PROGRAM, str(turn), *["quick"] * quick]
            environment = os.environ | ONE_THREAD
            self.processes.append(Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True, env=environment))

    def __call__(self, series, window):
        """Changes on all series: {method: Run}. Window gets our two windows as its width, its default 100 for auto."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "series.npz"
            arrays = {f"series{i}": standardized(one.values) for i, one in enumerate(series)}
            np.savez(path, numbers=[one.number for one in series], **arrays)
            for process in self.processes:
                order = json.dumps([str(path), 100 if window == "auto" else 2 * window])
                print(order, file=process.stdin, flush=True)
            rows = [row for process in list(self.processes) for row in self.answers(process)]
        rows.sort(key=lambda row: next(k for k, name in enumerate(PEER_ORDER) if row["name"].startswith(name)))
        return {row["name"]: Run(row["found"], row["seconds"], row["failed"]) for row in rows}

    def answers(self, process):
        """Rows of one process; one that has ended is not asked again."""
        for text in process.stdout:
            row = json.loads(text)
            if row is None:
                return
            yield row
        self.processes.remove(process)
        skip("some of ruptures and claspy", "their process ended early")

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()


# -- the tables ------------------------------------------------------------------------------------------------------


def show(runs, score, heads):
    """One row a method: its scores under the heads, its seconds, and how often it failed."""
    print(f"{'':32s}" + "".join(f"{head:>14s}" for head in heads) + f"{'seconds':>10s}")
    for name, run in runs.items():
        seconds = f"{run.seconds:10.1f}" if run.seconds == run.seconds else f"{'':10s}"
        failed = f"   failed on {run.failed} series" if run.failed else ""
        print(f"{name:32s}" + "".join(f"{cell:>14s}" for cell in score(run)) + seconds + failed, flush=True)


def agreement(series, margins):
    """Mean F1 at each margin and mean covering, as cells of the table."""

    def score(run):
        pairs = list(zip(series, run.found, strict=True))
        rows = [np.mean([metrics.change_f1(one.truth, found, margin) for one, found in pairs]) for margin in margins]
        rows.append(np.mean([metrics.covering(one.truth, found, len(one.values)) for one, found in pairs]))
        return [f"{value:.3f}" for value in rows]

    return score


def of_three_seeds(runs, score, heads, goals, title):
    """Keep the mean over the seeds of each score."""
    cells = [score(run) for name, run in runs.items() if name.startswith(OURS)]
    for head_, goal, values in zip(heads, goals, zip(*cells, strict=True), strict=True):
        record(
            f"{head_}, mean of three seeds",
            np.mean([float(v.split()[0]) for v in values]),
            unit="",
            goal=goal,
            title=title,
        )


def report(title, series, window, peers, margins, goals=("", "", "")):
    print(f"\n{title}: {len(series)} series, window {window}; F1 within {' and '.join(map(str, margins))} samples")
    runs = our_runs(series, window) | peers(series, window)
    runs["no change at all"] = Run([[]] * len(series), np.nan, 0)
    heads = [f"F1@{margin}" for margin in margins] + ["covering"]
    show(runs, agreement(series, margins), heads)
    of_three_seeds(runs, agreement(series, margins), heads, goals, title)


def on_hasc(peers, few):
    series = plain("hasc2010_sequence", "HASC", columns=(1, 2, 3))[:few]
    report(
        "HASC accelerometer, three axes at 100 Hz",
        series,
        400,
        peers,
        (50, 100),
        ("", "at least 0.83", "at least 0.86"),
    )
    stored = json.loads((DATA / "hasc2010_sequence" / "published_detections.json").read_text())
    print("published, tuned for each series (mSSA authors); to reach: F1@100 0.83, covering 0.86")
    found = {name: [stored[one.name][name]["detections"] for one in series] for name in PUBLISHED_ON_HASC}
    runs = {name: Run([sorted(set(changes)) for changes in lists], np.nan, 0) for name, lists in found.items()}
    show(runs, agreement(series, (50, 100)), ["F1@50", "F1@100", "covering"])


def on_the_paper_like(peers, few):
    series = plain("hasc2010_sequence", "paperlike")[:few]
    report("HASC as in the paper, norm at 50 Hz, 4 changes", series, 50, peers, (25, 50))


def on_mocap(peers, few):
    series = plain("cmu_mocap86", columns=(0, 1, 2, 3))[:few]
    report("motion capture, four joint angles at 120 Hz", series, 240, peers, (120, 240))


def on_bees(peers, few):
    report("bee dance, x, y, angle", plain("beedance")[:few], "auto", peers, (5, 10))


def on_turing(peers, few):
    series = turing()[:few]
    published = published_scores()
    # PELT, BINSEG and AMOC have published scores where the series has one column and no gaps.
    common = [one.name in published["default", "f1", "pelt"] for one in series]
    print(f"\nTuring series: {len(series)}, window auto; annotators averaged, margin 5; gaps interpolated")
    print(f"in parentheses: the {sum(common)} series that PELT and BINSEG have published scores of")

    def score(run):
        pairs = list(zip(series, run.found, strict=True))
        cover = np.array([metrics.annotated_covering(one.truth, found, len(one.values)) for one, found in pairs])
        f1 = np.array([metrics.annotated_f1(one.truth, found, 5) for one, found in pairs])
        return [f"{values.mean():.3f} ({values[common].mean():.3f})" for values in (cover, f1)]

    runs = our_runs(series, "auto") | peers(series, "auto")
    runs["no change at all"] = Run([[]] * len(series), np.nan, 0)
    show(runs, score, ["covering", "F1"])
    of_three_seeds(runs, score, ["covering", "F1"], ["at least 0.72", "at least 0.75"], "Turing series")
    print("published, default setting; to reach: covering 0.72, F1 0.75")
    for method in PUBLISHED_ON_TURING:
        cells = [published["default", metric, method] for metric in ("cover", "f1")]
        means = "".join(f"{np.mean(list(values.values())):14.3f}" for values in cells)
        print(f"{method:32s}{means}   {len(cells[0])} series")


def published_scores():
    """{(setting, metric, method): {series: score}}."""
    found = {}
    with open(DATA / "tcpd" / "published_scores.csv", newline="") as lines:
        for row in csv.DictReader(lines):
            found.setdefault((row["setting"], row["metric"], row["method"]), {})[row["series"]] = float(row["value"])
    return found


def segmentation_series():
    """The 75 series of TSSB: name, length of a pattern (not given to anybody), changes."""
    folder = DATA / "tssb"
    if not (folder / "desc.txt").exists():
        raise Skipped("no shared/data/changes/tssb/desc.txt")
    series = []
    for row in (folder / "desc.txt").read_text().split():
        name, _, *truth = row.split(",")
        with gzip.open(folder / f"{name}.txt.gz", "rt") as lines:
            values = np.array(lines.read().split(), dtype=float)[:, None]
        series.append(Series(name, values, [int(float(t)) for t in truth], len(truth)))
    return series


def on_tssb(peers, few):
    """All series by ours, and the shorter ones beside the peers: the long ones would take them half an hour."""
    series = segmentation_series()[:few]
    print(f"\nTSSB: {len(series)} series cut by rhythm and shape, window auto; margin 1 % of the length, 0 not counted")
    print("silent: series with changes and without a report; to reach: covering 0.80, F1 0.60, silent 10, known 0.86")
    runs = our_runs(series, "auto", ("default",))
    start = time.process_time()
    known = [ours(one.values, "auto", n_changes=one.number) for one in series]
    known = {f"{OURS}, number known": Run(known, time.process_time() - start, 0)}
    heads, goals = ["covering", "F1", "silent"], ["at least 0.80", "at least 0.60", "at most 10"]
    show(runs | known | nothing(series), segmentation_score(series), heads)
    of_three_seeds(runs, segmentation_score(series), heads, goals, "TSSB")
    short = [len(one.values) <= PEERS_LONGEST for one in series]
    chosen = [one for one, is_short in zip(series, short, strict=True) if is_short]
    if peers.processes and chosen:
        print(f"\nTSSB: the {len(chosen)} series of at most {PEERS_LONGEST} samples; seconds of ours are of all series")
        runs = {
            name: run._replace(found=[found for found, is_short in zip(run.found, short, strict=True) if is_short])
            for name, run in (runs | known).items()
        }
        show(runs | peers(chosen, "auto") | nothing(chosen), segmentation_score(chosen), heads)


def segmentation_score(series):
    """Mean covering, mean F1 and the number of silent series, as cells of the table."""

    def score(run):
        pairs = list(zip(series, run.found, strict=True))
        f1 = np.mean([metrics.change_f1(one.truth, found, 0.01 * len(one.values)) for one, found in pairs])
        cover = np.mean([metrics.covering(one.truth, found, len(one.values)) for one, found in pairs])
        silent = sum(len(one.truth) > 0 and not found for one, found in pairs)
        return [f"{cover:.3f}", f"{f1:.3f}", str(silent)]

    return score


def nothing(series):
    return {"no change at all": Run([[]] * len(series), np.nan, 0)}


def on_speech(peers, few):
    series = speech()[:few]
    print("\nCENSREC speech, log energy at 100 Hz, ten utterances, window 20, lag 1; margin 0.15 s; number known: 20")
    print("a/b +c of d: a of the authors' onsets and b of the starts of speech found, c alarms that are neither onset")
    print("nor end of speech, d alarms in all; to reach: a at least 9, 8, 8, with at most as many false alarms")

    def cell(one, found):
        onsets, starts = (metrics.match_changes(one.truth[what], found, 15).matched for what in ("onsets", "starts"))
        events = np.union1d(one.truth["onsets"], one.truth["ends"])
        neither = metrics.match_changes(events, found, 15).false_alarms
        return f"{onsets}/{starts} +{neither} of {len(found)}"

    runs = our_runs(series, 20, lag=1) | peers(series, 20)
    heads = [NOISES[one.name] for one in series]
    show(runs, lambda run: [cell(one, found) for one, found in zip(series, run.found, strict=True)], heads)


# -- speed -----------------------------------------------------------------------------------------------------------


def against_window(python, quick):
    """Score of 20,000 x 3 against ruptures' Window with rbf cost, which holds a (T, T) array, in a fresh process."""
    n, window = (4000 if quick else 20_000), 50
    print(f"\nscore of a series of {n} x 3, window {window}, against ruptures' Window, rbf cost")
    rows = Path("/proc/meminfo").read_text().splitlines()
    free = int(next(row for row in rows if row.startswith("MemAvailable")).split()[1]) / 1024
    need = 22 * n * n / 2**20  # MiB; measured: 20 bytes a pair of samples
    if python is None or need > free:
        skip("ruptures Window", f"it needs {need:.0f} MiB and {free:.0f} are free" if python else "not installed")
        return
    peers = {}
    for jump in (5, 1):
        command = [python, "-c", WINDOW, *map(str, (n, 2 * window, jump))]
        try:
            # The first to touch so much memory waits for the machine to hand it out: the faster of two counts.
            runs = [json.loads(call(command, RUN_SECONDS, "running Window").splitlines()[-1]) for _ in range(2)]
            peers[jump] = min(runs, key=lambda run: run["seconds"])
        except Skipped as why:
            skip("ruptures Window", why)
            return
        which = "every 5th sample (its default)" if jump == 5 else "every sample (as ours)"
        print(f"Window, {which:32s}{peers[jump]['seconds']:10.2f} s{peers[jump]['memory']:9.0f} MiB", flush=True)
    series = np.random.default_rng(0).standard_normal((n, 3))
    ways = {
        "score, threshold and p-values": lambda: ours(series, window),
        "score alone": lambda: scored(series, window),
    }
    for what, way in ways.items():
        seconds = fastest(way, 3)
        for jump, peer in peers.items():
            beside = {"peer": f"ruptures Window, rbf, jump {jump}", "title": f"series of {n} x 3"}
            record(what, seconds, peer["seconds"], goal="at least 50" if what == "score alone" else "", **beside)
        ratios = " and ".join(f"{peer['seconds'] / seconds:.0f} (jump {jump})" for jump, peer in peers.items())
        print(f"{OURS}, {what:30s}{seconds:10.2f} s   times faster: {ratios}; to reach: 50")


def scored(series, window):
    """What the peer does: features and contrasts at every scale, without the simulated null."""
    features = series_features(series, 5, dd.LSDD(solver="centers", n_centers=CENTERS), 0)
    sums = scan.running_sums(Plan.of(len(series), window, 5, 0.05, 0).blocks(features.values))
    n = len(sums) - 1
    return scan.contrasts(sums, scan.window_scales(8, n), 0, n).max(axis=0)


def cumsum_seconds(n, b):
    rows = np.ones((n, b))
    return fastest(lambda: np.cumsum(rows, axis=0), 3)


def against_cumsum(quick):
    """10^6 samples against numpy.cumsum of the array a running sum over b centers would need."""
    n, b, window = (100_000 if quick else 1_000_000), CENTERS, 500
    head(f"{n} samples, one column, window {window}; numpy.cumsum of ({n}, {b})", "cumsum")
    baseline = cumsum_seconds(n, b)
    series = np.random.default_rng(0).standard_normal((n, 1))
    line("detect_changes", baseline, fastest(lambda: ours(series, window), 2), "at most 5", "slower")
    more = call([sys.executable, "-c", LONG, str(n), str(window)], RUN_SECONDS, "measuring memory").split()[-1]
    record("memory beyond that of 2000 samples", float(more), unit="MiB")
    print(f"memory: {more} MiB more than for 2000 samples; the array of the sums would take {n * b * 8 >> 20}")


def main(quick=False):
    few = 2 if quick else None
    try:
        python = peer_python(PEERS)
    except Skipped as why:
        skip("ruptures and claspy", why)
        python = None
    peers = Peers(python, quick)
    if quick:
        skip("claspy", "a quick look has no time for it")
    for part in (on_hasc, on_the_paper_like, on_turing, on_tssb, on_speech, on_mocap, on_bees):
        start = time.perf_counter()
        try:
            part(peers, few)
        except Skipped as why:
            skip(part.__name__, why)
            continue
        print(f"({time.perf_counter() - start:.0f} s in all)", flush=True)
    peers.close()
    against_window(python, quick)
    against_cumsum(quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
