"""
How many are ill?
=================

A clinic knows the diagnosis of 300 patients, 63 % of them well. In a new group that nobody has examined only the measurements are known. What share of it is ill? A classifier that counts its
own answers is drawn towards the old share; the class balance asks which mixture of the two groups looks like the new one.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

import densdiff as dd

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :8]
label = np.where(y == 0, "ill", "well")
random = np.random.default_rng(0)
order = random.permutation(len(y))
known, rest = order[:300], order[300:]

# of the new group three in four are ill
ill, well = rest[label[rest] == "ill"], rest[label[rest] == "well"]
new = np.concatenate([ill, well[: len(ill) // 3]])

balance = dd.ClassBalance(random_state=0).fit(X[known], label[known])
result = balance.estimate(X[new])
print(result)
print("truth:", round(float(np.mean(label[new] == "ill")), 3))

# %%
# The mixture that looks like the new group, seen in one column.

dd.plots.plot_mixture(balance, X[new]).figure
