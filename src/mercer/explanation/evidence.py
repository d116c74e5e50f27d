"""Scores of models as sums over columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._errors import NoExplanationError
from mercer._typing import Array
from mercer.base import resolve, traits_of
from mercer.base.linear_form import HasLinearForm, linear_form
from mercer.base.pipelines import feature_names, inner_model
from mercer.base.validation import check_rows, column_names, is_sparse
from mercer.data import Kind, Table
from mercer.data.select import names_of
from mercer.decision import Calibrated, ConformalClassifier, ConformalRegressor, Decision
from mercer.decision.wrapped import probabilities
from mercer.explanation.coefficients import of_pairs
from mercer.matrices import Encoded
from mercer.naive_bayes import GaussianNB, NaiveBayes
from mercer.naive_bayes.parts import NumbersPart
from mercer.preprocessing import TableFeatures
from mercer.report.wording import format_value, shorten

# What each column says by itself in models that describe columns one by one.

#: columns that are described together are called by these many of their names
MOST_NAMES = 5


class ColumnLikelihoods(NamedTuple):
    """log p(y) of shape (classes,), names, and log p(x_j|y) of shape (rows, names, classes).

    Their sum over all names is log p(x, y). Columns that are described together have one name.
    """

    log_prior: Array
    names: tuple[str, ...]
    log_likelihoods: Array


def column_likelihoods(model: NaiveBayes | GaussianNB, X: Any) -> ColumnLikelihoods:
    """Of a fitted model, in the order of the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> found = column_likelihoods(model, X)
    >>> joint = found.log_prior + found.log_likelihoods.sum(axis=1)
    >>> bool(np.allclose(joint, model.predict_joint_log_proba(X)))
    True
    """
    if isinstance(model, GaussianNB):
        rows = np.asarray(model._check_X(X, reset=False), dtype=float)
        return ColumnLikelihoods(
            model._log_prior(), tuple(column_names(model)), np.stack(_one_by_one(model._scores, rows), axis=1)
        )
    table = model._check_X(X, reset=False)
    names: list[str] = []
    said: list[Array] = []
    for conditional, block in zip(model._conditionals, model._block(table, slice(0, table.n_rows)), strict=True):
        part = conditional.part
        if isinstance(part, NumbersPart) and len(part.names) > 1:
            names += part.names
            said += _one_by_one(conditional.score, block)
        else:
            names.append(", ".join(part.names[:MOST_NAMES]) + ("…" if len(part.names) > MOST_NAMES else ""))
            said.append(conditional.score(block))
    place = {name: j for j, name in enumerate(column_names(model))}
    order = np.argsort([place.get(name, len(place)) for name in names], kind="stable")
    return ColumnLikelihoods(
        model._log_prior(), tuple(names[j] for j in order.tolist()), np.stack(said, axis=1)[:, order]
    )


def _one_by_one(score: Callable[[Array], Array], block: Array) -> list[Array]:
    """Scores of each column with the others missing, which says nothing."""
    scores = []
    for j in range(block.shape[1]):
        alone = np.full(block.shape, np.nan)
        alone[:, j] = block[:, j]
        scores.append(np.array(score(alone)))
    return scores


# The numbers of a fitted model that explanations divide among columns.

#: probabilities of a model that is not a sum over columns are kept this far from 0 and 1, so that log odds are finite
LEAST_PROBABILITY = 1e-4
LOG_ODDS, AGAINST_AVERAGE, SCORE, PREDICTION = "log odds", "log odds against the average class", "score", "prediction"


class Output(NamedTuple):
    """A function of rows with values of shape (rows, outputs), its name, and the names of its outputs."""

    what: str
    outputs: tuple[str, ...]
    function: Callable[[Any], Array]


def before_decisions(model: Any) -> Any:
    """Return the model within those that choose actions by it, or put sets or intervals around it."""
    while isinstance(model, ConformalClassifier | ConformalRegressor | Decision):
        model = inner_model(model)
    return model


def output_of(model: Any) -> Output:
    """Return log odds where a model has probabilities, else scores of classes, else predictions."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return Output(PREDICTION, _targets(model), lambda X: _column(model.predict(X)))
    labels = tuple(map(str, np.asarray(classes).tolist()))
    named = labels[-1:] if len(labels) == 2 else labels
    if hasattr(model, "predict_proba"):
        return Output(LOG_ODDS if len(labels) == 2 else AGAINST_AVERAGE, named, lambda X: _log_odds(model, X))
    if hasattr(model, "decision_function"):
        return Output(SCORE, named, lambda X: relative(_column(model.decision_function(X)), len(labels)))
    return Output("decision", named, lambda X: _decisions(model, X))


