"""Checks of what models assume about the data: MRC2xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._errors import TooManyColumnsError
from mercer._typing import Array
from mercer.base.pipelines import predicting_step
from mercer.comparison._check_result import CheckResult, CheckSkipped
from mercer.comparison._entry import Entry
from mercer.comparison._paired import holm
from mercer.comparison._view import View
from mercer.families import Family
from mercer.linear_model import LogNormalRegressor
from mercer.report.wording import format_p_value, join_words

#: variance inflation above which a column is nearly a combination of others
MAX_INFLATION = 10.0
#: Pearson's χ² per degree of freedom above which counts vary too much for a Poisson distribution
MAX_DISPERSION = 1.5
#: level of the tests of assumptions
ASSUMPTION_LEVEL = 0.01
#: skewness that matters: with many rows even the smallest is significant
MAX_SKEWNESS = 0.5
#: excess kurtosis that matters
MAX_KURTOSIS = 1.0
#: absolute correlation within classes that harms naive Bayes
MAX_CORRELATION = 0.6
#: coefficients of the linear programme for separation (with several classes each has its own)
SEPARATION_COEFFICIENTS = 200
#: rows × features up to which the linear programme uses all rows: a sample may have a rare level with one class only
SEPARATION_ENTRIES = 20_000_000
#: columns up to which covariances of classes are compared
MAX_COVARIANCE_COLUMNS = 40
#: rows of a class for each column of its covariance
ROWS_PER_COVARIANCE_COLUMN = 2


def check_separation(view: View) -> Iterator[CheckResult]:
    """Report classes that a linear boundary separates, so that unpenalised coefficients are infinite."""
    from mercer.matrices import DenseMatrix, Observations
    from mercer.optim import separation as programme

    if not view.classification:
        return
    X, names, target = _linear_features(view)
    design, k = DenseMatrix.of(np.ascontiguousarray(X)), len(view.labels)
    try:
        if k == 2:
            separation = programme.bernoulli(Observations(design, target.astype(float)))
        else:
            separation = programme.categorical(Observations(design, target), k)
    except TooManyColumnsError:
        raise CheckSkipped(f"there are {len(names):,} features for each of {k:,} classes.") from None
    if separation.kind == "none":
        return
    columns = tuple(names[j] for j in _find_separating_features(X, separation))[:5]
    how = "completely" if separation.kind == "complete" else "in part"
    # separation in a sample does not imply separation of all rows
    where = f" in a sample of {len(X):,} rows" if len(X) < view.comparison.table.n_rows else ""
    among = f" (for {', '.join(columns)})" if columns else ""
    yield CheckResult(
        f"A linear function of the columns separates the classes {how}{where}, so that logistic regression without a "
        f"penalty has no finite coefficients{among}.",
        "Keep a penalty (L2), or use GLM with on_separation='firth'; check whether a column was recorded after the "
        "target.",
        columns,
    )


def _find_separating_features(X: Array, separation: Any) -> list[int]:
    """Return features that only separated rows have, such as levels with one class; else those with large weights."""
    moved = np.abs(separation.direction.reshape(len(separation.direction), -1)).max(axis=1)[: X.shape[1]]
    order = [j for j in np.argsort(-moved, kind="stable").tolist() if moved[j] > 0]
    left = X[~separation.separated]
    alone = [j for j in order if len(left) and not left[:, j].any()]
    return alone or order


def _linear_features(view: View) -> tuple[Array, list[str], Array]:
    """Return the features of linear models as numbers, their names, and the class of each row."""
    from mercer.preprocessing import TableFeatures

    if view.sparse:
        raise CheckSkipped("the rows are a sparse matrix.")
    made = TableFeatures(output="sparse", unseen="ignore", on_leak="ignore").fit(view.comparison.table.native)
    names = [str(name) for name in made.get_feature_names_out()]
    classes = len(view.labels)
    if len(names) * (classes if classes > 2 else 1) > SEPARATION_COEFFICIENTS:
        each = f" for each of {classes:,} classes" if classes > 2 else ""
        raise CheckSkipped(
            f"there are {len(names):,} features{each}, more than the limit of {SEPARATION_COEFFICIENTS}."
        )
    few = view.comparison.table.n_rows * len(names) <= SEPARATION_ENTRIES
    table, target = (view.comparison.table, view.comparison.task.truth) if few else (view.table, view.target)
    return np.asarray(made.transform(table.native).toarray(), dtype=float), names, np.asarray(target)


def check_collinearity(view: View) -> Iterator[CheckResult]:
    """Report columns of numbers that others nearly determine: variance inflation 1 / (1 − R²)."""
    names, X = _complete_numbers(view)
    if len(names) < 2 or len(X) <= len(names) + 1:
        return
    inflation = variance_inflation(X)
    inflated = [j for j in np.argsort(-inflation).tolist() if inflation[j] > MAX_INFLATION]
    if inflated:
        described = [f"{names[j]} ({_format_inflation(inflation[j])})" for j in inflated]
        yield CheckResult(
            "Columns nearly determine each other: the variance of a coefficient is inflated for "
            f"{join_words(described)}.",
            "Drop one of them or combine them; a penalty keeps predictions sound, but single coefficients are hard "
            "to interpret.",
            tuple(names[j] for j in inflated),
        )


def _format_inflation(inflation: float) -> str:
    return "without bound" if not np.isfinite(inflation) or inflation > 1e12 else f"{inflation:,.0f} times"


def variance_inflation(X: Array) -> Array:
    """Return 1 / (1 − R²) of each column on the others, from the inverse of their correlations; ∞ if singular."""
    X = X / np.abs(X).max(axis=0)  # squares of values beyond 1e±154 overflow or underflow float64
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    tiny = values <= len(values) * np.finfo(float).eps * values.max()
    inverse = np.where(tiny, np.inf, 1 / np.where(tiny, 1, values))
    weights = np.square(vectors)
    singular = (weights[:, tiny] > 1e-12).any(axis=1)
    finite = weights[:, ~tiny] @ inverse[~tiny]
    return np.asarray(np.where(singular, np.inf, finite))


def _complete_numbers(view: View) -> tuple[list[str], Array]:
    """Return the columns of numbers that vary, and the rows without gaps in them."""
    if not view.amounts or view.sparse:
        return [], np.zeros((0, 0))
    X = view.numbers
    mostly = np.isfinite(X).mean(axis=0) > 0.5
    X = X[:, mostly]
    X = X[np.isfinite(X).all(axis=1)]
    varies = (X[:1] != X).any(axis=0) if len(X) else np.zeros(X.shape[1], dtype=bool)
    kept = [name for name, used in zip(view.amounts, mostly, strict=True) if used]
    return [name for name, used in zip(kept, varies, strict=True) if used], X[:, varies]


def check_overdispersion(view: View) -> Iterator[CheckResult]:
    """Report counts that vary more around their predictions than the model's distribution allows."""
    from scipy.stats import norm

    if (best := _best_for_task(view, "counts")) is None:
        return
    mean, y = view.held_out(best)
    usable = mean > 0
    mean, y = mean[usable], y[usable]
    if len(y) < 20:
        return
    r = view.overdispersed(best)
    variance = mean + mean**2 / r
    # on held-out rows no degrees of freedom are subtracted for the parameters
    squares = (y - mean) ** 2 / variance
    dispersion = float(np.mean(squares))
    # Var[(y − μ)²/v] = 2 + 1/v for a Poisson, 2 + 6/r + 1/v for a negative binomial
    z = (dispersion - 1) / np.sqrt(np.mean(2 + 6 / r + 1 / variance) / len(y))
    if not dispersion > MAX_DISPERSION or norm.sf(z) >= ASSUMPTION_LEVEL:
        return
    about = f"About the predictions of {best.name} counts vary {dispersion:.3g} times as much as"
    robust = "robust standard errors (summary with covariance='HC3')"
    if np.isfinite(r):
        yield CheckResult(
            f"{about} its negative binomial distribution allows, so that its intervals are too narrow and its "
            "p-values too small.",
            f"Use {robust}.",
        )
    else:
        yield CheckResult(
            f"{about} a Poisson distribution allows, so that the intervals of a Poisson model are too narrow and its "
            "p-values too small.",
            f"Use GLM('negative_binomial'), or {robust}.",
        )


