"""The factors p(x_S|y) of a mixed naive Bayes model, before and after the fit.

A `ModelPart` has some columns and a family; its `fit` returns a `PartConditional`, the density of these columns in each
class. There is a pair of classes for each kind of columns:

- numbers of a scalar family (`NumbersPart`), normal ones by a compiled loop (`GaussianConditional`);
- numbers described by kernels around their values (`WindowsPart`);
- one column of categories (`CategoryPart`);
- rows of a family of vectors (`VectorPart`), and rows of counts (`CountsPart`);
- jointly normal columns with missing entries (`GaussianVectorPart`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._errors import (
    ColumnTypeError,
    DataError,
    DegenerateDataError,
    NoLinearFormError,
    NonFiniteError,
    SingularCovarianceError,
    SupportError,
    UnseenCategoryError,
)
from mercer._stored import flags, floats, part_of, reals, sequence, stored, values, whole
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.base.gaussian_scores import GaussianScores
from mercer.base.linear_form import LinearPiece
from mercer.base.posterior import fill_unknown_evenly, log
from mercer.base.validation import check_spread, find_first
from mercer.data.coding import Coded, code_floats, drop_missing_words, label_array
from mercer.data.scales import clip_to_scale, scale_limits
from mercer.data.table import Table
from mercer.density import Parzen
from mercer.families import (
    Bernoulli,
    Binomial,
    Categorical,
    CategoricalParameters,
    Family,
    Gaussian,
    GaussianParameters,
    Histogram,
    MultivariateGaussian,
    MultivariateGaussianParameters,
    Parameters,
    Prior,
)
from mercer.families.multivariate import cholesky
from mercer.families.pseudo_counts import add_alpha
from mercer.naive_bayes._discrete import LogProduct, draw_counts, draw_lengths, log_coefficient
from mercer.optim.certificate import Certificate
from mercer.optim.em import EMLabels, EMShrinkage, em_gaussian
from mercer.stats import ColumnMoments, LevelCounts, PatternMoments, Statistic, StoredRows, VectorSums, statistic_for
from mercer.stats.tally import find_positions

CLOSED_FORM = Certificate.closed_form("the parameters are a formula of the statistics of the data")

#: names of columns that a message lists
MOST_NAMES_LISTED = 5


@stored()
class Smoothing(NamedTuple):
    """The strength of regularisation."""

    #: pseudo-count of each level
    counts: float
    #: portion of a variance of all classes together that is added to those of each
    variance: float


@dataclass(frozen=True)
class ModelPart(ABC):
    """Some columns, by position and name, and their family."""

    columns: tuple[int, ...]
    names: tuple[str, ...]
    family: Family

    def __str__(self) -> str:
        return f"{self.family!r} of {list(self.names[:MOST_NAMES_LISTED])}"

    def zero(self, groups: int, table: Table) -> Statistic:
        """Return the statistic that `fit` needs, without any rows."""
        return statistic_for(self.family, groups, len(self.columns))

    def read(self, table: Table) -> Any:
        """Return these columns of a table, in the form for `Statistic.update` and `PartConditional.score`."""
        if all(table.kinds[column].numeric for column in self.columns):
            return table.numbers(self.columns)
        return np.column_stack([_read_numbers(table, column) for column in self.columns])

    @abstractmethod
    def fit(self, statistic: Any, smoothing: Smoothing) -> PartConditional:
        """Return the factor p(x_S|y) for each class, given a statistic of these columns."""

    def missing(self, block: Any) -> Array:
        """Return a mask of missing values: (rows, columns)."""
        return np.asarray(np.isnan(block))

    def outside(self, block: Any) -> Array:
        """Return a mask of values outside the family's support: (rows, columns), or (rows,) for families of rows."""
        return self.family.outside(block)

    def check_no_missing(self, block: Any, first_row: int) -> None:
        """Raise if a value is missing."""
        if (missing := self.missing(block)).any():
            row, column = np.argwhere(missing)[0]
            raise NonFiniteError(
                f"Input X contains NaN. Column {self.names[column]!r} has a missing value in row {first_row + row}; "
                'drop or impute it, or integrate it out with missing="integrate".'
            )

    def check_support(self, block: Any, first_row: int) -> None:
        """Raise if a value lies outside the support; row 0 of the block is row `first_row` of the data."""
        if (outside := self.outside(block)).any():
            row, *columns = np.argwhere(outside)[0]
            value = block[row, columns[0]] if columns else block[row]
            raise self.make_error(first_row + row, columns[0] if columns else None, value)

    def make_error(self, row: int, column: int | None, value: Any) -> DataError:
        """Return the error for a value in a column, or for a whole row."""
        subject = f"The row of columns {', '.join(map(repr, self.names[:MOST_NAMES_LISTED]))}"
        where = subject if column is None else f"Column {self.names[column]!r}"
        if np.isnan(value).any():
            return NonFiniteError(
                f"Input X contains NaN. {where} is missing in row {row}, and the {self.family.name} family has no "
                "missing counts; write 0 for a word that is absent."
            )
        if np.isinf(value).any():
            return NonFiniteError(
                f"Input X contains infinity or a value too large for float64. {where} is {value} in row {row}; "
                "replace it by a number, or by NaN if it is unknown."
            )
        return SupportError(
            f"{where} is {value} in row {row}, but the {self.family.name} family describes {self.family.support}. "
            "Correct the value, make it missing, or choose another family for the column."
        )


