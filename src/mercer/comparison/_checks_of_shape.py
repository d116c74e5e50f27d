"""Checks of what models assume about the data: MRC2xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._errors import TooManyColumnsError
from mercer._typing import Array
from mercer.comparison._check_result import CheckResult, NotAsked
from mercer.comparison._entry import Entry
from mercer.comparison._paired import holm
from mercer.comparison._view import View
from mercer.report.wording import format_p_value, join_words

#: a column with a variance inflation above this is nearly a combination of others
INFLATION = 10.0
#: Pearson's χ² per degree of freedom above which counts vary too much for a Poisson distribution
DISPERSION = 1.5
#: how unlikely a finding has to be by chance
SURELY = 0.01
#: skewness or excess kurtosis that matters: with many rows the slightest is significant
SKEWED, HEAVY = 0.5, 1.0
#: correlation within classes that naive Bayes should not be deaf to
STRONG = 0.6
#: coefficients of the linear programme that looks for separation (of several classes each has its own), and rows ×
#: features up to which all rows are asked: in a sample a rare level is seen with one class, though it comes with both
SEPARATION_COEFFICIENTS, SEPARATION_ENTRIES = 200, 20_000_000
#: columns of covariances, and rows of a class for each
MOST_COLUMNS, ROWS_PER_COLUMN = 40, 2


def separation(view: View) -> Iterator[CheckResult]:
    """Whether a linear boundary makes no mistake, so that unpenalised coefficients are infinite."""
    from mercer.matrices import DenseDesign, Observations
    from mercer.optim import separation as programme

    if not view.classification:
        return
    X, names, target = _features(view)
    design, k = DenseDesign.of(np.ascontiguousarray(X)), len(view.labels)
    try:
        if k == 2:
            found = programme.bernoulli(Observations(design, target.astype(float)))
        else:
            found = programme.categorical(Observations(design, target), k)
    except TooManyColumnsError:
        raise NotAsked(f"there are {len(names):,} features for each of {k:,} classes.") from None
    if found.kind == "none":
        return
    columns = tuple(names[j] for j in _separating(X, found))[:5]
    how = "completely" if found.kind == "complete" else "in part"
    # which all rows need not be
    where = f" in a sample of {len(X):,} rows" if len(X) < view.comparison.table.n_rows else ""
    yield CheckResult(
        f"A linear function of the columns separates the classes {how}{where}, so that logistic regression without a "
        f"penalty has no finite coefficients{_among(columns)}.",
        "Keep a penalty (L2), or use GLM with on_separation='firth'; be suspicious of a column that was recorded after "
        "the fact.",
        columns,
    )


def _separating(X: Array, found: Any) -> list[int]:
    """Features that only rows on the right side have, such as levels that are seen with one class; else those that the
    direction moves, the most first."""
    moved = np.abs(found.direction.reshape(len(found.direction), -1)).max(axis=1)[: X.shape[1]]
    order = [j for j in np.argsort(-moved, kind="stable").tolist() if moved[j] > 0]
    left = X[~found.separated]
    alone = [j for j in order if len(left) and not left[:, j].any()]
    return alone or order


def _among(columns: tuple[str, ...]) -> str:
    return f" (for {', '.join(columns)})" if columns else ""


def _features(view: View) -> tuple[Array, list[str], Array]:
    """What linear models are shown, as numbers, and the class of each row."""
    from mercer.preprocessing import TableFeatures

    if view.sparse:
        raise NotAsked("the rows are a sparse matrix.")
    made = TableFeatures(output="sparse", unseen="ignore", on_leak="ignore").fit(view.comparison.table.native)
    names = [str(name) for name in made.get_feature_names_out()]
    classes = len(view.labels)
    if len(names) * (classes if classes > 2 else 1) > SEPARATION_COEFFICIENTS:
        each = f" for each of {classes:,} classes" if classes > 2 else ""
        raise NotAsked(f"there are {len(names):,} features{each}, and {SEPARATION_COEFFICIENTS} can be looked at.")
    few = view.comparison.table.n_rows * len(names) <= SEPARATION_ENTRIES
    table, target = (view.comparison.table, view.comparison.task.truth) if few else (view.table, view.target)
    return np.asarray(made.transform(table.native).toarray(), dtype=float), names, np.asarray(target)


def collinearity(view: View) -> Iterator[CheckResult]:
    """Columns of numbers that others nearly determine: variance inflation 1 / (1 − R²)."""
    names, X = _complete(view)
    if len(names) < 2 or len(X) <= len(names) + 1:
        return
    inflation = variance_inflation(X)
    found = [j for j in np.argsort(-inflation).tolist() if inflation[j] > INFLATION]
    if found:
        told = [f"{names[j]} ({_times(inflation[j])})" for j in found]
        yield CheckResult(
            f"Columns nearly determine each other: the variance of a coefficient is inflated for {join_words(told)}.",
            "Drop one of them or combine them; a penalty keeps predictions sound, but single coefficients mean little.",
            tuple(names[j] for j in found),
        )


def _times(inflation: float) -> str:
    return "without bound" if not np.isfinite(inflation) or inflation > 1e12 else f"{inflation:,.0f} times"


def variance_inflation(X: Array) -> Array:
    """1 / (1 − R²) of each column on the others, by the inverse of their correlations; ∞ where there is none."""
    X = X / np.abs(X).max(axis=0)  # squares of values beyond 1e±154 have no place among floats
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    tiny = values <= len(values) * np.finfo(float).eps * values.max()
    inverse = np.where(tiny, np.inf, 1 / np.where(tiny, 1, values))
    weights = np.square(vectors)
    spoilt = (weights[:, tiny] > 1e-12).any(axis=1)
    finite = weights[:, ~tiny] @ inverse[~tiny]
    return np.asarray(np.where(spoilt, np.inf, finite))


def _complete(view: View) -> tuple[list[str], Array]:
    """Columns of numbers that vary, and the rows in which none of them is missing."""
    if not view.amounts or view.sparse:
        return [], np.zeros((0, 0))
    X = view.numbers
    mostly = np.isfinite(X).mean(axis=0) > 0.5
    X = X[:, mostly]
    X = X[np.isfinite(X).all(axis=1)]
    varies = (X[:1] != X).any(axis=0) if len(X) else np.zeros(X.shape[1], dtype=bool)
    kept = [name for name, used in zip(view.amounts, mostly, strict=True) if used]
    return [name for name, used in zip(kept, varies, strict=True) if used], X[:, varies]


def overdispersion(view: View) -> Iterator[CheckResult]:
    """Counts that vary more about their predictions than the model's distribution allows, a Poisson's of most."""
    from scipy.stats import norm

    if (best := _best_of(view, "counts")) is None:
        return
    mean, y = view.held_out(best)
    usable = mean > 0
    mean, y = mean[usable], y[usable]
    if len(y) < 20:
        return
    r = view.overdispersed(best)
    variance = mean + mean**2 / r
    # on rows that the model has not seen there is nothing to subtract for its parameters
    squares = (y - mean) ** 2 / variance
    dispersion = float(np.mean(squares))
    # Var[(y − μ)²/v] = 2 + 1/v for a Poisson, 2 + 6/r + 1/v for a negative binomial
    z = (dispersion - 1) / np.sqrt(np.mean(2 + 6 / r + 1 / variance) / len(y))
    if not dispersion > DISPERSION or norm.sf(z) >= SURELY:
        return
    about = f"About the predictions of {best.name} counts vary {dispersion:.3g} times as much as"
    robust = "robust standard errors (summary with covariance='HC3')"
    if np.isfinite(r):
        yield CheckResult(
            f"{about} its negative binomial distribution allows, so that its intervals and p-values are too sure.",
            f"Use {robust}.",
        )
    else:
        yield CheckResult(
            f"{about} a Poisson distribution allows, so that intervals and p-values of a Poisson model are too sure.",
            f"Use GLM('negative_binomial'), or {robust}.",
        )


def _best_of(view: View, task: str) -> Entry | None:
    """The best entry, where this is what is asked."""
    return view.best() if view.comparison.task.name == task else None


def unequal_covariances(view: View) -> Iterator[CheckResult]:
    """Box's M: whether one covariance for all classes, as linear discriminants have, is too simple."""
    groups, names = _class_rows(view)
    if len(groups) < 2:
        return
    statistic, freedom, p = box_m(groups)
    if p < SURELY:
        yield CheckResult(
            f"The classes have different covariances of {join_words(names)} (Box's M, χ²({freedom}) = {statistic:.4g}, "
            f"{format_p_value(p)}); linear discriminants assume one for all.",
            "Compare with the quadratic discriminant (GaussianDiscriminant) and with logistic regression, which "
            "assumes none. The test also reacts to columns that are not normal.",
            tuple(names),
        )


