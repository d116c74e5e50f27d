"""Which models take part in a comparison, and what each of them is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer.application.shown import Shown
from mercer.base import Candidate, ModelKind, Question, estimators_for, resolve, traits_of
from mercer.base.pipelines import unprepared
from mercer.comparison._inner import Inner, Tuned
from mercer.comparison.pairs import innermost, kind_of, partners_of, uses_products
from mercer.data import Schema, Table

# The models that take part in a comparison, as they are shown a table.
#
# Which models these are, their classes declare (`mercer.base.traits`); the baseline alone is the same everywhere.


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

    from mercer.preprocessing import MonomialFeatures

    filling = [SimpleImputer(keep_empty_features=True)] if candidate.fill else []
    return [*filling, *([MonomialFeatures(2, include_bias=False)] if candidate.products else [])]


def _scaled(model: Any, *, centred: bool) -> Any:
    """Return a model of columns in standard units: its steps, or distances between rows, are in those of columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=centred), model)


#: kinds of models by what a fit is expected to cost, cheapest first
COSTS: tuple[ModelKind, ...] = ("baseline", "generative", "discriminative", "reference", "direct", "density", "kernel")


class Entrant(NamedTuple):
    """An unfitted model under the name it is listed by, the table it is shown, of which kind it is, and its partner."""

    name: str
    model: Any
    table: Table
    kind: ModelKind
    partner: str | None = None


class Invitation(NamedTuple):
    """Who takes part, and sentences about those who do not."""

    entrants: list[Entrant]
    notes: list[str]


def entrants_given(models: Mapping[str, Any] | Sequence[Any], table: Table) -> Invitation:
    """Return the models of the caller, on the data as it came; those without a name are listed by their class.

    Models of scikit-learn get features of the columns where these have gaps, categories, text or dates.
    """
    if not isinstance(models, Mapping):
        models = {_unique_name(models, position): model for position, model in enumerate(models)}
    for model in models.values():
        if isinstance(model, type) or not hasattr(model, "fit"):
            raise DataError(f"models has {model!r}, which is not a model; give one such as GaussianNB(), or its name.")
    given = [
        Entrant(name, with_features(model, table), table, kind_of(model))
        for name, model in by_written_name(models).items()
    ]
    return Invitation(with_partners(given), [])


def with_features(model: Any, table: Table) -> Any:
    """Return a model of scikit-learn with features of columns that it cannot take as they are; others as they are.

    A pipeline, or what holds one, prepares the columns itself.
    """
    if not type(model).__module__.startswith("sklearn.") or hasattr(model, "steps") or kind_of(model) == "baseline":
        return model
    if any(hasattr(value, "steps") or hasattr(value, "transformers") for value in model.get_params().values()):
        return model
    if table.library == "scipy":
        return model
    shown = Shown.of(table)
    if all(kind.numeric for kind in table.kinds):
        from sklearn.utils import get_tags

        if not shown.has_gaps or get_tags(model).input_tags.allow_nan:
            return model
    return shown.features(model, output="array")


def by_written_name(models: Mapping[Any, Any]) -> dict[str, Any]:
    """Models under their names as they are written: numbers may be names, too, but 1 and "1" are one."""
    named = {str(name): model for name, model in models.items()}
    if len(named) < len(models):
        raise DataError(f"Two models have the same name, as it is written: {', '.join(map(repr, models))}.")
    return named


def entrants_for(table: Table, asked: Question) -> Invitation:
    """Every model of mercer that can say something about such a target and such columns."""
    if table.library == "scipy":
        asked = question_of_matrix(table, asked)
        candidates = [baseline(asked), *candidates_for(asked)]
        shown_models = [show_matrix(candidate, table, asked) for candidate in candidates]
        return _invitation(shown_models, _needs_met(table.matrix()), asked.inner, gaps=False)
    shown = Shown.of(table)
    if not shown.n_columns:
        return Invitation([], shown.notes())
    met: set[str] = {"nothing", "complete columns"}
    if shown.all_numbers:
        # a gap is no hindrance: who cannot have it is shown filled columns
        met |= _needs_met(shown.as_numbers().matrix())
    asked = question_of_columns(shown, asked)
    views = ColumnViews(shown, asked)
    shown_models = [views.show(candidate) for candidate in (baseline(asked), *candidates_for(asked))]
    notes = [*shown.notes(), *_partly_shown(shown_models, shown)]
    return _invitation(shown_models, met, asked.inner, gaps=shown.has_gaps, notes=notes)


