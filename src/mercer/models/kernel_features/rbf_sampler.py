"""Random Fourier features of an RBF kernel, as scikit-learn draws them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError
from mercer._gpu import is_tensor
from mercer._stored import floats, length, real, stored
from mercer._threads import thread_count
from mercer.data.sources.base import Source
from mercer.features.fourier import FourierMap
from mercer.models._kernel_choice import variance_of
from mercer.models._tensors import tensor_plan
from mercer.models.base import Plan, old_state_on_failure
from mercer.models.fitted_fields import FITTED
from mercer.models.kernel_features._fourier_rows import FourierTransformer, in_precision
from mercer.models.streaming.from_source import fits_sources
from mercer.models.streaming.sampled_source import fit_to_sample


@stored(**FITTED, _gamma=real(), random_weights_=floats("dm"), random_offset_=floats("m"), _n_features_out=length("m"))
class RBFSampler(FourierTransformer):
    """√(2/M) cos(wᵀx + b), whose inner products approximate exp(−γ‖x − z‖²); scikit-learn's numbers, faster.

    `RandomFourierFeatures` has other kernels and other ways to draw w.

    Parameters
    ----------
    gamma : "scale" or float, default=1.0
        γ of the kernel; "scale" is 1/(n_features · X.var()).
    n_components : int, default=100
        Features M.
    random_state : int, RandomState instance or None, default=None
        Where w and b are drawn from.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
        Frequencies w, one in a column.
    random_offset_ : ndarray of shape (n_components,)
        Offsets b.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> from mercer import RBFSampler
    >>> RBFSampler(n_components=3, random_state=0).fit_transform([[0.0, 1.0], [1.0, 0.0]]).round(4)
    array([[ 0.7628, -0.3107, -0.0323],
           [ 0.414 ,  0.8112,  0.3292]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, *, gamma: Any = 1.0, n_components: int = 100, random_state: Any = None) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies; of X only the number of columns matters, and its variance where γ is "scale".

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        with old_state_on_failure(self):
            self._validate_params()
            X = self._finite_rows(X, reset=True)
            rng = check_random_state(self.random_state)
            self._gamma = _of_variance(X) if self.gamma == "scale" else self.gamma
            weights = (2.0 * self._gamma) ** 0.5 * rng.normal(size=(X.shape[1], self.n_components))
            self.random_weights_ = in_precision(weights, X)
            self.random_offset_ = in_precision(rng.uniform(0, 2 * np.pi, size=self.n_components), X)
            self._n_features_out = self.n_components
            self.plan_ = _plan(X)
        return self

    def _fit_source(self, source: Source) -> Any:
        return fit_to_sample(self, source, RBFSampler.fit)

    @property
    def _map(self) -> FourierMap:
        return FourierMap(self.random_weights_, self.random_offset_, (2.0 / self.n_components) ** 0.5)

    def _mapped(self, X: Any) -> Any:
        if is_tensor(X):
            return self._map(X)
        return self._map.in_precision(X, np.result_type(X.dtype, self.random_weights_.dtype))


def _plan(X: Any) -> Plan:
    path = "random Fourier features"
    if is_tensor(X):
        return tensor_plan(path, X, exact=False)
    return Plan(path, "float32" if X.dtype == np.float32 else "float64", 1, thread_count(), exact=False)


def _of_variance(X: Any) -> float:
    """1/(d · variance), and 1 where nothing varies."""
    variance = variance_of(X)
    if not variance < np.inf:
        raise DataError('The variance of X is too large for float64, and gamma="scale" its inverse; scale the columns.')
    gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if not gamma < np.inf:
        raise DataError('The variance of X is too small for gamma="scale", which is its inverse; scale the columns.')
    return gamma
