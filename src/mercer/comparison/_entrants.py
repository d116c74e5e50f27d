"""Select the models of a comparison, and prepare the table for each of them.

The classes of models declare the candidates (`mercer.base.traits`); only the baseline is the same for all tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer.application.training_table import TrainingTable
from mercer.base import Candidate, ModelKind, Question, estimators_for, resolve, traits_of
from mercer.base.pipelines import strip_preparation
from mercer.comparison._inner_search import InnerSplitter, Tuned
from mercer.comparison.pairs import find_partners, innermost, kind_of, uses_products
from mercer.data import Schema, Table


def candidates_for(question: Question) -> list[Candidate]:
    """Return the candidates declared by the classes for a task, in their order."""
    candidates: list[Candidate] = []
    for cls in estimators_for("classification" if question.predicts_classes else "regression"):
        declared = traits_of(cls).candidates
        assert declared is not None
        candidates += resolve(declared)(question)
    return sorted(candidates, key=lambda candidate: candidate.place)


def baseline_candidate(question: Question) -> Candidate:
    """Return a model that does not use the columns: it predicts the class shares or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    model = DummyClassifier() if question.predicts_classes else DummyRegressor()
    return Candidate(model, 0, "table", "nothing")


def add_search(candidate: Candidate, question: Question) -> Any:
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


def describe_matrix(table: Table, question: Question) -> Question:
    """Return a question with the properties of a sparse matrix."""
    return replace(question, is_sparse=True, rows=table.n_rows, columns=table.n_columns)


def describe_columns(training: TrainingTable, question: Question) -> Question:
    """Return a question with the properties of the columns of a table."""
    return replace(
        question,
        rows=training.table.n_rows,
        columns=training.n_columns,
        has_texts=bool(training.texts),
        has_gaps=training.has_gaps,
        has_formats=bool(training.formats),
        is_numeric=training.is_numeric,
        is_plain=training.is_numeric and training.has_only_amounts,
        codes=tuple(training.codes),
        described=Schema(tuple(training.schema[name] for name in training.described)) if training.described else None,
    )


@dataclass(frozen=True)
class ShownModel:
    """A candidate with the steps that prepare its columns, and the table it is fitted to.

    `is_filled` is true if missing values are replaced before the model gets the columns.
    """

    candidate: Candidate
    model: Any
    table: Table
    is_filled: bool = False


def show_matrix(candidate: Candidate, table: Table, question: Question) -> ShownModel:
    """Return a candidate for the columns of a sparse matrix, which are features already."""
    model = add_search(candidate, question)
    return ShownModel(candidate, _standardize(model, centred=False) if candidate.scale else model, table)


@dataclass(frozen=True, eq=False)
class ColumnViews:
    """The forms in which candidates get a table with columns of any kind."""

    training: TrainingTable
    question: Question

    @cached_property
    def numbers(self) -> Table:
        """All columns as numbers."""
        return self.training.to_numbers()

    @cached_property
    def described(self) -> Table:
        """The columns that have a distribution."""
        table = self.training.select_described()
        return self.training.table if table is None else table

    def _selects(self, model: Any) -> bool:
        """Return whether a model has the schema of the described columns, and hence selects them itself."""
        return any(value is self.question.described for value in model.get_params(deep=False).values())

    def show(self, candidate: Candidate) -> ShownModel:
        """Return a candidate with the steps that prepare the columns for it."""
        model, training = add_search(candidate, self.question), self.training
        match candidate.view:
            case "table":
                return ShownModel(candidate, model, training.table)
            case "described":
                return ShownModel(
                    candidate, model, training.table if self._selects(candidate.model) else self.described
                )
            case "matrix":
                if not training.numeric or (len(training.numeric) == training.table.n_columns and not training.formats):
                    return ShownModel(candidate, model, self.numbers)
                return ShownModel(candidate, training.with_numbers(training.numeric, model), training.table)
            case "words":
                return ShownModel(
                    candidate, training.with_features(model, text_only=True, text="counts"), training.table
                )
            case "numbers":
                return ShownModel(
                    candidate,
                    training.with_scaled_numbers(*_number_steps(candidate), model),
                    training.table,
                    candidate.fill,
                )
        options: dict[str, Any] = {"output": "array"} if candidate.view == "array" else {}
        model = _standardize(model, centred=True) if candidate.scale else model
        return ShownModel(candidate, training.with_features(model, **options), training.table, True)


