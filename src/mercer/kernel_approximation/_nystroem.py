"""Nyström features: a kernel approximated by what it says about some of the rows (lecture 5)."""

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
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, DeviceError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._stored import any_rows, floats, integers, part_of, stored, whole
from mercer._threads import row_blocks, thread_count
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
    sample_of,
)
from mercer.base.kernel_comparison import refuse_no_kernel_matrix
from mercer.base.kernel_rows import checked_rows
from mercer.base.sources import fit_to_sample, fits_sources, maps_sources
from mercer.base.validation import (
    Plan,
    checked_tensor,
    fetch_rows,
    forget_fit,
    is_sparse,
    old_state_on_failure,
    refuse_not_finite,
)
from mercer.data.sources.base import Source
from mercer.kernel_approximation.landmarks import (
    ROWS_FOR_EACH,
    RULES,
    Landmarks,
    choose,
    choose_from,
    fewest,
    refuse_too_large,
)
from mercer.kernel_approximation.nystroem_map import FEWEST, TILE, NystroemMap, eigenvalues, rounding, trace_error
from mercer.kernels import Gram, Kernel, KernelHolder
from mercer.kernels.gram import GivenMatrix
from mercer.kernels.inputs import count, is_table, take
from mercer.kernels.named import KERNELS
from mercer.kernels.tensors import diagonal_of

# How `Nystroem` compares rows: by a kernel, by a function of two rows as scikit-learn does, or by a given matrix.