@dataclass(frozen=True)
class PartConditional(ABC):
    """A fitted part: the density p(x_S|y), whose parameters have one entry per class."""

    part: ModelPart
    parameters: Parameters
    #: evidence that the parameters are optimal
    certificate: Certificate = field(default=CLOSED_FORM, kw_only=True)
    #: whether the user stopped the search for them
    interrupted: bool = field(default=False, kw_only=True)

    @abstractmethod
    def score(self, block: Any) -> Array:
        """Return log p(x_S|y) of every row and class; 0 for rows without an observed value."""

    @abstractmethod
    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Any:
        """Draw a row for each class code, (codes, columns), sparse if the data were; `length` is for rows of counts."""

    @abstractmethod
    def linear_piece(self, n_rows: int) -> LinearPiece:
        """Return the contribution of this part to the linear form of a model fitted to `n_rows` rows."""

    @abstractmethod
    def by_column(self) -> dict[Any, Parameters]:
        """Return parameters by the name of the column, or the names of columns that are described together."""

    def tables(self, classes: list[Any]) -> dict[Any, dict[Any, dict[Any, Any]]]:
        """Return {column: {class: {name of a parameter: its value}}}."""
        return {
            name: {label: _to_plain_numbers(parameters_of_class(parameters, c)) for c, label in enumerate(classes)}
            for name, parameters in self.by_column().items()
        }


def _read_numbers(table: Table, column: int) -> Array:
    """Return a column as numbers, whatever its type: a column of a batch may be None throughout."""
    if table.kinds[column].numeric:
        return table.numbers([column])[:, 0]
    codes, labels = table.coded(column)
    if labels.size and labels.dtype.kind not in "biuf":
        raise ColumnTypeError(
            f"Column {table.names[column]!r} held numbers when the model was fitted, and now {labels[0]!r}; convert it "
            "to numbers, or describe it by Categorical() when fitting."
        )
    return np.append(labels.astype(float), np.nan)[codes]  # code −1, a missing value, selects the last entry


def parameters_of_class(parameters: Parameters, c: int) -> Parameters:
    """Return the parameters of one class."""
    return type(parameters)(*(values[c] for values in parameters))


def _to_plain_numbers(parameters: Parameters) -> dict[str, Any]:
    """Return parameters as numbers and lists by their names."""
    return {name: np.asarray(value).tolist() for name, value in parameters._asdict().items()}


def sample_by_class(family: Family, parameters: Parameters, codes: Array, rng: np.random.Generator) -> Array:
    """Draw a row with the parameters of each class code: shape (codes, columns)."""
    draws = [
        family.sample(parameters_of_class(parameters, c), int(n), rng)
        for c, n in enumerate(np.bincount(codes, minlength=1))
    ]
    together = np.concatenate(draws)
    result = np.empty_like(together)
    result[np.argsort(codes, kind="stable")] = together
    return result


#: largest gradient of the mean log likelihood at a fit, relative to the size of T
LARGEST_GRADIENT = 1e-8

BRACKETED_ROOT = Certificate(
    "bracketed root", 0.0, 0.0, "the slope of the likelihood changes its sign at the parameter, to rounding"
)


class ClassFits(NamedTuple):
    """Parameters of all classes, and the evidence that they are optimal."""

    parameters: Parameters
    certificate: Certificate


