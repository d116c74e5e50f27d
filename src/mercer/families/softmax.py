"""One of K classes given K linear predictors: p_k ∝ exp η_k.

Adding the same number to all η changes nothing. The symmetric form leaves that to the penalty; with a reference class
(lecture 2) its η is 0, K − 1 predictors are left, and without a penalty they are the differences of the symmetric ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from mercer._gpu import is_tensor
from mercer._gpu import losses as on_tensors
from mercer._jit.families import softmax as loops
from mercer._stored import length, optional, stored, whole
from mercer._typing import Array
from mercer.families.loops import as_vector, as_weight


@stored(levels=length("k"), reference=optional(whole(0)))
@dataclass(frozen=True)
class SoftmaxResponse:
    """How the class of a row, a code from 0 to K − 1, depends on its η: one column per class, less the reference.

    Parameters
    ----------
    levels : int
        Number K of classes.
    reference : int or None
        The class whose η is 0 and has no column; None for the symmetric form.

    Examples
    --------
    >>> SoftmaxResponse(3).probabilities(np.zeros((1, 3)))
    array([[0.33333333, 0.33333333, 0.33333333]])
    >>> SoftmaxResponse(3, reference=2).probabilities(np.log([[2.0, 1.0]]))
    array([[0.5 , 0.25, 0.25]])
    """

    levels: int
    reference: int | None = None

    @property
    def is_convex(self) -> bool:
        """Whether the loss is a convex function of η: log Σ e^η − η of the class is."""
        return True

    @property
    def columns(self) -> int:
        """Columns of η."""
        return self.levels - (self.reference is not None)

    def slopes(self, codes: Array, eta: Array, weight: Array | None = None) -> tuple[float, Array]:
        """Σ weight · loss, and weight · (p − indicator of the class) in the columns of η, which it overwrites.

        Parameters
        ----------
        codes : array of shape (n,)
        eta : array of shape (n, columns)
            Used up: a C-ordered float array is where the slopes are written.
        weight : array of shape (n,) or None

        Returns
        -------
        loss : float
        slopes : array of shape (n, columns)
        """
        if is_tensor(eta):
            return on_tensors.softmax_slopes(codes, eta, weight, self.reference)
        eta = np.require(eta, np.float64, ["C", "W"])
        return loops.slopes(self.columns_of(codes), eta, as_weight(weight), self.reference is not None), eta

    def loss(self, codes: Array, eta: Array, weight: Array | None = None) -> float:
        """Σ weight · loss."""
        if is_tensor(eta):
            return on_tensors.softmax_slopes(codes, eta, weight, self.reference)[0]
        eta = np.require(eta, np.float64, ["C", "W"])
        return float(loops.total(self.columns_of(codes), eta, as_weight(weight), self.reference is not None))

    def probabilities(self, eta: Array) -> Array:
        """p of all K classes."""
        if is_tensor(eta):
            return self._of_tensor(eta).softmax(dim=1)  # type: ignore[no-any-return]
        return np.asarray(softmax(self._all_columns(eta), axis=1))

    def log_probabilities(self, eta: Array) -> Array:
        """log p of all K classes."""
        if is_tensor(eta):
            return self._of_tensor(eta).log_softmax(dim=1)  # type: ignore[no-any-return]
        return np.asarray(log_softmax(self._all_columns(eta), axis=1))

    def _of_tensor(self, eta: Any) -> Any:
        return on_tensors.all_columns(eta, self.reference)

    def _all_columns(self, eta: Array) -> Array:
        eta = np.asarray(eta, dtype=float)
        return eta if self.reference is None else np.insert(eta, self.reference, 0.0, axis=1)

    def columns_of(self, codes: Array) -> Array:
        """The column of each class: −1 for the reference, one less for those behind it."""
        codes = as_vector(codes, np.int64)
        if self.reference is None:
            return codes
        return np.where(codes == self.reference, -1, codes - (codes > self.reference))
