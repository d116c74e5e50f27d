"""Kernel discriminant analysis: Bayes' rule with a Parzen density for every class (lecture 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._errors import BandwidthError, EmptyDataError
from mercer._held import ValueHolder
from mercer._stored import flags, floats, part_of, sequence, stored
from mercer._typing import Array
from mercer.base import Candidate, Question, traits
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.generative import GenerativeClassifier
from mercer.base.validation import check_rows, column_names
from mercer.data.sources.base import Source
from mercer.density._bandwidth import Bandwidth
from mercer.density._kernels import SmoothingKernel, smoothing_kernel_from
from mercer.density._rules import Rule
from mercer.density._windows import Windows
from mercer.density.named_rules import bandwidth_from
from mercer.stats import ByClass, StoredRows

#: points and their weights; None if all are 1
Points = tuple[Array, Array | None]


class ClassBandwidths:
    """Bandwidths of several classes: one for each, unless a class has too few points or no spread.

    Parameters
    ----------
    bandwidth : number, array, Bandwidth, Rule or str
        Any argument of `bandwidth_from`.
    kernel : SmoothingKernel
        Kernel that will be centred on the points.
    classes : list of (points, weight)
        Points of each class, which may be empty.
    names : sequence of str, default=None
        Column names, for error messages.
    """

    def __init__(
        self, bandwidth: Any, kernel: SmoothingKernel, classes: list[Points], *, names: Sequence[str] | None = None
    ) -> None:
        self.bandwidth, self.kernel, self.classes, self.names = bandwidth, kernel, classes, names

    def choose(self) -> list[Bandwidth]:
        """Return the bandwidth chosen from each class, or the common one where that is impossible."""
        return [self._try_choose(points) or self.common for points in self.classes]

    @cached_property
    def common(self) -> Bandwidth:
        """The bandwidth chosen from all points, each relative to the mean of its class.

        If every class consists of equal points, it is chosen from all points as they are.
        """
        centred = join_classes([_centre(points) for points in self.classes])
        return self._try_choose(centred) or self._choose(join_classes(self.classes))

    def _try_choose(self, points: Points) -> Bandwidth | None:
        try:
            return self._choose(points)
        except BandwidthError:
            return None

    def _choose(self, points: Points) -> Bandwidth:
        return bandwidth_from(self.bandwidth, *points, self.kernel, names=self.names)


def join_classes(classes: list[Points]) -> Points:
    """Return the points of all classes."""
    points = np.concatenate([each for each, _ in classes])
    if all(weight is None for _, weight in classes):
        return points, None
    return points, np.concatenate([np.ones(len(each)) if weight is None else weight for each, weight in classes])


def _centre(of_class: Points) -> Points:
    points, weight = of_class
    if not len(points):
        return of_class
    # the points of a constant class must be exactly equal, which subtracting a rounded mean does not ensure
    with np.errstate(over="ignore", invalid="ignore"):  # `SampleSpread` raises an error that names the column
        about = points - points[0]
        return about - np.average(about, axis=0, weights=weight), weight


#: largest number of rows for the comparison of models; each row is compared with all others
KERNEL_BAYES_MOST_ROWS = 20_000


def _candidates(question: Question) -> Iterator[Candidate]:
    if question.is_numeric:
        yield Candidate(
            KernelBayes(), 59, "numbers", "dense columns", fill=question.has_gaps, most_rows=KERNEL_BAYES_MOST_ROWS
        )


@traits(
    "classification",
    kind="density",
    columns="numbers",
    half="kernel",
    candidates=_candidates,
    export="mercer.export.kernels.kernel_bayes",
    cost="mercer.cost.work.windows",
)
@stored(
    lambda model: all(
        each is None or each.points.shape[1] == model.informative_.sum() for each in getattr(model, "windows_", ())
    ),
    **FITTED_CLASSES,
    informative_=flags("d"),
    _values=floats("d"),
    bandwidths_=sequence("k", part_of(Bandwidth)),
    windows_=sequence("k"),
)
class KernelBayes(ValueHolder, GenerativeClassifier):
    """A generative classifier whose classes may have any shape: p(x|y) is a kernel density of the rows of the class.

    Probabilities are computed in log space, so that they are defined far from all rows, too. Where no kernel of compact
    support reaches a row, its probabilities are the priors. A class without spread in some column takes the common
    bandwidth. A constant column is ignored, unless the bandwidth is given.

    Parameters
    ----------
    kernel : str or SmoothingKernel, default="gaussian"
        Kernel centred on each row.
    bandwidth : str, float, array-like, Rule or Bandwidth, default="scott-scaled"
        A number, one per column, the matrix Σ, or a rule (by name) that chooses one from each class, such as
        "silverman-scaled" or "likelihood-cv".
    shared_bandwidth : bool, default=False
        Whether all classes share the bandwidth chosen from all rows, each taken relative to the mean of its class.
    priors : array-like of shape (n_classes,) or dict from class to probability, default=None
        Class priors; estimated from the data if not given.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Class priors.
    bandwidths_ : tuple of Bandwidth
        Bandwidth of each class, for the informative columns.
    windows_ : tuple of Windows
        The density of each class; None for a class without rows.
    informative_ : ndarray of shape (n_features,)
        False for constant columns, which are ignored.
    statistic_ : ByClass
        The rows of the fit.
    certificate_ : Certificate
        Evidence of optimality.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelBayes
    >>> angle = np.linspace(0, 6, 30)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([1.0, 3.0], 15)[:, None]
    >>> model = KernelBayes().fit(X, np.repeat(["inner", "outer"], 15))
    >>> model.predict([[1.0, 0.1], [-1.0, -2.9]])
    array(['inner', 'outer'], dtype='<U5')
    """

    _classes_may_grow: ClassVar[bool] = True
    _accepts_missing: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [str, SmoothingKernel],
        "bandwidth": [str, Real, "array-like", Rule, Bandwidth],
        "shared_bandwidth": ["boolean"],
        "priors": ["array-like", dict, None],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        bandwidth: Any = "scott-scaled",
        *,
        shared_bandwidth: bool = False,
        priors: Any = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.shared_bandwidth = shared_bandwidth
        self.priors = priors

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        return check_rows(self, X, y, reset=reset, accept_sparse=False)

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        block = X[rows]
        if not np.isfinite(block).all():  # checked before distances are computed
            self._raise_for_rows(X, rows)
        return (block,)

    def _fit_source(self, source: Source) -> Any:
        return NotImplemented  # every row is kept, so that all have to fit into memory anyway

    def _path(self) -> str:
        return "every row is kept, with a kernel centred on it"

    def _zero(self, labels: Array, X: Any) -> ByClass:
        return ByClass.zero(labels, (StoredRows.zero(len(labels), self.n_features_in_),))

    def _store(self, statistic: ByClass) -> None:
        super()._store(statistic)
        (rows,) = statistic.parts
        assert isinstance(rows, StoredRows)
        try:
            self._describe(rows.by_group())
        except BandwidthError as error:
            if statistic.rows.sum() > 1:
                raise
            raise BandwidthError(f"n_samples=1 is too few: {error}") from None

    def _describe(self, classes: list[Points]) -> None:
        """Fit the density of each class."""
        kernel, (every, _) = smoothing_kernel_from(self.kernel), join_classes(classes)
        if not len(every):
            raise EmptyDataError("no row has a weight above 0, so that there is nothing to learn from.")
        varies = (every != every[0]).any(axis=0)
        # of equal points the rule itself raises the error
        is_constant = ~varies & varies.any() if isinstance(self.bandwidth, str | Rule) else np.zeros_like(varies)
        self.informative_, self._values = ~is_constant, every[0]
        names = [name for name, says in zip(column_names(self), self.informative_, strict=True) if says]
        classes = [(points[:, self.informative_], weight) for points, weight in classes]
        chosen = ClassBandwidths(self.bandwidth, kernel, classes, names=names)
        self.bandwidths_ = (chosen.common,) * len(classes) if self.shared_bandwidth else tuple(chosen.choose())
        self.windows_ = tuple(
            Windows(kernel, bandwidth, *points) if len(points[0]) else None
            for points, bandwidth in zip(classes, self.bandwidths_, strict=True)
        )

    def _joint(self, block: tuple[Any, ...]) -> Array:
        X = np.ascontiguousarray(block[0][:, self.informative_], dtype=np.float64)
        joint = np.full((len(X), len(self.windows_)), -np.inf)
        for c, windows in enumerate(self.windows_):
            if windows is not None:
                joint[:, c] = windows.log_density(X)
        return np.asarray(joint + self._log_prior())

    def _sample_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        rows = np.tile(self._values, (len(codes), 1))
        for c, windows in enumerate(self.windows_):
            if windows is not None and (drawn := np.flatnonzero(codes == c)).size:
                rows[np.ix_(drawn, self.informative_)] = windows.sample(len(drawn), rng)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
