"""Base classes of generative classifiers: one pass of mergeable statistics, then Bayes' rule.

`StatisticClassifier` has fitting, updating and predicting; `GenerativeClassifier` adds what a likelihood allows
(`log_density`, `sample`, `with_priors`); `TensorClassifier` summarises and scores tensors on their device.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from mercer._errors import DataError, EmptyDataError, NonFiniteError, PriorError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._threads import ordered_map, row_blocks, thread_count
from mercer._typing import Array
from mercer.base.agreement import (
    check_announced_classes,
    check_label_types,
    check_labels_announced,
    check_mergeable,
    warn_of_lost_digits,
)
from mercer.base.linear import accuracy
from mercer.base.posterior import log, log_evidence, log_posterior, most_probable, posterior, replace_impossible_rows
from mercer.base.sources import fit_in_one_pass, fits_sources
from mercer.base.validation import (
    Plan,
    check_has_target,
    check_is_fitted,
    check_no_infinity,
    check_rows,
    check_tensor,
    check_tensor_weight,
    check_weight,
    column_names,
    decode_labels,
    encode_tensor_labels,
    restore_on_failure,
    tensor_plan,
    validate_params,
)
from mercer.data.blocks import COPIED_BLOCK, VIEWED_BLOCK, RowBlocks, rows_per_block
from mercer.data.labels import encode_labels
from mercer.data.sources.base import Source
from mercer.engines import device
from mercer.engines.reducing import reduce
from mercer.families.base import as_generator, checked_count
from mercer.optim.certificate import Certificate
from mercer.stats.by_class import ByClass

#: error message for sums that overflow
SUMS_TOO_LARGE = "the sums of the data are too large for float64; divide the largest columns by a number."


class StatisticClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier whose fit is a function of a `ByClass` statistic, kept in `statistic_`."""

    #: whether a later `partial_fit` may bring classes that the first did not announce; not in scikit-learn's models
    _classes_may_grow: ClassVar[bool] = False
    _accepts_missing: ClassVar[bool] = True
    #: whether the classes were announced, so that they stay even without rows
    _classes_fixed: bool = False
    #: whether the rows that are summarised are a part of all rows
    _is_partial: bool = False

    # The methods that a model defines or overrides.

    @abstractmethod
    def _zero(self, labels: Array, X: Any) -> ByClass:
        """Return the statistic of this model before any row."""

    @abstractmethod
    def _update_parameters(self) -> None:
        """Set the fitted attributes from `statistic_`."""

    @abstractmethod
    def _joint(self, block: tuple[Any, ...]) -> Array:
        """Return log p(x, y), or other scores of the model, of a block of rows: shape (rows, classes)."""

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        """Return X, or X and y, in a form that can be cut into blocks."""
        return check_rows(self, X, y, reset=reset)

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        """Return the data of each part of the statistic for some rows."""
        return (X[rows],)

    def _training_block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        """Return the `_block` of training rows; raise for values that the model cannot have produced."""
        return self._block(X, rows)

    def _check_finite_values(self, X: Any) -> None:
        """Raise an error that names the value because of which a result is not finite, if there is one."""
        check_no_infinity(X, column_names(self), estimator=type(self).__name__, missing=self._accepts_missing)

    def _reconcile(self, mine: ByClass, theirs: ByClass) -> tuple[ByClass, ByClass]:
        """Return two statistics of this model in a common form, in which they can be combined."""
        return mine, theirs

    def _path(self) -> str:
        return "one pass of sufficient statistics"

    # Fitting.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, discarding any previous fit.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or Source
            Training rows. A source has everything with it, and is read once.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            self._classes_fixed = False
            self._store(self._summarise(X, y, sample_weight, reset=True))
        return self

    def _fit_source(self, source: Source) -> Any:
        return fit_in_one_pass(self, source)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with more rows; the result is that of one `fit` on all rows so far.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            Every class that can ever appear.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            first = not hasattr(self, "statistic_")
            known = self._announced_classes(classes, first)
            batch = self._summarise(X, y, sample_weight, reset=first)
            if known is not None:
                check_labels_announced(batch.labels, known)
            elif not first:
                check_label_types(batch.labels, self.classes_)
            before = batch.empty().align(known) if first and known is not None else getattr(self, "statistic_", None)
            self._store(batch if before is None else ByClass.merge(*self._reconcile(before, batch)))
        return self

    def merge(self, other: Self) -> Self:
        """Add the statistics of another model; the result is that of one fit on the rows of both.

        Parameters
        ----------
        other : object
            A fitted model of the same class with the same columns and classes.

        Returns
        -------
        self : object
            The model itself.
        """
        check_is_fitted(self)
        self._check_mergeable(other)
        with restore_on_failure(self):
            self._store(ByClass.merge(*self._reconcile(self.statistic_, other.statistic_)))
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows again; the result is that of a fit without them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that the model was fitted to.
        y : array-like of shape (n_samples,)
            Their class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights in that fit.

        Returns
        -------
        self : object
            The model itself.
        """
        check_is_fitted(self)
        with restore_on_failure(self):
            removed = self._summarise(X, y, sample_weight, reset=False)
            before, removed = self._reconcile(self.statistic_, removed)
            left = before.subtract(removed)
            if not left.rows.any():
                raise EmptyDataError("Every row would be forgotten; make a new, unfitted model instead.")
            vanished = (left.rows == 0) & (before.rows > 0)
            self._store(left if self._classes_fixed else left.align(left.labels[~vanished]))
        warn_of_lost_digits(before.cancellation(left))
        return self

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ByClass:
        """Return the statistic of these rows alone."""
        check_has_target(self, y, "class")
        X, y = self._check_X(X, y, reset=reset)
        weight = check_weight(sample_weight, y, forgets=True, part=self._is_partial)
        labels, codes = encode_labels(y)
        source = RowBlocks(lambda rows: self._training_block(X, rows), codes, weight, self._block_rows(X, len(labels)))
        statistic = reduce(self._zero(labels, X), source)
        self._check_overflow(statistic, X)
        self.plan_ = Plan(self._path(), str(getattr(X, "dtype", "mixed")), len(source.blocks()), thread_count())
        return statistic

    def _check_overflow(self, statistic: ByClass, X: Any) -> None:
        if not statistic.finite:
            self._check_finite_values(X)
            raise NonFiniteError(SUMS_TOO_LARGE)

    def _block_rows(self, X: Any, n_classes: int) -> int:
        """Return the rows of a block of `_block_bytes`; more if its statistic would take over a tenth of its memory."""
        numbers = self._numbers_per_row(X)
        return max(rows_per_block(numbers, self._block_bytes(X)), 10 * n_classes * self._n_columns // numbers)

    def _block_bytes(self, X: Any) -> int:
        is_viewed = isinstance(X, np.ndarray) and X.flags.c_contiguous and X.flags.writeable and X.dtype.kind == "f"
        return VIEWED_BLOCK if is_viewed else COPIED_BLOCK

    def _numbers_per_row(self, X: Any) -> int:
        """Return how many numbers of a row are held in memory."""
        return max(1, self._n_columns)

    @property
    def _n_columns(self) -> int:
        return int(self.n_features_in_)

    def _store(self, statistic: ByClass) -> None:
        self.statistic_ = statistic
        self.classes_ = statistic.labels
        self.certificate_ = Certificate.closed_form("the parameters are a formula of the statistics of the data")
        self._update_parameters()

    def _announced_classes(self, classes: Any, first: bool) -> Array | None:
        if classes is None:
            if first and not self._classes_may_grow:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit. A later batch may hold a class this one "
                    "does not: pass classes=numpy.unique(all_labels)."
                )
            grows = first or (self._classes_may_grow and not self._classes_fixed)
            return None if grows else self.classes_
        announced = check_announced_classes(classes, None if first else self.classes_)
        self._classes_fixed = True
        return announced

    def _check_mergeable(self, other: Any) -> None:
        """Raise an error unless `other` can be merged into this model."""
        check_mergeable(self, other, may_grow=self._classes_may_grow and not self._classes_fixed)

    # Predicting.

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(x, y) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        joint : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._over_blocks(X, lambda joint: joint, len(self._fitted_classes()))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        classes = self._fitted_classes()
        best = self._over_blocks(
            X, lambda joint: most_probable(self._with_prior_for_impossible(joint)), None, dtype=np.intp
        )
        return self._decode(classes, best)

    def _decode(self, classes: Array, codes: Array) -> Array:
        return np.asarray(classes[codes])

    def predict_proba(self, X: Any) -> Array:
        """Return p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._over_blocks(X, self._posterior, len(self._fitted_classes()))

    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._over_blocks(X, self._log_posterior, len(self._fitted_classes()))

    def _fitted_classes(self) -> Array:
        check_is_fitted(self)
        classes: Array = self.classes_
        return classes

    def _over_blocks(
        self,
        X: Any,
        finish: Callable[[Array], Array],
        width: int | None,
        dtype: Any = float,
        base: Callable[[tuple[Any, ...]], Array] | None = None,
    ) -> Array:
        """Return `finish(joint log probability)` of every row, plus `base(data)` where given, block by block."""
        X = self._check_X(X, reset=False)
        n = X.shape[0]
        out = np.empty(n if width is None else (n, width), dtype=dtype)

        def work(rows: slice) -> None:
            block = self._block(X, rows)
            with np.errstate(invalid="ignore", over="ignore"):  # the cause is found below
                joint = self._joint(block)
            if not np.isfinite(joint).all():
                self._raise_for_rows(X, rows)
            out[rows] = finish(joint)
            if base is not None:
                out[rows] += base(block)

        ordered_map(work, row_blocks(n, rows_per_block(self._numbers_per_row(X), COPIED_BLOCK)))
        return out

    def _raise_for_rows(self, X: Any, rows: slice) -> None:
        """Raise an error that names the bad value in some rows, if there is one, by its row in X."""
        try:
            self._check_finite_values(X[rows])
        except DataError:
            self._check_finite_values(X)
            raise

    def _log_prior(self) -> Array:
        """Return log p(y), −inf for an announced class without rows."""
        return log(self.class_prior_)

    def _with_prior_for_impossible(self, joint: Array) -> Array:
        """Return `joint` with the prior in rows that are impossible in every class."""
        return replace_impossible_rows(joint, self._log_prior())

    def _posterior(self, joint: Array) -> Array:
        return posterior(self._with_prior_for_impossible(joint))

    def _log_posterior(self, joint: Array) -> Array:
        return log_posterior(self._with_prior_for_impossible(joint))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._accepts_missing
        tags.input_tags.sparse = True
        return tags


