"""Scores of models as sums over columns, outputs to explain, and values of rows as text."""

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
from mercer.explanation.coefficients import has_pairwise_coefficients
from mercer.matrices import Encoded
from mercer.naive_bayes import GaussianNB, NaiveBayes
from mercer.naive_bayes.parts import NumbersPart
from mercer.preprocessing import TableFeatures
from mercer.report.wording import format_value, shorten

#: columns of a joint distribution that its name lists
MAX_JOINT_NAMES = 5
#: distance of probabilities from 0 and 1 in models that are not sums over columns, so that log odds are finite
PROBABILITY_MARGIN = 1e-4
#: rows × features × scores of the contributions, which bounds memory
MAX_CONTRIBUTIONS = 50_000_000
LOG_ODDS = "log odds"
AGAINST_AVERAGE = "log odds against the average class"
SCORE = "score"
PREDICTION = "prediction"
MISSING_TEXT = "missing"

# Likelihoods of single columns.


class ColumnLikelihoods(NamedTuple):
    """log p(y) of shape (classes,), names, and log p(x_j|y) of shape (rows, names, classes).

    Their sum over all names is log p(x, y). Columns with a joint distribution have one name.
    """

    log_prior: Array
    names: tuple[str, ...]
    log_likelihoods: Array


def column_likelihoods(model: NaiveBayes | GaussianNB, X: Any) -> ColumnLikelihoods:
    """Return the likelihoods of a fitted model by columns, in their order.

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
            model._log_prior(), tuple(column_names(model)), np.stack(_score_single_columns(model._scores, rows), axis=1)
        )
    table = model._check_X(X, reset=False)
    names: list[str] = []
    likelihoods: list[Array] = []
    for conditional, block in zip(model._conditionals, model._block(table, slice(0, table.n_rows)), strict=True):
        part = conditional.part
        if isinstance(part, NumbersPart) and len(part.names) > 1:
            names += part.names
            likelihoods += _score_single_columns(conditional.score, block)
        else:
            names.append(", ".join(part.names[:MAX_JOINT_NAMES]) + ("…" if len(part.names) > MAX_JOINT_NAMES else ""))
            likelihoods.append(conditional.score(block))
    place = {name: j for j, name in enumerate(column_names(model))}
    order = np.argsort([place.get(name, len(place)) for name in names], kind="stable")
    return ColumnLikelihoods(
        model._log_prior(), tuple(names[j] for j in order.tolist()), np.stack(likelihoods, axis=1)[:, order]
    )


def _score_single_columns(score: Callable[[Array], Array], block: Array) -> list[Array]:
    """Return the scores of each column with the others missing, whose contribution is 0."""
    scores = []
    for j in range(block.shape[1]):
        alone = np.full(block.shape, np.nan)
        alone[:, j] = block[:, j]
        scores.append(np.array(score(alone)))
    return scores


# Outputs of fitted models that explanations divide among columns.


class Output(NamedTuple):
    """A function of rows with values of shape (rows, outputs), its name, and the names of its outputs."""

    what: str
    outputs: tuple[str, ...]
    function: Callable[[Any], Array]


def unwrap_decisions(model: Any) -> Any:
    """Return the model inside wrappers that make decisions, sets or intervals from its predictions."""
    while isinstance(model, ConformalClassifier | ConformalRegressor | Decision):
        model = inner_model(model)
    return model


def output_of(model: Any) -> Output:
    """Return log odds if a model has probabilities, otherwise scores of classes, otherwise predictions."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return Output(PREDICTION, _targets(model), lambda X: _column(model.predict(X)))
    labels = tuple(map(str, np.asarray(classes).tolist()))
    named = labels[-1:] if len(labels) == 2 else labels
    if hasattr(model, "predict_proba"):
        return Output(LOG_ODDS if len(labels) == 2 else AGAINST_AVERAGE, named, lambda X: _log_odds(model, X))
    if hasattr(model, "decision_function"):
        return Output(SCORE, named, lambda X: relative_scores(_column(model.decision_function(X)), len(labels)))
    return Output("decision", named, lambda X: _indicators_of_prediction(model, X))


def relative_scores(scores: Array, n_classes: int) -> Array:
    """Return the difference of two scores, or differences from the mean of several, along the last axis."""
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
    p = np.clip(probabilities(model, X), PROBABILITY_MARGIN, 1 - PROBABILITY_MARGIN)
    return relative_scores(np.log(p), p.shape[1])


def _indicators_of_prediction(model: Any, X: Any) -> Array:
    """Return 1 for the predicted class and 0 for the others."""
    chosen = np.asarray(model.predict(X))[:, None] == np.asarray(model.classes_)
    return np.asarray(chosen[:, 1:] if chosen.shape[1] == 2 else chosen, dtype=float)


# Values of rows as short, nonempty texts.


