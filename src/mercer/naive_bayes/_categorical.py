"""Categorical naive Bayes: every column has categories coded 0, 1, 2, …"""

from __future__ import annotations

from numbers import Integral, Real
from operator import attrgetter
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.utils._param_validation import Interval

from mercer._errors import UnseenCodeError
from mercer._memory import check_memory
from mercer._stored import floats, integers, sequence, stored
from mercer._typing import Array
from mercer.base import traits
from mercer.base.fitted_fields import FITTED_COUNTS
from mercer.base.generative import GenerativeClassifier
from mercer.base.linear_form import LinearPiece
from mercer.base.posterior import fill_unknown_evenly, log
from mercer.base.validation import check_non_negative, check_rows, column_names, find_first
from mercer.data.blocks import COPIED_BLOCK
from mercer.data.coding import Coded
from mercer.families import Categorical, CategoricalParameters
from mercer.families.pseudo_counts import add_alpha
from mercer.naive_bayes._discrete import DiscreteClassifier
from mercer.naive_bayes._unweighted import UnweightedStatisticsMixin, unweighted_parts
from mercer.stats import ByClass, LevelCounts, statistic_for

#: largest code; larger ones are identifiers: with 16 million categories the tables of one class take half a gigabyte
LARGEST_CODE = (1 << 24) - 1
#: categories up to which all are counted, whether they occur or not
MOST_CODES_LISTED = 1024
#: numbers in the tables from which available memory is checked
NUMBERS_TO_CHECK_MEMORY = 1 << 20
#: copies of each number in memory while the tables are made
COPIES_OF_TABLE = 8


