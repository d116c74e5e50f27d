"""What the drop-ins for scikit-learn's discriminant analyses have in common."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from mercer._errors import DataError
from mercer._gpu import is_tensor, to_numpy
from mercer._typing import Array
from mercer.data.labels import encode_labels
from mercer.data.sources.base import Source
from mercer.models.discriminants._covariance import AnyShrinkage, class_covariances, fixed_shrinkage
from mercer.models.discriminants._delegated import DelegatedCovariances
from mercer.models.discriminants.discriminant import DiscriminantClassifier
from mercer.stats import ByClass, ScatterMoments
from mercer.stats.base import as_block


class DropInDiscriminant(DiscriminantClassifier):
    """Parameters `shrinkage` ("auto" is Ledoit and Wolf's), `covariance_estimator` and `store_covariance`."""

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

    def _refuse_shrinkage_with_estimator(self) -> None:
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
        # an estimator of scikit-learn needs all rows of a class together
        return super()._fit_source(source) if self.covariance_estimator is None else NotImplemented

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ByClass:
        statistic = super()._summarise(X, y, sample_weight, reset=reset)
        if self.covariance_estimator is None:
            return statistic
        if sample_weight is not None:
            raise DataError(
                "a covariance_estimator takes no sample_weight; leave one of them out, or use shrinkage, which does."
            )
        if is_tensor(X):  # the estimator is scikit-learn's, and needs the rows in main memory
            X, y = to_numpy(X), to_numpy(y)
        X, y = self._check_X(X, y, reset=False)
        codes = encode_labels(y)[1]
        delegated = DelegatedCovariances.of(self.covariance_estimator, as_block(X), codes, statistic.groups)
        return replace(statistic, parts=(*statistic.parts, delegated))

    def _delegated(self) -> DelegatedCovariances | None:
        last = self.statistic_.parts[-1]
        return last if isinstance(last, DelegatedCovariances) else None

    def _class_covariances(self, moments: ScatterMoments) -> Array:
        """The covariance of each class, estimated as the parameters ask."""
        if (delegated := self._delegated()) is not None:
            return delegated.classes
        return class_covariances(moments, self._shrinkage(), self._fourth())