def _class_rows(view: View) -> tuple[list[Array], list[str]]:
    """Complete rows of each class that has enough of them for a covariance."""
    if not view.classification or not view.amounts or view.sparse:
        return [], []
    known = np.isfinite(view.numbers).all(axis=1)
    X, codes = view.numbers[known], view.target[known]
    groups = [X[codes == k] for k in range(len(view.labels))]
    groups = [rows for rows in groups if len(rows) >= ROWS_PER_COLUMN * X.shape[1] + 2]
    if len(groups) < 2 or X.shape[1] > MOST_COLUMNS:
        return [], []
    varies = np.all([(rows != rows[0]).any(axis=0) for rows in groups], axis=0)
    names = [name for name, used in zip(view.amounts, varies, strict=True) if used]
    return ([rows[:, varies] for rows in groups], names) if names else ([], [])


def box_m(groups: list[Array]) -> tuple[float, int, float]:
    """Box's M with his χ² approximation: statistic, degrees of freedom, p-value."""
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


def non_gaussian(view: View) -> Iterator[CheckResult]:
    """Columns that are skewed or heavy-tailed within a class; D'Agostino's test with Holm's correction."""
    from scipy.stats import kurtosis, normaltest, skew

    if not view.classification or view.sparse:
        return
    tested, p_values = [], []
    for j, name in enumerate(view.amounts):
        for k in range(len(view.labels)):
            values = view.numbers[view.target == k, j]
            values = values[np.isfinite(values)]
            if len(values) >= 20 and np.ptp(values) > 0:
                tested.append((name, max(abs(skew(values)) / SKEWED, kurtosis(values) / HEAVY)))
                p_values.append(float(normaltest(values).pvalue))
    odd = tuple(
        dict.fromkeys(name for (name, off), p in zip(tested, holm(p_values), strict=True) if p < SURELY and off > 1)
    )
    if odd:
        verb = "is" if len(odd) == 1 else "are"
        yield CheckResult(
            f"{join_words(odd)} {verb} far from normal within a class: skewed, or with heavy tails.",
            "Take logarithms of positive amounts, give NaiveBayes another family (Gamma, Poisson, Histogram), or "
            "prefer a discriminative model.",
            odd,
        )