@traits(
    "classification",
    kind="generative",
    columns="counts",
    is_one_pass=True,
    half="statistics",
    export="mercer.export.naive_bayes.categorical_nb",
)
@stored(
    **FITTED_COUNTS,
    n_categories_=integers("d"),
    category_count_=sequence("d", floats("k _c")),
    feature_log_prob_=sequence("d", floats("k _c")),
    _tables=sequence("d", floats("_c k")),
)
class CategoricalNB(UnweightedStatisticsMixin, DiscreteClassifier, GenerativeClassifier):
    """Categorical naive Bayes; scikit-learn's `CategoricalNB` with merging, forgetting, sampling and missing values.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of each category: the mode under a Dirichlet(1 + alpha) prior. With 0 a category without
        rows in a class has probability exactly 0 there.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
    fit_prior : bool, default=True
        Whether to learn class priors; they are uniform otherwise.
    class_prior : array-like of shape (n_classes,), default=None
        Class priors to use instead of learnt or uniform ones.
    min_categories : int or array-like of shape (n_features,), default=None
        Least number of categories of each column, whether or not they occur.

    Attributes
    ----------
    category_count_ : list of ndarray of shape (n_classes, n_categories)
        For each column, the weight of each category in each class.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log of the class priors.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories)
        For each column, the log probability of each category in each class.
    n_categories_ : ndarray of shape (n_features,)
        Number of categories of each column: one more than the highest code, or `min_categories`.
    statistic_ : ByClass
        The sufficient statistics from which the parameters are computed.
    certificate_ : Certificate
        Evidence that the parameters are optimal.
    plan_ : Plan
        The path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import CategoricalNB
    >>> X = np.array([[0, 1], [0, 2], [1, 0]])
    >>> CategoricalNB().fit(X, ["tea", "tea", "coffee"]).predict([[0, np.nan]])
    array(['tea'], dtype='<U6')
    """

    _positive_only: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **DiscreteClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        return check_rows(self, X, y, reset=reset, accept_sparse=False)

    def _zero(self, labels: Array, X: Any) -> ByClass:
        columns = (statistic_for(Categorical(), len(labels), 1) for _ in range(self.n_features_in_))
        return ByClass.zero(labels, tuple(columns))

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        codes = self._codes(X, rows)
        return tuple(Coded(column, np.arange(column.max(initial=0) + 1)) for column in codes)

    def _training_block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        return tuple(map(_code_by_labels, self._codes(X, rows)))

    def _codes(self, X: Any, rows: slice) -> Array:
        """Return the codes of each column (a row of the result), truncated as in scikit-learn; −1 where missing."""
        values = X[rows].T
        if np.isinf(values).any():
            self._check_finite_values(X)
        missing = np.isnan(values)
        known = np.where(missing, 0, values) if missing.any() else values
        if known.min(initial=0) < 0:
            expected = "categories are coded 0, 1, 2, …"
            check_non_negative(X, column_names(self), estimator="CategoricalNB", expected=expected)
        if float(known.max(initial=0)) > LARGEST_CODE:
            self._check_codes(X)
        codes = np.array(known, dtype=np.int32, order="C")
        codes[missing] = -1
        return codes

    def _check_codes(self, X: Any) -> None:
        if (first := find_first(X, lambda values: values > LARGEST_CODE)) is not None:
            row, column, value = first
            raise UnseenCodeError(
                f"index {value:.0f} is out of bounds: column {column_names(self)[column]!r} has it in row {row}, and "
                "categories are coded 0, 1, 2, … without gaps; code them anew, e.g. with scikit-learn's OrdinalEncoder."
            )

    def _block_bytes(self, X: Any) -> int:
        return COPIED_BLOCK

    def _update_column_parameters(self, alpha: Any) -> None:
        self.n_categories_ = self._number_of_categories()
        groups = len(self.classes_)
        if (numbers := groups * int(self.n_categories_.sum())) > NUMBERS_TO_CHECK_MEMORY:
            check_memory(
                COPIES_OF_TABLE * 8 * numbers,
                f"a table of {groups} classes and {self.n_categories_.sum():,} categories",
                "code the categories of each column 0, 1, 2, … without gaps, e.g. with scikit-learn's OrdinalEncoder",
            )
        columns = [
            LevelCounts.zero(groups, declared=np.arange(k)).merge(column)
            for k, column in zip(self.n_categories_.tolist(), self._columns, strict=True)
        ]
        self.category_count_ = [column.counts for column in columns]
        self.feature_log_prob_ = [log_category_probabilities(column, alpha) for column in columns]
        # code −1, a missing value, selects the last row, which adds 0
        self._tables = [np.vstack([table.T, np.zeros(groups)]) for table in self.feature_log_prob_]

    @property
    def _columns(self) -> tuple[LevelCounts, ...]:
        return cast(tuple[LevelCounts, ...], self.statistic_.parts[: self.n_features_in_])

    def _number_of_categories(self) -> Array:
        # as in scikit-learn, categories whose rows all have weight 0 count
        columns = unweighted_parts(self.statistic_) or self._columns
        occurring = np.array([max(column.levels, default=-1) + 1 for column in columns], dtype=np.int64)
        if self.min_categories is None:
            return occurring
        least = np.asarray(self.min_categories)
        if least.dtype.kind != "i":
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.shape not in ((), occurring.shape):
            raise ValueError(
                f"'min_categories' should have shape ({len(occurring)},) when an array-like is provided. Got "
                f"{least.shape} instead. Give one number per column, or one for all."
            )
        return np.asarray(np.maximum(occurring, least))

    def _joint(self, block: tuple[Any, ...]) -> Array:
        joint = np.tile(self.class_log_prior_, (len(block[0].codes), 1))
        for column, (table, (codes, levels)) in enumerate(zip(self._tables, block, strict=True)):
            if len(levels) >= len(table) and (highest := codes.max()) >= len(table) - 1:
                self._raise_unseen(column, highest)
            joint += table[codes]
        return joint

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]:
        pieces = [
            LinearPiece.of_levels(attrgetter("codes"), [f"{name} = {code}" for code in range(table.shape[1])], table)
            for name, table in zip(column_names(self), self.feature_log_prob_, strict=True)
        ]
        return self.class_log_prior_, tuple(pieces)

    def _raise_unseen(self, column: int, code: int) -> None:
        known = self.n_categories_[column]
        raise UnseenCodeError(
            f"index {code} is out of bounds for axis 1 with size {known}. Column {column_names(self)[column]!r} had "
            f"{known} categories, counted from 0, when fitted; declare more of them with min_categories."
        )

    def _sample_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        """Draw categories as integers; NaN in a column that was never observed."""
        observed = self.n_categories_ > 0
        rows = np.full((len(codes), self.n_features_in_), 0 if observed.all() else np.nan)
        for c in np.unique(codes):
            (members,) = np.nonzero(codes == c)
            for j in np.flatnonzero(observed):
                p = CategoricalParameters(np.exp(self.feature_log_prob_[j][c]))
                rows[members, j] = Categorical().sample(p, len(members), rng)
        return rows.astype(np.int64) if observed.all() else rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        return tags


def _code_by_labels(codes: Array) -> Coded:
    """Return codes of one column with all their labels, or with those that occur where these have long gaps."""
    highest = int(codes.max(initial=0))
    if highest < 2 * len(codes) + MOST_CODES_LISTED:
        return Coded(codes, np.arange(highest + 1))
    labels, places = np.unique(codes, return_inverse=True)
    missing = int(labels[0] < 0)
    return Coded((places - missing).astype(np.int32), labels[missing:].astype(np.int64))


def log_category_probabilities(column: LevelCounts, alpha: float) -> Array:
    """Return the log probability of each category in each class, with pseudo-counts `alpha`."""
    k = len(column.levels)
    if k == 0:
        return np.zeros((column.groups, 0))
    family = Categorical(levels=k)
    return log(fill_unknown_evenly(family.fit(column, add_alpha(family, alpha)).probabilities, k))