def baseline_for(table: Table, asked: Question, names: Set[str] = frozenset()) -> Entrant:
    """Return a model that does not use the columns, under a name that none of `names` is."""
    model = baseline(asked).model
    name = name_of(model)
    return Entrant(name if name not in names else f"{name} (baseline)", model, table, "baseline")


def by_expected_cost(entrants: Sequence[Entrant]) -> list[Entrant]:
    """Return the cheapest first: what takes one pass over the rows, then linear models, then those that compare rows.

    Within a kind those that search for a parameter come last. Of more columns than rows the reference uses only some,
    and has its turn right after the baseline.
    """

    def cost(entrant: Entrant) -> tuple[int, bool]:
        if entrant.kind == "reference" and entrant.table.n_columns > entrant.table.n_rows:
            return COSTS.index("baseline"), True
        searched = bool(_searched(entrant.model))
        return COSTS.index(entrant.kind), searched

    return sorted(entrants, key=cost)


def with_partners(entrants: list[Entrant]) -> list[Entrant]:
    """Each with the name of its partner, where that takes part."""
    partners = partners_of([entrant.model for entrant in entrants])
    return [
        entrant._replace(partner=None if partner is None else entrants[partner].name)
        for entrant, partner in zip(entrants, partners, strict=True)
    ]


def _partly_shown(models: Sequence[ShownModel], shown: Shown) -> list[str]:
    """Which models see less than all columns."""
    not_described = ", ".join(map(repr, shown.undescribed))
    parts = [
        f"{name_of(each.model)} is not shown {not_described}"
        for each in models
        if each.candidate.view in ("described", "matrix") and shown.undescribed
    ]
    parts += [f"{name_of(each.model)} is shown text alone" for each in models if each.candidate.view == "words"]
    return [f"{'; '.join(parts)}."] if parts else []


def _invitation(
    models: Sequence[ShownModel], met: set[str], inner: Inner | None, *, gaps: bool, notes: Sequence[str] = ()
) -> Invitation:
    """Those whose needs are met, and who else would have liked to come."""
    invited, filled, left_out = [], [], []
    for each in models:
        candidate, model, table = each.candidate, each.model, each.table
        name = name_of(model)
        lacks = [
            *([candidate.need] if candidate.need not in met else []),
            *([f"at most {candidate.most_rows:,} rows"] if table.n_rows > candidate.most_rows else []),
            *([f"at most {candidate.most_columns:,} columns"] if table.n_columns > candidate.most_columns else []),
        ]
        if lacks:
            left_out.append(f"{name} (needs {lacks[0]})")
            continue
        invited.append(Entrant(name, model, table, kind_of(model)))
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
    return Invitation(with_partners(invited), [*sentences, *_tuned(invited, inner)])


def _tuned(entrants: list[Entrant], inner: Inner | None) -> list[str]:
    """What is chosen in every fit anew, from its own rows."""
    chosen = [f"{found} of {entrant.name}" for entrant in entrants if (found := _searched(entrant.model))]
    if not chosen:
        return []
    how = "" if inner is None else f" {inner.described}"
    return [f"Chosen within each training set{how}, without the held-out rows: {', '.join(chosen)}."]


def _searched(model: Any) -> str:
    model = unprepared(model)
    if isinstance(model, Tuned):
        return model.parameter.rpartition("__")[2]
    by_rows = "loo" in (getattr(model, "alpha", None), getattr(model, "alphas", None))
    return traits_of(model).chooses or ("alpha" if by_rows else "")


def name_of(model: Any) -> str:
    """A model as it was written, on one line, without what prepares its rows and its target."""
    of_products = " of products" if uses_products(model) else ""
    model = innermost(model)
    if (label := traits_of(model).label) is not None:
        return f"{label(model)}{of_products}"
    written = " ".join(repr(model).split()).removesuffix("()") + of_products
    return re.sub(r"L2\(strength=([\d.]+), mean=0.0\)", r"L2(\1)", written)


def _needs_met(matrix: Any) -> set[str]:
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
    """The class of a model, numbered where there are several of it."""
    classes = [type(model).__name__ for model in models]
    name = classes[position]
    return name if classes.count(name) == 1 else f"{name} {classes[: position + 1].count(name)}"
