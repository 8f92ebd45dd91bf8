"""
A label that changed its meaning
================================

Benign and malignant tumours of the Wisconsin study, cut into two halves. In the second half somebody swapped the code for a third of the labels. No column looks different
by itself: the same cells, nearly the same number of ones. Only what the label says *about* the cells has changed.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

import densdiff as dd

tumours = load_breast_cancer(as_frame=True).frame
columns = ["mean radius", "mean texture", "mean smoothness", "mean symmetry", "target"]
random = np.random.default_rng(1)
order = random.permutation(len(tumours))
before, after = (tumours.iloc[half][columns].reset_index(drop=True) for half in np.array_split(order, 2))
swapped = random.random(len(after)) < 1 / 3
after.loc[swapped, "target"] = 1 - after.loc[swapped, "target"]

result = dd.compare(before, after, names=("before", "after"), kinds={"target": "category"}, random_state=0)
print(result)

# %%
# The pairs of columns say what happened: the label no longer goes with the size of the cells.

for pair in result.pairs:
    print(f"{pair.first} and {pair.second}: {pair.dependence_a:.2f} before, {pair.dependence_b:.2f} after")

# %%
# How the rows of the two halves were told apart.

dd.plots.plot_total_variation(result.total_variation).figure
