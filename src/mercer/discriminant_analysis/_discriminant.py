"""Base classes of the discriminants: moments of each class (by EM where values are missing), then Bayes' rule.

`DiscriminantClassifier` is the base of all of them, `DropInDiscriminant` that of the drop-ins for scikit-learn's.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from mercer._errors import DataError, DegenerateDataError, MergeError, NonFiniteError
from mercer._gpu import is_tensor, to_numpy
from mercer._stored import optional, part_of, stored
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.base.generative import GenerativeClassifier, TensorClassifier
from mercer.base.linear_form import LinearPiece
from mercer.base.posterior import add_log_prior, log
from mercer.base.sources import fits_sources
from mercer.base.validation import column_names, find_first, raise_if_interrupted, restore_on_failure
from mercer.data.labels import encode_labels
from mercer.data.sources.base import Source
from mercer.discriminant_analysis._covariance import (
    AnyShrinkage,
    DelegatedCovariances,
    class_covariances,
    fixed_shrinkage,
)
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.em import EM_TOLERANCE, MAX_EM_STEPS, EMLabels, em_gaussian
from mercer.stats import ByClass, FourthMoments, PatternMoments, ScatterMoments
from mercer.stats.base import as_block

#: fitted attributes that exist even without parameters
ALWAYS_FITTED = frozenset({"statistic_", "classes_", "plan_", "n_features_in_", "feature_names_in_"})


class Densities(Protocol):
    """The densities p(x|y) of all classes."""

    def score(self, X: Any) -> Array:
        """Return log p(x|y) without `base`: (rows, classes)."""

    def base(self, X: Any) -> Array:
        """Return the part of log p(x|y) that is common to all classes: (rows,)."""

    def sample(self, codes: Array, rng: np.random.Generator) -> Array:
        """Draw one row for each class code."""

    def linear_piece(self) -> LinearPiece:
        """Return the features and weights of rows in the linear form."""


def _has_moments_of_its_columns(model: Any) -> bool:
    """Return whether the moments of a model are of its columns."""
    if not hasattr(model, "statistic_"):
        return True
    first = next(iter(model.statistic_.parts), None)
    return first is not None and (not isinstance(first, PatternMoments) or first.columns == model.n_features_in_)


@stored(_has_moments_of_its_columns, tag=None, _flaw=optional(part_of(DataError)))
class DiscriminantClassifier(TensorClassifier, GenerativeClassifier):
    """Normal classes with full covariances, one for each or a shared one.

    With too few rows for its covariances, a model stores its statistic and raises in `predict`, so that `partial_fit`
    can start with small batches; `fit` raises at once.
    """

    _densities: Densities
    _priors: Array
    #: the reason why there are no densities, if so
    _flaw: DataError | None = None

    # The methods that a model defines or overrides.

    @abstractmethod
    def _shares_covariance(self) -> bool:
        """Return whether all classes have one covariance."""

    @abstractmethod
    def _shrinkage(self) -> AnyShrinkage | None:
        """Return the shrinkage of covariances, unless it is Ledoit and Wolf's."""

    @abstractmethod
    def _by_ledoit_wolf(self) -> bool:
        """Return whether covariances are shrunk by Ledoit and Wolf's amounts, which need fourth moments."""

    @abstractmethod
    def _estimate(self, moments: Any) -> None:
        """Set what depends on the data alone, not on the priors, from the moments of complete rows."""

    @abstractmethod
    def _check_fit_possible(self) -> None:
        """Raise if there are too few rows or classes to fit to."""

    def _check_two_classes(self, advice: str = "") -> None:
        """Raise if there are fewer than two classes."""
        if len(self.classes_) < 2:
            raise DataError(
                "The number of classes has to be greater than one. Got 1 class. All rows are of class "
                f"{self.classes_.tolist()[0]!r}; add rows of another{advice}."
            )

    def _em_limits(self) -> tuple[float, int]:
        """Return the gradient norm at which EM has converged, and the maximum number of steps."""
        return EM_TOLERANCE, MAX_EM_STEPS

    def _contributions(self) -> Array | None:
        """Return the share of each class in a shared covariance; None for its weight."""
        return None

    # Fitting.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        with restore_on_failure(self):
            super().fit(X, y, sample_weight)
            self._check_fit_possible()
            self._check_usable()
        return self

    def _fit_source(self, source: Source) -> Any:
        if super()._fit_source(source) is NotImplemented:
            return NotImplemented
        self._check_fit_possible()
        self._check_usable()
        return None

    def _zero(self, labels: Array, X: Any) -> ByClass:
        k, d = len(labels), self.n_features_in_
        fourth = (FourthMoments.zero(k, d),) if self._by_ledoit_wolf() else ()
        return ByClass.zero(labels, (PatternMoments.zero(k, d), *fourth))

    def _training_block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        if not self._by_ledoit_wolf():
            return self._block(X, rows)
        block = as_block(X[rows])
        if (gap := find_first(block, np.isnan)) is not None:
            raise NonFiniteError(
                f"Input X contains NaN. Column {column_names(self)[gap[1]]!r} has a missing value in row "
                f"{rows.start + gap[0]}, and Ledoit and Wolf's shrinkage is known for complete rows only; use a fixed "
                "shrinkage, e.g. shrinkage=0.1, with which missing values are integrated out."
            )
        return block, block

    def _reconcile(self, mine: ByClass, theirs: ByClass) -> tuple[ByClass, ByClass]:
        kept, others = ([type(part).__name__ for part in statistic.parts] for statistic in (mine, theirs))
        if kept != others:
            raise MergeError(
                f"cannot combine {others} with {kept}: models with another covariance structure or shrinkage keep "
                "different statistics; fit all with the same parameters."
            )
        return mine, theirs

    def _store(self, statistic: ByClass) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and name not in ALWAYS_FITTED]:
            delattr(self, name)
        self.statistic_, self.classes_, self._flaw = statistic, statistic.labels, None
        self._priors = self._class_priors()
        try:
            with blas_for(self.n_features_in_):
                solution = self._solve_moments()
                self._estimate(solution.coef)
                self._update_parameters()
        except DataError as flaw:
            self._flaw = flaw
            self.certificate_ = Certificate("closed form", math.inf, 0.0, f"there are no parameters: {flaw}")
        else:
            self.certificate_, self.n_iter_ = solution.certificate, max(1, solution.n_iter - 1)
            raise_if_interrupted(solution)

    def _solve_moments(self) -> Solution:
        """Return the moments of the classes, for rows with gaps their expectations, by EM."""
        patterns = self._patterns()
        if patterns.complete:
            return self._closed_form_solution(patterns.full)
        self.plan_ = replace(self.plan_, path=f"{self._path()}, then EM on {len(patterns.patterns)} patterns of gaps")
        tolerance, most_steps = self._em_limits()
        return em_gaussian(
            patterns,
            shared=self._shares_covariance(),
            share=self._contributions(),
            shrinkage=self._shrinkage(),
            tolerance=tolerance,
            most_steps=most_steps,
            words=self._labels(),
        )

    def _closed_form_solution(self, moments: Any) -> Solution:
        certificate = Certificate.closed_form("the parameters are a formula of the statistics of the data")
        return Solution(moments, certificate)

    def _patterns(self) -> PatternMoments:
        patterns = self.statistic_.parts[0]
        assert isinstance(patterns, PatternMoments)
        return patterns

    def _fourth(self) -> FourthMoments | None:
        fourth = next((part for part in self.statistic_.parts if isinstance(part, FourthMoments)), None)
        if fourth is not None:
            self._check_range(fourth)
        return fourth

    def _check_range(self, fourth: FourthMoments) -> None:
        if (beyond := fourth.beyond_range()).any():
            column = column_names(self)[int(np.argwhere(beyond)[0, 1])]
            raise DegenerateDataError(
                f"the numbers of column {column!r} are so large, or so small, that their fourth powers overflow or "
                "underflow float64, and Ledoit and Wolf's shrinkage adds these up; divide the column by its standard "
                "deviation."
            )

    def _labels(self) -> EMLabels:
        return EMLabels(column_names(self), [f"class {label!r}" for label in self.classes_.tolist()])

    # Predicting.

    def _check_usable(self) -> None:
        if self._flaw is not None:
            raise self._flaw.with_traceback(None)

    def _fitted_classes(self) -> Array:
        classes = super()._fitted_classes()
        self._check_usable()
        return classes

    def _log_prior(self) -> Array:
        return log(self._priors)

    def _joint(self, block: tuple[Any, ...]) -> Array:
        return add_log_prior(self._densities.score(block[0]), self._log_prior())  # type: ignore[no-any-return]

    def _log_base(self, block: tuple[Any, ...]) -> Array:
        return self._densities.base(block[0])

    def predict_joint_log_proba(self, X: Any) -> Array:
        k = len(self._fitted_classes())
        return self._over_blocks(X, lambda joint: joint, k, base=lambda block: self._log_base(block)[:, None])

    def _sample_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        return self._densities.sample(codes, rng)

    def _with_priors(self, priors: Array) -> Self:
        self.set_params(priors=priors)
        self._priors = self._class_priors()
        return self

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]:
        self._check_usable()
        intercept = np.where(self.statistic_.rows > 0, self._log_prior(), -np.inf)
        return intercept, (self._densities.linear_piece(),)


