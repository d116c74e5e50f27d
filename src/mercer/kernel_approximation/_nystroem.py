"""Nyström features: a kernel approximated by its values at some of the rows, the landmarks (lecture 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError, DeviceError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._stored import any_rows, floats, integers, optional, part_of, real, stored, whole
from mercer._threads import blas_for, row_blocks, thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import traits
from mercer.base.fitted_fields import FITTED
from mercer.base.kernel_choice import (
    KERNEL_CONSTRAINTS,
    is_precomputed,
    kernel_of_function,
    named_kernel,
    plain_kernel,
    sample_row_numbers,
)
from mercer.base.kernel_comparison import check_kernel_matrix
from mercer.base.kernel_rows import check_kernel_rows
from mercer.base.sources import fit_to_sample, fits_sources, maps_sources
from mercer.base.validation import (
    Plan,
    check_finite,
    check_is_fitted,
    check_tensor,
    fetch_rows,
    forget_fit,
    is_sparse,
    restore_on_failure,
    validate_params,
)
from mercer.data.sources.base import Source
from mercer.kernel_approximation.landmarks import (
    LANDMARK_RULES,
    MIN_ROWS_PER_LANDMARK,
    Landmarks,
    check_entries,
    choose_from_matrix,
    choose_landmarks,
    count_needed_landmarks,
)
from mercer.kernel_approximation.nystroem_map import (
    FEATURE_TILE_BYTES,
    MIN_PRODUCT_ROWS,
    NystroemMap,
    compute_trace_error,
    decompose,
    eigenvalue_rounding,
)
from mercer.kernels import Gram, Kernel, KernelHolder
from mercer.kernels.gram import GivenMatrix
from mercer.kernels.inputs import count, is_table, take
from mercer.kernels.named import KERNELS
from mercer.kernels.tensors import compute_tensor_diagonal


class LandmarkComparison(Protocol):
    """Comparison of rows with landmarks: by a kernel, by a function of two rows, or by a given matrix."""

    @property
    def kernel(self) -> Kernel | None:
        """Kernel that compares rows, where it is known."""

    def choose(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        """Choose the landmarks among the rows of a fit."""

    def matrix(self, components: Any, numbers: Array) -> Array:
        """Return the kernel matrix of the landmarks."""

    def matrix_with(self, X: Any, components: Any, numbers: Array) -> Array:
        """Return the kernel matrix of rows with the landmarks."""

    def diagonal(self, X: Any, numbers: Array) -> Array:
        """Return k(x, x) of rows of the fit; `numbers` are their positions there."""

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        """Return the kernel matrix of rows with the landmarks, times B."""


@stored(tag="NystroemByKernel")
@dataclass(frozen=True)
class LandmarksByKernel:
    """Comparison by a kernel, tile by tile."""

    kernel: Kernel

    def choose(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        return choose_landmarks(self.kernel, X, most, rule, random, tol=tol)

    def matrix(self, components: Any, numbers: Array) -> Array:
        return Gram(self.kernel, components).matrix()

    def matrix_with(self, X: Any, components: Any, numbers: Array) -> Array:
        return Gram(self.kernel, X, components).matrix()

    def diagonal(self, X: Any, numbers: Array) -> Array:
        return self.kernel.diag(X)

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        return np.asarray(NystroemMap(self.kernel, components, back)(X))


@dataclass(frozen=True)
class LandmarksByFunction:
    """Comparison by a function of two rows, which scikit-learn calls once for each pair."""

    function: Callable[..., Any]
    params: dict[str, Any]
    n_jobs: int | None

    @property
    def kernel(self) -> Kernel:
        return kernel_of_function(self.function, self.params)

    def choose(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        return choose_landmarks(self.kernel, X, most, rule, random, tol=tol)

    def matrix(self, components: Any, numbers: Array) -> Array:
        return self._pairs(components, None)

    def matrix_with(self, X: Any, components: Any, numbers: Array) -> Array:
        return self._pairs(X, components)

    def diagonal(self, X: Any, numbers: Array) -> Array:
        return self.kernel.diag(X)

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        return np.asarray(self._pairs(X, components) @ back.astype(X.dtype, copy=False))

    def _pairs(self, X: Any, Z: Any) -> Array:
        return np.asarray(pairwise_kernels(X, Z, metric=self.function, n_jobs=self.n_jobs, **self.params))


@stored()
@dataclass(frozen=True)
class LandmarksByMatrix:
    """Comparison by a matrix with a row and a column for each row of the fit; new rows have a column for each."""

    kernel: Kernel | None = None

    def choose(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        return choose_from_matrix(GivenMatrix(X), most, rule, random, tol=tol)

    def matrix(self, components: Any, numbers: Array) -> Array:
        return np.asarray(components[:, numbers])

    def matrix_with(self, X: Any, components: Any, numbers: Array) -> Array:
        return np.asarray(X[:, numbers])

    def diagonal(self, X: Any, numbers: Array) -> Array:
        return np.asarray(X[np.arange(len(X)), numbers])

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        return np.asarray(X[:, numbers] @ back.astype(X.dtype, copy=False))


def make_comparison(model: Any, X: Any) -> LandmarkComparison:
    """Return the comparison that the parameters of a model define, for validated rows."""
    own = {name: value for name in ("gamma", "coef0", "degree") if (value := getattr(model, name)) is not None}
    if callable(model.kernel) or is_precomputed(model.kernel):
        if own:
            raise DataError(
                "Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel. A Kernel has "
                "parameters of its own, RBF(gamma=…), and kernel_params are those of a function."
            )
        if is_precomputed(model.kernel):
            check_kernel_matrix(X, "the kernel matrix")
            return LandmarksByMatrix()
        if isinstance(model.kernel, Kernel):
            return LandmarksByKernel(model.kernel)
        params = dict(model.kernel_params or {})
        if is_table(X):
            return LandmarksByFunction(model.kernel, params, model.n_jobs)
        return LandmarksByKernel(kernel_of_function(model.kernel, params))
    known = {field.name for field in fields(KERNELS[model.kernel])} | {"gamma", "coef0", "degree"}
    given = {name: value for name, value in ((model.kernel_params or {}) | own).items() if name in known}
    return LandmarksByKernel(named_kernel(model.kernel, X, **given))


def densify_matrix(model: Any, X: Any) -> Any:
    """Return a sparse kernel matrix as an array; other rows unchanged."""
    return X.toarray() if is_precomputed(model.kernel) and is_sparse(X) else X


#: rows on which the error is estimated
ERROR_SAMPLE = 500
#: rows of a tensor that are copied to main memory, where landmarks are chosen among them
FETCHED_ROWS = 100_000
#: least eigenvalue, to which smaller ones are raised as in scikit-learn; relative to the largest where all are below 1
MIN_EIGENVALUE = 1e-12


@traits(
    "features",
    cost="mercer.cost.work.feature_map",
)
@stored(
    **FITTED,
    components_=any_rows("m"),
    component_indices_=integers("m"),
    normalization_=floats("mm"),
    _back=floats("m."),
    _n_features_out=whole(0),
    kernel_=part_of(),
    _by=part_of(),
    approximation_error_=optional(real()),
)
class Nystroem(KernelHolder, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features ψ with ψ(x)ᵀψ(z) ≈ k(x, z), exact where x and z are landmarks; scikit-learn's, with its error measured.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name, which `gamma`, `coef0` and `degree` go with; a kernel of `mercer.kernels`, which has parameters of its
        own and may compare texts or graphs; a function of two rows; or "precomputed", for which X is the kernel matrix.
    gamma : float, default=None
        γ of the kernel; None means its own default.
    coef0 : float, default=None
        The constant of a polynomial or sigmoid; None means 1.
    degree : float, default=None
        Degree of a polynomial; None means 3.
    kernel_params : dict, default=None
        Additional arguments of a function that is the kernel.
    n_components : int, default=100
        Number of landmarks, and of features.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks; "uniform" ones are those of scikit-learn.
    n_jobs : int, default=None
        Jobs for a function of two rows; everything else uses the threads of `mercer.engine`.
    landmarks : {"uniform", "kmeans++", "rpcholesky"}, default="uniform"
        Rows drawn uniformly; rows far from each other, in the distance that the kernel defines; or rows that the
        landmarks so far explain least (randomly pivoted Cholesky), which needs the fewest landmarks where data are
        clustered.
    tol : float, default=0.0
        Landmarks are added, up to `n_components`, until at most this share of the trace of the kernel matrix remains
        unexplained.

    Attributes
    ----------
    components_ : ndarray or sparse matrix of shape (n_components, n_features), or list
        The landmarks.
    component_indices_ : ndarray of shape (n_components,)
        Their row numbers in the fit.
    normalization_ : ndarray of shape (n_components, n_components)
        K^(−½) of the landmarks; eigenvalues that are 0 up to rounding stay 0.
    approximation_error_ : float
        Σ (k(x, x) − ‖ψ(x)‖²), relative to Σ k(x, x): over all rows, or estimated from 500, see `plan_`; 0 is exact.
        NaN where it is unknown: if k(x, x) is 0, or for "uniform" landmarks with a function of two rows as kernel,
        which is called no more often than by scikit-learn.
    kernel_ : Kernel or None
        The kernel used; None if `kernel` is "precomputed".
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Nystroem
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> features = Nystroem(gamma=1.0, landmarks="rpcholesky", tol=1e-6, random_state=0).fit(X)
    >>> bool(features.approximation_error_ < 1e-6), len(features.components_) < 30
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": KERNEL_CONSTRAINTS,
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "coef0": [Interval(Real, None, None, closed="neither"), None],
        "degree": [Interval(Real, 1, None, closed="left"), None],
        "kernel_params": [dict, None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "landmarks": [StrOptions(set(LANDMARK_RULES))],
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        landmarks: str = "uniform",
        tol: float = 0.0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.landmarks = landmarks
        self.tol = tol

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features), or sequence
            Rows; the kernel matrix if `kernel` is "precomputed"; a sequence of objects if it compares these. The
            landmarks of a large `Source` are chosen from a sample, to which `component_indices_` refer.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted features.
        """
        with restore_on_failure(self):
            validate_params(self)
            forget_fit(self)
            rows = self._validate(X, reset=True)
            comparison = make_comparison(self, rows)
            self._store(comparison, rows, *self._choose_and_compare(comparison, rows))
        return self

    def _fit_source(self, source: Source) -> Any:
        return fit_to_sample(self, source, Nystroem.fit)

    @maps_sources
    def transform(self, X: Any) -> Any:
        """Return the features of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features), or sequence
            Rows; if `kernel` is "precomputed", the kernel matrix of them with the rows of the fit.

        Returns
        -------
        X_new : ndarray or tensor of shape (n_samples, n_components)
            Features of each row, in float32 where all rows are.
        """
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        if is_tensor(rows):
            return NystroemMap(self.kernel_, self.components_, self._back)(rows)
        features = self._by.features(rows, self.components_, self.component_indices_, self._back)
        return like(features, X) if is_tensor(X) else features

    # Fitting.

    def _validate(self, X: Any, *, reset: bool) -> Any:
        if is_tensor(X):
            X = check_tensor(self, X, reset=reset)
            check_finite(self, X)
            if callable(self.kernel) and not isinstance(self.kernel, Kernel):
                raise DeviceError(
                    "a function of two rows does not compare rows of a tensor; give a Kernel such as RBF(), or arrays, "
                    "X.cpu().numpy()."
                )
            if is_precomputed(self.kernel):
                return to_numpy(X)
            compute_tensor_diagonal(
                plain_kernel(self.kernel), X[:1]
            )  # raises an error for kernels that cannot compare rows of a tensor
            return X
        return densify_matrix(self, check_kernel_rows(self, plain_kernel(self.kernel), X, reset=reset))

    def _count_landmarks(self, n: int) -> int:
        if self.n_components > n:
            warn(
                "n_components > n_samples. This is not possible.\nn_components was set to n_samples, which results in "
                f"inefficient evaluation of the full kernel. All {n} rows are landmarks; choose fewer, or use the "
                "kernel itself.",
                UserWarning,
            )
        return min(int(self.n_components), n)

    def _choose_and_compare(self, comparison: LandmarkComparison, rows: Any) -> tuple[Landmarks, Any, Array]:
        """Choose landmarks, and return them with their rows and the kernel matrix of these."""
        landmarks = self._choose_landmarks(comparison, rows, self._count_landmarks(count(rows)))
        components = fetch_rows(rows, landmarks.numbers)
        K = comparison.matrix(components, landmarks.numbers)
        check_entries(K, count(rows))
        if self.tol and landmarks.error is None:
            return self._shorten(comparison, rows, landmarks, components, K)
        return landmarks, components, K

    def _choose_landmarks(self, comparison: LandmarkComparison, rows: Any, most: int) -> Landmarks:
        random = check_random_state(self.random_state)
        if is_tensor(rows) and self.landmarks != "uniform":
            some = np.sort(random.permutation(len(rows))[: max(FETCHED_ROWS, MIN_ROWS_PER_LANDMARK * most)])
            landmarks = comparison.choose(fetch_rows(rows, some), most, self.landmarks, random, self.tol)
            return Landmarks(some[landmarks.numbers], landmarks.error, landmarks.among)
        return comparison.choose(rows, most, self.landmarks, random, self.tol)

    def _shorten(
        self, comparison: LandmarkComparison, rows: Any, landmarks: Landmarks, components: Any, K: Array
    ) -> tuple[Landmarks, Any, Array]:
        """Keep the first landmarks, as many as `tol` requires."""
        sample = sample_row_numbers(count(rows), ERROR_SAMPLE)
        some = fetch_rows(rows, sample)
        size = count_needed_landmarks(
            K,
            comparison.matrix_with(some, components, landmarks.numbers).T,
            comparison.diagonal(some, sample),
            self.tol,
        )
        first = np.arange(size)
        return Landmarks(landmarks.numbers[:size], None, landmarks.among), take(components, first), K[:size, :size]

    def _store(
        self, comparison: LandmarkComparison, rows: Any, landmarks: Landmarks, components: Any, K: Array
    ) -> None:
        inverse_root = _compute_inverse_root(np.asarray(K, dtype=float), rows)
        single = str(getattr(rows, "dtype", "float64")).endswith("float32")
        self.kernel_: Any = comparison.kernel
        self._by = comparison
        self.components_, self.component_indices_ = components, landmarks.numbers
        self.normalization_ = inverse_root.astype(np.float32) if single else inverse_root
        self._back, self._n_features_out = inverse_root, len(inverse_root)
        exact, self.approximation_error_ = self._measure_error(rows, landmarks)
        known = "all rows" if exact else f"{ERROR_SAMPLE} rows"
        path = f"{len(inverse_root)} landmarks ({self.landmarks}) out of {landmarks.among:,} rows, error of {known}"
        device = str(rows.device) if is_tensor(rows) else "cpu"
        blocks = len(row_blocks(count(rows), max(MIN_PRODUCT_ROWS, FEATURE_TILE_BYTES // (8 * len(inverse_root)))))
        self.plan_ = Plan(path, "float32" if single else "float64", blocks, thread_count(), exact=False, device=device)

    def _measure_error(self, rows: Any, landmarks: Landmarks) -> tuple[bool, float]:
        """Return whether the error is of all rows, and the error."""
        n = count(rows)
        if landmarks.error is not None and landmarks.among == n:
            return True, landmarks.error
        if isinstance(self._by, LandmarksByFunction) and not self.tol and self.landmarks == "uniform":
            return False, float("nan")
        sample = sample_row_numbers(n, ERROR_SAMPLE)
        some = fetch_rows(rows, sample)
        features = self._by.features(some, self.components_, self.component_indices_, self._back)
        return len(sample) == n, compute_trace_error(features, self._by.diagonal(some, sample))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def make_nystroem_map(kernel: Kernel, transformer: Nystroem, rows: Any) -> NystroemMap:
    """Return Nyström features of a kernel for a solver, as many as the landmarks have dimensions.

    Parameters
    ----------
    kernel : Kernel
        Kernel that compares two rows.
    transformer : Nystroem
        Unfitted transformer that sets the rule and number of the landmarks; its own kernel is ignored.
    rows : array or tensor of shape (n, d), sparse matrix, or list
        Validated rows.
    """
    comparison = LandmarksByKernel(kernel)
    _, components, K = transformer._choose_and_compare(comparison, rows)
    return NystroemMap.of_matrix(kernel, components, K, data=rows)


def choose_landmark_rows(kernel: Kernel, transformer: Nystroem, rows: Any) -> Any:
    """Return only the landmarks, in main memory, for rows of a tensor."""
    landmarks = transformer._choose_landmarks(
        LandmarksByKernel(kernel), rows, transformer._count_landmarks(count(rows))
    )
    return fetch_rows(rows, landmarks.numbers)


def _compute_inverse_root(K: Array, rows: Any) -> Array:
    """Return K^(−½) of a symmetric matrix; if it is not positive definite, sign(K) |K|^(−½) as in scikit-learn."""
    values, vectors = decompose(K, rows)
    sizes = np.abs(values)
    least = max(MIN_EIGENVALUE * min(1.0, sizes.max(initial=0.0)), np.finfo(float).tiny)
    roots = np.where(sizes > eigenvalue_rounding(values), np.sign(values) / np.sqrt(np.maximum(sizes, least)), 0)
    half = vectors * np.sqrt(np.abs(roots))
    with blas_for(len(K)):
        return np.asarray((half * np.sign(roots)) @ half.T) if (roots < 0).any() else np.asarray(half @ half.T)
