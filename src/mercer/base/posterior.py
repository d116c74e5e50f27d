"""Bayes' rule on a block of rows: from log p(x, y) to p(y|x), to log p(x), and to the most probable class.

The arrays handed over are used as scratch space. Tensors come in and go out alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._gpu import is_tensor, like, namespace
from mercer._gpu import scores as tensor_loops
from mercer._typing import Array
from mercer.base import score_loops as loops

# Probabilities of which some are 0, or unknown.


def log(p: Array) -> Array:
    """log p, −inf for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def even_where_unknown(p: Array, levels: int) -> Array:
    """Where there are neither data nor pseudo-counts, all levels alike: the limit of vanishing pseudo-counts."""
    return np.where(np.isnan(p), 1 / levels, p)


def with_prior(scores: Any, log_prior: Array) -> Any:
    """log p(x, y) of log p(x|y), an array or a tensor."""
    return scores + like(log_prior, scores)


def posterior(joint: Array) -> Array:
    """p(y|x)."""
    if is_tensor(joint):
        return namespace(joint).softmax(joint, 1)  # type: ignore[no-any-return]
    loops.subtract_row_maximum(joint)
    np.exp(joint, out=joint)
    loops.divide_rows(joint, loops.row_sums(joint))
    return joint


def log_posterior(joint: Array) -> Array:
    """log p(y|x)."""
    if is_tensor(joint):
        return namespace(joint).log_softmax(joint, 1)  # type: ignore[no-any-return]
    loops.subtract_row_maximum(joint)
    joint -= np.log(loops.row_sums(np.exp(joint)))[:, None]
    return joint


def log_evidence(joint: Array) -> Array:
    """log p(x) = log Σ_y p(x, y)."""
    if is_tensor(joint):
        return namespace(joint).logsumexp(joint, 1)  # type: ignore[no-any-return]
    top = loops.subtract_row_maximum(joint)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(loops.row_sums(np.exp(joint))))


def most_probable(joint: Array) -> Array:
    """Position of the most probable class."""
    best: Array = (tensor_loops if is_tensor(joint) else loops).largest_of_row(joint)
    return best


def with_prior_for_impossible(joint: Array, log_prior: Array) -> Array:
    """Rows that no class can produce carry no evidence: their posterior is the prior."""
    if is_tensor(joint):
        return tensor_loops.with_row_for_impossible(joint, log_prior)  # type: ignore[no-any-return]
    loops.replace_impossible(joint, log_prior)
    return joint