def relative(scores: Array, n_classes: int) -> Array:
    """Return scores of the second of two classes against the first, or of each class against their average.

    Classes are the last axis.
    """
    if scores.shape[-1] == 1:
        return scores
    if n_classes == 2:
        return scores[..., 1:] - scores[..., :1]
    return np.asarray(scores - scores.mean(axis=-1, keepdims=True))


def _column(values: Any) -> Array:
    values = np.asarray(values, dtype=float)
    return np.asarray(values[:, None] if values.ndim == 1 else values)


def _targets(model: Any) -> tuple[str, ...]:
    several = getattr(model, "n_outputs_", 1)
    return ("the target",) if several == 1 else tuple(f"target {k}" for k in range(several))


def _log_odds(model: Any, X: Any) -> Array:
    p = np.clip(probabilities(model, X), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return relative(np.log(p), p.shape[1])


def _decisions(model: Any, X: Any) -> Array:
    """1 for the class that is predicted, 0 for others."""
    chosen = np.asarray(model.predict(X))[:, None] == np.asarray(model.classes_)
    return np.asarray(chosen[:, 1:] if chosen.shape[1] == 2 else chosen, dtype=float)


# Values of rows as short texts, none of them blank.

MISSING = "missing"


def column_texts(table: Table, position: int, longest: int = 60) -> list[str]:
    """Return the values of a column: numbers in at most five digits, dates as dates, texts shortened."""
    coded = table.coded(position)
    dates = table.kinds[position] is Kind.DATE
    texts = [_text(label, dates, longest) for label in coded.labels.tolist()]
    return [texts[code] if code >= 0 else MISSING for code in coded.codes.tolist()]


def row_texts(row: Any, names: tuple[str, ...]) -> dict[str, str]:
    """Return the values of a table of one row, by the names of columns or of features of these."""
    table = Table.of(row, dates=True)
    if table.library == "scipy":
        table = Table.of(np.asarray(row.toarray()))
    texts = {name: column_texts(table, position)[0] for position, name in enumerate(table.names)}
    return {name: texts.get(name, feature_text(name, table.names)) for name in names}


def feature_text(name: str, columns: tuple[str, ...]) -> str:
    """Return the value of a feature that is not a column: a word of a text, or columns that count together."""
    if name.startswith("("):
        return "all together"
    return "in the text" if name.partition("[")[0] in columns else "a feature"


def _text(label: Any, date: bool, longest: int) -> str:
    if date:
        moment = str(np.datetime64(round(float(label) * 86_400), "s"))
        return moment.removesuffix("T00:00:00").replace("T", " ")
    if isinstance(label, str):
        return shorten(" ".join(label.split()), longest) or "empty"
    return format_value(label)


#: entries of rows × features × scores that are written out at once
MOST_ENTRIES = 50_000_000


class Additive(NamedTuple):
    """`base` (scores,) and `contributions` (rows, names, scores)."""

    base: Array
    contributions: Array

    @property
    def totals(self) -> Array:
        """base + Σ contributions, of shape (rows, scores)."""
        return np.asarray(self.base + self.contributions.sum(axis=1))


class AdditiveEvidence(NamedTuple):
    """Scores as sums, and the names of their terms.

    `outputs` names what the scores are log odds of, where that is not each of the classes.
    """

    base: Array
    contributions: Array
    names: tuple[str, ...]
    outputs: tuple[str, ...] = ()

    @property
    def additive(self) -> Additive:
        """The sums without the names of their terms."""
        return Additive(self.base, self.contributions)


def evidence_of(model: Any, X: Any) -> AdditiveEvidence:
    """Return the scores of a model's classes, or its linear predictor, as sums over columns (and words).

    The function that the class declares (`evidence` of its traits) comes first, then its linear form, then `coef_`.
    """
    if isinstance(model, Pipeline):
        before, last = model[:-1], model[-1]
        if not len(before):
            return evidence_of(last, X)
        found = evidence_of(last, before.transform(X))
        return _by_column(_named_features(model, found), before, X)
    check_is_fitted(model)
    if hasattr(model, "best_estimator_"):
        return evidence_of(model.best_estimator_, X)
    if isinstance(model, Calibrated):
        return _of_calibrated(model, X)
    if isinstance(model, TransformedTargetRegressor):
        return _of_transformed_target(model, X)
    if (declared := traits_of(model).evidence) is not None:
        return AdditiveEvidence(*resolve(declared)(model, X))
    return _of_linear_form(model, X) if isinstance(model, HasLinearForm) else _of_coefficients(model, X)


def _of_calibrated(model: Calibrated, X: Any) -> AdditiveEvidence:
    """Scores divided by a temperature, or on the line within a sigmoid."""
    found = evidence_of(model.model_, X)
    base, contributions = found.base, found.contributions
    if hasattr(model, "temperature_"):
        return found._replace(
            base=base / model.temperature_, contributions=contributions / model.temperature_, outputs=()
        )
    if not hasattr(model, "slopes_") or len(model.classes_) != 2:
        raise NoExplanationError(
            f'Calibrated(method="{model.method}") changes the scores of {len(model.classes_)} classes in steps or each '
            "by itself, so that they are not sums over columns; give background rows for Shapley values."
        )
    if len(base) == 2:
        base, contributions = base[1:] - base[:1], contributions[..., 1:] - contributions[..., :1]
    return found._replace(
        base=model.slopes_ * base + model.intercepts_, contributions=model.slopes_ * contributions, outputs=()
    )


def _of_transformed_target(model: TransformedTargetRegressor, X: Any) -> AdditiveEvidence:
    """Predictions in the units of the target, where these are a line; else those before the inverse transformation."""
    found = evidence_of(model.regressor_, X)
    base, contributions = found.base, found.contributions
    low, middle, high = np.ravel(model.transformer_.inverse_transform(np.array([[0.0], [1.0], [2.0]])))
    if not np.isclose(high - middle, middle - low, rtol=1e-9, atol=0.0):
        return found
    slope = middle - low
    return found._replace(base=low + slope * base, contributions=slope * contributions)


def naive_bayes(model: Any, X: Any) -> AdditiveEvidence:
    """Return log p(x_j|y) of each column, or of columns that are described together."""
    found = column_likelihoods(model, X)
    return AdditiveEvidence(found.log_prior, found.log_likelihoods, found.names)


def discriminant(model: Any, X: Any) -> AdditiveEvidence:
    """Return sums of columns and of their products, each product shared equally by its two columns."""
    rows = np.asarray(check_rows(model, X, reset=False), dtype=float)
    names = tuple(column_names(model))
    if np.isnan(rows).any():
        column = names[int(np.argwhere(np.isnan(rows))[0, 1])]
        raise NoExplanationError(
            f"Column {column!r} is missing in a row, and {type(model).__name__} infers it from the others; give "
            "background rows for Shapley values, or complete rows."
        )
    form = linear_form(model)
    added = np.asarray(form.feature_map(X))[:, :, None] * form.coef.T
    if form.coef.shape[1] == len(names):
        return AdditiveEvidence(form.intercept, added, names)
    return AdditiveEvidence(form.intercept, np.einsum("nfk,fj->njk", added, _shares(len(names))), names)


def _shares(d: int) -> Array:
    """(monomials of degree 1 and 2, columns): which part of each belongs to whom."""
    i, j = np.triu_indices(d)
    shares = np.zeros((d + len(i), d))
    shares[np.arange(d), np.arange(d)] = 1
    products = np.arange(d, d + len(i))
    shares[products, i] += 0.5
    shares[products, j] += 0.5
    return shares


def _of_linear_form(model: Any, X: Any) -> AdditiveEvidence:
    form = linear_form(model)
    return AdditiveEvidence(*_products(form.feature_map(X), form.coef, form.intercept), form.names)


def ordinal(model: Any, X: Any) -> AdditiveEvidence:
    """Return the log odds of the classes above the middle threshold: those above another differ by a constant."""
    added = _products(_matrix(X), model.coef_[None], -model.thresholds_[[model.middle]])
    classes = model.classes_.tolist()
    outputs = (f"a class above {classes[model.middle]}",) if len(classes) > 2 else ()
    return AdditiveEvidence(*added, _feature_names(X) or tuple(column_names(model)), outputs)


def _of_coefficients(model: Any, X: Any) -> AdditiveEvidence:
    coef, name = getattr(model, "coef_", None), type(model).__name__
    if coef is None or not hasattr(model, "intercept_"):
        raise NoExplanationError(f"{name} is not a sum over columns; give background rows for Shapley values.")
    if of_pairs(model):
        raise NoExplanationError(
            f"{name} decides between each two of its {len(model.classes_)} classes, which have no scores of their own; "
            "give background rows for Shapley values."
        )
    coef = np.atleast_2d(_dense(coef))
    features = _matrix(X)
    if features.shape[1] != coef.shape[1]:
        raise NoExplanationError(
            f"{name} has {coef.shape[1]} coefficients for {features.shape[1]} columns, so that they are not of these."
        )
    base = np.atleast_1d(np.asarray(model.intercept_, dtype=float)).ravel()
    base = np.broadcast_to(base, (len(coef),)).copy()
    names = _feature_names(X) or tuple(column_names(model))
    return AdditiveEvidence(*_products(features, coef, base), names)


def _feature_names(X: Any) -> tuple[str, ...] | None:
    return tuple(map(str, X.given_names)) if isinstance(X, Encoded) and X.given_names is not None else None


def _matrix(X: Any) -> Any:
    if is_sparse(X):
        return X
    if isinstance(X, Encoded):
        return X.tocsr()
    return np.asarray(X, dtype=float)


def _products(features: Any, coef: Array, intercept: Array) -> Additive:
    if np.prod([*features.shape, len(coef)], dtype=float) > MOST_ENTRIES:
        raise NoExplanationError(
            f"{features.shape[0]} rows × {features.shape[1]} features are too many to explain at once; ask about fewer "
            "rows."
        )
    return Additive(intercept, _dense(features)[:, :, None] * coef.T)


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if is_sparse(values) else values, dtype=float)