class DropInDiscriminant(DiscriminantClassifier):
    """A discriminant with the parameters `shrinkage`, `covariance_estimator` and `store_covariance` of scikit-learn."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    shrinkage: Any
    priors: Any
    covariance_estimator: Any

    def _check_one_shrinkage(self) -> None:
        if self.covariance_estimator is not None and self.shrinkage is not None and self.shrinkage != 0:
            raise DataError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set. Let the "
                "estimator shrink, or leave it out."
            )

    def _shrinkage(self) -> AnyShrinkage | None:
        return None if self.shrinkage in (None, "auto") else fixed_shrinkage(self.shrinkage)

    def _by_ledoit_wolf(self) -> bool:
        return bool(self.shrinkage == "auto")

    def _path(self) -> str:
        by = "" if self.covariance_estimator is None else f", covariances by {type(self.covariance_estimator).__name__}"
        return super()._path() + by

    def _fit_source(self, source: Source) -> Any:
        # a covariance_estimator needs all rows of a class at once
        return super()._fit_source(source) if self.covariance_estimator is None else NotImplemented

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ByClass:
        statistic = super()._summarise(X, y, sample_weight, reset=reset)
        if self.covariance_estimator is None:
            return statistic
        if sample_weight is not None:
            raise DataError(
                "a covariance_estimator takes no sample_weight; leave one of them out, or use shrinkage, which does."
            )
        if is_tensor(X):  # the estimator needs the rows in main memory
            X, y = to_numpy(X), to_numpy(y)
        X, y = self._check_X(X, y, reset=False)
        codes = encode_labels(y)[1]
        delegated = DelegatedCovariances.of(self.covariance_estimator, as_block(X), codes, statistic.groups)
        return replace(statistic, parts=(*statistic.parts, delegated))

    def _delegated(self) -> DelegatedCovariances | None:
        last = self.statistic_.parts[-1]
        return last if isinstance(last, DelegatedCovariances) else None

    def _class_covariances(self, moments: ScatterMoments) -> Array:
        """Return the covariance of each class, by the estimator or with the shrinkage given."""
        if (delegated := self._delegated()) is not None:
            return delegated.classes
        return class_covariances(moments, self._shrinkage(), self._fourth())
