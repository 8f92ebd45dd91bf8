"""Results as one self-contained HTML page; what is computed is decided elsewhere."""

from densdiff.report.page import figure_svg, write_aside, write_page

__all__ = ["figure_svg", "write_aside", "write_page"]