def column_texts(table: Table, position: int, longest: int = 60) -> list[str]:
    """Return the values of a column: numbers in at most five digits, dates as dates, texts shortened."""
    coded = table.coded(position)
    dates = table.kinds[position] is Kind.DATE
    texts = [_format_label(label, dates, longest) for label in coded.labels.tolist()]
    return [texts[code] if code >= 0 else MISSING_TEXT for code in coded.codes.tolist()]


def row_texts(row: Any, names: tuple[str, ...]) -> dict[str, str]:
    """Return the values of a table of one row by the names of its columns or their features."""
    table = Table.of(row, dates=True)
    if table.library == "scipy":
        table = Table.of(np.asarray(row.toarray()))
    texts = {name: column_texts(table, position)[0] for position, name in enumerate(table.names)}
    return {name: texts.get(name, feature_text(name, table.names)) for name in names}


def feature_text(name: str, columns: tuple[str, ...]) -> str:
    """Return a text for a feature that is not a column: a word, or columns that are replaced together."""
    if name.startswith("("):
        return "all together"
    return "in the text" if name.partition("[")[0] in columns else "a feature"


def _format_label(label: Any, date: bool, longest: int) -> str:
    if date:
        moment = str(np.datetime64(round(float(label) * 86_400), "s"))
        return moment.removesuffix("T00:00:00").replace("T", " ")
    if isinstance(label, str):
        return shorten(" ".join(label.split()), longest) or "empty"
    return format_value(label)


# Scores as sums over columns.


class Additive(NamedTuple):
    """A sum of a base (scores,) and contributions (rows, names, scores)."""

    base: Array
    contributions: Array

    @property
    def totals(self) -> Array:
        """base + Σ contributions, of shape (rows, scores)."""
        return np.asarray(self.base + self.contributions.sum(axis=1))


class AdditiveEvidence(NamedTuple):
    """Scores as sums, with the names of their terms.

    `outputs` names the events whose log odds the scores are, unless these are the classes.
    """

    base: Array
    contributions: Array
    names: tuple[str, ...]
    outputs: tuple[str, ...] = ()

    @property
    def additive(self) -> Additive:
        """The sums without names."""
        return Additive(self.base, self.contributions)


def evidence_of(model: Any, X: Any) -> AdditiveEvidence:
    """Return the scores of the classes of a model, or its linear predictor, as sums over columns (and words).

    The sums come from the function that the class declares (`evidence` of its traits), otherwise from its linear form,
    otherwise from `coef_`.
    """
    if isinstance(model, Pipeline):
        before, last = model[:-1], model[-1]
        if not len(before):
            return evidence_of(last, X)
        evidence = evidence_of(last, before.transform(X))
        return _sum_by_column(_name_features(model, evidence), before, X)
    check_is_fitted(model)
    if hasattr(model, "best_estimator_"):
        return evidence_of(model.best_estimator_, X)
    if isinstance(model, Calibrated):
        return _evidence_of_calibrated(model, X)
    if isinstance(model, TransformedTargetRegressor):
        return _evidence_of_transformed_target(model, X)
    if (declared := traits_of(model).evidence) is not None:
        return AdditiveEvidence(*resolve(declared)(model, X))
    if isinstance(model, HasLinearForm):
        form = linear_form(model)
        return AdditiveEvidence(*_multiply(form.feature_map(X), form.coef, form.intercept), form.names)
    return _evidence_of_coefficients(model, X)


def _evidence_of_calibrated(model: Calibrated, X: Any) -> AdditiveEvidence:
    """Return scores divided by the temperature, or transformed by the line inside the sigmoid."""
    evidence = evidence_of(model.model_, X)
    base, contributions = evidence.base, evidence.contributions
    if hasattr(model, "temperature_"):
        return evidence._replace(
            base=base / model.temperature_, contributions=contributions / model.temperature_, outputs=()
        )
    if not hasattr(model, "slopes_") or len(model.classes_) != 2:
        raise NoExplanationError(
            f'Calibrated(method="{model.method}") changes the scores of {len(model.classes_)} classes in steps or each '
            "by itself, so that they are not sums over columns; give background rows for Shapley values."
        )
    if len(base) == 2:
        base, contributions = base[1:] - base[:1], contributions[..., 1:] - contributions[..., :1]
    return evidence._replace(
        base=model.slopes_ * base + model.intercepts_, contributions=model.slopes_ * contributions, outputs=()
    )


def _evidence_of_transformed_target(model: TransformedTargetRegressor, X: Any) -> AdditiveEvidence:
    """Return predictions in the units of the target if its transformation is linear, otherwise untransformed ones."""
    evidence = evidence_of(model.regressor_, X)
    base, contributions = evidence.base, evidence.contributions
    low, middle, high = np.ravel(model.transformer_.inverse_transform(np.array([[0.0], [1.0], [2.0]])))
    if not np.isclose(high - middle, middle - low, rtol=1e-9, atol=0.0):
        return evidence
    slope = middle - low
    return evidence._replace(base=low + slope * base, contributions=slope * contributions)