def fit_classes(family: Family, statistic: Any, smoothing: Smoothing) -> ClassFits:
    """Fit a family to every class; one without values of a column gets the parameters of all classes together.

    Discrete families have a prior: `smoothing.counts` for each level where they have levels, else the same number of
    observations that are distributed as all classes together.
    """
    common = family.fit(statistic.pool())
    if family.discrete or isinstance(family, Histogram):
        parameters = family.fit(statistic, _pseudo_counts(family, smoothing.counts, common))
        return ClassFits(fill_from_common(parameters, common), CLOSED_FORM if family.exponential else BRACKETED_ROOT)
    parameters = _maximum_likelihood(family, statistic, smoothing, common)
    return ClassFits(fill_from_common(parameters, common), _certificate(family, statistic, parameters))


def fill_from_common(parameters: Parameters, common: Parameters, *, where: Array | None = None) -> Parameters:
    """Replace parameters `where` a class has no values (NaN, if not given) by those of all classes together."""
    pairs = zip(parameters, common, strict=True)
    fields = (np.where(np.isnan(own) if where is None else where, shared, own) for own, shared in pairs)
    return type(parameters)(*fields)


def _pseudo_counts(family: Family, alpha: float, common: Parameters) -> Prior | None:
    if alpha == 0:
        return None
    if isinstance(family, Bernoulli | Binomial | Histogram):
        return add_alpha(family, alpha)
    # parameters are NaN for a column without values; r = ∞, that of a Poisson, stays
    return Prior(alpha, type(common)(*(np.where(np.isnan(field), 1.0, field) for field in common)))


def _maximum_likelihood(family: Family, statistic: Any, smoothing: Smoothing, common: Parameters) -> Parameters:
    """Return the maximum likelihood fit, with a weak prior from all classes where a class has no spread to fit."""
    try:
        return family.fit(statistic)
    except DegenerateDataError:
        if smoothing.variance == 0:
            raise
    return family.fit(statistic, Prior(smoothing.variance * np.asarray(statistic.weight), common))


def _certificate(family: Family, statistic: Any, parameters: Parameters) -> Certificate:
    """Return the norm of the gradient of the mean log likelihood in η: the mean of T minus its expectation."""
    mean = np.asarray(statistic.mean)
    gradient = np.abs(mean - family.expected(parameters)) / (1 + np.abs(mean))
    largest = np.max(gradient[np.asarray(statistic.weight) > 0], initial=0.0)
    return Certificate(
        "gradient norm",
        float(largest),
        LARGEST_GRADIENT,
        "the expectation of T(x) in every class is its mean over the data",
    )


def find_column_without_fit(family: Family, statistic: Any) -> int:
    """Return the first column without a maximum likelihood fit, in all classes together or in one of them."""
    for each in (statistic.pool(), statistic):
        mean = np.where(each.weight[..., None] > 0, each.mean, np.nan)
        for j in range(mean.shape[1]):
            try:
                family.from_mean(mean[:, [j]])
            except DegenerateDataError:
                return j
    raise ValueError(f"{family!r} has a maximum likelihood fit to every column.")


# Columns of numbers, independent given the class.