class GenerativeClassifier(StatisticClassifier):
    """A `StatisticClassifier` that models p(x, y) = p(y) p(x|y), so that it has densities and can be sampled from.

    Subclasses with a parameter `priors` inherit how it is read; others override `_class_priors` and `_with_priors`.
    """

    @abstractmethod
    def _sample_rows(self, codes: Array, rng: np.random.Generator) -> Any:
        """Draw one row from p(x|y) for each class code."""

    priors: Any

    def _class_priors(self) -> Array:
        """Return the priors given, or else the relative weights of the classes."""
        weight = self.statistic_.weight
        return weight / weight.sum() if self.priors is None else check_priors(self.priors, self.classes_)

    def _update_parameters(self) -> None:
        """Set the attributes that depend on the priors, and no others, so that `with_priors` need not refit."""
        self.class_count_ = self.statistic_.weight
        self.class_prior_ = self._class_priors()

    def _with_priors(self, priors: Array) -> Self:
        """Set the parameters of this model that fix the class priors, and return it."""
        return self.set_params(priors=priors)  # type: ignore[no-any-return]

    def log_density(self, X: Any) -> Array:
        """Return log p(x) = log Σ_y p(x, y); low for rows unlike the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            The log density of each row.
        """
        self._fitted_classes()
        return self._over_blocks(X, log_evidence, None, base=self._log_base)

    def _log_base(self, block: tuple[Any, ...]) -> Array:
        """Return the part of log p(x|y) that is common to all classes, where `_joint` leaves it out."""
        return np.zeros(())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        """Draw rows and their classes from the fitted p(x, y).

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
            Seed or generator of the draw.

        Returns
        -------
        X : ndarray, or sparse matrix if the model was fitted on one, of shape (n_samples, n_features)
            The rows.
        y : ndarray of shape (n_samples,)
            Their classes.
        """
        return self._draw_rows(n_samples, random_state)

    def _draw_rows(self, n_samples: int, random_state: Any, **options: Any) -> tuple[Any, Array]:
        """Draw classes from the prior and, for each, a row by `_sample_rows`."""
        classes, rng = self._fitted_classes(), as_generator(random_state)
        prior = np.exp(self._log_prior())
        codes = rng.choice(len(prior), size=checked_count(n_samples), p=prior / prior.sum())
        return self._sample_rows(codes, rng, **options), classes[codes]

    def with_priors(self, priors: Any) -> Self:
        """Return the same model under other class priors, without refitting.

        Parameters
        ----------
        priors : array-like of shape (n_classes,) or dict from class to probability
            The new priors; they must sum to one.

        Returns
        -------
        model : object
            A new model; this one is unchanged.
        """
        model = copy.copy(self)._with_priors(check_priors(priors, self._fitted_classes()))
        model._update_parameters()
        return model