def _named_features(model: Pipeline, found: AdditiveEvidence) -> AdditiveEvidence:
    """Names that the steps give to what they make, where the model got an array without names."""
    names = feature_names(model)
    fits = names is not None and len(names) == len(found.names)
    return found._replace(names=tuple(names or ())) if fits else found


def _by_column(found: AdditiveEvidence, before: Any, X: Any) -> AdditiveEvidence:
    """Features of one column summed, where the first step names their column and others change no feature."""
    first = before[0]
    if isinstance(first, TableFeatures):
        if tuple(first.get_feature_names_out()) != found.names:
            return found
        owners = first.feature_columns().tolist()
    else:
        columns = names_of(X) or []
        owners = [_owner(name, columns) for name in found.names]
    names = tuple(dict.fromkeys(owners))
    place = {name: j for j, name in enumerate(names)}
    base, contributions = found.base, found.contributions
    summed = np.zeros((len(names), len(contributions), len(base)))
    np.add.at(summed, [place[owner] for owner in owners], np.moveaxis(contributions, 1, 0))
    return found._replace(contributions=np.moveaxis(summed, 0, 1), names=names)


def _owner(feature: str, columns: list[str]) -> str:
    """The column of a feature that scikit-learn named: "step__column" or "column_level"; else the feature itself."""
    plain = feature if feature in columns else feature.rpartition("__")[2]
    if plain in columns:
        return plain
    return max((column for column in columns if plain.startswith(f"{column}_")), key=len, default=feature)
