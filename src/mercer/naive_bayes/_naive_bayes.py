"""Naive Bayes for mixed columns (numbers, counts, categories), with a family for each."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import FitInterrupted, MergeError
from mercer._gpu import is_tensor
from mercer._held import ValueHolder
from mercer._stored import optional, part_of, sequence, stored
from mercer._typing import Array
from mercer.base import Candidate, Question, traits
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.generative import GenerativeClassifier
from mercer.base.linear_form import LinearPiece
from mercer.base.validation import STOPPED, check_table, column_names
from mercer.data.frame_like import frame_like
from mercer.data.schema import Schema
from mercer.data.select import fetch_relation, names_of, select
from mercer.data.sources.base import Source
from mercer.data.table import Table
from mercer.families import Family
from mercer.matrices import Encoded
from mercer.naive_bayes._choose_parts import choose_parts, needs_all_rows
from mercer.naive_bayes.parts import ModelPart, PartConditional, Smoothing
from mercer.stats import ByClass

#: statistics that an infinite value makes non-finite, so that rows need no check before
NON_FINITE_BY_INFINITY = frozenset({"moments", "scatter"})


def _have_same_columns(model: Any) -> bool:
    """Return whether each conditional has the columns of its part and parameters of each class."""
    if not hasattr(model, "parts_"):
        return True
    n_classes, n_columns = len(model.classes_), model.n_features_in_
    for part, factor in zip(model.parts_, model._conditionals, strict=True):
        if type(part) is not type(factor.part) or part.columns != factor.part.columns:
            return False
        if max(part.columns) >= n_columns or any(len(values) != n_classes for values in factor.parameters):
            return False
    return True


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of columns of any kind with their gaps, as it is fitted by name to the same table.

    The schema of the whole table distinguishes codes (0 and 1 among them) and counts from other numbers. Codes have
    levels, not a normal distribution; two levels are a Bernoulli distribution that also scores a third level in other
    rows. The schema also has the formats of numbers in columns of strings.
    """
    if question.is_sparse:
        yield Candidate(NaiveBayes(), 10, need="nothing")
    elif question.described is not None:
        yield Candidate(NaiveBayes(question.described), 10, "described", "nothing")


def _levels(model: NaiveBayes) -> dict[str, tuple[Any, ...]]:
    """Return the levels of the columns whose families have levels."""
    names = column_names(model)
    return {
        names[each.part.columns[0]]: tuple(each.levels.tolist())
        for each in getattr(model, "_conditionals", ())
        if hasattr(each, "levels")
    }


