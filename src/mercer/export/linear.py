"""Linear models: one or several sums of weighted features, and a link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import ExportError
from mercer.export.expression import (
    ZERO_VALUE,
    Expression,
    Lookup,
    NumberValue,
    ProductOf,
    Quotient,
    SumOf,
    name_value,
    softmax,
    weighted_sum,
)
from mercer.export.formula import ModelOutput, plain_labels
from mercer.export.kernels import of_function
from mercer.export.links import inverse
from mercer.families.links import Logit


def sums(coef: Any, intercept: Any, inputs: Sequence[Expression]) -> list[Expression]:
    """Return a weighted sum of inputs for each row of `coef`."""
    dense = coef.toarray() if hasattr(coef, "toarray") else coef
    weights = np.atleast_2d(np.asarray(dense, dtype=np.float64))
    constants = np.broadcast_to(np.ravel(np.asarray(intercept, dtype=float)), (len(weights),))
    return [
        name_value(weighted_sum(row.tolist(), inputs, constant))
        for row, constant in zip(weights, constants.tolist(), strict=True)
    ]


def regression(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the formula of least squares with any penalty."""
    return ModelOutput(predictions=sums(model.coef_, model.intercept_, inputs))


def glm_regression(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the formula of scikit-learn's GLM regressors."""
    (eta,) = sums(model.coef_, model.intercept_, inputs)
    return ModelOutput(predictions=[inverse(model._response().link, eta)])


def logistic(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    scores = sums(model.coef_, model.intercept_, inputs)
    return ModelOutput.of_scores(plain_labels(model), [ZERO_VALUE, *scores] if len(scores) == 1 else scores)


def boundary(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return scores without probabilities."""
    scores = sums(model.coef_, model.intercept_, inputs)
    if len(scores) == 1:
        scores = [name_value(SumOf(((-1.0, scores[0]),))), *scores]
    return ModelOutput(classes=plain_labels(model), scores=scores)


def threshold(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the formula of one-versus-rest classifiers, with probabilities if their losses have them."""
    has_probabilities = hasattr(model, "predict_proba")
    if len(model.classes_) == 2:
        return replace((logistic if has_probabilities else boundary)(model, inputs), second_wins=True)
    if not has_probabilities or len(model.classes_) == 1:
        return boundary(model, inputs)
    shares = [name_value(softmax([ZERO_VALUE, score])[1]) for score in sums(model.coef_, model.intercept_, inputs)]
    total = name_value(SumOf(tuple((1.0, share) for share in shares)))
    return ModelOutput(
        classes=plain_labels(model), probabilities=[name_value(Quotient(share, total)) for share in shares]
    )


def ordinal(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the formula of proportional odds: p_k = σ(θ_k − η) σ(η − θ_{k−1}) (1 − e^(θ_{k−1} − θ_k))."""
    (eta,) = sums(model.coef_, 0.0, inputs)
    thresholds = model.thresholds_
    above, below = zip(*(softmax([ZERO_VALUE, SumOf(((-1.0, eta),), float(edge))]) for edge in thresholds), strict=True)
    widths = (-np.expm1(-np.diff(thresholds))).tolist()
    between = [name_value(SumOf(((width, ProductOf(below[k + 1], above[k])),))) for k, width in enumerate(widths)]
    return ModelOutput(classes=plain_labels(model), probabilities=[below[0], *between, above[-1]])


def glm(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    if hasattr(model, "_terms"):
        etas = sums(model.coef_, model.intercept_, _encode(model, inputs))
    else:
        etas = of_function(model, model._function, inputs)
    if not hasattr(model, "classes_"):
        # the mean of a binomial is a share of its trials
        mean = SumOf(((float(model._kind.response.whole), inverse(model.link_, etas[0])),))
        return ModelOutput(predictions=[mean])
    labels = plain_labels(model)
    if len(etas) > 1 or isinstance(model.link_, Logit):
        return ModelOutput.of_scores(labels, etas if len(etas) > 1 else [ZERO_VALUE, *etas])
    share = name_value(inverse(model.link_, etas[0]))
    return ModelOutput(classes=labels, probabilities=[name_value(SumOf(((-1.0, share),), 1.0)), share])


def _encode(model: Any, inputs: Sequence[Expression]) -> list[Expression]:
    """Return an input for each coefficient of categories; new levels and missing values give no prediction."""
    coded: list[Expression] = []
    for j, each in enumerate(inputs):
        category = model._terms.categories.get(j)
        if category is None:
            coded.append(each)
            continue
        coded += [
            Lookup(each, tuple((level, float(level == own)) for level in category.levels), np.nan, np.nan)
            for own in category.levels[category.drop_first :]
        ]
    return coded


def baseline_classes(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the formula of scikit-learn's `DummyClassifier`: the shares of the classes."""
    if model.strategy not in ("prior", "most_frequent"):
        raise ExportError(
            f"DummyClassifier(strategy={model.strategy!r}) cannot be exported: it draws at random. Fit with "
            "strategy='prior'."
        )
    shares = model.class_prior_.tolist()
    if model.strategy == "most_frequent":
        shares = [float(k == int(np.argmax(shares))) for k in range(len(shares))]
    return ModelOutput(classes=plain_labels(model), probabilities=[NumberValue(share) for share in shares])


def baseline_mean(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the formula of scikit-learn's `DummyRegressor`, a constant."""
    return ModelOutput(predictions=[NumberValue(value) for value in np.ravel(model.constant_).tolist()])
