"""Choosing the penalty by cross-validation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import column_or_1d

from mercer._errors import DataError, FitInterrupted
from mercer._typing import Array
from mercer.models._progress import bar
from mercer.models._refusal import refuse_no_alphas
from mercer.models.linear._coordinate_fit import columnwise
from mercer.models.linear._coordinate_folds import best, mean_squared_errors
from mercer.models.linear._coordinate_grid import alpha_grid, descending, steepest
from mercer.models.linear._coordinate_points import Task
from mercer.models.linear._coordinate_regressor import CoordinateRegressor
from mercer.models.streaming.from_source import fits_sources
from mercer.solvers.certificate import Solution
from mercer.solvers.least_squares.direct import Rows


class CoordinateCV(CoordinateRegressor, ABC):
    """A penalty with absolute values, its strength and kind chosen by cross-validation."""

    eps: float
    alphas: Any
    cv: Any
    verbose: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "copy_X": ["boolean"],
        "cv": ["cv_object"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    @abstractmethod
    def _l1_ratios(self) -> list[Any]:
        """Kinds of penalty to try."""

    def _note_kind(self, l1_ratio: Any) -> None:
        """Store the kind that was chosen, where there was a choice."""

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose the penalty, and fit the model with it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows, in the fits and in the errors; only their ratios matter.
        **params : dict
            What the splitter is to be given, where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted model.
        """
        _raise_for_params(params, self, "fit")
        weight = None if isinstance(sample_weight, Real) else sample_weight
        return self._fit(X, y, weight, partial(self._chosen, params=params))

    def _checked(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        X, y = super()._checked(X, y, reset=reset)
        if y.ndim > 1 and y.shape[1] > 1:
            name = type(self).__name__
            raise DataError(
                f"For multi-task outputs, use MultiTask{name}. It is scikit-learn's; or fit one {name} for each target."
            )
        return X, column_or_1d(y, warn=True)

    def _chosen(self, rows: Rows, *, params: dict[str, Any]) -> Solution:
        X, y, l1_ratios = columnwise(rows.X), rows.Y[:, 0], self._l1_ratios()
        alphas = self._grids(Task.of(X, y, rows.weight), l1_ratios)
        splits = self._splits(rows, params)
        kinds = [self._terms(l1_ratio) for l1_ratio in l1_ratios]
        try:
            with bar(self, verbose=self.verbose, total=len(kinds) * len(splits), what="paths") as told:
                errors = mean_squared_errors(X, y, rows.weight, splits, alphas, kinds, told=told)
        except FitInterrupted:
            # no model of all rows is known yet: the old one stays
            raise KeyboardInterrupt("stopped by the user before a penalty was chosen.") from None
        self.mse_path_ = np.squeeze(np.moveaxis(errors, 2, 1))
        self.alpha_, l1_ratio = best(errors, alphas, l1_ratios)
        self._note_kind(l1_ratio)
        several = isinstance(self.alphas, Integral) and len(l1_ratios) > 1
        self.alphas_ = np.asarray(alphas) if several else alphas[0]
        self._warn_without_penalty(self.alpha_)
        return self._at(rows, float(self.alpha_), l1_ratio)

    def _grids(self, task: Task, l1_ratios: list[Any]) -> list[Array]:
        """Penalties to try, for each kind."""
        if isinstance(self.alphas, Integral):
            largest = steepest(task, intercept=self.fit_intercept, positive=self.positive)
            return [alpha_grid(largest, l1_ratio, self.eps, int(self.alphas)) for l1_ratio in l1_ratios]
        refuse_no_alphas(self.alphas)
        for index, alpha in enumerate(self.alphas):
            check_scalar(alpha, f"alphas[{index}]", target_type=Real, min_val=0.0, include_boundaries="left")
        return [descending(self.alphas)] * len(l1_ratios)

    def _splits(self, rows: Rows, params: dict[str, Any]) -> list[Any]:
        given: dict[str, Any] = {}
        if _routing_enabled():
            given = process_routing(self, "fit", sample_weight=rows.weight, **params).splitter.split
        return list(check_cv(self.cv).split(rows.X, rows.Y[:, 0], **given))

    def get_metadata_routing(self) -> Any:
        """Where metadata goes.

        Returns
        -------
        routing : MetadataRouter
            What the splitter is given.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags
