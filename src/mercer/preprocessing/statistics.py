"""Sufficient statistics of naive Bayes models as features for other models (lectures 1 and 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mercer._stored import either, estimator, floats, optional, real, stored
from mercer._typing import Array
from mercer.base.fitted_fields import FITTED
from mercer.base.linear_form import (
    ColumnStatistics,
    LinearPiece,
    ObservedColumns,
    expected_statistic,
    linear_form,
    statistic_scale,
    statistics_of_pieces,
)
from mercer.base.sources import fits_sources, maps_sources
from mercer.base.validation import adopt_columns, is_sparse, restore_on_failure
from mercer.data.sources.base import Source


@stored(**FITTED, model_=estimator(), scale_=optional(either(real(), floats())))
class StatisticFeatures(TransformerMixin, BaseEstimator):
    """Sufficient statistics T(x) of the columns in a generative model.

    A generative model with exponential families is a softmax of a linear function of T(x): of x and x² for a normal
    column, of an indicator of each level for a category, of x for counts. A logistic regression with these features
    selects from the same functions by the likelihood of y given x: it is the model's discriminative counterpart.

    Normal columns are centred, and all statistics with units are divided by their standard deviation, so that a penalty
    treats them alike; indicators of levels are not scaled. If values of a column were missing in the fit, missing
    values have an indicator, and the other features of the column are 0. In other columns, missing values are replaced
    by the average of T, for a normal column by the middle of the classes.

    Parameters
    ----------
    model : GaussianNB, NaiveBayes, BernoulliNB or CategoricalNB
        The model whose statistics are used; a copy is fitted to find the classes, columns and levels.

    Attributes
    ----------
    model_ : object
        The fitted copy.
    scale_ : ndarray of shape (n_features_out,)
        Divisors of the statistics.
    n_features_in_ : int
        Number of columns in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they had any.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianNB
    >>> from mercer.preprocessing.statistics import StatisticFeatures
    >>> X, y = np.array([[0.0], [2.0], [4.0], [6.0]]), [0, 0, 1, 1]
    >>> StatisticFeatures(GaussianNB()).fit_transform(X, y).round(2)
    array([[-1.34,  1.8 ],
           [-0.45,  0.2 ],
           [ 0.45,  0.2 ],
           [ 1.34,  1.8 ]])
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a copy of the model to find its statistics.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        with restore_on_failure(self):
            self._learn(clone(self.model).fit(X, y, sample_weight=sample_weight))
        return self

    def _learn(self, model: Any) -> None:
        self.model_, self.scale_ = model, statistic_scale(model)
        adopt_columns(self, model)

    def _fit_source(self, source: Source) -> None:
        self._learn(clone(self.model).fit(source))

    @maps_sources
    def transform(self, X: Any) -> Any:
        """Compute T(x) for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray or sparse matrix of shape (n_samples, n_features_out)
            In the order of `get_feature_names_out`.
        """
        check_is_fitted(self)
        X = self.model_._check_X(X, reset=False)
        blocks = self.model_._block(X, slice(0, X.shape[0]))
        _, pieces = self.model_._linear_pieces()
        parts = statistics_of_pieces(self.model_, pieces)
        features = [_features(*each) for each in zip(pieces, parts, blocks, strict=True)]
        if any(map(sp.issparse, features)):
            return sp.csr_matrix(sp.hstack(features) @ sp.diags(1 / self.scale_))
        return np.hstack(features) / self.scale_

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str
            One for each feature.
        """
        check_is_fitted(self)
        return np.array(linear_form(self.model_).names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.model).input_tags
        tags.target_tags.required = True
        return tags


def _features(piece: LinearPiece, statistic: Any, block: Any) -> Any:
    """Return the features of a piece, with missing values replaced if the piece has no indicator of missing values.

    They become the average of T, or halfway between the classes, which is 0 for normal columns, since these are centred
    there.
    """
    shape = piece.features
    if isinstance(shape, ObservedColumns) and is_sparse(block):
        block = block.toarray()  # centring changes zeros
    if not isinstance(shape, ObservedColumns) or not np.isnan(block[:, shape.columns[~shape.gaps]]).any():
        return shape(block)
    everywhere = replace(shape, gaps=np.ones_like(shape.gaps))(block)
    width = len(shape.columns)
    features, missing = everywhere[:, :-width], everywhere[:, -width:] > 0
    if isinstance(shape.features, ColumnStatistics):
        average = expected_statistic(shape.features.family, statistic)[shape.columns]
        replaced = (missing & ~shape.gaps)[:, :, None]
        features = np.where(replaced, average, features.reshape(len(features), width, -1)).reshape(len(features), -1)
    return np.hstack([features, missing[:, shape.gaps].astype(float)])
