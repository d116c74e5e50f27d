"""The lectures' equivalences: a generative classifier is a softmax of a function that is linear in features of x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from mercer._errors import NoLinearFormError
from mercer._stored import reals, stored
from mercer._typing import Array
from mercer.models.linear_forms.pieces import LinearPiece


@runtime_checkable
class HasLinearForm(Protocol):
    """A model whose scores are the sum of an intercept and of what each of its blocks of data adds."""

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]: ...

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any: ...

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]: ...


@stored()
@dataclass(frozen=True)
class FeatureMap:
    """X -> the features a model is linear in, for the same containers that the model takes."""

    model: HasLinearForm
    pieces: tuple[LinearPiece, ...]

    def __call__(self, X: Any) -> Any:
        X = self.model._check_X(X, reset=False)
        blocks = self.model._block(X, slice(0, X.shape[0]))
        features = [piece.features(block) for piece, block in zip(self.pieces, blocks, strict=True)]
        if len(features) == 1:
            return features[0]
        return sp.hstack(features, format="csr") if any(map(sp.issparse, features)) else np.hstack(features)


@stored(coef=reals(), intercept=reals())
@dataclass(frozen=True)
class LinearForm:
    """log p(y|x) = log softmax(feature_map(X) @ coef.T + intercept)."""

    feature_map: FeatureMap
    coef: Array
    intercept: Array
    names: tuple[str, ...]

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y|x), the same as the model's own."""
        return np.asarray(log_softmax(np.asarray(self.feature_map(X) @ self.coef.T) + self.intercept, axis=1))


def linear_form(model: Any) -> LinearForm:
    """The weights with which a fitted generative classifier is a softmax of a linear function.

    Multinomial, Bernoulli and categorical naive Bayes, Gaussian naive Bayes with shared variances and linear
    discriminant analysis are linear in x (or in the indicators of its levels); Gaussian naive Bayes with variances of
    its own and quadratic discriminant analysis in monomials of degree 2; a mixed naive Bayes in the sufficient
    statistics T(x) of its columns.

    Parameters
    ----------
    model : object
        A fitted generative classifier.

    Returns
    -------
    form : LinearForm
        The feature map, `coef` of shape (n_classes, n_features), `intercept` of shape (n_classes,), and the names of
        the features. Columns of Gaussians with squares are centred inside the feature map, so that no digits are lost
        far from zero.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianNB, linear_form
    >>> X, y = np.array([[0.0], [2.0], [4.0], [6.0]]), [0, 0, 1, 1]
    >>> form = linear_form(GaussianNB(shared_variance=True, var_smoothing=0).fit(X, y))
    >>> float(form.coef[1, 0] - form.coef[0, 0])  # (μ₁ − μ₀) / σ²
    4.0
    """
    if not isinstance(model, HasLinearForm):
        raise NoLinearFormError(
            f"{type(model).__name__} has no linear form; naive Bayes models and Gaussian discriminants have one."
        )
    check_is_fitted(model)
    intercept, pieces = model._linear_pieces()
    return LinearForm(
        FeatureMap(model, pieces),
        np.hstack([piece.coef for piece in pieces]),
        intercept + sum(piece.intercept for piece in pieces),
        tuple(name for piece in pieces for name in piece.names),
    )