@stored(lambda part: isinstance(hash(part.names), int), columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class NumbersPart(ModelPart):
    """Columns of any scalar family but the categorical, whose levels are not numbers."""

    def fit(self, statistic: Any, smoothing: Smoothing) -> NumbersConditional:
        rows = statistic.rows.sum(axis=tuple(axis for axis in range(statistic.rows.ndim) if axis != 1))
        if isinstance(statistic, ColumnMoments):
            return self._fit_moments(statistic, smoothing, rows)
        try:
            parameters, certificate = fit_classes(self.family, statistic, smoothing)
        except DegenerateDataError as error:
            name = self.names[find_column_without_fit(self.family, statistic)]
            raise DegenerateDataError(f"column {name!r}: {error}") from None
        return NumbersConditional(self, parameters, rows > 0, rows, certificate=certificate)

    def _fit_moments(self, moments: ColumnMoments, smoothing: Smoothing, rows: Array) -> NumbersConditional:
        together = moments.pool()
        parameters = fill_from_common(self.family.fit(moments), self.family.fit(together), where=moments.rows == 0)
        spread = together.variance[0]
        check_spread(spread, self.names)
        if getattr(self.family, "variance", None) is None:
            parameters = parameters._replace(variance=parameters.variance + smoothing.variance * spread)
        constant = (parameters.variance == 0).any(axis=0)
        if (flat := np.flatnonzero(constant & (spread > 0))).size:
            raise DegenerateDataError(
                f"column {self.names[flat[0]]!r} is constant in one class, so that its variance there is 0 and its "
                f"density has no value; pass a var_smoothing above {smoothing.variance}."
            )
        conditional = NumbersConditional(self, parameters, (rows > 0) & ~constant, rows)
        return GaussianConditional.of(conditional) if isinstance(self.family, Gaussian) else conditional


def _has_parameters_of_each_column(conditional: NumbersConditional) -> bool:
    return all(values.shape[1] == len(conditional.part.columns) for values in conditional.parameters)


@stored(
    _has_parameters_of_each_column,
    part=part_of(NumbersPart, d="d"),
    parameters=part_of(),
    informative=flags("d"),
    rows=reals("d"),
)
@dataclass(frozen=True)
class NumbersConditional(PartConditional):
    """Densities of independent columns, with parameters of shape (classes, columns)."""

    #: columns that have values, and not the same in all rows; others add 0 to every score
    informative: Array
    #: number of rows in which each column was observed
    rows: Array

    def _column(self, j: int) -> Parameters:
        return type(self.parameters)(*(field[:, j] for field in self.parameters))

    def by_column(self) -> dict[Any, Parameters]:
        return {name: self._column(j) for j, name in enumerate(self.part.names)}

    def score(self, block: Any) -> Array:
        total = np.zeros((len(block), len(self.parameters[0])))
        for j in np.flatnonzero(self.informative).tolist():
            total += _log_density(self.part.family, block[:, j], self._column(j))
        return total

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        observed = self.rows > 0
        parameters = type(self.parameters)(*(field[:, observed] for field in self.parameters))
        draws = sample_by_class(self.part.family, parameters, codes, rng)
        if observed.all():
            return draws
        rows = np.full((len(codes), len(observed)), np.nan)
        rows[:, observed] = draws
        return rows

    def linear_piece(self, n_rows: int) -> LinearPiece:
        family = self.part.family
        if not family.exponential:
            raise NoLinearFormError(
                f"column {self.part.names[0]!r} is described by {family!r}, whose T(x) would depend on the class; "
                "give the parameter that makes it an exponential family."
            )
        return LinearPiece.of_family(
            family, self.part.names, self.parameters, informative=self.informative, gaps=self.rows < n_rows
        )


def _log_density(family: Family, x: Array, parameters: Parameters) -> Array:
    """Return log p(x|y) of a column: (rows, classes). For counts, each distinct value is computed once."""
    if not family.discrete:
        return family.log_density(x[:, None], parameters)
    codes, values = code_floats(x)
    of_values = family.log_density(values[:, None].astype(float), parameters)
    of_missing = np.zeros((1, of_values.shape[1]))
    return np.asarray(np.concatenate([of_values, of_missing])[codes])  # code −1, a missing value, selects the last row


@stored(
    part=part_of(NumbersPart, d="d"),
    informative=flags("d"),
    rows=reals("d"),
    scores=part_of(GaussianScores, d="d", k="k"),
)
@dataclass(frozen=True)
class GaussianConditional(NumbersConditional):
    """Densities of normal columns, computed by a compiled loop."""

    scores: GaussianScores

    @classmethod
    def of(cls, columns: NumbersConditional) -> GaussianConditional:
        parameters = GaussianParameters(*columns.parameters)
        scores = GaussianScores.of(parameters, columns.informative)
        return cls(columns.part, parameters, columns.informative, columns.rows, scores)

    def score(self, block: Any) -> Array:
        return self.scores(block)

    def linear_piece(self, n_rows: int) -> LinearPiece:
        return LinearPiece.of_gaussian(self.part.names, self.scores, gaps=self.rows < n_rows)


@stored(columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class WindowsPart(NumbersPart):
    """Columns with Parzen windows in every class, whose only smoothing is their bandwidth."""

    def fit(self, statistic: StoredRows, smoothing: Smoothing) -> WindowsConditional:
        assert isinstance(self.family, Parzen)
        parameters = self.family.fit_named(statistic, self.names)
        informative = np.array([windows is not None for windows in parameters.windows[0]])
        rows = statistic.rows.sum(axis=0)
        return WindowsConditional(self, parameters, informative, rows, _first_values(statistic.all_rows.points))


@stored(part=part_of(WindowsPart, d="d"), informative=flags("d"), rows=reals("d"), value=floats("d"))
@dataclass(frozen=True)
class WindowsConditional(NumbersConditional):
    """Densities of independent columns, with windows of shape (classes, columns)."""

    #: a value of each column: the only one, where there are no windows
    value: Array

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        return np.where(self.informative, super().sample(codes, rng), self.value)

    def tables(self, classes: list[Any]) -> dict[Any, dict[Any, dict[Any, Any]]]:
        """Return {column: {class: the bandwidth and the number of windows}}."""
        bandwidth, windows = self.parameters
        return {
            name: {label: _describe_windows(bandwidth[c, j], windows[c, j]) for c, label in enumerate(classes)}
            for j, name in enumerate(self.part.names)
        }

    def linear_piece(self, n_rows: int) -> LinearPiece:
        raise NoLinearFormError(
            f"column {self.part.names[0]!r} is described by {self.part.family!r}: the logarithm of a sum of kernels is "
            "linear in no features that are the same for all classes. Describe it by a family with parameters, such as "
            "Gaussian(), or by Histogram(), whose features are its bins."
        )


def _first_values(points: Array) -> Array:
    """Return the first value of each column; NaN where there is none."""
    known = ~np.isnan(points)
    first = points[np.argmax(known, axis=0), np.arange(points.shape[1])] if len(points) else np.zeros(0)
    return np.asarray(first)


def _describe_windows(bandwidth: float, windows: Any) -> dict[str, Any]:
    return {"bandwidth": float(bandwidth), "windows": 0 if windows is None else len(windows.points)}


# A column of categories.


@stored()
@dataclass(frozen=True)
class CategoryPart(ModelPart):
    """One column of categories. Its levels are those that occur, and those that its type, schema or family declares."""

    unseen: Literal["smooth", "ignore", "error"] = "smooth"
    levels: tuple[Any, ...] | None = None

    def zero(self, groups: int, table: Table) -> LevelCounts:
        zero = LevelCounts.zero(groups)
        for declared in (self._declared(), table.declared_levels(self.columns[0])):
            if declared is not None:
                zero = zero.merge(LevelCounts.zero(groups, declared=declared))
        return zero

    def _declared(self) -> Array | None:
        if self.levels is not None:
            return label_array(list(self.levels))
        codes = self.family.levels if isinstance(self.family, Categorical) else None
        return None if codes is None else np.arange(codes)

    def read(self, table: Table) -> Coded:
        return table.coded(self.columns[0])

    def missing(self, block: Coded) -> Array:
        return np.asarray(block.codes < 0)[:, None]

    def outside(self, block: Coded) -> Array:
        """Return an empty mask: every label is a level, or becomes one."""
        return np.zeros(0, dtype=bool)

    def fit(self, statistic: LevelCounts, smoothing: Smoothing) -> CategoryConditional:
        levels, alpha = statistic.levels, smoothing.counts
        zeros = np.zeros(statistic.groups)
        if not len(levels):
            return CategoryConditional(self, CategoricalParameters(np.zeros((statistic.groups, 0))), levels, zeros)
        family = Categorical(len(levels))
        p = fill_unknown_evenly(family.fit(statistic, add_alpha(family, alpha)).probabilities, len(levels))
        total = statistic.weight + alpha * len(levels)
        p_unseen = np.divide(alpha, total, out=np.full(total.shape, np.nan), where=total > 0)
        unseen = log(fill_unknown_evenly(p_unseen, len(levels))) if self.unseen == "smooth" else zeros
        return CategoryConditional(self, CategoricalParameters(p), levels, unseen, strict=self.unseen == "error")


@stored(
    lambda own: own.parameters.probabilities.shape == (len(own.unseen), len(own.levels)),
    levels=values("l"),
    unseen=floats("k"),
    parameters=part_of(CategoricalParameters),
)
@dataclass(frozen=True)
class CategoryConditional(PartConditional):
    """Probabilities of categories, of shape (classes, levels)."""

    levels: Array
    #: the score of a new level in each class
    unseen: Array
    #: whether a new level is an error instead
    strict: bool = False

    def by_column(self) -> dict[Any, Parameters]:
        return {self.part.names[0]: self.parameters}

    def tables(self, classes: list[Any]) -> dict[Any, dict[Any, dict[Any, Any]]]:
        """Return {column: {class: {level: its probability}}}."""
        levels, probabilities = self.levels.tolist(), self.parameters.probabilities.tolist()
        rows = (dict(zip(levels, row, strict=True)) for row in probabilities)
        return {self.part.names[0]: dict(zip(classes, rows, strict=True))}

    @property
    def ends(self) -> tuple[int, int] | None:
        """The lowest and the highest of levels that are a scale, as which numbers beyond count; None for other levels.

        Where new levels are ignored or an error, numbers beyond the scale are new levels.
        """
        smoothed = isinstance(self.part, CategoryPart) and self.part.unseen == "smooth"
        return scale_limits(self.part.names[0], self.levels.tolist()) if smoothed else None

    def codes(self, block: Coded) -> Array:
        """Return positions among the levels; len(levels) for a new level, and one more for a missing value."""
        self._check_label_type(block.labels)
        block = drop_missing_words(block, set(self.levels.tolist()))
        places = find_positions(clip_to_scale(block.labels, self.ends), self.levels)
        places = np.append(np.where(places < 0, len(self.levels), places), len(self.levels) + 1)
        return np.asarray(places[block.codes])

    def score(self, block: Coded) -> Array:
        codes = self.codes(block)
        if self.strict and (codes == len(self.levels)).any():
            raise self._unseen_level(block.labels[block.codes[codes == len(self.levels)][0]])
        table = np.vstack([log(self.parameters.probabilities).T, self.unseen, np.zeros_like(self.unseen)])
        return np.asarray(table[codes])

    def _check_label_type(self, labels: Array) -> None:
        """Raise if codes were text in the fit and are numbers now, or the reverse: all of them would be new levels."""
        if _differ_in_type(labels, self.levels):
            raise ColumnTypeError(
                f"Column {self.part.names[0]!r} held categories such as {quoted(self.levels.tolist()[0])} when the "
                f"model was fitted, and now {quoted(labels.tolist()[0])}; convert it to the type it had."
            )

    def _unseen_level(self, level: Any) -> UnseenCategoryError:
        return UnseenCategoryError(
            f"column {self.part.names[0]!r} holds {quoted(level)}, which was never seen when fitting. "
            f"{did_you_mean(str(level), map(str, self.levels.tolist()))} Correct it, or have it scored with "
            'unseen="smooth" or left out with unseen="ignore".'
        )

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        if not len(self.levels):
            return np.full((len(codes), 1), np.nan)
        return np.asarray(self.levels[sample_by_class(Categorical(), self.parameters, codes, rng)])[:, None]

    def linear_piece(self, n_rows: int) -> LinearPiece:
        name, weights = self.part.names[0], log(self.parameters.probabilities)
        names = [f"{name} = {level}" for level in self.levels.tolist()]
        if np.isfinite(self.unseen).all():
            names, weights = [*names, f"{name} is new"], np.column_stack([weights, self.unseen])
        return LinearPiece.of_levels(self.codes, names, weights)


def _differ_in_type(a: Array, b: Array) -> bool:
    """Return whether one of two label arrays has numbers only and the other text only; objects may also be both."""
    if not len(a) or not len(b) or (a.dtype == object) == (b.dtype == object):
        return False
    return all(isinstance(word, str) for word in (a if a.dtype == object else b).tolist())


# Columns that are described together.


@stored(columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class VectorPart(ModelPart):
    """Rows of a family that is fitted from sums of T, such as a Dirichlet; rows are observed as a whole or not."""

    def check_support(self, block: Any, first_row: int) -> None:
        missing = np.isnan(block)
        partly = np.argwhere(missing & ~missing.all(axis=1, keepdims=True))
        if len(partly):
            row, column = partly[0]
            raise NonFiniteError(
                f"Input X contains NaN. Column {self.names[column]!r} is missing in row {first_row + row} while others "
                f"that the {self.family.name} describes with it are not; make them all missing, or impute it."
            )
        super().check_support(block, first_row)

    def fit(self, statistic: Any, smoothing: Smoothing) -> PartConditional:
        try:
            parameters, certificate = fit_classes(self.family, statistic, smoothing)
        except DegenerateDataError as error:
            raise DegenerateDataError(f"columns {', '.join(map(repr, self.names))}: {error}") from None
        return VectorConditional(self, parameters, bool(statistic.rows.any()), certificate=certificate)


@stored(part=part_of(VectorPart, d="d"), parameters=part_of())
@dataclass(frozen=True)
class VectorConditional(PartConditional):
    """The density of rows, with parameters of shape (classes, columns)."""

    #: whether any row was observed; if not, scores are 0
    informative: bool

    def by_column(self) -> dict[Any, Parameters]:
        return {self.part.names: self.parameters}

    def score(self, block: Any) -> Array:
        if not self.informative:
            return np.zeros((len(block), len(self.parameters[0])))
        return self.part.family.log_density(block[:, None, :], self.parameters)

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        if not self.informative:
            return np.full((len(codes), len(self.part.columns)), np.nan)
        return sample_by_class(self.part.family, self.parameters, codes, rng)

    def linear_piece(self, n_rows: int) -> LinearPiece:
        return LinearPiece.of_rows(self.part.family, self.part.names, self.parameters)


@stored(columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class CountsPart(VectorPart):
    """Rows of counts (words of a text) with a multinomial over the columns, in a sparse matrix or in a table."""

    #: whether the counts are in a sparse matrix
    sparse: bool = False

    def read(self, table: Table) -> Any:
        if table.library != "scipy":
            return table.numbers(self.columns)
        matrix = table.matrix()
        return matrix if len(self.columns) == matrix.shape[1] else matrix[:, list(self.columns)]

    def missing(self, block: Any) -> Array:
        """Return a mask of missing values, empty for a sparse matrix, which has none."""
        return np.isnan(block) if isinstance(block, np.ndarray) else np.zeros((0, 0), dtype=bool)

    def check_support(self, block: Any, first_row: int) -> None:
        if not sp.issparse(block):
            super().check_support(block, first_row)
            return
        bad = find_first(block, lambda values: ~(values >= 0) | np.isinf(values))
        if bad is not None:
            row, column, value = bad
            raise self.make_error(first_row + row, column, value)

    def fit(self, statistic: VectorSums, smoothing: Smoothing) -> CountsConditional:
        prior = add_alpha(self.family, smoothing.counts, levels=len(self.columns))
        fitted = self.family.fit(statistic, prior)
        p = fill_unknown_evenly(fitted.probabilities, len(self.columns))
        return CountsConditional(self, fitted._replace(probabilities=p), statistic, LogProduct.of(log(p)))


@stored(part=part_of(CountsPart, d="d"), parameters=part_of(), product=part_of(LogProduct, d="d", k="k"))
@dataclass(frozen=True)
class CountsConditional(PartConditional):
    """The density of rows of counts, with probabilities of shape (classes, columns)."""

    words: VectorSums
    product: LogProduct

    def by_column(self) -> dict[Any, Parameters]:
        return {self.part.names: self.parameters}

    def score(self, block: Any) -> Array:
        scores = self.product(block) + log_coefficient(block)[:, None]
        if isinstance(block, np.ndarray):
            scores[self.part.family.missing(block)] = 0.0
        return scores

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Any:
        lengths = draw_lengths(length, self.words, codes, rng)
        sparse = isinstance(self.part, CountsPart) and self.part.sparse
        return draw_counts(self.parameters.probabilities, codes, lengths, rng, sparse=sparse)

    def linear_piece(self, n_rows: int) -> LinearPiece:
        weights = log(self.parameters.probabilities)
        return LinearPiece.of_columns(self.part.names, weights, np.zeros(len(weights)))


@stored()
class NormalFit(NamedTuple):
    """Mean (columns,) and covariance (columns, columns) of one group, with a certificate that they are optimal."""

    mean: Array
    covariance: Array
    certificate: Certificate
    #: whether the user stopped EM
    interrupted: bool = False


@stored(columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class GaussianVectorPart(ModelPart):
    """Jointly normal columns, fitted by EM where entries are missing.

    The portion `smoothing.variance` of the largest variance of all classes together is added to every variance.
    """

    def fit(self, statistic: PatternMoments, smoothing: Smoothing) -> GaussianVectorConditional:
        observed = observed_columns(statistic)
        names = [name for name, is_observed in zip(self.names, observed, strict=True) if is_observed]
        try:
            fits = _fit_classes(select_observed(statistic, observed), names, smoothing.variance)
            cholesky(np.array([fit.covariance for fit in fits]), names)
        except SingularCovarianceError as error:
            raise SingularCovarianceError(
                f"{error} NaiveBayes shrinks by var_smoothing, here {smoothing.variance}."
            ) from None
        worst = max(fits, key=lambda fit: (fit.interrupted, fit.certificate.value))
        parameters = _insert_unknown(fits, observed)
        return GaussianVectorConditional(
            self, parameters, observed, certificate=worst.certificate, interrupted=worst.interrupted
        )


@stored(
    part=part_of(GaussianVectorPart, d="d"),
    parameters=part_of(MultivariateGaussianParameters, k="k"),
    observed=flags("d"),
)
@dataclass(frozen=True)
class GaussianVectorConditional(PartConditional):
    """The normal density of rows, with mean (classes, columns) and one covariance per class; NaN if unobserved."""

    observed: Array

    @property
    def _known(self) -> MultivariateGaussianParameters:
        mean, covariance = self.parameters
        square = np.ix_(np.arange(len(mean)), self.observed, self.observed)
        return MultivariateGaussianParameters(mean[:, self.observed], covariance[square])

    def by_column(self) -> dict[Any, Parameters]:
        return {self.part.names: self.parameters}

    def score(self, block: Any) -> Array:
        return MultivariateGaussian().log_density(block[:, None, self.observed], self._known)

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        rows = np.full((len(codes), len(self.observed)), np.nan)
        rows[:, self.observed] = sample_by_class(MultivariateGaussian(), self._known, codes, rng)
        return rows

    def linear_piece(self, n_rows: int) -> LinearPiece:
        mean, covariance = self._known
        names = [name for name, is_observed in zip(self.part.names, self.observed, strict=True) if is_observed]
        root = np.linalg.inv(cholesky(covariance, names))
        log_determinant = -2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        about, precision = mean.mean(axis=0), np.swapaxes(root, 1, 2) @ root
        piece = LinearPiece.of_covariances(names, about, mean - about, precision, log_determinant)
        return piece.for_columns(self.observed)


def observed_columns(moments: PatternMoments) -> Array:
    """Return a mask of the columns that have values."""
    patterns = [mask for mask, part in moments if part.rows.any()]
    return np.asarray(np.reshape(patterns, (-1, moments.columns)).any(axis=0))


def select_observed(moments: PatternMoments, columns: Array) -> PatternMoments:
    """Return the moments of some columns; the other columns have no values."""
    patterns = {mask[columns].tobytes(): part for mask, part in moments}
    return PatternMoments(moments.groups, int(columns.sum()), patterns)


def _fit_classes(moments: PatternMoments, names: Sequence[str], portion: float) -> list[NormalFit]:
    """Fit every class alone; columns without values in a class are regressed on others as in all classes together."""
    together = _fit_group(moments.pool(), names, "all classes together", portion)
    ridge = portion * np.diagonal(together.covariance).max(initial=0.0) * np.eye(moments.columns)
    groups = np.arange(moments.groups)
    fits = []
    for group in groups:
        alone = moments.regroup(np.where(groups == group, 0, -1), 1)
        known = observed_columns(alone)
        known_names = [names[j] for j in np.flatnonzero(known).tolist()]
        own = _fit_group(select_observed(alone, known), known_names, "one class", portion)
        completed = own if known.all() else _extend_by_regression(own, known, together)
        fits.append(completed._replace(covariance=completed.covariance + ridge))
    return fits


def _fit_group(moments: PatternMoments, names: Sequence[str], owner: str, portion: float) -> NormalFit:
    """Return the maximum likelihood fit of one group."""
    if moments.complete:
        return NormalFit(moments.full.mean[0], moments.full.covariance[0], CLOSED_FORM)

    def shrink(covariance: Array, weight: float) -> EMShrinkage:
        return EMShrinkage(portion, np.full(len(covariance), np.diagonal(covariance).max()))

    solution = em_gaussian(moments, shrinkage=shrink if portion > 0 else None, words=EMLabels(names, [owner]))
    mean, covariance = solution.coef.mean[0], solution.coef.covariance[0]
    return NormalFit(mean, covariance, solution.certificate, solution.interrupted)


def _extend_by_regression(own: NormalFit, known: Array, together: NormalFit) -> NormalFit:
    """Return a fit of all columns: those not `known` regressed on the others with the coefficients of all classes."""
    inner = together.covariance[np.ix_(known, known)]
    slope = np.linalg.lstsq(inner, together.covariance[np.ix_(known, ~known)])[0].T
    mean, covariance = together.mean.copy(), together.covariance.copy()
    mean[known] = own.mean
    mean[~known] += slope @ (own.mean - together.mean[known])
    change = own.covariance - inner
    covariance[np.ix_(known, known)] += change
    covariance[np.ix_(~known, known)] += slope @ change
    covariance[np.ix_(known, ~known)] += change @ slope.T
    covariance[np.ix_(~known, ~known)] += slope @ change @ slope.T
    return own._replace(mean=mean, covariance=covariance)


def _insert_unknown(fits: list[NormalFit], observed: Array) -> MultivariateGaussianParameters:
    """Return the parameters of all classes, NaN for columns without values."""
    d = len(observed)
    mean, covariance = np.full((len(fits), d), np.nan), np.full((len(fits), d, d), np.nan)
    for c, fit in enumerate(fits):
        mean[c, observed] = fit.mean
        covariance[c][np.ix_(observed, observed)] = fit.covariance
    return MultivariateGaussianParameters(mean, covariance)
