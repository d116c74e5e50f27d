"""Draw the picture of docs/digits.md: `python docs/pictures/digits.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from mercer import BernoulliNB, GaussianNB, MultinomialNB

HERE = Path(__file__).parent
SIDE, INK = 8, 16  # pixels along a side, and the largest value


def learned() -> dict[str, Any]:
    """Return the parameters of each model for the pixels of each digit: rows of ten pictures."""
    X, y = load_digits(return_X_y=True)
    gaussian, bernoulli = GaussianNB().fit(X, y), BernoulliNB(binarize=INK / 2).fit(X, y)
    return {
        "mean (GaussianNB)": gaussian.theta_,
        "standard deviation (GaussianNB)": np.sqrt(gaussian.var_),
        "p(pixel is dark) (BernoulliNB)": np.exp(bernoulli.feature_log_prob_),
        "share of the ink (MultinomialNB)": np.exp(MultinomialNB().fit(X, y).feature_log_prob_),
    }


def main() -> None:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "mercer", "font.size": 9}):
        rows = learned()
        figure, axes = plt.subplots(len(rows), 10, figsize=(8, 4.1))
        figure.subplots_adjust(left=0.01, right=0.99, top=0.93, bottom=0.01, wspace=0.1, hspace=0.35)
        for line, (name, pictures) in zip(axes, rows.items(), strict=True):
            for each, pixels in zip(line, pictures, strict=True):
                each.imshow(pixels.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=pictures.max())
                each.set_xticks([])
                each.set_yticks([])
            line[0].set_title(name, loc="left")
        figure.savefig(HERE / "digits.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
