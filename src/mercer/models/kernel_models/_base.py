"""What kernel models made from a model of features have in common: parameters, predictions, and what they look like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.kernels import Kernel, KernelHolder
from mercer.models._kernel_rows import checked_rows
from mercer.models.base import Plan
from mercer.models.kernel_models.feature_function import Function
from mercer.solvers.certificate import Certificate


def is_classifier(model: KernelModel) -> bool:
    """Whether the model it was made from is one."""
    return bool(get_tags(model.model).estimator_type == "classifier")


def _has_classes(model: KernelModel) -> bool:
    if is_classifier(model):
        return True
    raise AttributeError(f"{type(model.model).__name__} has no classes, and so no decision function.")


class KernelModel(KernelHolder, BaseEstimator, ABC):
    """f(x) + b = Σ αᵢ k(x, xᵢ) + b, in place of the linear function of a model of features."""

    classes_: Array
    dual_coef_: Array
    intercept_: Any
    certificate_: Certificate
    plan_: Plan
    _function: Function

    def __init__(self, model: Any, kernel: Any) -> None:
        self.model = model
        self.kernel = kernel

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self: ...

    def _publish(self, function: Function, *, flat: bool) -> None:
        """The function in attributes: of one output without an axis for outputs."""
        self._function, self.kernel_, self.X_fit_ = function, function.kernel, function.rows
        self.dual_coef_ = function.alpha[:, 0] if flat else function.alpha
        self.intercept_ = float(function.intercept[0]) if flat else function.intercept

    def predict_linear(self, X: Any) -> Any:
        """f(x) + b of every row: what a link or a threshold is then applied to.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to predict, as the kernel compares them.

        Returns
        -------
        eta : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Values.
        """
        check_is_fitted(self)
        values = self._function.values(checked_rows(self, self.kernel_, X, reset=False))
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """f(x) + b of every row: above 0 for the second of two classes, or highest for the class predicted.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to score, as the kernel compares them.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self.predict_linear(X)

    def __sklearn_tags__(self) -> Any:
        tags, of_model = super().__sklearn_tags__(), get_tags(self.model)
        tags.estimator_type, tags.target_tags = of_model.estimator_type, of_model.target_tags
        tags.classifier_tags, tags.regressor_tags = of_model.classifier_tags, of_model.regressor_tags
        tags.input_tags.sparse = not isinstance(self.kernel, Kernel) or self.kernel.numeric
        return tags
