"""A GLM of a source: which of them stream, and how chunks are read for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import numpy as np

from mercer._errors import MercerWarning
from mercer._typing import Array
from mercer._warn import warn
from mercer.data.kinds import Kind
from mercer.data.sources.base import Chunk, Source
from mercer.data.table import Table
from mercer.designs import DenseDesign, Design, Terms
from mercer.designs.encoded import Encoded
from mercer.designs.streamed import Responses
from mercer.designs.survey import Parts, Seen, Survey
from mercer.families import Family, Link, Penalty, link_from, penalty_from, response_family_from
from mercer.models._progress import with_callbacks
from mercer.models.base import Plan, checked_table, checked_weight
from mercer.models.glm.inputs import read_offset
from mercer.models.glm.negative_binomial import estimates_r
from mercer.models.glm.target import is_label_family, read_target, refuse_classes
from mercer.models.glm.trials import refuse_grouped
from mercer.models.streaming.chunks import naming_the_place, reader_of, streamed_plan
from mercer.models.streaming.observe import observe
from mercer.solvers.sparse import streamed_proximal

#: solvers that see rows through their sums alone
STREAMING = ("auto", "newton", "lbfgs", "proximal")


class SourceForm(ABC):
    """The part of `GLM` that fits it to a source."""

    fit_intercept: bool
    family: Any
    link: Any
    penalty: Any
    warm_start: bool
    plan_: Plan
    _kind: Any
    _terms: Terms

    @abstractmethod
    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]: ...

    @abstractmethod
    def _kind_of(self, family: Family, link: Link, classes: Array | None) -> Any: ...

    @abstractmethod
    def _penalised(self, observations: Any, penalty: Penalty | None) -> Any: ...

    @abstractmethod
    def _minimise(self, problem: Any, before: dict[str, Any]) -> tuple[MercerWarning, ...]: ...

    def _fit_source(self, source: Source) -> Any:
        family = response_family_from(self.family)
        if not streams(self, family):
            return NotImplemented
        cautions = self._learn_from(source, family)
        if cautions is None:
            return NotImplemented
        for caution in cautions:
            warn(caution)
        return self

    @with_callbacks
    def _learn_from(self, source: Source, family: Family) -> tuple[MercerWarning, ...] | None:
        """None where there are too many columns for the penalty."""
        before = dict(vars(self)) if self.warm_start else {}
        penalty, link, first = penalty_from(self.penalty), link_from(self.link, family), source.head()
        table, _ = self._checked(first.X, first.y)
        reader = reader_of(self)
        with naming_the_place(source, reader, partial(numbers_of, family, link)):
            observations: Any = observe(
                source,
                partial(seen_of, reader, family, link),
                partial(responses_of, family),
                labels=is_label_family(family),
                intercept=self.fit_intercept,
                names=names_of(table),
                drop_first=penalty is None and self.fit_intercept,
            )
            self._terms = observations.terms
            self._kind = self._kind_of(family, link, observations.responses.classes)
            problem = self._penalised(observations, penalty)
            if not (problem.strengths.smooth or streamed_proximal.suits(problem)):
                return None
            self.plan_ = streamed_plan("", dtype_of(observations.sample.design))
            cautions = self._minimise(problem, before)
        self.plan_ = streamed_plan(self.plan_.path, self.plan_.dtype)
        return cautions


def streams(model: Any, family: Family) -> bool:
    """Whether what is asked for needs no rows together: no kernel, and no family that is estimated."""
    refuse_grouped(family, "fits to a source")
    return not estimates_r(family) and model.kernel is None and model.solver in STREAMING


def seen_of(reader: Any, family: Family, link: Link, chunk: Chunk) -> Seen:
    """The rows of a chunk, checked like all others."""
    table, y = checked_table(reader, chunk.X, chunk.y, reset=False, codes=True)
    weight = checked_weight(chunk.weight, y, part=True)
    values = np.asarray(y) if is_label_family(family) else read_target(family, y, weight).values
    return Seen(_columns(table), values, weight, read_offset(chunk.offset, None, link, len(values)))


def numbers_of(family: Family, link: Link, reader: Any, chunk: Chunk) -> Any:
    """The numbers of a chunk, to be looked at."""
    X = seen_of(reader, family, link, chunk).X
    if not isinstance(X, Table):
        return X
    Parts.of(X)  # looks at categories
    return np.column_stack([_numbers(X, j) for j in range(X.n_columns)])


def _numbers(table: Table, j: int) -> Any:
    return np.zeros(table.n_rows) if table.kinds[j] is Kind.CATEGORY else table.numbers([j])[:, 0]


def _columns(table: Any) -> Any:
    """A matrix where all columns are numbers, which is multiplied faster than they are one by one."""
    if isinstance(table, Encoded):
        return table
    if table.library == "scipy":
        return table.native.tocsr()
    return table if any(kind is Kind.CATEGORY for kind in table.kinds) else table.numbers()


def names_of(table: Any) -> tuple[str, ...] | None:
    """Of the columns, where they have any."""
    if isinstance(table, Encoded):
        return None if table.given_names is None else tuple(table.given_names)
    return None if table.library == "scipy" else table.column_names


def responses_of(family: Family, survey: Survey) -> Responses:
    """As numbers, or as codes of the labels that were found; labels without any weight are none."""
    if not is_label_family(family):
        return Responses()
    labels = survey.labels
    if survey.weighted and len(labels) > 1:
        labels = labels[survey.label_weights > 0]
    refuse_classes(family, labels)
    return Responses(labels)


def dtype_of(design: Design) -> str:
    """Of the numbers that a design reads."""
    return str(design.X.dtype) if isinstance(design, DenseDesign) else "float64"
