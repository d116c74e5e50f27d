"""Random Fourier features: of an RBF kernel as scikit-learn draws them, and of any kernel with a known frequency
spectrum.

Frequencies are drawn by `fourier.FourierMap.draw`, from the spectra of `mercer.kernels.spectra`.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError
from mercer._gpu import is_tensor, to_numpy
from mercer._stored import floats, length, matrix, optional, part_of, real, stored, whole
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base import traits, validation
from mercer.base.fitted_fields import FITTED
from mercer.base.kernel_choice import sample_row_numbers, variance_of, width_of
from mercer.base.kernel_rows import rows_for_gamma
from mercer.base.sources import fit_to_sample, fits_sources, maps_sources
from mercer.base.validation import (
    Plan,
    check_finite,
    check_is_fitted,
    check_rows,
    check_tensor,
    is_sparse,
    restore_on_failure,
    tensor_plan,
    validate_params,
)
from mercer.data.sources.base import Source
from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernels import Kernel, KernelHolder, kernel_from
from mercer.kernels.named import KERNELS


class FourierTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The common part of both estimators: validation of rows, and `_map`, a `FourierMap`."""

    @property
    @abstractmethod
    def _map(self) -> FourierMap: ...

    @maps_sources
    def transform(self, X: Any) -> Any:
        """Return the features ψ of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray or tensor of shape (n_samples, n_components)
            ψ(x), one row for each; a tensor on the device of X if X is one.
        """
        check_is_fitted(self)
        return self._mapped(self._finite_rows(X, reset=False))

    def _mapped(self, X: Any) -> Any:
        return self._map(X)

    def _finite_rows(self, X: Any, *, reset: bool) -> Any:
        X = (check_tensor if is_tensor(X) else check_rows)(self, X, reset=reset)
        check_finite(self, X)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def cast_as_rows(values: Array, X: Any) -> Array:
    """Cast a fitted attribute to the precision of the rows, as scikit-learn does, if its range allows."""
    single = str(X.dtype) in ("float32", "torch.float32")
    return validation.cast_to_precision(values, np.float32 if single else np.float64)


#: rows of the sample that determines the centre of the rows and the error of the approximation
FOURIER_SAMPLE = 500
#: rounding of an angle, in half turns, above which its cosine is meaningless
LOST_DIGITS = 0.01


