"""The paper, reproduced from the public interface: each figure as picture and table, beside what is claimed of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path

from densdiff import messages
from densdiff.data import parameters
from densdiff.errors import InputError
from paper.claims import Claim
from paper.jobs import Batch, Workers, duration
from paper.page import show, write_page
from paper.part import SEED, Job, Part

__all__ = ["PARTS", "SEED", "Claim", "Job", "Part", "reproduce"]

_MODULES = ("estimates", "distances", "outliers", "testing", "drawings", "balance", "changes", "theory")


def _parts() -> dict[str, Part]:
    """All parts, in the order of the paper and with the tables of theory last."""
    homes = [import_module(f"paper.{name}") for name in _MODULES]
    found = {part.figure: part for home in homes for part in home.PARTS}
    return {figure: found[figure] for figure in sorted(found, key=lambda name: (not name.isdigit(), len(name), name))}


PARTS: dict[str, Part] = _parts()


def reproduce(
    out: str | PathLike[str],
    figures: str | int | Sequence[str | int] | None = None,
    *,
    runs: int | None = None,
    data: str | PathLike[str] | None = None,
    seed: int = 0,
    processes: int = 2,
    tell: Callable[[str], None] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Reproduce the figures of the paper and the numbers behind its claims.

    Results of finished jobs are kept in ``out/work``: an interrupted run is resumed by the same call.

    Parameters
    ----------
    out : path-like
        Folder for index.html, figure-<n>.png and figure-<n>.csv; made if it does not exist.
    figures : str, int or sequence of them, optional
        Which ones; all by default. Names are those of `PARTS`.
    runs : int, optional
        Runs of every part that averages over runs; by default each part's own number, as in the paper.
    data : path-like, optional
        Folder with the data sets that cannot be shipped.
    seed : int
        All randomness starts from it.
    processes : int
        How many to use; each has one thread. A script that calls this with more than one needs the usual
        ``if __name__ == "__main__"``.
    tell : callable, optional
        Is given lines of text: how long it will take, before the work, and which data are missing.
    progress : callable, optional
        Is given lines of text: what is done.

    Returns
    -------
    pathlib.Path
        The page.

    Examples
    --------
    >>> import tempfile
    >>> from densdiff import paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = paper.reproduce(folder, "5", processes=1)
    ...     page.name, (page.parent / "figure-5.csv").exists()
    ('index.html', True)
    """
    chosen = _chosen(figures)
    runs = None if runs is None else parameters.whole(runs, "runs", 2)
    seed, processes = parameters.whole(seed, "seed", 0), parameters.whole(processes, "processes", 1)
    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise InputError(
            f"data is {messages.shown(str(folder))}, which is not a folder; give the one with the data sets"
        )
    place = Path(out)
    try:
        (place / "work").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {messages.shown(str(place))}: {error.strerror}") from error
    say, step = (hears or (lambda line: None) for hears in (tell, progress))
    counts = [part.full_runs if runs is None or part.full_runs == 1 else runs for part in chosen]
    batches = [
        Batch(part.jobs(count, folder), place / "work", seed) for part, count in zip(chosen, counts, strict=True)
    ]
    if seconds := sum(batch.seconds(processes) for batch in batches):
        many, cores = len(chosen), processes
        say(f"{many} part{'s' * (many > 1)}, about {duration(seconds)} on {cores} core{'s' * (cores > 1)}")
    shown = []
    with Workers(processes) as workers:
        for part, count, batch in zip(chosen, counts, batches, strict=True):
            if missing := part.missing(folder):
                say(f"{part.name}: {missing}")
            results = batch.results(workers, part.name, step)
            shown.append(show(place, part, count, part.table(results) if results else [], missing))
    return write_page(place, shown, seed)


def _chosen(figures: str | int | Sequence[str | int] | None) -> list[Part]:
    """Parts in the order of the paper, whatever the order asked for."""
    asked = list(PARTS) if figures is None else [figures] if isinstance(figures, str | int) else figures
    names = [str(name) for name in asked]
    if unknown := [name for name in names if name not in PARTS]:
        raise InputError(f"the paper has no figure {messages.listed(unknown)}; choose among {', '.join(PARTS)}")
    return [part for name, part in PARTS.items() if name in names]
