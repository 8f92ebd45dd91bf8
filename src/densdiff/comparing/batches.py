"""Which of many batches, such as days, differ from a reference, in what, and since when?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.comparing.batch_dates import date_changes
from densdiff.comparing.batch_evidence import Evidence, batch_evidence, count_rows, join_batches
from densdiff.comparing.batch_labels import label_batches
from densdiff.comparing.batch_results import BatchColumn, BatchDifference, BatchesResult
from densdiff.comparing.profile_file import load_if_saved
from densdiff.comparing.settings import Settings, check_settings
from densdiff.comparing.wording import schema_texts
from densdiff.data import parameters
from densdiff.data.missing import CHOICES
from densdiff.data.parameters import choice
from densdiff.data.tables import Request
from densdiff.errors import InputError, named
from densdiff.progress import Progress, long_work
from densdiff.testing.sequential import error_share
from densdiff.threads import on_one_thread

_WARNINGS = 5  # of the batches that are shown


@long_work("comparing batches")
@on_one_thread
def track(
    batches: Any,
    *,
    reference: Any = "first",
    history: BatchesResult | None = None,
    columns: Sequence[str] | str | None = None,
    exclude: Sequence[str] | str | None = None,
    kinds: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    min_effect: float | Mapping[str, float] = 0.0,
    missing: str = "level",
    n_permutations: int = 999,
    random_state: Any = None,
) -> BatchesResult:
    """Compare many batches, such as days, with a reference: which differ, in which columns, and since when.

    You may look after every batch and as often as you like: if nothing ever changes, the probability that any batch is
    ever said to differ is at most alpha.

    Parameters
    ----------
    batches : mapping of labels to tables, or sequence of (label, table) or of paths
        In the order of time. A table is anything that `compare` takes, a `Profile` too; a path alone is labelled by its
        file.
    reference : table, Profile, "first", "previous" or int
        What each batch is compared with: one table, the first batch, the batch before it, or so many batches before it
        together. A fixed reference shows slow drift; one that moves on shows sudden changes only.
    history : BatchesResult, optional
        Earlier batches to go on from. They are not compared again; those among ``batches`` that it has are passed over.
    columns, exclude, kinds, min_effect, missing
        As in `compare`.
    alpha : float
        Level over all batches, past and future.
    n_permutations : int
        Of each comparison. Batches are decided by exact bounds for the cells of columns and of pairs of columns.
        Permutations join in only where there are enough of them: at alpha = 0.05 from 2479 on about the first batch,
        from 9439 on about the first 30.
    random_state : None, int, Generator or RandomState
        By default that of ``history``, if there is one.

    Returns
    -------
    BatchesResult

    Examples
    --------
    >>> import densdiff as dd
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> days = {f"day {k}": random.normal(1.0 * (k >= 4), 1.0, (200, 2)) for k in range(6)}
    >>> result = dd.track(days, n_permutations=99, random_state=0)
    >>> result.began, [batch.label for batch in result.changed]
    ('day 4', ['day 4', 'day 5'])
    """
    seed = history.seed if random_state is None and isinstance(history, BatchesResult) else random_state
    settings = check_settings(alpha, min_effect, n_permutations, seed)
    choice(missing, "missing", CHOICES)
    window = _window(reference)
    described = _describe_reference(reference, window)
    past = _check_history(history, described, settings)
    entries = label_batches(batches)
    request = Request(("reference", "batch"), columns, exclude, kinds, missing)
    with messages.collect_warnings() as texts:
        result = _track(entries, past, _References(reference, window, past), (request, settings, described))
    own = list(dict.fromkeys(texts))
    if len(own) > _WARNINGS:
        own[_WARNINGS:] = [f"{len(own) - _WARNINGS} more notes in the comparisons of batches"]
    for text in own:
        messages.warn(text)
    return replace(result, warnings=tuple(dict.fromkeys([*(past.warnings if past else ()), *map(named, own)])))


def _window(reference: Any) -> int | None:
    """How many batches before it a batch is compared with; None if the reference is fixed."""
    if isinstance(reference, str) and reference == "previous":
        return 1
    if isinstance(reference, (int, float, np.number)):
        return parameters.whole(reference, "reference", 1)
    return None


def _describe_reference(reference: Any, window: int | None) -> str:
    """What a result calls the reference."""
    if window is not None:
        return "previous" if window == 1 else f"last {window} batches"
    if isinstance(reference, (str, PathLike)):
        return "first" if reference == "first" else messages.escaped(Path(reference).name)
    return named(messages.name_of("reference"))


def _check_history(history: Any, described: str, settings: Settings) -> BatchesResult | None:
    """A result that new batches can follow, or an error that says how they do not go together."""
    if history is None:
        return None
    if not isinstance(history, BatchesResult):
        need = f"{messages.argument('history')} must be what track returned, or BatchesResult.from_json of its JSON"
        raise InputError(f"{need}; got {messages.describe_value(history)}", argument="history")
    asked = {"reference": described, "alpha": settings.alpha, "min_effect": settings.min_effect}
    for name, value in asked.items():
        before = getattr(history, name)
        if before != value:
            text = f"{messages.argument('history')} was made with {name} {messages.shown(before)}"
            raise InputError(f"{text}, and {name} is now {messages.shown(value)}; give the same", argument=name)
    return history


class _References:
    """What the next batch is compared with: one table, or the last batches."""

    def __init__(self, reference: Any, window: int | None, past: BatchesResult | None) -> None:
        is_given = window is None and not (isinstance(reference, str) and reference == "first")
        self.window = window
        self.held: list[tuple[str, Any]] = (
            [("", load_if_saved(reference))] if is_given else list(past.held) if past else []
        )
        # of a history that was read from a file nothing is held: the batches that serve as reference must come again
        self.needed = [] if is_given or self.held or past is None else self._labels_of(past)

    def _labels_of(self, past: BatchesResult) -> list[str]:
        labels = [batch.label for batch in past.batches]
        return labels[:1] if self.window is None else labels[-self.window :]

    @property
    def lacking(self) -> int:
        """How many new batches come before the first that has a reference."""
        return max(0, (self.window or 1) - max(len(self.held), len(self.needed)))

    def remember(self, label: str, get_table: Callable[[], Any]) -> None:
        """Take a batch of the history that came again, if it serves as reference; else it is not read."""
        if label in self.needed:
            self.held.append((label, load_if_saved(get_table())))

    def current(self) -> Any:
        """The reference of the next batch, None while there is none."""
        if lacking := [label for label in self.needed if label not in [name for name, _ in self.held]]:
            what = f"the batch{'es' * (len(lacking) > 1)} {messages.listed(lacking)} of the history"
            text = (
                f"{what} must be given again before new ones: they are the reference, and a saved history holds no rows"
            )
            raise InputError(text, argument="batches")
        self.needed = []
        if len(self.held) < (self.window or 1):
            return None
        return self.held[0][1] if len(self.held) == 1 else join_batches(self.held)

    def follow(self, label: str, table: Any) -> None:
        """Let a batch be the reference, or a part of it, from now on."""
        if self.window is not None or not self.held:
            self.held = [*self.held, (label, table)][-(self.window or 1) :]


def _track(
    entries: list[tuple[str, Callable[[], Any]]],
    past: BatchesResult | None,
    references: _References,
    asked: tuple[Request, Settings, str],
) -> BatchesResult:
    """The history with all new batches."""
    request, settings, described = asked
    batches: list[BatchDifference] = list(past.batches) if past else []
    columns = {column.name: column for column in past.columns} if past else {}
    known, n_compared = {batch.label for batch in batches}, sum(batch.is_compared for batch in batches)
    n_new = sum(label not in known for label, _ in entries)
    with Progress("comparing batch by batch", n_new - references.lacking) as progress:
        for label, get_table in entries:
            if label in known:
                references.remember(label, get_table)
                continue
            reference, table = references.current(), load_if_saved(get_table())
            if reference is None:
                batches.append(BatchDifference(label, count_rows(table, label)))
            else:
                n_compared += 1
                own = replace(settings, seed=_seed_of(settings.seed, n_compared))
                try:
                    evidence = batch_evidence(reference, table, replace(request, where=(described, label)), own)
                except InputError as error:
                    raise error.reworded(f"batch {messages.shown(label)}: {error.marked}") from error
                batches.append(_difference(label, evidence, n_compared, settings.alpha))
                _append_columns(columns, evidence, error_share(n_compared), len(batches))
                progress.add(1.0)
            references.follow(label, table)
    ordered, began = date_changes(
        batches, _padded(columns, len(batches)), settings.alpha, references.window is not None
    )
    return _result(batches, ordered, began, references, asked)


def _seed_of(seed: int, place: int) -> int:
    """A seed for the comparison of each batch, the same whichever batches came with it."""
    return int(np.random.SeedSequence([seed, place]).generate_state(1)[0])


def _difference(label: str, evidence: Evidence, look: int, alpha: float) -> BatchDifference:
    """What is told of one batch; each may use a share of the error, E19."""
    result, share = evidence.comparison, error_share(look)
    changed = sorted((p, name) for name, p in evidence.columns.items() if p / share <= alpha)
    schema = tuple(schema_texts(result.schema_changes, result.names))
    adjusted = min(1.0, evidence.pvalue / share)
    return BatchDifference(
        label=label,
        n=result.n_y,
        n_reference=result.n_x,
        total_variation=result.total_variation.value,
        interval=result.total_variation.interval,
        distance=result.distance.normalized,
        distance_interval=result.distance.normalized_interval,
        frozen_variation=evidence.frozen.value,
        frozen_interval=evidence.frozen.interval,
        pvalue=evidence.pvalue,
        pvalue_adjusted=adjusted,
        differs=adjusted <= alpha or bool(schema),
        columns=tuple(name for _, name in changed),
        schema=schema,
    )


def _append_columns(columns: dict[str, BatchColumn], evidence: Evidence, share: float, count: int) -> None:
    """Add the columns of a batch, which is the last of so many, to those of the batches before."""
    for column in evidence.comparison.columns:
        before = columns.get(column.name, BatchColumn(column.name, [], [], []))
        adjusted = min(1.0, evidence.columns.get(column.name, 1.0) / share)
        entry = (column.total_variation, column.normalized, adjusted)
        lists = (before.total_variation, before.distance, before.pvalue_adjusted)
        variation, distance, pvalue = (
            [*_pad(values, count - 1), value] for values, value in zip(lists, entry, strict=True)
        )
        columns[column.name] = BatchColumn(column.name, variation, distance, pvalue)


def _padded(columns: dict[str, BatchColumn], count: int) -> list[BatchColumn]:
    """Columns with an entry for each of so many batches."""
    return [
        BatchColumn(c.name, _pad(c.total_variation, count), _pad(c.distance, count), _pad(c.pvalue_adjusted, count))
        for c in columns.values()
    ]


def _pad(values: list[float | None], count: int) -> list[float | None]:
    return [*values, *[None] * (count - len(values))]


def _result(
    batches: list[BatchDifference],
    columns: list[BatchColumn],
    began: str | None,
    references: _References,
    asked: tuple[Request, Settings, str],
) -> BatchesResult:
    _, settings, described = asked
    return BatchesResult(
        differ=any(batch.differs for batch in batches),
        batches=batches,
        columns=columns,
        began=began,
        reference=described,
        alpha=settings.alpha,
        min_effect=settings.min_effect,
        held=references.held if references.window is not None or described == "first" else [],
        sigma=None,
        lam=None,
        solver="one for each batch",
        n_centers=None,
        n_x=next((batch.n_reference for batch in batches[::-1] if batch.n_reference is not None), 0),
        n_y=sum(batch.n for batch in batches),
        seed=settings.seed,
        tuning=f"error spent over all batches, {settings.permutations} permutations in each",
    )
