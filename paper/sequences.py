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

    Attributes: its folders, how names begin and files end, the label that holds the changes, every how many samples one
    is taken, whether the series is scaled as a sound is, to a largest amplitude of 1, and where it comes from.
    """

    folders: str
    start: str
    end: str
    label: str
    every: int
    is_sound: bool
    origin: str


class Sequence(NamedTuple):
    """A series with known changes."""

    path: Path
    changes: list[int]
    noise: float = 0.0  # that is added, in deviations of what is spoken


SOURCES = {
    SPEECH: Source("censrec*", "", "_800hz", "speech_intervals_100hz", 8, True, "CENSREC-1-C (research.nii.ac.jp/src)"),
    ACCELERATION: Source(
        "hasc*", "paperlike", "", "change_points", 1, False, "HASC (hasc.jp), l2 norm of the three axes"
    ),
}
_QUIET, _LOUD = "clean", 0.3  # a recording without noise, and the noise of a loud room, 10 dB below the speech


def find_sequences(kind: str, data: Path | None) -> dict[str, Sequence]:
    """Every sequence of a kind that is there; a clean recording also with the noise of a loud room."""
    source, found = SOURCES[kind], {}
    for path in sorted(() if data is None else (data / "changes").glob(f"{source.folders}/labels.json")):
        for name, label in json.loads(path.read_text("utf-8")).items():
            file = path.with_name(f"{name}{source.end}.csv")
            if name.startswith(source.start) and source.label in label and file.is_file():
                found[name] = Sequence(file, np.ravel(label[source.label]).astype(int).tolist())
    quiet = {name: of for name, of in found.items() if source.is_sound and name.endswith(_QUIET)}
    return found | {f"{name}_in_noise": of._replace(noise=_LOUD) for name, of in quiet.items()}


def read_sequence(kind: str, path: str, changes: list[int], noise: float) -> FloatArray:
    """The series as figure 12 has it, (T,): the wave of a sound, not its energy, for the paper shows it as it is."""
    source = SOURCES[kind]
    values = read_series(path)[:: source.every]
    if noise:
        spoken = np.concatenate([values[start:end] for start, end in zip(changes[::2], changes[1::2], strict=True)])
        values = values + noise * spoken.std() * np.random.default_rng(0).normal(size=len(values))
    return values / np.abs(values).max() if source.is_sound else values


def read_series(path: str) -> FloatArray:
    """One column below a header, (T,)."""
    values = np.genfromtxt(path, delimiter=",", skip_header=1)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise dd.InputError(f"{path} must have one column of numbers below a header")
    return np.asarray(values, dtype=np.float64)