def _best_for_task(view: View, task: str) -> Entry | None:
    """Return the best entry if the comparison has this task."""
    return view.best() if view.comparison.task.name == task else None


def check_equal_covariances(view: View) -> Iterator[CheckResult]:
    """Report classes of different covariances by Box's M, against the assumption of linear discriminants."""
    groups, names = _class_rows(view)
    if len(groups) < 2:
        return
    statistic, freedom, p = box_m(groups)
    if p < ASSUMPTION_LEVEL:
        yield CheckResult(
            f"The classes have different covariances of {join_words(names)} (Box's M, χ²({freedom}) = {statistic:.4g}, "
            f"{format_p_value(p)}); linear discriminants assume one for all.",
            "Compare with the quadratic discriminant (GaussianDiscriminant) and with logistic regression, which "
            "assumes none. The test also reacts to columns that are not normal.",
            tuple(names),
        )


def _class_rows(view: View) -> tuple[list[Array], list[str]]:
    """Return the complete rows of each class that has enough of them for a covariance."""
    if not view.classification or not view.amounts or view.sparse:
        return [], []
    known = np.isfinite(view.numbers).all(axis=1)
    X, codes = view.numbers[known], view.target[known]
    groups = [X[codes == k] for k in range(len(view.labels))]
    groups = [rows for rows in groups if len(rows) >= ROWS_PER_COVARIANCE_COLUMN * X.shape[1] + 2]
    if len(groups) < 2 or X.shape[1] > MAX_COVARIANCE_COLUMNS:
        return [], []
    varies = np.all([(rows != rows[0]).any(axis=0) for rows in groups], axis=0)
    names = [name for name, used in zip(view.amounts, varies, strict=True) if used]
    return ([rows[:, varies] for rows in groups], names) if names else ([], [])


