"""
Where exactly: a band around the difference
===========================================

Malignant tumours have larger cells than benign ones; nobody doubts it. From which radius on is that sure? The band holds f at all radii together, with a confidence of 95 %.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

import densdiff as dd

tumours = load_breast_cancer(as_frame=True)
radius = tumours.data[["mean radius"]]
malignant, benign = radius[tumours.target == 0], radius[tumours.target == 1]

model = dd.LSDD(random_state=0).fit(malignant, benign)
dd.plots.plot_difference(model).figure

# %%
# The same in numbers.

radii = np.arange(7.0, 26.0, 0.5)
band = model.confidence_band(radii)
print("more malignant ones, for sure, at", radii[band.lower > 0])
print("more benign ones, for sure, at", radii[band.upper < 0])
