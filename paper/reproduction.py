"""A run: the parts that are asked for, their jobs, and the page of what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import densdiff as dd
from paper.arguments import data_folder, output_folder, quoted_list, whole_number
from paper.jobs import Batch, Workers, duration
from paper.page import show, write_page
from paper.part import Part

_MODULES = ("estimates", "distances", "outliers", "testing", "drawings", "balance", "changes", "theory")


def _all_parts() -> dict[str, Part]:
    """Parts by name, in the order of the paper and with the tables of theory last."""
    modules = [import_module(f"paper.{name}") for name in _MODULES]
    parts = {part.figure: part for module in modules for part in module.PARTS}
    return {figure: parts[figure] for figure in sorted(parts, key=lambda name: (not name.isdigit(), len(name), name))}


PARTS: dict[str, Part] = _all_parts()


def _silent(text: str) -> None:
    """Nobody listens."""


def reproduce(
    out: str | PathLike[str],
    figures: str | int | Sequence[str | int] | None = None,
    *,
    runs: int | None = None,
    data: str | PathLike[str] | None = None,
    seed: int = 0,
    processes: int = 2,
    tell: Callable[[str], None] = _silent,
    progress: Callable[[str], None] = _silent,
) -> Path:
    """Reproduce the figures of the paper and the numbers behind its claims.

    Results of finished jobs are kept in ``out/work``: an interrupted run is resumed by the same call.

    Parameters
    ----------
    out : folder for index.html, figure-<n>.png and figure-<n>.csv; made if it does not exist.
    figures : names of `PARTS`; all by default.
    runs : of every part that averages over runs; by default each part's own number, as in the paper.
    data : folder with the data sets that cannot be shipped.
    seed : all randomness starts from it.
    processes : how many to use, of one thread each. More than one need ``if __name__ == "__main__"`` in a script.
    tell : is given lines of text: how long it will take, before the work, and which data are missing.
    progress : is given lines of text: what is done.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = reproduce(folder, "5", processes=1)
    ...     page.name, (page.parent / "figure-5.csv").exists()
    ('index.html', True)
    """
    request = Request(
        parts=_selected(figures),
        runs=None if runs is None else whole_number(runs, "runs", 2),
        seed=whole_number(seed, "seed", 0),
        processes=whole_number(processes, "processes", 1),
        data=None if data is None else data_folder(data),
    )
    return _run(request, output_folder(out), tell, progress)


class Request(NamedTuple):
    """What is to be done, checked."""

    parts: list[Part]
    runs: int | None
    seed: int
    processes: int
    data: Path | None

    def runs_of(self, part: Part) -> int:
        """Its own number in full, and where nothing is averaged."""
        return part.full_runs if self.runs is None or part.full_runs == 1 else self.runs


def _run(request: Request, out: Path, tell: Callable[[str], None], progress: Callable[[str], None]) -> Path:
    """Do the jobs that are left, part by part, and write everything."""
    parts, cores = request.parts, request.processes
    batches = [Batch(part.jobs(request.runs_of(part), request.data), out / "work", request.seed) for part in parts]
    if seconds := sum(batch.seconds(cores) for batch in batches):
        many = len(parts)
        tell(f"{many} part{'s' * (many > 1)}, about {duration(seconds)} on {cores} core{'s' * (cores > 1)}")
    shown = []
    with Workers(cores) as workers:
        for part, batch in zip(parts, batches, strict=True):
            if missing := part.missing(request.data):
                tell(f"{part.name}: {missing}")
            results = batch.results(workers, part.name, progress)
            shown.append(show(out, part, request.runs_of(part), part.table(results) if results else [], missing))
    return write_page(out, shown, request.seed)


def _selected(figures: str | int | Sequence[str | int] | None) -> list[Part]:
    """Parts in the order of the paper, whatever the order asked for."""
    asked = list(PARTS) if figures is None else [figures] if isinstance(figures, str | int) else figures
    names = [str(name) for name in asked]
    if unknown := [name for name in names if name not in PARTS]:
        raise dd.InputError(f"the paper has no figure {quoted_list(unknown)}; choose among {', '.join(PARTS)}")
    return [part for name, part in PARTS.items() if name in names]
