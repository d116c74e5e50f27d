"""The section on the likelihoods of naive Bayes models."""

from __future__ import annotations

from typing import Any

from mercer.comparison._view import View
from mercer.explanation.tables import likelihood_grids
from mercer.report import Section

#: classes up to which likelihoods, with a column for each class, are shown
MAX_LIKELIHOOD_CLASSES = 10


def likelihoods(view: View) -> Section | None:
    """Return likelihood tables of the naive Bayes models: means and deviations, shares of levels, words."""
    if not view.classification or len(view.labels) > MAX_LIKELIHOOD_CLASSES:
        return None
    blocks: list[Any] = []
    for entry in view.ranked:
        grids = likelihood_grids(view.fitted(entry))
        if grids and not any(block.title == grids[0].title for block in blocks):
            blocks += grids
    if not blocks:
        return None
    return Section(
        "likelihoods",
        "Naive Bayes: the distribution of each column in each class",
        tuple(blocks),
        "A row's evidence for a class is the product of these densities and probabilities.",
    )
