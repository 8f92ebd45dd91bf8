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
        None where data are missing.
    reason : str
        Where it does not hold: the likely reason.
    """

    figure: str
    says: str
    measured: str
    holds: bool | None
    reason: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return {True: "holds", False: "does not hold", None: "not measured"}[self.holds]
