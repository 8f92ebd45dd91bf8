"""A part of the paper: one figure or table, cut into jobs that can be kept, repeated and run side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper.claims import Claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]

SEED = "<seed of the job>"  # in a job's arguments: a whole number made of the run's seed and the job's key stands here


@dataclass(frozen=True)
class Job:
    """An independent piece of work of seconds to a minute.

    Attributes
    ----------
    key : str
        Names the file that keeps the result: unique among all parts, made of letters, digits, points and hyphens, and
        the same in every run.
    work : callable
        A function of a module; it returns JSON values.
    arguments : tuple
        What it is called with; `SEED` among them is replaced by the seed of the job.
    seconds : float
        How long it takes on one core, roughly.
    """

    key: str
    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    seconds: float = 1.0


def nothing_missing(data: Path | None) -> str:
    """The answer of a part that needs no files."""
    return ""


@dataclass(frozen=True)
class Part:
    """One figure (or table) of the paper.

    Attributes
    ----------
    figure : str
        "1", "2", ... "12", "theory".
    title : str
    jobs : callable
        (runs, data folder) -> the work to do; none where the data are missing.
    table : callable
        Results of the jobs, as read from JSON and in order -> rows of the CSV, flat and with the same keys.
    draw : callable
        Rows -> a matplotlib figure made without pyplot.
    claims : callable
        Rows -> verdicts, computed from the rows alone; no rows give verdicts of None.
    full_runs : int
        Runs in full; 1 if nothing is averaged.
    missing : callable
        Data folder -> "" or the sentence that says which data are missing and how to get them.
    counted : str
        What the page calls the runs.
    """

    figure: str
    title: str
    jobs: Callable[[int, Path | None], list[Job]]
    table: Callable[[list[Any]], list[dict[str, Any]]]
    draw: Callable[[Rows], Figure]
    claims: Callable[[Rows], list[Claim]]
    full_runs: int
    missing: Callable[[Path | None], str] = nothing_missing
    counted: str = "runs"

    @property
    def name(self) -> str:
        """How a reader calls it."""
        return f"Figure {self.figure}" if self.figure.isdigit() else self.figure.capitalize()
