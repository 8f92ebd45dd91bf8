"""Pictures of fitted models and results with matplotlib, which is imported when a picture is asked for.

Everything is read from attributes; nothing is estimated here. Figures are made without pyplot: no window opens, and no
backend or other global setting changes.
"""

from densdiff.plots.batches import plot_batch_columns, plot_batches
from densdiff.plots.changes import plot_changes
from densdiff.plots.comparison import plot_comparison
from densdiff.plots.difference import plot_difference
from densdiff.plots.mixture import plot_mixture
from densdiff.plots.monitor import plot_monitor
from densdiff.plots.null import plot_null
from densdiff.plots.total_variation import plot_total_variation

__all__ = [
    "plot_batch_columns",
    "plot_batches",
    "plot_changes",
    "plot_comparison",
    "plot_difference",
    "plot_mixture",
    "plot_monitor",
    "plot_null",
    "plot_total_variation",
]
