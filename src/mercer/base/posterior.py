"""Bayes' rule on a block of rows: from log p(x, y) to p(y|x), to log p(x), and to the most probable class.

Functions overwrite arrays that they are given. For tensors they return tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._gpu import is_tensor, like, namespace
from mercer._gpu import scores as tensor_loops
from mercer._typing import Array
from mercer.base import score_loops as loops


def log(p: Array) -> Array:
    """Return log p, −inf for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def fill_unknown_evenly(p: Array, levels: int) -> Array:
    """Replace NaN, from neither data nor pseudo-counts, by 1/levels: the limit of vanishing pseudo-counts."""
    return np.where(np.isnan(p), 1 / levels, p)


def add_log_prior(scores: Any, log_prior: Array) -> Any:
    """Return log p(x, y), given log p(x|y) as an array or a tensor."""
    return scores + like(log_prior, scores)


def posterior(joint: Array) -> Array:
    """Return p(y|x)."""
    if is_tensor(joint):
        return namespace(joint).softmax(joint, 1)  # type: ignore[no-any-return]
    loops.subtract_row_maximum(joint)
    np.exp(joint, out=joint)
    loops.divide_rows(joint, loops.row_sums(joint))
    return joint


def log_posterior(joint: Array) -> Array:
    """Return log p(y|x)."""
    if is_tensor(joint):
        return namespace(joint).log_softmax(joint, 1)  # type: ignore[no-any-return]
    loops.subtract_row_maximum(joint)
    joint -= np.log(loops.row_sums(np.exp(joint)))[:, None]
    return joint


def log_evidence(joint: Array) -> Array:
    """Return log p(x) = log Σ_y p(x, y)."""
    if is_tensor(joint):
        return namespace(joint).logsumexp(joint, 1)  # type: ignore[no-any-return]
    top = loops.subtract_row_maximum(joint)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(loops.row_sums(np.exp(joint))))


def most_probable(joint: Array) -> Array:
    """Return the position of the most probable class of each row."""
    best: Array = (tensor_loops if is_tensor(joint) else loops).largest_of_row(joint)
    return best


def replace_impossible_rows(joint: Array, log_prior: Array) -> Array:
    """Replace rows that are impossible in every class by the prior, which is then their posterior."""
    if is_tensor(joint):
        return tensor_loops.with_row_for_impossible(joint, log_prior)  # type: ignore[no-any-return]
    loops.replace_impossible(joint, log_prior)
    return joint
