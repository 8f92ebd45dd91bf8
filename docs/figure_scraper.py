"""Pictures for the gallery: densdiff draws without pyplot, so the figure that ends a part of a script is taken there.

In a notebook the same last line shows the same figure.
"""

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def last_figure(block, block_vars, gallery_conf):
    """The text that shows the figure which is the value of a block's last line, if it is one."""
    figure = block_vars["example_globals"].get("___")
    if not isinstance(figure, Figure):
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=120, facecolor="white")
    return figure_rst([path], gallery_conf["src_dir"])