@traits(
    "classification",
    kind="generative",
    columns="any",
    integrates_missing=True,
    is_one_pass=True,
    half="statistics",
    label=lambda model: type(model).__name__,
    candidates=_candidates,
    export="mercer.export.naive_bayes.mixed",
    evidence="mercer.explanation.evidence.naive_bayes",
    levels=_levels,
    tables=lambda model: model.tables(),
)
@stored(
    _have_same_columns,
    **FITTED_CLASSES,
    parts_=sequence(".", part_of(ModelPart)),
    _conditionals=sequence(".", part_of(PartConditional, k="k")),
    _library=optional(part_of(str)),
    parameters_=part_of(dict),
)
class NaiveBayes(ValueHolder, GenerativeClassifier):
    """Naive Bayes with a family for each column: p(x, y) = p(y) Π_S p(x_S|y).

    Missing values (NaN, None, null) are integrated out exactly, when fitting and when predicting.

    Parameters
    ----------
    families : "auto", str, Family, Schema or dict, default="auto"
        The family of each column. "auto" chooses by the *type* of a column: Gaussian for numbers, Categorical
        for bools, strings and categories, Multinomial for all columns of a sparse matrix; it warns of columns of free
        text, whose categories carry no information about other rows. A dict maps columns by name or position, or tuples
        of them, to families or their lower-case names; the other columns are chosen by type:
        `{"visits": Poisson(), ("x", "y"): MultivariateGaussian(), "dose": Histogram(bins=20)}`. A number of bins is
        turned into edges by the first data; models to be merged need the edges. `mercer.density.Parzen()` places a
        kernel at every value. One family, or its name, describes all columns.
        A `Schema` of the whole table distinguishes codes and counts from numbers; its columns are found by their
        names, in any order, and columns that it does not name are ignored.
    priors : array-like of shape (n_classes,) or dict from class to probability, default=None
        Class priors; estimated from the data if not given.
    smoothing : float, default=1.0
        Pseudo-count of discrete families: of every level, every word, every bin; for a family without levels, such as
        Poisson, the weight of observations that are distributed as all classes together.
    unseen : {"smooth", "ignore", "error"}, default="smooth"
        A new category has the probability α/(N + αK) of one more level with pseudo-count α, is ignored, or is an
        error. With "smooth", a number beyond levels that are a scale, 3 to 10 consecutive whole
        numbers, counts as the nearest level.
    missing : {"integrate", "error"}, default="integrate"
        Missing values are integrated out, or are an error.
    var_smoothing : float, default=1e-9
        This portion of the variance of a Gaussian column in all rows is added to its variances in the classes, so that
        units do not matter (`GaussianNB` adds a portion of the largest variance of any column, as scikit-learn does).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Class priors.
    parts_ : tuple of Part
        The factors of the model: which columns, and which family describes them.
    parameters_ : dict
        Parameters by column name, or by the names of columns that are described together: named tuples of arrays
        whose first axis is the class. `tables` has them with the names of classes and levels.
    statistic_ : ByClass
        The sufficient statistics from which the parameters are computed.
    certificate_ : Certificate
        Evidence that the parameters are optimal.
    plan_ : Plan
        The path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NaiveBayes
    >>> X = np.array([["red", 1.0], ["red", 2.0], ["green", 7.0], ["green", 9.0], ["green", None]], dtype=object)
    >>> model = NaiveBayes().fit(X, ["tomato", "tomato", "melon", "melon", "melon"])
    >>> model.predict(np.array([[None, 8.0], ["red", None]], dtype=object))
    array(['melon', 'tomato'], dtype='<U6')
    """

    _classes_may_grow: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "families": [str, Family, Schema, dict],
        "priors": ["array-like", dict, None],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "unseen": [StrOptions({"smooth", "ignore", "error"})],
        "missing": [StrOptions({"integrate", "error"})],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        families: Any = "auto",
        *,
        priors: Any = None,
        smoothing: float = 1.0,
        unseen: str = "smooth",
        missing: str = "integrate",
        var_smoothing: float = 1e-9,
    ) -> None:
        self.families = families
        self.priors = priors
        self.smoothing = smoothing
        self.unseen = unseen
        self.missing = missing
        self.var_smoothing = var_smoothing

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        if isinstance(self.families, Schema):
            X = self._select_described(X, self.families.names, reset=reset)
        table, labels = check_table(self, X, y, reset=reset)
        if isinstance(self.families, Schema):
            table = table.with_formats(self.families.formats)
        if reset:
            self.parts_: tuple[ModelPart, ...] = choose_parts(table, self.families, unseen=self.unseen)
            self._library = table.library
        return table if y is None else (table, labels)

    def _select_described(self, X: Any, described: Sequence[str], *, reset: bool) -> Any:
        """Return the described columns of a frame, in the order of the fit, and anything else as it is."""
        names = None if isinstance(X, Encoded | Table) or is_tensor(X) else names_of(X)
        if names is None:
            return X
        known = frozenset(described)
        selected = [name for name in names if name in known]
        if not reset and sorted(selected) == sorted(fitted := column_names(self)):
            selected = fitted
        return select(fetch_relation(X), selected) if selected and selected != names else X

    def _block(self, X: Table, rows: slice) -> tuple[Any, ...]:
        table = X.rows(rows)
        blocks = tuple(part.read(table) for part in self.parts_)
        if self.missing == "error":
            for part, block in zip(self.parts_, blocks, strict=True):
                part.check_no_missing(block, rows.start)
        return blocks

    def _training_block(self, X: Table, rows: slice) -> tuple[Any, ...]:
        blocks = self._block(X, rows)
        for part, block in zip(self.parts_, blocks, strict=True):
            if part.family.statistic not in NON_FINITE_BY_INFINITY:
                part.check_support(block, rows.start)
        return blocks

    def _raise_for_rows(self, X: Table, rows: slice) -> None:
        table = X.rows(rows)
        for part in self.parts_:
            part.check_support(part.read(table), rows.start)

    def _check_finite_values(self, X: Table) -> None:
        self._raise_for_rows(X, slice(0, X.n_rows))

    def _fit_source(self, source: Source) -> Any:
        given = self.families.values() if isinstance(self.families, Mapping) else [self.families]
        return NotImplemented if any(map(needs_all_rows, given)) else super()._fit_source(source)

    def _zero(self, labels: Array, X: Table) -> ByClass:
        return ByClass.zero(labels, tuple(part.zero(len(labels), X) for part in self.parts_))

    def _check_mergeable(self, other: Any) -> None:
        super()._check_mergeable(other)
        theirs = {name: part for part in other.parts_ for name in part.names}
        pairs = [(name, part, theirs[name]) for part in self.parts_ for name in part.names]
        odd = [pair for pair in pairs if pair[1].family != pair[2].family]
        if odd := odd or [pair for pair in pairs if pair[1].columns != pair[2].columns]:
            name, own, other_part = odd[0]
            raise MergeError(
                f"cannot merge models that describe column {name!r} differently: here by {own}, there by {other_part}. "
                "Give both the same families, and to a histogram its edges as `bins`."
            )

    def _store(self, statistic: ByClass) -> None:
        super()._store(statistic)
        smoothing = Smoothing(self.smoothing, self.var_smoothing)
        self._conditionals: tuple[PartConditional, ...] = tuple(
            part.fit(part_statistic, smoothing)
            for part, part_statistic in zip(self.parts_, statistic.parts, strict=True)
        )
        self.parameters_ = {
            name: parameters for each in self._conditionals for name, parameters in each.by_column().items()
        }
        # the weakest certificate of all parts
        self.certificate_ = max(
            (each.certificate for each in self._conditionals),
            key=lambda each: (not each.holds, each.kind != "closed form", each.value),
        )
        if self.certificate_.kind != "closed form":
            self.plan_ = replace(self.plan_, path=f"{self._path()}, then iterations where there is no formula")
        if any(each.interrupted for each in self._conditionals):
            raise FitInterrupted(STOPPED)

    def _joint(self, block: tuple[Any, ...]) -> Array:
        scores = (each.score(columns) for each, columns in zip(self._conditionals, block, strict=True))
        return functools.reduce(np.add, scores, self._log_prior())

    def sample(self, n_samples: int = 1, random_state: Any = None, length: Any = None) -> tuple[Any, Array]:
        """Draw rows and their classes from the fitted p(x, y).

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
            Seed or generator of the draw.
        length : int or array-like of shape (n_samples,), default=None
            Number of words in rows of counts; drawn from the lengths in their class if not given.

        Returns
        -------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows, in the container the model was fitted on.
        y : ndarray of shape (n_samples,)
            Their classes.
        """
        return self._draw_rows(n_samples, random_state, length=length)

    def _sample_rows(self, codes: Array, rng: np.random.Generator, length: Any = None) -> Any:
        draws = [each.sample(codes, rng, length=length) for each in self._conditionals]
        drawn = [column for part in self.parts_ for column in part.columns]
        if self._library == "scipy":
            return sp.csr_matrix(sp.hstack(draws, format="csr")[:, np.argsort(drawn)])
        columns = dict(zip(drawn, (column for draw in draws for column in draw.T), strict=True))
        undescribed = np.full(len(codes), np.nan)
        rows = [columns.get(j, undescribed) for j in range(self._n_columns)]
        return frame_like(column_names(self), rows, self._library)

    def tables(self) -> dict[Any, dict[Any, dict[Any, Any]]]:
        """Return parameters by column, class, and level or name of the parameter, as plain numbers."""
        classes = self._fitted_classes().tolist()
        return {name: table for each in self._conditionals for name, table in each.tables(classes).items()}

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]:
        n_rows = int(self.statistic_.rows.sum())
        return self._log_prior(), tuple(each.linear_piece(n_rows) for each in self._conditionals)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "integrate"
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags
