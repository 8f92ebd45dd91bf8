"""What a service that watches a stream keeps beside its monitor. Nothing else is imported here: it is there at once."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StreamProgress:
    """What a service knows beside its monitor: of the lines that it read, and of the moment of saving."""

    saved_at: str  # ISO 8601, UTC
    ended: bool  # whether the run ended after saving, or was to go on
    alarms: int = 0
    bad_rows: int = 0
    recent: str = ""  # the last lines, 1 for a bad one, 0 for a good one
    mostly_bad: bool = False  # whether an alarm of bad rows lasts
