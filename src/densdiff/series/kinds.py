"""What changed at each change of a series: level, spread, correlation or rhythm, with a p-value each."""

from dataclasses import dataclass

KINDS = ("level", "spread", "correlation", "rhythm")


@dataclass(frozen=True)
class ChangeKind:
    """What changed at one change.

    Attributes
    ----------
    what : str
        The clearest of "level", "spread", "correlation" and "rhythm"; "distribution" if none of them is clear.
    pvalue : float
        Of ``what``; of the change itself for "distribution".
    pvalues : dict of str to float
        Of every kind that this series can show: a series of one column has no correlation.
    period_before, period_after : float or None
        Samples in a period of the segment before the change and of the one after it; None without a clear period.
    text : str
        All kinds that are clear, in words: "rhythm from period 24 to 12; spread x 1.5".
    """

    what: str
    pvalue: float
    pvalues: dict[str, float]
    period_before: float | None
    period_after: float | None
    text: str
