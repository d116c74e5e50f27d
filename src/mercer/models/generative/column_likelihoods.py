"""What each column says by itself in models that describe columns one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.models.base import column_names
from mercer.models.generative.gaussian_nb import GaussianNB
from mercer.models.generative.naive_bayes import NaiveBayes
from mercer.models.generative.parts.numbers import NumbersPart

#: columns that are described together are called by these many of their names
MOST_NAMES = 5


class ColumnLikelihoods(NamedTuple):
    """log p(y) of shape (classes,), names, and log p(x_j|y) of shape (rows, names, classes).

    Their sum over all names is log p(x, y). Columns that are described together have one name.
    """

    log_prior: Array
    names: tuple[str, ...]
    log_likelihoods: Array


def column_likelihoods(model: NaiveBayes | GaussianNB, X: Any) -> ColumnLikelihoods:
    """Of a fitted model, in the order of the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> found = column_likelihoods(model, X)
    >>> joint = found.log_prior + found.log_likelihoods.sum(axis=1)
    >>> bool(np.allclose(joint, model.predict_joint_log_proba(X)))
    True
    """
    if isinstance(model, GaussianNB):
        rows = np.asarray(model._check_X(X, reset=False), dtype=float)
        return ColumnLikelihoods(
            model._log_prior(), tuple(column_names(model)), np.stack(_one_by_one(model._scores, rows), axis=1)
        )
    table = model._check_X(X, reset=False)
    names: list[str] = []
    said: list[Array] = []
    for conditional, block in zip(model._conditionals, model._block(table, slice(0, table.n_rows)), strict=True):
        part = conditional.part
        if isinstance(part, NumbersPart) and len(part.names) > 1:
            names += part.names
            said += _one_by_one(conditional.score, block)
        else:
            names.append(", ".join(part.names[:MOST_NAMES]) + ("…" if len(part.names) > MOST_NAMES else ""))
            said.append(conditional.score(block))
    place = {name: j for j, name in enumerate(column_names(model))}
    order = np.argsort([place.get(name, len(place)) for name in names], kind="stable")
    return ColumnLikelihoods(
        model._log_prior(), tuple(names[j] for j in order.tolist()), np.stack(said, axis=1)[:, order]
    )


def _one_by_one(score: Callable[[Array], Array], block: Array) -> list[Array]:
    """Scores of each column with the others missing, which says nothing."""
    scores = []
    for j in range(block.shape[1]):
        alone = np.full(block.shape, np.nan)
        alone[:, j] = block[:, j]
        scores.append(np.array(score(alone)))
    return scores