@traits(
    "features",
    cost="mercer.cost.work.feature_map",
)
@stored(
    **FITTED,
    kernel_=part_of(Kernel),
    shift_=optional(floats("d")),
    random_weights_=floats("dm"),
    random_offset_=optional(floats("m")),
    _features=part_of(FourierMap, d="d"),
    _sample=matrix("nd", kinds="f"),
    _error=optional(real()),
    _n_features_out=whole(0),
)
class RandomFourierFeatures(KernelHolder, FourierTransformer):
    """Features ψ with ψ(x)ᵀψ(z) ≈ k(x, z), for a kernel of x − z: cosines of random frequencies.

    Frequencies are drawn from the spectrum of the kernel, which RBF, Laplacian, Matern, RationalQuadratic and constants
    have, as do their sums, products, powers and multiples, also on some columns. The error falls as 1/√M.

    Parameters
    ----------
    kernel : str, Kernel or None, default="rbf"
        A kernel of `mercer.kernels`, or the name of one; None means "rbf".
    gamma : float, {"scale", "auto", "median"} or None, default=None
        γ of a kernel given by its name only; None means its own default. "scale" is
        1/(n_features · X.var()), "auto" 1/n_features, and "median" that of the median distance.
    n_components : int, default=100
        Features M.
    form : {"cosine", "pairs"}, default="cosine"
        √(2/M) cos(wᵀx + b) of M frequencies with random offsets b, or √(1/M')·[cos wᵀx, sin wᵀx] of M' = M/2
        frequencies, for which M has to be even; k(x, x) is then exact.
    sampling : {"independent", "orthogonal", "hadamard"}, default="independent"
        Distribution of the frequencies: independent; orthogonal in blocks of as many as there are columns, which
        reduces the error; or in blocks H D₁ H D₂ H D₃ of signs, nearly as good and faster for 200 columns or more
        (with fewer than 64 they are "orthogonal").
    random_state : int, RandomState instance or None, default=None
        Seed of frequencies and offsets.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_frequencies)
        Frequencies w, one in a column.
    random_offset_ : ndarray of shape (n_components,) or None
        Offsets b; None if `form` is "pairs".
    shift_ : ndarray of shape (n_features,) or None
        Centre that is subtracted from x, so that angles keep their digits; None for sparse rows.
    kernel_ : Kernel
        The kernel that is approximated.
    approximation_error_ : float
        Root mean square of ψ(x)ᵀψ(z) − k(x, z) over all pairs of a sample of up to 500 rows of the fit; computed on
        first access.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RandomFourierFeatures
    >>> from mercer.kernels import RBF, Laplacian
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> features = RandomFourierFeatures(RBF() + 2 * Laplacian(), n_components=2000, random_state=0).fit(X)
    >>> features.transform(X).shape
    (200, 2000)
    >>> round(features.approximation_error_, 2)
    0.06
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(KERNELS)), Kernel, callable, None],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"scale", "auto", "median"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "form": [StrOptions({"cosine", "pairs"})],
        "sampling": [StrOptions({"independent", "orthogonal", "hadamard"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        n_components: int = 100,
        form: str = "cosine",
        sampling: str = "independent",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.form = form
        self.sampling = sampling
        self.random_state = random_state

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies; a sample of the rows determines their centre.

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
        with restore_on_failure(self):
            validate_params(self)
            self._check_even()
            X = self._finite_rows(X, reset=True)
            sample = _sample_rows(X)
            self._sample = sample if sample.dtype == np.float32 else sample.astype(np.float64, copy=False)
            self._error: float | None = None
            self.kernel_ = self._kernel_for(X)
            self.shift_ = None if is_sparse(X) else compute_centre(sample)
            self._features = FourierMap.draw(
                self.kernel_.spectrum(X.shape[1]),
                self.n_components,
                check_random_state(self.random_state),
                paired=self.form == "pairs",
                sampling=self.sampling,
                shift=self.shift_,
            )
            self._check_digits()
            self._publish(X)
        return self

    def _fit_source(self, source: Source) -> Any:
        return fit_to_sample(self, source, RandomFourierFeatures.fit)

    @property
    def approximation_error_(self) -> float:
        check_is_fitted(self)
        if self._error is None:
            features, K = self._features(self._sample), self.kernel_(self._sample)
            self._error = float(np.sqrt(np.mean((features @ features.T - K) ** 2)))
        return self._error

    @property
    def _map(self) -> FourierMap:
        return self._features

    def _kernel_for(self, X: Any) -> Kernel:
        name = "rbf" if self.kernel is None else self.kernel
        if self.gamma is None:
            return kernel_from(name)
        if not isinstance(name, str):
            raise DataError(
                f"gamma={self.gamma!r} goes with a kernel that is given by its name, but kernel is {name!r}, which has "
                "parameters of its own; leave gamma out, or write it there: RBF(gamma=…)."
            )
        # scikit-learn's widths depend on all rows, the median distance on a sample anyway
        all_rows = rows_for_gamma(X, self.gamma) if is_tensor(X) else X
        rows = all_rows if self.gamma == "scale" else self._sample
        return kernel_from(name, gamma=width_of(self.gamma, rows))

    def _check_even(self) -> None:
        if self.form == "pairs" and self.n_components % 2:
            raise DataError(
                f"n_components is {self.n_components}, but form='pairs' has a cosine and a sine of every frequency; "
                f"give an even number such as {self.n_components + 1}, or form='cosine'."
            )

    def _check_digits(self) -> None:
        """Raise if rows are so far apart, relative to the kernel's width, that neighbouring floats differ by half a
        turn.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            away = self._sample if self.shift_ is None else np.abs(self._sample - self.shift_)
            farthest = abs(away).max(axis=1).toarray() if is_sparse(away) else away.max(axis=1)
            typical = np.median(np.abs(self._features.weights).sum(axis=0)) * np.median(farthest)
        digits = np.finfo(np.float32 if self._sample.dtype == np.float32 else np.float64).eps
        if not typical * digits / np.pi < LOST_DIGITS:
            raise DataError(
                f"{self.kernel_!r} is so narrow compared with the distances between rows that wᵀx, about "
                f"{typical:.1e}, has no digits left for an angle; divide the columns by their scale, or choose "
                "gamma='scale'."
            )

    def _publish(self, X: Any) -> None:
        self.random_weights_ = cast_as_rows(self._features.weights, X)
        offset = self._features.offset
        self.random_offset_ = None if offset is None else cast_as_rows(offset, X)
        self._n_features_out = self.n_components
        path = f"random Fourier features of {self.kernel_!r}, {self.sampling} frequencies"
        single = X.dtype == np.float32
        self.plan_ = (
            tensor_plan(path, X, exact=False)
            if is_tensor(X)
            else Plan(path, "float32" if single else "float64", 1, thread_count(), exact=False)
        )


