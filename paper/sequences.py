"""The sequences of figure 12: where their files are, which of their samples are changes, and their values."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import densdiff as dd

FloatArray = npt.NDArray[np.float64]

SPEECH, ACCELERATION = "speech", "acceleration"


class Source(NamedTuple):
    """A set of sequences.

    Attributes: its folders, how names begin and files end, the label that holds the changes, whether the authors' grid
    needs the series in units of its deviation, and where it comes from.
    """

    folders: str
    start: str
    end: str
    label: str
    unit: bool
    origin: str


SOURCES = {
    SPEECH: Source(
        "censrec*", "", "_logenergy100hz", "speech_intervals_100hz", True, "CENSREC-1-C (research.nii.ac.jp/src)"
    ),
    ACCELERATION: Source("hasc*", "paperlike", "", "change_points", False, "HASC (hasc.jp), l2 norm of the three axes"),
}


def find_sequences(kind: str, data: Path | None) -> dict[str, tuple[Path, list[int]]]:
    """File and changes of every sequence of a kind that is there."""
    source, found = SOURCES[kind], {}
    for path in sorted(() if data is None else (data / "changes").glob(f"{source.folders}/labels.json")):
        for name, label in json.loads(path.read_text("utf-8")).items():
            file = path.with_name(f"{name}{source.end}.csv")
            if name.startswith(source.start) and source.label in label and file.is_file():
                found[name] = (file, np.ravel(label[source.label]).astype(int).tolist())
    return found


def read_series(path: str) -> FloatArray:
    """One column below a header, (T,)."""
    values = np.genfromtxt(path, delimiter=",", skip_header=1)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise dd.InputError(f"{path} must have one column of numbers below a header")
    return np.asarray(values, dtype=np.float64)