def box_m(groups: list[Array]) -> tuple[float, int, float]:
    """Return Box's M with its χ² approximation: statistic, degrees of freedom, p-value."""
    from scipy.stats import chi2

    d, k = groups[0].shape[1], len(groups)
    freedom = np.array([len(rows) - 1 for rows in groups])
    covariances = [np.atleast_2d(np.cov(rows, rowvar=False)) for rows in groups]
    scale = np.sqrt(np.diagonal(sum(f * c for f, c in zip(freedom, covariances, strict=True)) / freedom.sum()))
    covariances = [c / np.outer(scale, scale) for c in covariances]
    pooled = sum(f * c for f, c in zip(freedom, covariances, strict=True)) / freedom.sum()
    logs = np.array([np.linalg.slogdet(c)[1] for c in covariances])
    if not np.isfinite(logs).all() or not np.isfinite(together := np.linalg.slogdet(pooled)[1]):
        return np.nan, 0, 1.0
    m = freedom.sum() * together - freedom @ logs
    correction = ((1 / freedom).sum() - 1 / freedom.sum()) * (2 * d * d + 3 * d - 1) / (6 * (d + 1) * (k - 1))
    degrees = d * (d + 1) * (k - 1) // 2
    statistic = float(m * (1 - correction))
    return statistic, degrees, float(chi2.sf(statistic, degrees))


def check_normality(view: View) -> Iterator[CheckResult]:
    """Report columns that are skewed or heavy-tailed within a class: D'Agostino's test with Holm's correction."""
    from scipy.stats import kurtosis, normaltest, skew

    if not view.classification or view.sparse:
        return
    tested, p_values = [], []
    for j, name in enumerate(view.amounts):
        for k in range(len(view.labels)):
            values = view.numbers[view.target == k, j]
            values = values[np.isfinite(values)]
            if len(values) >= 20 and np.ptp(values) > 0:
                tested.append((name, max(abs(skew(values)) / MAX_SKEWNESS, kurtosis(values) / MAX_KURTOSIS)))
                p_values.append(float(normaltest(values).pvalue))
    odd = tuple(
        dict.fromkeys(
            name for (name, off), p in zip(tested, holm(p_values), strict=True) if p < ASSUMPTION_LEVEL and off > 1
        )
    )
    if odd:
        verb = "is" if len(odd) == 1 else "are"
        yield CheckResult(
            f"{join_words(odd)} {verb} far from normal within a class: skewed, or with heavy tails.",
            "Take logarithms of positive amounts, give NaiveBayes another family (Gamma, Poisson, Histogram), or "
            "prefer a discriminative model.",
            odd,
        )