class Comparing(Protocol):
    """What `Nystroem` asks about rows."""

    @property
    def kernel(self) -> Kernel | None:
        """What compares rows, where it is known."""

    def chosen(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        """The landmarks among the rows of a fit."""

    def matrix(self, components: Any, numbers: Array) -> Array:
        """k of the landmarks with each other."""

    def across(self, X: Any, components: Any, numbers: Array) -> Array:
        """k of rows with the landmarks."""

    def diagonal(self, X: Any, numbers: Array) -> Array:
        """k(x, x) of rows of the fit, which have these numbers there."""

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        """k of rows with the landmarks, times B."""


@stored(tag="NystroemByKernel")
@dataclass(frozen=True)
class LandmarksByKernel:
    """By a kernel, tile by tile."""

    kernel: Kernel

    def chosen(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        return choose(self.kernel, X, most, rule, random, tol=tol)

    def matrix(self, components: Any, numbers: Array) -> Array:
        return Gram(self.kernel, components).matrix()

    def across(self, X: Any, components: Any, numbers: Array) -> Array:
        return Gram(self.kernel, X, components).matrix()

    def diagonal(self, X: Any, numbers: Array) -> Array:
        return self.kernel.diag(X)

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        return np.asarray(NystroemMap(self.kernel, components, back)(X))


@dataclass(frozen=True)
class LandmarksByFunction:
    """By a function of two rows, which scikit-learn calls once for each pair."""

    function: Callable[..., Any]
    params: dict[str, Any]
    n_jobs: int | None

    @property
    def kernel(self) -> Kernel:
        return kernel_of_function(self.function, self.params)

    def chosen(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        return choose(self.kernel, X, most, rule, random, tol=tol)

    def matrix(self, components: Any, numbers: Array) -> Array:
        return self._pairs(components, None)

    def across(self, X: Any, components: Any, numbers: Array) -> Array:
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
    """By a matrix with a row and a column for each row of the fit; of other rows a column for each."""

    kernel: Kernel | None = None

    def chosen(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        return choose_from(GivenMatrix(X), most, rule, random, tol=tol)

    def matrix(self, components: Any, numbers: Array) -> Array:
        return np.asarray(components[:, numbers])

    def across(self, X: Any, components: Any, numbers: Array) -> Array:
        return np.asarray(X[:, numbers])

    def diagonal(self, X: Any, numbers: Array) -> Array:
        return np.asarray(X[np.arange(len(X)), numbers])

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        return np.asarray(X[:, numbers] @ back.astype(X.dtype, copy=False))


def comparing(model: Any, X: Any) -> Comparing:
    """What the parameters of a model stand for, for rows that are checked."""
    own = {name: value for name in ("gamma", "coef0", "degree") if (value := getattr(model, name)) is not None}
    if callable(model.kernel) or is_precomputed(model.kernel):
        if own:
            raise DataError(
                "Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel. A Kernel has "
                "parameters of its own, RBF(gamma=…), and kernel_params are those of a function."
            )
        if is_precomputed(model.kernel):
            refuse_no_kernel_matrix(X, "the kernel matrix")
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


def dense_if_matrix(model: Any, X: Any) -> Any:
    """A kernel matrix written out; rows as they are."""
    return X.toarray() if is_precomputed(model.kernel) and is_sparse(X) else X


#: rows by which the error is estimated, and rows that leave a device to have landmarks chosen among them
SAMPLE, FETCHED = 500, 100_000
#: eigenvalues below it are taken for it, as scikit-learn does; where all are below 1, relative to the largest
LEAST = 1e-12


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
        Of a polynomial; None means 3.
    kernel_params : dict, default=None
        More arguments of a function that is the kernel.
    n_components : int, default=100
        How many landmarks, and features.
    random_state : int, RandomState instance or None, default=None
        Draws the landmarks; "uniform" ones are those of scikit-learn.
    n_jobs : int, default=None
        Of a function of two rows; everything else uses the threads of `mercer.engine`.
    landmarks : {"uniform", "kmeans++", "rpcholesky"}, default="uniform"
        Rows drawn uniformly; rows far from each other, in the distance that the kernel defines; or rows of which the
        landmarks so far explain least (randomly pivoted Cholesky), which needs the fewest landmarks where data are
        clustered.
    tol : float, default=0.0
        Landmarks are added, up to `n_components`, until at most this share of the trace of the kernel matrix is left
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
        Σ (k(x, x) − ‖ψ(x)‖²), relative to Σ k(x, x): of all rows, or estimated from 500, as `plan_` tells; 0 is exact.
        NaN where it is not known: if k(x, x) is 0, or for "uniform" landmarks with a function of two rows as kernel,
        which is called no more often than by scikit-learn.
    kernel_ : Kernel or None
        The kernel used; None if `kernel` is "precomputed".
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Which path the fit took.

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
        "landmarks": [StrOptions(set(RULES))],
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
            Rows; the kernel matrix if `kernel` is "precomputed"; a sequence of things if it compares things. Of a
            `Source` that is large the landmarks are chosen from a sample, to which `component_indices_` refer.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted features.
        """
        with old_state_on_failure(self):
            self._validate_params()
            forget_fit(self)
            rows = self._checked(X, reset=True)
            by = comparing(self, rows)
            self._store(by, rows, *self._compared(by, rows))
        return self

    def _fit_source(self, source: Source) -> Any:
        return fit_to_sample(self, source, Nystroem.fit)

    @maps_sources
    def transform(self, X: Any) -> Any:
        """Features of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features), or sequence
            Rows; if `kernel` is "precomputed", the kernel matrix of them with the rows of the fit.

        Returns
        -------
        X_new : ndarray or tensor of shape (n_samples, n_components)
            A row of features for each, of float32 where all rows were.
        """
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        if is_tensor(rows):
            return NystroemMap(self.kernel_, self.components_, self._back)(rows)
        features = self._by.features(rows, self.components_, self.component_indices_, self._back)
        return like(features, X) if is_tensor(X) else features

    # Learning.

    def _checked(self, X: Any, *, reset: bool) -> Any:
        if is_tensor(X):
            X = checked_tensor(self, X, reset=reset)
            refuse_not_finite(self, X)
            if callable(self.kernel) and not isinstance(self.kernel, Kernel):
                raise DeviceError(
                    "a function of two rows does not compare rows of a tensor; give a Kernel such as RBF(), or arrays, "
                    "X.cpu().numpy()."
                )
            if is_precomputed(self.kernel):
                return to_numpy(X)
            diagonal_of(plain_kernel(self.kernel), X[:1])  # which refuses kernels that compare no rows of a tensor
            return X
        return dense_if_matrix(self, checked_rows(self, plain_kernel(self.kernel), X, reset=reset))

    def _most(self, n: int) -> int:
        if self.n_components > n:
            warn(
                "n_components > n_samples. This is not possible.\nn_components was set to n_samples, which results in "
                f"inefficient evaluation of the full kernel. All {n} rows are landmarks; ask for fewer, or use the "
                "kernel itself.",
                UserWarning,
            )
        return min(int(self.n_components), n)

    def _compared(self, by: Comparing, rows: Any) -> tuple[Landmarks, Any, Array]:
        """Landmarks, their rows, and the kernel matrix of these."""
        found = self._chosen(by, rows, self._most(count(rows)))
        components = fetch_rows(rows, found.numbers)
        K = by.matrix(components, found.numbers)
        refuse_too_large(K, count(rows))
        if self.tol and found.error is None:
            return self._shortened(by, rows, found, components, K)
        return found, components, K

    def _chosen(self, by: Comparing, rows: Any, most: int) -> Landmarks:
        random = check_random_state(self.random_state)
        if is_tensor(rows) and self.landmarks != "uniform":
            some = np.sort(random.permutation(len(rows))[: max(FETCHED, ROWS_FOR_EACH * most)])
            found = by.chosen(fetch_rows(rows, some), most, self.landmarks, random, self.tol)
            return Landmarks(some[found.numbers], found.error, found.among)
        return by.chosen(rows, most, self.landmarks, random, self.tol)

    def _shortened(
        self, by: Comparing, rows: Any, found: Landmarks, components: Any, K: Array
    ) -> tuple[Landmarks, Any, Array]:
        """The first of the landmarks, as many as `tol` asks for."""
        sample = sample_of(count(rows), SAMPLE)
        some = fetch_rows(rows, sample)
        size = fewest(K, by.across(some, components, found.numbers).T, by.diagonal(some, sample), self.tol)
        first = np.arange(size)
        return Landmarks(found.numbers[:size], None, found.among), take(components, first), K[:size, :size]

    def _store(self, by: Comparing, rows: Any, found: Landmarks, components: Any, K: Array) -> None:
        inverse_root = _inverse_root(np.asarray(K, dtype=float), rows)
        single = str(getattr(rows, "dtype", "float64")).endswith("float32")
        self.kernel_: Any = by.kernel
        self._by = by
        self.components_, self.component_indices_ = components, found.numbers
        self.normalization_ = inverse_root.astype(np.float32) if single else inverse_root
        self._back, self._n_features_out = inverse_root, len(inverse_root)
        exact, self.approximation_error_ = self._error(rows, found)
        known = "all rows" if exact else f"{SAMPLE} rows"
        path = f"{len(inverse_root)} landmarks ({self.landmarks}) out of {found.among:,} rows, error of {known}"
        device = str(rows.device) if is_tensor(rows) else "cpu"
        blocks = len(row_blocks(count(rows), max(FEWEST, TILE // (8 * len(inverse_root)))))
        self.plan_ = Plan(path, "float32" if single else "float64", blocks, thread_count(), exact=False, device=device)

    def _error(self, rows: Any, found: Landmarks) -> tuple[bool, float]:
        """Whether all rows tell the error, and the error."""
        n = count(rows)
        if found.error is not None and found.among == n:
            return True, found.error
        if isinstance(self._by, LandmarksByFunction) and not self.tol and self.landmarks == "uniform":
            return False, float("nan")
        sample = sample_of(n, SAMPLE)
        some = fetch_rows(rows, sample)
        features = self._by.features(some, self.components_, self.component_indices_, self._back)
        return len(sample) == n, trace_error(features, self._by.diagonal(some, sample))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def map_for(kernel: Kernel, asked: Nystroem, rows: Any) -> NystroemMap:
    """Features of a kernel for a solver, as many as the landmarks have dimensions; `asked` says which landmarks.

    Parameters
    ----------
    kernel : Kernel
        What compares two rows.
    asked : Nystroem
        Not fitted, and not changed; its own kernel does not matter.
    rows : array or tensor of shape (n, d), sparse matrix, or list
        Rows that are checked.
    """
    by = LandmarksByKernel(kernel)
    _, components, K = asked._compared(by, rows)
    return NystroemMap.of_matrix(kernel, components, K, beside=rows)


def landmarks_for(kernel: Kernel, asked: Nystroem, rows: Any) -> Any:
    """The landmarks alone, in main memory, of rows of a tensor."""
    found = asked._chosen(LandmarksByKernel(kernel), rows, asked._most(count(rows)))
    return fetch_rows(rows, found.numbers)


def _inverse_root(K: Array, rows: Any) -> Array:
    """K^(−½) of a symmetric matrix; as scikit-learn has it for one that is not positive definite, sign(K) |K|^(−½)."""
    values, vectors = eigenvalues(K, rows)
    sizes = np.abs(values)
    least = max(LEAST * min(1.0, sizes.max(initial=0.0)), np.finfo(float).tiny)
    roots = np.where(sizes > rounding(values), np.sign(values) / np.sqrt(np.maximum(sizes, least)), 0)
    half = vectors * np.sqrt(np.abs(roots))
    return np.asarray((half * np.sign(roots)) @ half.T) if (roots < 0).any() else np.asarray(half @ half.T)