def priors_by_class(priors: dict[Any, float], classes: Array) -> list[float]:
    """Return priors in the order of `classes`; a class that is not named has prior 0."""
    labels = classes.tolist()
    if unknown := [label for label in priors if label not in labels]:
        raise PriorError(f"priors names the class {unknown[0]!r}, but the classes of the model are {labels}.")
    return [priors.get(label, 0.0) for label in labels]


def check_priors(priors: Any, classes: Array, *, normalised: bool = True) -> Array:
    """Return class priors as an array that is non-negative and, where `normalised`, sums to one."""
    if isinstance(priors, dict):
        priors = priors_by_class(priors, classes)
    try:
        values = np.asarray(priors, dtype=float)
    except (TypeError, ValueError):
        raise PriorError(f"Priors must be numbers, one for each of the classes {classes}. Got {priors!r}.") from None
    if np.isnan(values).any():
        raise PriorError(f"Priors must be numbers, but one of them is NaN. Got {priors!r}.")
    if values.shape != classes.shape:
        raise PriorError(
            f"Number of priors must match number of classes. Got {values.size} priors for the classes {classes}."
        )
    if normalised and not np.isclose(values.sum(), 1.0):
        raise PriorError(f"The sum of the priors should be 1. It is {values.sum():.6g}; divide the priors by it.")
    if (values < 0).any():
        label = classes[values < 0].tolist()[0]
        raise PriorError(f"Priors must be non-negative. The prior of class {label!r} is negative.")
    if not 0 < values.sum() < np.inf:
        raise PriorError(f"Priors must be finite and not all 0. Got {priors!r}; give each class its probability.")
    return values


