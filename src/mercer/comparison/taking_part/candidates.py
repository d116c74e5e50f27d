"""The models that take part in a comparison, as they are shown a table.

Which models these are, their classes declare (`mercer.base.traits`); the baseline alone is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mercer.base import Candidate, Question, estimators_for, resolve, traits_of
from mercer.comparison.taking_part.tuning import Tuned
from mercer.data import Schema, Table
from mercer.using.shown import Shown


def candidates_for(question: Question) -> list[Candidate]:
    """Return the candidates that the classes for a task declare, in their order."""
    found: list[Candidate] = []
    for cls in estimators_for("classification" if question.predicts_classes else "regression"):
        declared = traits_of(cls).candidates
        assert declared is not None
        found += resolve(declared)(question)
    return sorted(found, key=lambda candidate: candidate.place)


def baseline(question: Question) -> Candidate:
    """Return a model that does not use the columns: shares of the classes, or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    model = DummyClassifier() if question.predicts_classes else DummyRegressor()
    return Candidate(model, 0, "table", "nothing")


def with_search(candidate: Candidate, question: Question) -> Any:
    """Return the model of a candidate with its search around it, and with its target in standard units."""
    model = candidate.model
    if candidate.search is not None:
        task = "classification" if question.predicts_classes else "regression"
        model = Tuned(model, *candidate.search, task, question.inner)
    if not candidate.standardize_target:
        return model
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(model, transformer=StandardScaler())


def question_of_matrix(table: Table, question: Question) -> Question:
    """Return a question with what is known of a sparse matrix."""
    return replace(question, is_sparse=True, rows=table.n_rows, columns=table.n_columns)


def question_of_columns(shown: Shown, question: Question) -> Question:
    """Return a question with what is known of the columns of a table."""
    return replace(
        question,
        rows=shown.table.n_rows,
        columns=shown.n_columns,
        has_texts=bool(shown.texts),
        has_gaps=shown.has_gaps,
        has_formats=bool(shown.formats),
        is_numeric=shown.all_numbers,
        is_plain=shown.all_numbers and shown.plain_numbers,
        codes=tuple(shown.codes),
        described=Schema(tuple(shown.schema[name] for name in shown.described)) if shown.described else None,
    )


@dataclass(frozen=True)
class ShownModel:
    """A candidate as it is fitted: a model with what prepares its columns, and the table that it is shown.

    `is_filled` says whether missing values are replaced before the model is shown the columns.
    """

    candidate: Candidate
    model: Any
    table: Table
    is_filled: bool = False


def show_matrix(candidate: Candidate, table: Table, question: Question) -> ShownModel:
    """Show a candidate the columns of a sparse matrix, which are features already."""
    model = with_search(candidate, question)
    return ShownModel(candidate, _scaled(model, centred=False) if candidate.scale else model, table)


@dataclass(frozen=True, eq=False)
class ColumnViews:
    """The ways in which candidates are shown a table of any columns."""

    shown: Shown
    question: Question

    @cached_property
    def numbers(self) -> Table:
        """All columns as numbers."""
        return self.shown.as_numbers()

    @cached_property
    def described(self) -> Table:
        """The columns that have a distribution."""
        table = self.shown.as_they_are()
        return self.shown.table if table is None else table

    def _selects(self, model: Any) -> bool:
        """Whether a model has the schema of the described columns, and hence finds them in the whole table itself."""
        return any(value is self.question.described for value in model.get_params(deep=False).values())

    def show(self, candidate: Candidate) -> ShownModel:
        """Return a candidate with what prepares the columns for it."""
        model, shown = with_search(candidate, self.question), self.shown
        match candidate.view:
            case "table":
                return ShownModel(candidate, model, shown.table)
            case "described":
                return ShownModel(candidate, model, shown.table if self._selects(candidate.model) else self.described)
            case "matrix":
                if not shown.plain or (len(shown.plain) == shown.table.n_columns and not shown.formats):
                    return ShownModel(candidate, model, self.numbers)
                return ShownModel(candidate, shown.plain_numbers_of(shown.plain, model), shown.table)
            case "words":
                return ShownModel(candidate, shown.features(model, text_only=True, text="counts"), shown.table)
            case "numbers":
                return ShownModel(candidate, shown.numbers(*_steps(candidate), model), shown.table, candidate.fill)
        options: dict[str, Any] = {"output": "array"} if candidate.view == "array" else {}
        model = _scaled(model, centred=True) if candidate.scale else model
        return ShownModel(candidate, shown.features(model, **options), shown.table, True)


def _steps(candidate: Candidate) -> list[Any]:
    """Return what is done to numbers: gaps are filled, and products are made.

    A column that marks gaps would have no place in densities and products.
    """
    from sklearn.impute import SimpleImputer

    from mercer.models import MonomialFeatures

    filling = [SimpleImputer(keep_empty_features=True)] if candidate.fill else []
    return [*filling, *([MonomialFeatures(2, include_bias=False)] if candidate.products else [])]


def _scaled(model: Any, *, centred: bool) -> Any:
    """Return a model of columns in standard units: its steps, or distances between rows, are in those of columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=centred), model)
