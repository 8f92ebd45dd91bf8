"""What a monitor says after one row."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from densdiff.messages import shown

_SHOWN = 3  # columns of an alarm in words


@dataclass(frozen=True, slots=True)
class MonitorStep:
    """What a monitor says after one row.

    Attributes
    ----------
    index : int
        Of the row, from 0 at the first update.
    score : float or None
        How much speaks for a change: the evidence of single features, or the largest sum of squares of many, in units
        of what each seldom exceeds. None until there are as many rows as the window has.
    threshold : float
    alarm : bool
        Whether the score exceeds the threshold, or an alarm still lasts because the score has not fallen far enough.
    since : int or None
        Of an alarm: index of the row with which the change seems to have begun. It stays while the alarm lasts.
    columns : dict or None
        Of an alarm: the share of each column in what stands out, by name, the largest first; they sum to 1.
    new_levels : dict or None
        Levels that neither the reference nor the stream had before this row, by column.

    Examples
    --------
    >>> import densdiff as dd
    >>> import numpy as np
    >>> reference = np.random.default_rng(0).normal(size=(1000, 1))
    >>> monitor = dd.ChangeMonitor(reference, window=20, run_length=500, random_state=0)
    >>> print(monitor.update([0.5]))
    row 0: the window is not full yet
    """

    index: int
    score: float | None
    threshold: float
    alarm: bool
    since: int | None = None
    columns: dict[str, float] | None = None
    new_levels: dict[str, str] | None = None

    @property
    def strength(self) -> float | None:
        """The score in thresholds: an alarm begins above 1."""
        return None if self.score is None else self.score / self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        new = "".join(f", new level {shown(text)} of {shown(name)}" for name, text in (self.new_levels or {}).items())
        if self.score is None:
            return f"row {self.index}: the window is not full yet{new}"
        what = "ALARM, " if self.alarm else ""
        text = f"row {self.index}: {what}score {self.score:.4g}, {self.score / self.threshold:.2f} of the threshold"
        if self.since is not None:
            text += f", since row {self.since}"
        if self.columns and len(self.columns) > 1:
            first = [f"{shown(name)} {100 * share:.0f} %" for name, share in list(self.columns.items())[:_SHOWN]]
            text += f", {', '.join(first)}"
        return text + new

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence, an alarm in bold."""
        text = escape(str(self))
        return f"<p><b>{text}</b></p>" if self.alarm else f"<p>{text}</p>"