def dependent(view: View) -> Iterator[CheckResult]:
    """Columns that move together within the classes, which naive Bayes counts as separate evidence."""
    groups, names = _class_rows(view)
    if len(groups) < 2 or len(names) < 2:
        return
    centred = np.concatenate([rows - rows.mean(axis=0) for rows in groups])
    correlation = np.corrcoef(centred, rowvar=False)
    i, j = np.triu_indices(len(names), 1)
    size = np.abs(correlation[i, j])
    order = [k for k in np.argsort(-size).tolist() if size[k] > STRONG]
    if order:
        pairs = [f"{names[i[k]]} and {names[j[k]]} ({correlation[i[k], j[k]]:+.2f})" for k in order]
        yield CheckResult(
            f"Within the classes {join_words(pairs)} are correlated, and naive Bayes counts their evidence twice: its "
            "probabilities are too sure.",
            "Describe such columns together (MultivariateGaussian in NaiveBayes), or use a discriminant or logistic "
            "regression.",
            tuple(dict.fromkeys(name for k in order for name in (names[i[k]], names[j[k]]))),
        )


def unequal_variance(view: View) -> Iterator[CheckResult]:
    """Breusch and Pagan's test of whether residuals spread more for some predictions than for others."""
    from scipy.stats import chi2

    if (best := _best_of(view, "regression") or _best_of(view, "amounts")) is None:
        return
    predicted, y = view.held_out(best)
    if len(y) < 20 or np.ptp(predicted) == 0:
        return
    squares = (y - predicted) ** 2
    r = np.corrcoef(predicted, squares)[0, 1] if squares.std() > 0 else 0.0
    p = float(chi2.sf(len(y) * r**2, 1))  # Koenker's form, which needs no normal residuals
    if p < SURELY and abs(r) > 0.1:
        way = "grows" if r > 0 else "shrinks"
        yield CheckResult(
            f"The spread of the errors of {best.name} {way} with the prediction (Breusch–Pagan, {format_p_value(p)}).",
            "Model the logarithm of the target or use GLM('gamma'); for intervals use robust standard errors "
            "(covariance='HC3').",
        )
