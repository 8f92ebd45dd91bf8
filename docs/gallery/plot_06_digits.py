"""
Digits, and the witness as an image
===================================

Handwritten threes and eights as tables of 64 pixels. ``compare`` says how far each pixel moved; drawn where the pixels are, the answer is a picture of what tells the
two digits apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import densdiff as dd

digits = load_digits(as_frame=True)
pixels = digits.data
three, eight = pixels[digits.target == 3], pixels[digits.target == 8]

result = dd.compare(three, eight, names=("three", "eight"), n_permutations=199, random_state=0)
print(result.answer)

# %%
# Blue is ink that the threes have, orange ink that the eights have, strong where it tells them apart. Pixels in which nothing was ever written stay white.

moved = {column.name: column.total_variation for column in result.columns}
sign = np.sign(three.mean() - eight.mean())
image = np.array([sign[name] * moved.get(name, 0.0) for name in pixels.columns]).reshape(8, 8)

figure, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
axes[0].imshow(three.mean().to_numpy().reshape(8, 8), cmap="Greys")
axes[1].imshow(eight.mean().to_numpy().reshape(8, 8), cmap="Greys")
shades = plt.matplotlib.colors.LinearSegmentedColormap.from_list("difference", ["#D55E00", "white", "#0072B2"])
shown = axes[2].imshow(image, cmap=shades, vmin=-1, vmax=1)
figure.colorbar(shown, ax=axes[2], label="total variation")
for ax, title in zip(axes, ("mean three", "mean eight", "what tells them apart"), strict=True):
    ax.set_title(title)
    ax.set_axis_off()
