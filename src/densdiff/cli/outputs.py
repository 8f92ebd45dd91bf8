"""The files that `compare` and `track` write beside what they print: for people, for a monitoring system, for a log.

What they hold is decided by the result; that they can be written is checked before the work.
"""

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from densdiff.cli.failures import emit
from densdiff.cli.inputs import refuse_unappendable, refuse_unwritable, write_text


@dataclass(frozen=True)
class Outputs:
    """Where to write what, named as the options are; None for what was not asked for."""

    report: Path | None = None
    markdown: Path | None = None
    prometheus: Path | None = None
    log: Path | None = None

    def refuse_unwritable(self, *inputs: Any) -> None:
        """Tell before the work that a file cannot be written, is an input, or is asked for twice."""
        from densdiff import messages
        from densdiff.errors import InputError

        for target in (self.report, self.markdown, self.prometheus):
            refuse_unwritable(target, *inputs)
        refuse_unappendable(self.log, *inputs)
        asked: dict[Path, str] = {}
        for field in fields(self):
            if (path := getattr(self, field.name)) is None:
                continue
            other = asked.setdefault(path.resolve(), field.name)
            if other != field.name:
                text = f"--{other} and --{field.name} are both {messages.shown(str(path))}"
                raise InputError(f"{text}; write to two files")

    def write(self, result: Any) -> None:
        """All files but the report."""
        from densdiff.io.write import append_line

        now = datetime.now(UTC)
        if self.markdown is not None:
            write_text(self.markdown, result.to_markdown())
        if self.prometheus is not None:
            from densdiff.comparing.prometheus import prometheus_text

            write_text(self.prometheus, prometheus_text(result, now.timestamp()))
        if self.log is not None:
            from densdiff.comparing.log_record import log_line

            append_line(self.log, log_line(result, now))

    def emit_places(self) -> None:
        """Say where the files are; the report is told by the command."""
        names = {"summary": self.markdown, "metrics": self.prometheus, "log": self.log}
        for name, path in names.items():
            if path is not None:
                emit(f"{name}: {path}")
