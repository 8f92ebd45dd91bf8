"""
The same method by four names
=============================

Two vineyards' wines by four numbers: how far apart (L2 distance), how many would have to move (total variation), is it chance (test), and what a difference of two kernel density
estimates, the obvious other way, would have said.
"""

from sklearn.datasets import load_wine

import densdiff as dd

wine = load_wine(as_frame=True)
columns = ["alcohol", "malic_acid", "hue", "proline"]
first, second = (wine.data.loc[wine.target == k, columns] for k in (0, 1))

print(dd.l2_distance(first, second, random_state=0))
variation = dd.total_variation(first, second, random_state=0)
print(variation)
print(f"p = {dd.two_sample_test(first, second, random_state=0).pvalue:.3f}")
print(f"kernel densities: {dd.l2_distance(first, second, model=dd.KDEDifference(), random_state=0).normalized:.2f}")

# %%
# How each wine was judged by a rule that had not seen it.

dd.plots.plot_total_variation(variation).figure