def naive_bayes(model: Any, X: Any) -> AdditiveEvidence:
    """Return log p(x_j|y) of each column, or of columns with a joint distribution."""
    likelihoods = column_likelihoods(model, X)
    return AdditiveEvidence(likelihoods.log_prior, likelihoods.log_likelihoods, likelihoods.names)


def discriminant(model: Any, X: Any) -> AdditiveEvidence:
    """Return sums over columns, where each product of two columns is divided equally between them."""
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
    """Return the share of each column in the monomials of degree 1 and 2, of shape (monomials, columns)."""
    i, j = np.triu_indices(d)
    shares = np.zeros((d + len(i), d))
    shares[np.arange(d), np.arange(d)] = 1
    products = np.arange(d, d + len(i))
    shares[products, i] += 0.5
    shares[products, j] += 0.5
    return shares


def ordinal(model: Any, X: Any) -> AdditiveEvidence:
    """Return the log odds of the classes above the middle threshold; for other thresholds only the base differs."""
    added = _multiply(_to_matrix(X), model.coef_[None], -model.thresholds_[[model.middle]])
    classes = model.classes_.tolist()
    outputs = (f"a class above {classes[model.middle]}",) if len(classes) > 2 else ()
    return AdditiveEvidence(*added, _feature_names(X) or tuple(column_names(model)), outputs)


def _evidence_of_coefficients(model: Any, X: Any) -> AdditiveEvidence:
    coef, name = getattr(model, "coef_", None), type(model).__name__
    if coef is None or not hasattr(model, "intercept_"):
        raise NoExplanationError(f"{name} is not a sum over columns; give background rows for Shapley values.")
    if has_pairwise_coefficients(model):
        raise NoExplanationError(
            f"{name} decides between each two of its {len(model.classes_)} classes, which have no scores of their own; "
            "give background rows for Shapley values."
        )
    coef = np.atleast_2d(_to_dense(coef))
    features = _to_matrix(X)
    if features.shape[1] != coef.shape[1]:
        raise NoExplanationError(
            f"{name} has {coef.shape[1]} coefficients for {features.shape[1]} columns, so that they are not of these."
        )
    base = np.atleast_1d(np.asarray(model.intercept_, dtype=float)).ravel()
    base = np.broadcast_to(base, (len(coef),)).copy()
    names = _feature_names(X) or tuple(column_names(model))
    return AdditiveEvidence(*_multiply(features, coef, base), names)


def _feature_names(X: Any) -> tuple[str, ...] | None:
    return tuple(map(str, X.given_names)) if isinstance(X, Encoded) and X.given_names is not None else None


def _to_matrix(X: Any) -> Any:
    if is_sparse(X):
        return X
    if isinstance(X, Encoded):
        return X.tocsr()
    return np.asarray(X, dtype=float)


def _multiply(features: Any, coef: Array, intercept: Array) -> Additive:
    if np.prod([*features.shape, len(coef)], dtype=float) > MAX_CONTRIBUTIONS:
        raise NoExplanationError(
            f"{features.shape[0]} rows × {features.shape[1]} features are too many to explain at once; give fewer rows."
        )
    return Additive(intercept, _to_dense(features)[:, :, None] * coef.T)


def _to_dense(values: Any) -> Array:
    return np.asarray(values.toarray() if is_sparse(values) else values, dtype=float)


def _name_features(model: Pipeline, evidence: AdditiveEvidence) -> AdditiveEvidence:
    """Use the feature names of the earlier steps if the model was fitted to an array without names."""
    names = feature_names(model)
    if names is None or len(names) != len(evidence.names):
        return evidence
    return evidence._replace(names=tuple(names))


def _sum_by_column(evidence: AdditiveEvidence, before: Any, X: Any) -> AdditiveEvidence:
    """Sum the contributions of the features of each column, if the names of the features determine their columns."""
    first = before[0]
    if isinstance(first, TableFeatures):
        if tuple(first.get_feature_names_out()) != evidence.names:
            return evidence
        owners = first.feature_columns().tolist()
    else:
        columns = names_of(X) or []
        owners = [_column_of(name, columns) for name in evidence.names]
    names = tuple(dict.fromkeys(owners))
    place = {name: j for j, name in enumerate(names)}
    base, contributions = evidence.base, evidence.contributions
    summed = np.zeros((len(names), len(contributions), len(base)))
    np.add.at(summed, [place[owner] for owner in owners], np.moveaxis(contributions, 1, 0))
    return evidence._replace(contributions=np.moveaxis(summed, 0, 1), names=names)


def _column_of(feature: str, columns: list[str]) -> str:
    """Return the column of a feature named "step__column" or "column_level", or else the feature itself."""
    plain = feature if feature in columns else feature.rpartition("__")[2]
    if plain in columns:
        return plain
    return max((column for column in columns if plain.startswith(f"{column}_")), key=len, default=feature)
