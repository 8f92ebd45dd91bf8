"""
Two kinds of penguins on a map
==============================

Where do Adelie and Chinstrap penguins differ? The model estimates f = p - q, the difference of the two densities, at once, instead of estimating each and
subtracting. Lines surround the regions in which it is significant.
"""

from palmerpenguins import load_penguins

import densdiff as dd

penguins = load_penguins().dropna()
columns = ["bill_length_mm", "bill_depth_mm"]
adelie = penguins.loc[penguins["species"] == "Adelie", columns]
chinstrap = penguins.loc[penguins["species"] == "Chinstrap", columns]

model = dd.LSDD(random_state=0).fit(adelie, chinstrap)
dd.plots.plot_difference(model).figure

# %%
# How far apart are they? 0 would be equal, 1 no overlap at all.

print(model.l2_distance())
