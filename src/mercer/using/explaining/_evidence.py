"""Scores of models as sums over columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._errors import NoExplanationError
from mercer._typing import Array
from mercer.base import resolve, traits_of
from mercer.data.select import names_of
from mercer.decide import Calibrated
from mercer.designs.encoded import Encoded
from mercer.models import TableFeatures, linear_form
from mercer.models.base import checked, column_names, is_sparse
from mercer.models.generative.column_likelihoods import column_likelihoods
from mercer.models.linear_forms.linear_form import HasLinearForm
from mercer.using.explaining.coefficients import feature_names, of_pairs

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


class Evidence(NamedTuple):
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


def evidence_of(model: Any, X: Any) -> Evidence:
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
        return Evidence(*resolve(declared)(model, X))
    return _of_linear_form(model, X) if isinstance(model, HasLinearForm) else _of_coefficients(model, X)


def _of_calibrated(model: Calibrated, X: Any) -> Evidence:
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


def _of_transformed_target(model: TransformedTargetRegressor, X: Any) -> Evidence:
    """Predictions in the units of the target, where these are a line; else those before the inverse transformation."""
    found = evidence_of(model.regressor_, X)
    base, contributions = found.base, found.contributions
    low, middle, high = np.ravel(model.transformer_.inverse_transform(np.array([[0.0], [1.0], [2.0]])))
    if not np.isclose(high - middle, middle - low, rtol=1e-9, atol=0.0):
        return found
    slope = middle - low
    return found._replace(base=low + slope * base, contributions=slope * contributions)


def naive_bayes(model: Any, X: Any) -> Evidence:
    """Return log p(x_j|y) of each column, or of columns that are described together."""
    found = column_likelihoods(model, X)
    return Evidence(found.log_prior, found.log_likelihoods, found.names)


def discriminant(model: Any, X: Any) -> Evidence:
    """Return sums of columns and of their products, each product shared equally by its two columns."""
    rows = np.asarray(checked(model, X, reset=False), dtype=float)
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
        return Evidence(form.intercept, added, names)
    return Evidence(form.intercept, np.einsum("nfk,fj->njk", added, _shares(len(names))), names)


def _shares(d: int) -> Array:
    """(monomials of degree 1 and 2, columns): which part of each belongs to whom."""
    i, j = np.triu_indices(d)
    shares = np.zeros((d + len(i), d))
    shares[np.arange(d), np.arange(d)] = 1
    products = np.arange(d, d + len(i))
    shares[products, i] += 0.5
    shares[products, j] += 0.5
    return shares


def _of_linear_form(model: Any, X: Any) -> Evidence:
    form = linear_form(model)
    return Evidence(*_products(form.feature_map(X), form.coef, form.intercept), form.names)


def ordinal(model: Any, X: Any) -> Evidence:
    """Return the log odds of the classes above the middle threshold: those above another differ by a constant."""
    added = _products(_matrix(X), model.coef_[None], -model.thresholds_[[model.middle]])
    classes = model.classes_.tolist()
    outputs = (f"a class above {classes[model.middle]}",) if len(classes) > 2 else ()
    return Evidence(*added, _feature_names(X) or tuple(column_names(model)), outputs)


def _of_coefficients(model: Any, X: Any) -> Evidence:
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
    return Evidence(*_products(features, coef, base), names)


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


def _named_features(model: Pipeline, found: Evidence) -> Evidence:
    """Names that the steps give to what they make, where the model got an array without names."""
    names = feature_names(model)
    fits = names is not None and len(names) == len(found.names)
    return found._replace(names=tuple(names or ())) if fits else found


def _by_column(found: Evidence, before: Any, X: Any) -> Evidence:
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
