"""Results as one self-contained HTML page; what is computed is decided elsewhere."""

from densdiff.report.balance import write_balance
from densdiff.report.batches import write_batches
from densdiff.report.changes import write_changes
from densdiff.report.comparison import write_comparison
from densdiff.report.groups import write_groups

__all__ = ["write_balance", "write_batches", "write_changes", "write_comparison", "write_groups"]
