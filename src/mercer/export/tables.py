"""Features of a table's columns: standard units, levels, dates, words, and indicators of missing values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from mercer._errors import ExportError
from mercer.export.dates import calendar_levels, hour_waves
from mercer.export.expression import (
    ONE_VALUE,
    ZERO_VALUE,
    Expression,
    Lookup,
    NumberValue,
    ProductOf,
    Quotient,
    SumOf,
    clip_to,
    fill_gap,
    name_value,
    subtract,
)
from mercer.export.texts import term_features
from mercer.preprocessing.treatments import (
    LEVEL_SLOT,
    NUMBER_SLOT,
    WORD_SLOT,
    BinaryTreatment,
    CategoryTreatment,
    DateTreatment,
    MissingOnlyTreatment,
    NumberTreatment,
    TextTreatment,
    Treatment,
)


def table_features(features: Any, inputs: Sequence[Expression]) -> list[Expression]:
    """Return the features in their order: numbers first, then levels."""
    by_slot: list[tuple[int, list[Expression]]] = []
    for name, x in zip(features._used, inputs, strict=True):
        by_slot += _slots_of(features._treatments[name], x, strict=features.unseen == "error")
    return [each for _, group in sorted(by_slot, key=lambda pair: pair[0]) for each in group]


def _slots_of(treatment: Treatment, x: Expression, *, strict: bool) -> list[tuple[int, list[Expression]]]:
    """Return groups of features, each with its position in the order of all features."""
    match treatment:
        case DateTreatment():
            days = _features_of(treatment.days, subtract(x, treatment.first), strict=strict)
            numbers = [*days, *hour_waves(treatment, x)]
            return [(NUMBER_SLOT, numbers), *((LEVEL_SLOT, levels) for levels in calendar_levels(treatment, x))]
        case TextTreatment():
            indicator: list[Expression] = [Lookup(x, (), 1.0, 0.0)] if treatment.gaps.has_indicator else []
            return [(NUMBER_SLOT, indicator), (WORD_SLOT, term_features(treatment.vectorizer, x))]
    (slot,) = treatment.slots()
    return [(slot.order, list(_features_of(treatment, x, strict=strict)))]


def _features_of(treatment: Treatment, x: Expression, *, strict: bool) -> Iterator[Expression]:
    match treatment:
        case NumberTreatment(_, (mean, deviation), scaled, gaps):
            value = Quotient(subtract(x, mean), NumberValue(deviation)) if scaled else x
            gap = NumberValue(0.0 if scaled else mean)
            yield name_value(fill_gap(x, gap, value) if gaps.missing == "indicator" else value)
            if gaps.has_indicator:
                yield name_value(fill_gap(x, ONE_VALUE, ZERO_VALUE))
        case BinaryTreatment(_, (first, second), share, gaps):
            gap_value = share if gaps.missing == "indicator" else math.nan
            yield Lookup(x, ((first, 0.0), (second, 1.0)), gap_value, math.nan if strict else gap_value)
            if gaps.has_indicator:
                yield Lookup(x, ((first, 0.0), (second, 0.0)), 1.0, 1.0)
        case MissingOnlyTreatment():
            yield Lookup(x, (), 1.0, 0.0)
        case CategoryTreatment():
            yield from _levels(treatment, x, strict=strict)


def _levels(treatment: CategoryTreatment, x: Expression, *, strict: bool) -> Iterator[Expression]:
    """Yield a table for each feature, with 1 for its own levels."""
    levels = treatment.levels
    x = clip_to(treatment.ends, x)
    pool = len(levels.kept) + levels.own_missing
    places = {**dict.fromkeys(levels.rare, pool), **{label: j for j, label in enumerate(levels.kept)}}
    for feature in range(levels.n_columns):
        missing = float(levels.missing == feature) if treatment.missing == "indicator" else math.nan
        other = math.nan if strict else float(levels.unseen == feature)
        table = tuple((label, 1.0) for label, place in places.items() if place == feature)
        rest = tuple((label, 0.0) for label, place in places.items() if place != feature) if other else ()
        yield Lookup(x, table + rest, missing, other)


def monomials(features: Any, inputs: Sequence[Expression]) -> list[Expression]:
    """Return products of columns."""
    if features.scaled:
        raise ExportError("MonomialFeatures(scaled=True) cannot be exported; fit with scaled=False.")
    return [_monomial(powers, inputs) for powers in features.powers().tolist()]


def _monomial(powers: Sequence[int], inputs: Sequence[Expression]) -> Expression:
    factors = [x for power, x in zip(powers, inputs, strict=True) for _ in range(int(power))]
    if not factors:
        return ONE_VALUE
    product = factors[0]
    for factor in factors[1:]:
        product = name_value(ProductOf(product, factor))
    return product


def scaled(scaler: Any, inputs: Sequence[Expression]) -> list[Expression]:
    """Return the features of scikit-learn's `StandardScaler`."""
    means = [0.0] * len(inputs) if scaler.mean_ is None or not scaler.with_mean else scaler.mean_.tolist()
    scales = [1.0] * len(inputs) if scaler.scale_ is None else scaler.scale_.tolist()
    return [
        name_value(SumOf(((1 / scale, subtract(x, mean)),)))
        for x, mean, scale in zip(inputs, means, scales, strict=True)
    ]


def imputed(imputer: Any, inputs: Sequence[Expression]) -> list[Expression]:
    """Return the features of scikit-learn's `SimpleImputer`, with a number for each missing value."""
    if imputer.add_indicator or not (isinstance(imputer.missing_values, float) and math.isnan(imputer.missing_values)):
        raise ExportError(
            "SimpleImputer with an indicator, or for other values than NaN, cannot be exported. Fit with "
            "TableFeatures, which fills gaps and indicates them."
        )
    kept = [
        (x, float(value))
        for x, value in zip(inputs, imputer.statistics_.tolist(), strict=True)
        if imputer.keep_empty_features or not math.isnan(value)
    ]
    return [name_value(fill_gap(x, NumberValue(0.0 if math.isnan(value) else value), x)) for x, value in kept]
