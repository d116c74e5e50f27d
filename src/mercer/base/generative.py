"""Classifiers by counting that also take tensors: summarised and scored on their device, the model stays what it is."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, EmptyDataError, NonFiniteError, PriorError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._threads import ordered_map, row_blocks, thread_count
from mercer._typing import Array
from mercer.base.agreement import (
    announced_classes,
    refuse_labels_of_other_type,
    refuse_new_classes,
    refuse_stranger,
    warn_of_lost_digits,
)
from mercer.base.linear import accuracy
from mercer.base.posterior import log, log_evidence, log_posterior, most_probable, posterior, with_prior_for_impossible
from mercer.base.sources import fit_in_one_pass, fits_sources
from mercer.base.validation import (
    Plan,
    checked,
    checked_tensor,
    checked_tensor_weight,
    checked_weight,
    coded,
    column_names,
    labelled,
    old_state_on_failure,
    refuse_infinite,
    refuse_no_target,
    tensor_plan,
)
from mercer.data.blocks import COPIED_BLOCK, VIEWED_BLOCK, RowBlocks, rows_per_block
from mercer.data.labels import encode_labels
from mercer.data.sources.base import Source
from mercer.engines import device
from mercer.engines.reducing import reduce
from mercer.families.base import as_generator, checked_count
from mercer.optim.certificate import Certificate
from mercer.stats.by_class import ByClass

# Classifiers that are learnt by counting: one pass of mergeable statistics, then Bayes' rule.

SUMS_TOO_LARGE = "the sums of the data are too large for float64; divide the largest columns by a number."


class StatisticClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier whose fit is a function of a `ByClass` statistic, kept in `statistic_`."""

    #: may labels appear in a later `partial_fit` that the first did not announce? In scikit-learn's models not.
    _classes_may_grow: ClassVar[bool] = False
    _accepts_missing: ClassVar[bool] = True
    #: whether the classes were announced, so that they stay even while no row shows them
    _classes_fixed: bool = False
    #: whether the rows that are summarised are a part of more
    _sees_part: bool = False

    # What a concrete model says about itself.

    @abstractmethod
    def _zero(self, labels: Array, X: Any) -> ByClass:
        """The statistic of this model before any row was seen."""

    @abstractmethod
    def _settle(self) -> None:
        """Set the fitted attributes from `statistic_`."""

    @abstractmethod
    def _joint(self, block: tuple[Any, ...]) -> Array:
        """log p(x, y) (or the model's scores) of a block of rows: shape (rows, classes)."""

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        """X, or X and y, ready to be cut into blocks."""
        return checked(self, X, y, reset=reset)

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        """The data of each part of the statistic for some rows."""
        return (X[rows],)

    def _learnt_block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        """Like `_block`, for rows to learn from: the place to refuse values that the model cannot have produced."""
        return self._block(X, rows)

    def _refuse(self, X: Any) -> None:
        """Called when a result is not finite: raise an error that names the value, if there is one to blame."""
        refuse_infinite(X, column_names(self), estimator=type(self).__name__, missing=self._accepts_missing)

    def _reconcile(self, mine: ByClass, theirs: ByClass) -> tuple[ByClass, ByClass]:
        """Make two statistics of this model alike before they are combined."""
        return mine, theirs

    def _path(self) -> str:
        return "one pass of sufficient statistics"

    # Learning.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, forgetting what was learnt before.

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
        with old_state_on_failure(self):
            self._validate_params()
            self._classes_fixed = False
            self._store(self._summarise(X, y, sample_weight, reset=True))
        return self

    def _fit_source(self, source: Source) -> Any:
        return fit_in_one_pass(self, source)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; the result is that of one `fit` on all rows seen.

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
        with old_state_on_failure(self):
            self._validate_params()
            first = not hasattr(self, "statistic_")
            known = self._announced_classes(classes, first)
            batch = self._summarise(X, y, sample_weight, reset=first)
            if known is not None:
                refuse_new_classes(batch.labels, known)
            elif not first:
                refuse_labels_of_other_type(batch.labels, self.classes_)
            before = batch.empty().aligned(known) if first and known is not None else getattr(self, "statistic_", None)
            self._store(batch if before is None else ByClass.merge(*self._reconcile(before, batch)))
        return self

    def merge(self, other: Self) -> Self:
        """Fold in everything `other` has learnt; the result is that of one fit on the rows of both.

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
        self._refuse_stranger(other)
        with old_state_on_failure(self):
            self._store(ByClass.merge(*self._reconcile(self.statistic_, other.statistic_)))
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows out again: afterwards the model equals one that was never shown them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that were learnt before.
        y : array-like of shape (n_samples,)
            Their class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights they were learnt with.

        Returns
        -------
        self : object
            The model itself.
        """
        check_is_fitted(self)
        with old_state_on_failure(self):
            gone = self._summarise(X, y, sample_weight, reset=False)
            before, gone = self._reconcile(self.statistic_, gone)
            left = before.subtract(gone)
            if not left.rows.any():
                raise EmptyDataError("Every row would be forgotten; make a new, unfitted model instead.")
            vanished = (left.rows == 0) & (before.rows > 0)
            self._store(left if self._classes_fixed else left.aligned(left.labels[~vanished]))
        warn_of_lost_digits(before.cancellation(left))
        return self

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ByClass:
        """The statistic of these rows alone."""
        refuse_no_target(self, y, "class")
        X, y = self._check_X(X, y, reset=reset)
        weight = checked_weight(sample_weight, y, forgets=True, part=self._sees_part)
        labels, codes = encode_labels(y)
        source = RowBlocks(lambda rows: self._learnt_block(X, rows), codes, weight, self._block_rows(X, len(labels)))
        statistic = reduce(self._zero(labels, X), source)
        self._refuse_spoilt(statistic, X)
        self.plan_ = Plan(self._path(), str(getattr(X, "dtype", "mixed")), len(source.blocks()), thread_count())
        return statistic

    def _refuse_spoilt(self, statistic: ByClass, X: Any) -> None:
        if not statistic.finite:
            self._refuse(X)
            raise NonFiniteError(SUMS_TOO_LARGE)

    def _block_rows(self, X: Any, n_classes: int) -> int:
        """Rows of a block of about `_block_bytes`; more if its statistic would take over a tenth of its memory."""
        numbers = self._numbers_per_row(X)
        return max(rows_per_block(numbers, self._block_bytes(X)), 10 * n_classes * self._n_columns // numbers)

    def _block_bytes(self, X: Any) -> int:
        looked_at = isinstance(X, np.ndarray) and X.flags.c_contiguous and X.flags.writeable and X.dtype.kind == "f"
        return VIEWED_BLOCK if looked_at else COPIED_BLOCK

    def _numbers_per_row(self, X: Any) -> int:
        """How many numbers of a row are held in memory."""
        return max(1, self._n_columns)

    @property
    def _n_columns(self) -> int:
        return int(self.n_features_in_)

    def _store(self, statistic: ByClass) -> None:
        self.statistic_ = statistic
        self.classes_ = statistic.labels
        self.certificate_ = Certificate.closed_form("the parameters are a formula of the statistics of the data")
        self._settle()

    # Classes that may and may not appear.

    def _announced_classes(self, classes: Any, first: bool) -> Array | None:
        if classes is None:
            if first and not self._classes_may_grow:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit. A later batch may hold a class this one "
                    "does not: pass classes=numpy.unique(all_labels)."
                )
            grows = first or (self._classes_may_grow and not self._classes_fixed)
            return None if grows else self.classes_
        announced = announced_classes(classes, None if first else self.classes_)
        self._classes_fixed = True
        return announced

    def _refuse_stranger(self, other: Any) -> None:
        """Raise an error unless `other` can be merged into this model."""
        refuse_stranger(self, other, may_grow=self._classes_may_grow and not self._classes_fixed)

    # Predicting.

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(x, y) for every row and class.

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
        """The most probable class of every row.

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
        best = self._over_blocks(X, lambda joint: most_probable(self._possible(joint)), None, dtype=np.intp)
        return self._labels(classes, best)

    def _labels(self, classes: Array, codes: Array) -> Array:
        return np.asarray(classes[codes])

    def predict_proba(self, X: Any) -> Array:
        """p(y|x) for every row and class.

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
        """log p(y|x) for every row and class.

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
        """`finish(joint log probability)` of every row, plus `base(data)` where given, block by block."""
        X = self._check_X(X, reset=False)
        n = X.shape[0]
        out = np.empty(n if width is None else (n, width), dtype=dtype)

        def work(rows: slice) -> None:
            block = self._block(X, rows)
            with np.errstate(invalid="ignore", over="ignore"):  # what spoils a score is looked for below
                joint = self._joint(block)
            if not np.isfinite(joint).all():
                self._blame(X, rows)
            out[rows] = finish(joint)
            if base is not None:
                out[rows] += base(block)

        ordered_map(work, row_blocks(n, rows_per_block(self._numbers_per_row(X), COPIED_BLOCK)))
        return out

    def _blame(self, X: Any, rows: slice) -> None:
        """`_refuse` what is wrong with some rows, if anything is, by its place among all rows."""
        try:
            self._refuse(X[rows])
        except DataError:
            self._refuse(X)
            raise

    def _log_prior(self) -> Array:
        """log p(y), −inf for a class that was announced but never seen."""
        return log(self.class_prior_)

    def _possible(self, joint: Array) -> Array:
        """`joint` without rows that are impossible in every class."""
        return with_prior_for_impossible(joint, self._log_prior())

    def _posterior(self, joint: Array) -> Array:
        return posterior(self._possible(joint))

    def _log_posterior(self, joint: Array) -> Array:
        return log_posterior(self._possible(joint))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._accepts_missing
        tags.input_tags.sparse = True
        return tags


# Classifiers that model p(x, y) = p(y) p(x|y), so that they have densities and can be sampled from.


class GenerativeClassifier(StatisticClassifier):
    """A `StatisticClassifier` with a likelihood: `log_density`, `sample` and `with_priors`."""

    @abstractmethod
    def _sample_rows(self, codes: Array, rng: np.random.Generator) -> Any:
        """One row drawn from p(x|y) for each class code."""

    # Class priors, of models with a parameter `priors` that fixes them.

    priors: Any

    def _class_priors(self) -> Array:
        """As given, or the weights of the classes."""
        weight = self.statistic_.weight
        return weight / weight.sum() if self.priors is None else checked_priors(self.priors, self.classes_)

    def _settle(self) -> None:
        """Only what depends on the priors, so that changing them refits nothing."""
        self.class_count_ = self.statistic_.weight
        self.class_prior_ = self._class_priors()

    def _with_priors(self, priors: Array) -> Self:
        """This model with parameters that fix the class priors."""
        return self.set_params(priors=priors)  # type: ignore[no-any-return]

    def log_density(self, X: Any) -> Array:
        """log p(x) = log Σ_y p(x, y): low where a row is unlike everything seen.

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
        """What log p(x|y) has in common for all classes, where `_joint` leaves it out."""
        return np.zeros(())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        """Draw rows and their classes from the fitted p(x, y).

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
            Fixes the draw.

        Returns
        -------
        X : ndarray, or sparse matrix if the model was fitted on one, of shape (n_samples, n_features)
            The rows.
        y : ndarray of shape (n_samples,)
            Their classes.
        """
        return self._sampled(n_samples, random_state)

    def _sampled(self, n_samples: int, random_state: Any, **options: Any) -> tuple[Any, Array]:
        """Classes drawn from the prior, and for each a row as `_sample_rows` draws it."""
        classes, rng = self._fitted_classes(), as_generator(random_state)
        prior = np.exp(self._log_prior())
        codes = rng.choice(len(prior), size=checked_count(n_samples), p=prior / prior.sum())
        return self._sample_rows(codes, rng, **options), classes[codes]

    def with_priors(self, priors: Any) -> Self:
        """The same model under other class priors, without refitting.

        Parameters
        ----------
        priors : array-like of shape (n_classes,) or dict from class to probability
            The new priors; they must sum to one.

        Returns
        -------
        model : object
            A new model; this one is unchanged.
        """
        model = copy.copy(self)._with_priors(checked_priors(priors, self._fitted_classes()))
        model._settle()
        return model


