"""Segments of real series that are alike, cut at the true changes: how many are joined, how many others kept apart.

The series are read from ../shared/data/changes, beside the repository, and a set that is not there is skipped. Pairs of
segments that are not neighbours count: those of one label should share a state, all others should not. Neighbours are
known to differ. HASC has activities, CMU the states of motions, TSSB classes of patterns, three of its series with one
that comes back. The settings were chosen with HASC and TSSB in view; CMU was looked at later.
"""

import gzip
import json
from pathlib import Path

import numpy as np

from benchmarks.measure import record, skip
from densdiff.series.states import segment_states

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "changes"


def hasc():
    """Rows, true changes and labels of segments of each sequence."""
    folder = DATA / "hasc2010_sequence"
    for name, labels in json.loads((folder / "labels.json").read_text()).items():
        if name.startswith("HASC"):
            rows = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)[:, 1:]
            yield rows, labels["change_points"], labels["activities"]


def cmu():
    folder = DATA / "cmu_mocap86"
    for name, labels in json.loads((folder / "labels.json").read_text()).items():
        rows = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)[:, :-1]
        yield rows, labels["change_points"], labels["states_in_order"]


def tssb():
    folder = DATA / "tssb"
    labels = {line.split(",")[0]: line.strip().split(",")[4:] for line in (folder / "properties.txt").open()}
    for line in (folder / "desc.txt").open():
        name, _, *changes = line.strip().split(",")
        with gzip.open(folder / f"{name}.txt.gz", "rt") as file:
            yield np.loadtxt(file)[:, None], [int(change) for change in changes], labels[name]


def counts(rows, changes, labels):
    """Pairs alike, of them joined, pairs unlike, of them kept apart."""
    changes = np.array(changes, dtype=np.intp)
    states = segment_states(rows, changes, np.ones(len(changes), dtype=bool))
    codes = np.unique(np.array(labels, dtype=str), return_inverse=True)[1]
    first, second = np.triu_indices(len(states), 2)
    alike, joined = codes[first] == codes[second], states[first] == states[second]
    return np.array([alike.sum(), (alike & joined).sum(), (~alike).sum(), (~alike & ~joined).sum()])


def main(quick=False):
    print(f"{'set':8s}{'series':>8s}{'pairs alike':>14s}{'joined':>9s}{'pairs unlike':>14s}{'kept apart':>12s}")
    for name, series in (("HASC", hasc), ("CMU", cmu), ("TSSB", tssb)):
        try:
            tables = [counts(*case) for _, case in zip(range(3 if quick else 1000), series(), strict=False)]
        except FileNotFoundError as missing:
            skip(name, f"{missing.filename} is not there")
            continue
        alike, joined, unlike, apart = np.sum(tables, axis=0)
        print(
            f"{name:8s}{len(tables):8d}{alike:14d}{joined / alike:9.2f}{unlike:14d}{apart / unlike:12.2f}", flush=True
        )
        record(f"{name}, {alike} pairs alike, joined", joined / alike, unit="share", title="States at true changes")
        record(
            f"{name}, {unlike} pairs unlike, kept apart", apart / unlike, unit="share", title="States at true changes"
        )


if __name__ == "__main__":
    main()