#: float64 numbers in memory at once for each number of a chunk of rows: the chunk and its deviations
COPIES_OF_CHUNK = 3


class TensorClassifier(StatisticClassifier):
    """A `StatisticClassifier` whose statistics and scores take tensors wherever they take arrays."""

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ByClass:
        if not is_tensor(X):
            return super()._summarise(X, y, sample_weight, reset=reset)
        check_has_target(self, y, "class")
        X = check_tensor(self, X, reset=reset)
        labels, codes = encode_tensor_labels(y, X)
        weight = check_tensor_weight(sample_weight, X)
        source = RowBlocks(lambda rows: self._training_block(X, rows), codes, weight, self._chunk_rows(X, len(labels)))
        statistic = device.reduce(self._zero(labels, X), source)
        self._check_overflow(statistic, X)
        self.plan_ = tensor_plan(self._path(), X, blocks=len(source.blocks()))
        return statistic

    def _announced_classes(self, classes: Any, first: bool) -> Array | None:
        return super()._announced_classes(to_numpy(classes) if is_tensor(classes) else classes, first)

    def _over_blocks(
        self,
        X: Any,
        finish: Callable[[Array], Array],
        width: int | None,
        dtype: Any = float,
        base: Callable[[tuple[Any, ...]], Array] | None = None,
    ) -> Array:
        if not is_tensor(X):
            return super()._over_blocks(X, finish, width, dtype, base)

        def work(X: Any, rows: slice) -> Any:
            block = self._block(X, rows)
            joint: Any = self._joint(block)
            if not joint.isfinite().all():
                self._raise_for_rows(X, rows)
            result = finish(joint)
            return result if base is None else result + like(base(block), result)

        return self._over_chunks(X, work)  # type: ignore[no-any-return]

    def _over_chunks(self, X: Any, work: Callable[[Any, slice], Any]) -> Any:
        """Return `work(X, rows)` of all rows, chunk by chunk; floating-point results are cast to the type of X."""
        X = check_tensor(self, X, reset=False)
        parts: list[Any] = []

        def add(rows: slice) -> None:
            with np.errstate(invalid="ignore", over="ignore"):  # `work` finds the cause
                part = work(X, rows)
            parts.append(part.to(X.dtype) if part.is_floating_point() else part)

        in_chunks(len(X), self._chunk_rows(X, len(self.classes_)), add, "scores")
        if len(parts) == 1:
            return parts[0]
        import torch

        return torch.cat(parts)

    def _chunk_rows(self, X: Any, n_classes: int) -> int:
        """Return the rows of a chunk whose copies fit a tile; more if its statistic would be larger than the chunk."""
        columns = int(X.shape[1])
        return max(tile_size(X) // (COPIES_OF_CHUNK * (columns + n_classes)), n_classes * columns)

    def _decode(self, classes: Array, codes: Any) -> Any:
        return decode_labels(classes, codes) if is_tensor(codes) else super()._decode(classes, codes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to classify.
        y : array-like or tensor of shape (n_samples,)
            Their classes.
        sample_weight : array-like or tensor of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        score : float
            The accuracy.
        """
        return accuracy(self, X, y, sample_weight)