def priors_by_class(priors: dict[Any, float], classes: Array) -> list[float]:
    """Priors in the order of `classes`; a class that is not named has none."""
    labels = classes.tolist()
    if unknown := [label for label in priors if label not in labels]:
        raise PriorError(f"priors names the class {unknown[0]!r}, but the model knows only {labels}.")
    return [priors.get(label, 0.0) for label in labels]


def checked_priors(priors: Any, classes: Array, *, normalised: bool = True) -> Array:
    """Class priors as an array that is non-negative and, where `normalised`, sums to one."""
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


#: numbers that are in memory at once for each number of a chunk of rows: the chunk in float64 and its deviations
COPIES = 3


class TakesTensors(StatisticClassifier):
    """Whose statistics and scores take tensors wherever they take arrays."""

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ByClass:
        if not is_tensor(X):
            return super()._summarise(X, y, sample_weight, reset=reset)
        refuse_no_target(self, y, "class")
        X = checked_tensor(self, X, reset=reset)
        labels, codes = coded(y, X)
        weight = checked_tensor_weight(sample_weight, X)
        source = RowBlocks(lambda rows: self._learnt_block(X, rows), codes, weight, self._chunk_rows(X, len(labels)))
        statistic = device.reduce(self._zero(labels, X), source)
        self._refuse_spoilt(statistic, X)
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
                self._blame(X, rows)
            result = finish(joint)
            return result if base is None else result + like(base(block), result)

        return self._over_chunks(X, work)  # type: ignore[no-any-return]

    def _over_chunks(self, X: Any, work: Callable[[Any, slice], Any]) -> Any:
        """`work(X, rows)` of all rows, chunk by chunk; what is no whole number is of the type of X."""
        X = checked_tensor(self, X, reset=False)
        parts: list[Any] = []

        def add(rows: slice) -> None:
            with np.errstate(invalid="ignore", over="ignore"):  # what spoils a score is looked for by `work`
                part = work(X, rows)
            parts.append(part.to(X.dtype) if part.is_floating_point() else part)

        in_chunks(len(X), self._chunk_rows(X, len(self.classes_)), add, "scores")
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _chunk_rows(self, X: Any, n_classes: int) -> int:
        """Rows of a chunk whose copies fit a tile; more if its statistic would be larger than the chunk."""
        columns = int(X.shape[1])
        return max(tile_size(X) // (COPIES * (columns + n_classes)), n_classes * columns)

    def _labels(self, classes: Array, codes: Any) -> Any:
        return labelled(classes, codes) if is_tensor(codes) else super()._labels(classes, codes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted.

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


def _joined(parts: list[Any]) -> Any:
    import torch

    return torch.cat(parts)