def check_dependence(view: View) -> Iterator[CheckResult]:
    """Report columns correlated within classes, which naive Bayes counts as separate evidence."""
    groups, names = _class_rows(view)
    if len(groups) < 2 or len(names) < 2:
        return
    centred = np.concatenate([rows - rows.mean(axis=0) for rows in groups])
    correlation = np.corrcoef(centred, rowvar=False)
    i, j = np.triu_indices(len(names), 1)
    size = np.abs(correlation[i, j])
    order = [k for k in np.argsort(-size).tolist() if size[k] > MAX_CORRELATION]
    if order:
        pairs = [f"{names[i[k]]} and {names[j[k]]} ({correlation[i[k], j[k]]:+.2f})" for k in order]
        yield CheckResult(
            f"Within the classes {join_words(pairs)} are correlated, and naive Bayes counts their evidence twice: its "
            "probabilities are overconfident.",
            "Describe such columns together (MultivariateGaussian in NaiveBayes), or use a discriminant or logistic "
            "regression.",
            tuple(dict.fromkeys(name for k in order for name in (names[i[k]], names[j[k]]))),
        )


def check_equal_variance(view: View) -> Iterator[CheckResult]:
    """Report residuals whose spread depends on the prediction (Breusch and Pagan's test).

    If the model has a variance function, as a gamma GLM has, its residuals are divided by the standard deviation of
    that function (Pearson residuals).
    """
    from scipy.stats import chi2

    if (best := _best_for_task(view, "regression") or _best_for_task(view, "amounts")) is None:
        return
    predicted, y = view.held_out(best)
    if len(y) < 20 or np.ptp(predicted) == 0:
        return
    variance = _variance_of_mean(view.fitted(best), predicted)
    squares = (y - predicted) ** 2 / (1.0 if variance is None else variance)
    r = np.corrcoef(predicted, squares)[0, 1] if squares.std() > 0 else 0.0
    p = float(chi2.sf(len(y) * r**2, 1))  # Koenker's form, which does not assume normal residuals
    if p < ASSUMPTION_LEVEL and abs(r) > 0.1:
        way = "grows" if r > 0 else "shrinks"
        beyond = "" if variance is None else ", beyond what its distribution allows"
        yield CheckResult(
            f"The spread of the errors of {best.name} {way} with the prediction{beyond} (Breusch–Pagan, "
            f"{format_p_value(p)}).",
            _suggest_variance(view, has_variance=variance is not None),
        )


def _variance_of_mean(model: Any, mean: Array) -> Array | None:
    """Return the variance that a fitted regression model expects for each mean, up to a factor; None if it is equal."""
    model = predicting_step(model)
    model = getattr(model, "regressor_", model)
    if isinstance(model, LogNormalRegressor):
        variance = mean**2
    elif isinstance(family := getattr(model, "family_", None), Family):
        variance = family.unit_variance(mean)
    else:
        return None
    usable = np.isfinite(variance).all() and (variance > 0).all() and np.ptp(variance) > 0
    return np.asarray(variance) if usable else None


def _suggest_variance(view: View, *, has_variance: bool) -> str:
    """Return the remedy for errors of unequal spread, in options of the command line."""
    if has_variance:
        return (
            "Prefer intervals from held-out rows (mercer fit --conformal 0.9, in Python ConformalRegressor) to those "
            "of its distribution."
        )
    intervals = "Intervals that assume equal errors are too narrow where the errors are large."
    if view.comparison.task.name == "amounts":
        return f"Gamma and log-normal models expect such errors; the table of scores has them. {intervals}"
    if (np.asarray(view.comparison.task.truth) > 0).all():
        return (
            "Compare again as positive amounts (--task amounts, in Python task='amounts'): gamma and log-normal models "
            f"expect such errors. {intervals}"
        )
    return f"Transform the target so that its errors are alike. {intervals}"
