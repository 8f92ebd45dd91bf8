"""What the paper claims, and whether our numbers bear it out."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One claim of the paper with a measurement and a verdict computed from it.

    Attributes
    ----------
    figure : str
        "3", "7", "theory" ...
    says : str
        What the paper claims, in our words.
    measured : str
        What we measured, with its numbers.
    holds : bool or None
        None where data are missing, or where so few runs cannot tell.
    reason : str
        Where it does not hold, or is not decided: the likely reason.
    """

    figure: str
    says: str
    measured: str
    holds: bool | None
    reason: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.holds is None:
            return "undecided" if self.reason else "not measured"
        return "holds" if self.holds else "does not hold"


def larger(gain: float, error: float, runs: int, full: int) -> bool | None:
    """Whether a gain exceeds two standard errors; None if noise could hide it and the runs are fewer than in full."""
    if runs < full and abs(gain) <= 2 * error:
        return None
    return gain > 2 * error
