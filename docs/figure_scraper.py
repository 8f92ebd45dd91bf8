"""Pictures for the gallery: densdiff draws without pyplot, so the figure that ends a part of a script is taken there.

In a notebook the same last line shows the same figure.
"""

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

shown = []  # figures and results that earlier blocks ended with; held, so that no other object gets their identity


def last_figure(block, block_vars, gallery_conf):
    """The text that shows the figure which is the value of a block's last line, if it is one.

    A result shows its picture itself, which then becomes the thumbnail of the page.
    """
    value = block_vars["example_globals"].get("___")
    if value is None or any(value is one for one in shown):
        return ""
    if isinstance(value, Figure):
        figure = value
    elif hasattr(value, "_draw"):
        figure = value._draw().figure
    else:
        return ""
    shown.append(value)
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=120, facecolor="white")
    return figure_rst([path], gallery_conf["src_dir"]) if value is figure else ""