def _sample_rows(X: Any) -> Any:
    """Return a fixed sample of the rows, in main memory."""
    rows = X[sample_row_numbers(X.shape[0], FOURIER_SAMPLE)]
    return rows if is_sparse(rows) else to_numpy(rows)


def compute_centre(X: Array) -> Array:
    """Return the mean of rows, rounded to their own precision: the same point in every precision."""
    with np.errstate(over="ignore"):
        middle = np.nan_to_num(X.mean(axis=0, dtype=np.float64), posinf=0.0, neginf=0.0)
    return np.asarray(middle.astype(X.dtype), dtype=np.float64) if X.dtype.kind == "f" else np.asarray(middle)


@stored(**FITTED, _gamma=real(), random_weights_=floats("dm"), random_offset_=floats("m"), _n_features_out=length("m"))
class RBFSampler(FourierTransformer):
    """√(2/M) cos(wᵀx + b), whose inner products approximate exp(−γ‖x − z‖²); scikit-learn's numbers, faster.

    `RandomFourierFeatures` supports other kernels and other ways to draw w.

    Parameters
    ----------
    gamma : "scale" or float, default=1.0
        γ of the kernel; "scale" is 1/(n_features · X.var()).
    n_components : int, default=100
        Features M.
    random_state : int, RandomState instance or None, default=None
        Seed of w and b.

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
        Path that the fit took.

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
        """Draw the frequencies; only the number of columns of X matters, and its variance if γ is "scale".

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
        with restore_on_failure(self):
            validate_params(self)
            X = self._finite_rows(X, reset=True)
            rng = check_random_state(self.random_state)
            self._gamma = _compute_scale_gamma(X) if self.gamma == "scale" else self.gamma
            weights = (2.0 * self._gamma) ** 0.5 * rng.normal(size=(X.shape[1], self.n_components))
            self.random_weights_ = cast_as_rows(weights, X)
            self.random_offset_ = cast_as_rows(rng.uniform(0, 2 * np.pi, size=self.n_components), X)
            self._n_features_out = self.n_components
            self.plan_ = _make_plan(X)
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


def _make_plan(X: Any) -> Plan:
    path = "random Fourier features"
    if is_tensor(X):
        return tensor_plan(path, X, exact=False)
    return Plan(path, "float32" if X.dtype == np.float32 else "float64", 1, thread_count(), exact=False)


def _compute_scale_gamma(X: Any) -> float:
    """Return 1/(d · variance), or 1 if all values of X are equal."""
    variance = variance_of(X)
    if not variance < np.inf:
        raise DataError('The variance of X is too large for float64, and gamma="scale" its inverse; scale the columns.')
    gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if not gamma < np.inf:
        raise DataError('The variance of X is too small for gamma="scale", which is its inverse; scale the columns.')
    return gamma