def _number_steps(candidate: Candidate) -> list[Any]:
    """Return the steps for columns of numbers: filling of gaps, and products.

    There is no indicator column of gaps, because densities and products have no use for it.
    """
    from sklearn.impute import SimpleImputer

    from mercer.preprocessing import MonomialFeatures

    filling = [SimpleImputer(keep_empty_features=True)] if candidate.fill else []
    return [*filling, *([MonomialFeatures(2, include_bias=False)] if candidate.products else [])]


def _standardize(model: Any, *, centred: bool) -> Any:
    """Return a pipeline of standardization and a model whose steps or distances depend on the units of columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=centred), model)


#: kinds of models by the expected cost of a fit, cheapest first
KINDS_BY_COST: tuple[ModelKind, ...] = (
    "baseline",
    "generative",
    "discriminative",
    "reference",
    "direct",
    "density",
    "kernel",
)


class Entrant(NamedTuple):
    """An unfitted model of a comparison, with its listed name, its table, its kind, and the name of its partner."""

    name: str
    model: Any
    table: Table
    kind: ModelKind
    partner: str | None = None


class ModelSelection(NamedTuple):
    """The models of a comparison, and notes about those that were left out."""

    entrants: list[Entrant]
    notes: list[str]


def select_given(models: Mapping[str, Any] | Sequence[Any], table: Table) -> ModelSelection:
    """Return the models given by the caller; those without a name are listed by their class.

    Models of scikit-learn get features of columns with gaps, categories, text or dates.
    """
    if not isinstance(models, Mapping):
        models = {_unique_name(models, position): model for position, model in enumerate(models)}
    for model in models.values():
        if isinstance(model, type) or not hasattr(model, "fit"):
            raise DataError(f"models has {model!r}, which is not a model; give one such as GaussianNB(), or its name.")
    given = [
        Entrant(name, add_features(model, table), table, kind_of(model)) for name, model in name_given(models).items()
    ]
    return ModelSelection(add_partners(given), [])


def add_features(model: Any, table: Table) -> Any:
    """Add features to a model of scikit-learn if it does not accept the columns; return other models as they are.

    A pipeline, or a model that contains one, prepares the columns itself.
    """
    if not type(model).__module__.startswith("sklearn.") or hasattr(model, "steps") or kind_of(model) == "baseline":
        return model
    if any(hasattr(value, "steps") or hasattr(value, "transformers") for value in model.get_params().values()):
        return model
    if table.library == "scipy":
        return model
    training = TrainingTable.of(table)
    if all(kind.numeric for kind in table.kinds):
        from sklearn.utils import get_tags

        if not training.has_gaps or get_tags(model).input_tags.allow_nan:
            return model
    return training.with_features(model, output="array")


def name_given(models: Mapping[Any, Any]) -> dict[str, Any]:
    """Return models by their names as strings; raise DataError if two names have the same string, such as 1 and "1"."""
    named = {str(name): model for name, model in models.items()}
    if len(named) < len(models):
        raise DataError(
            f"Two models have the same name as a string: {', '.join(map(repr, models))}; give each another name."
        )
    return named


def select_suitable(table: Table, question: Question) -> ModelSelection:
    """Select every model of mercer that suits the target and the columns."""
    if table.library == "scipy":
        question = describe_matrix(table, question)
        candidates = [baseline_candidate(question), *candidates_for(question)]
        shown_models = [show_matrix(candidate, table, question) for candidate in candidates]
        return _select_by_needs(shown_models, _find_met_needs(table.matrix()), question.inner, gaps=False)
    training = TrainingTable.of(table)
    if not training.n_columns:
        return ModelSelection([], training.notes())
    met: set[str] = {"nothing", "complete columns"}
    if training.is_numeric:
        # models that do not accept gaps get filled columns
        met |= _find_met_needs(training.to_numbers().matrix())
    question = describe_columns(training, question)
    views = ColumnViews(training, question)
    shown_models = [views.show(candidate) for candidate in (baseline_candidate(question), *candidates_for(question))]
    notes = [*training.notes(), *_note_hidden_columns(shown_models, training)]
    return _select_by_needs(shown_models, met, question.inner, gaps=training.has_gaps, notes=notes)


def make_baseline(table: Table, question: Question, names: Set[str] = frozenset()) -> Entrant:
    """Return a model that does not use the columns, with a name that is not in `names`."""
    model = baseline_candidate(question).model
    name = display_name(model)
    return Entrant(name if name not in names else f"{name} (baseline)", model, table, "baseline")


def sort_by_cost(entrants: Sequence[Entrant]) -> list[Entrant]:
    """Sort entrants by expected cost: models of one pass, then linear models, then models that compare rows.

    Within a kind those that search for a parameter come last. With more columns than rows the reference uses only some
    columns and comes right after the baseline.
    """

    def cost(entrant: Entrant) -> tuple[int, bool]:
        if entrant.kind == "reference" and entrant.table.n_columns > entrant.table.n_rows:
            return KINDS_BY_COST.index("baseline"), True
        searched = bool(_searched_parameter(entrant.model))
        return KINDS_BY_COST.index(entrant.kind), searched

    return sorted(entrants, key=cost)


def add_partners(entrants: list[Entrant]) -> list[Entrant]:
    """Return the entrants with the names of their partners."""
    partners = find_partners([entrant.model for entrant in entrants])
    return [
        entrant._replace(partner=None if partner is None else entrants[partner].name)
        for entrant, partner in zip(entrants, partners, strict=True)
    ]


def _note_hidden_columns(models: Sequence[ShownModel], training: TrainingTable) -> list[str]:
    """Return a note on the models that do not get all columns."""
    not_described = ", ".join(map(repr, training.undescribed))
    parts = [
        f"{display_name(each.model)} does not use {not_described}"
        for each in models
        if each.candidate.view in ("described", "matrix") and training.undescribed
    ]
    parts += [f"{display_name(each.model)} uses only text" for each in models if each.candidate.view == "words"]
    return [f"{'; '.join(parts)}."] if parts else []


def _select_by_needs(
    models: Sequence[ShownModel], met: set[str], inner: InnerSplitter | None, *, gaps: bool, notes: Sequence[str] = ()
) -> ModelSelection:
    """Select the models whose needs are met, and note the others."""
    selected, filled, left_out = [], [], []
    for each in models:
        candidate, model, table = each.candidate, each.model, each.table
        name = display_name(model)
        lacks = [
            *([candidate.need] if candidate.need not in met else []),
            *([f"at most {candidate.most_rows:,} rows"] if table.n_rows > candidate.most_rows else []),
            *([f"at most {candidate.most_columns:,} columns"] if table.n_columns > candidate.most_columns else []),
        ]
        if lacks:
            left_out.append(f"{name} (needs {lacks[0]})")
            continue
        selected.append(Entrant(name, model, table, kind_of(model)))
        if each.is_filled and gaps:
            filled.append(name)
    sentences = [*notes]
    if filled:
        sentences.append(
            "Missing numbers were replaced by means, and missing levels are a level of their own, for "
            f"{', '.join(filled)}."
        )
    if left_out:
        sentences.append(f"Left out: {', '.join(left_out)}.")
    return ModelSelection(add_partners(selected), [*sentences, *_note_searches(selected, inner)])


def _note_searches(entrants: list[Entrant], inner: InnerSplitter | None) -> list[str]:
    """Return a note on the parameters that are chosen in every fit from its own rows."""
    chosen = [
        f"{parameter} of {entrant.name}" for entrant in entrants if (parameter := _searched_parameter(entrant.model))
    ]
    if not chosen:
        return []
    how = "" if inner is None else f" {inner.described}"
    return [f"Chosen within each training set{how}, without the held-out rows: {', '.join(chosen)}."]


def _searched_parameter(model: Any) -> str:
    """Return the parameter that a model chooses in its fit; "" if there is none."""
    model = strip_preparation(model)
    if isinstance(model, Tuned):
        return model.parameter.rpartition("__")[2]
    by_rows = "loo" in (getattr(model, "alpha", None), getattr(model, "alphas", None))
    return traits_of(model).chooses or ("alpha" if by_rows else "")


def display_name(model: Any) -> str:
    """Return a model as code on one line, without the steps that prepare its rows and its target."""
    of_products = " of products" if uses_products(model) else ""
    model = innermost(model)
    if (label := traits_of(model).label) is not None:
        return f"{label(model)}{of_products}"
    written = " ".join(repr(model).split()).removesuffix("()") + of_products
    return re.sub(r"L2\(strength=([\d.]+), mean=0.0\)", r"L2(\1)", written)


def _find_met_needs(matrix: Any) -> set[str]:
    """Return the needs of models that a matrix meets."""
    sparse = not isinstance(matrix, np.ndarray)
    values = matrix.data if sparse else matrix
    met = {
        "nothing": True,
        "complete columns": not np.isnan(values).any(),
        "dense columns": not sparse,
        "columns of 0 and 1": np.isin(values, (0, 1)).all(),
        "counts": ((values >= 0) & (values == np.floor(values))).all(),
    }
    return {need for need, is_met in met.items() if is_met}


def _unique_name(models: Sequence[Any], position: int) -> str:
    """Return the class name of a model, numbered if it occurs several times."""
    classes = [type(model).__name__ for model in models]
    name = classes[position]
    return name if classes.count(name) == 1 else f"{name} {classes[: position + 1].count(name)}"
