"""Models that compare a row with the rows of the fit: Σ αᵢ k(x, xᵢ), and means weighted by kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import ExportError
from mercer._typing import Array
from mercer.base.kernel_comparison import ByKernel
from mercer.base.validation import is_sparse
from mercer.density import Gaussian
from mercer.export.expression import (
    IMPOSSIBLE,
    ONE_VALUE,
    ZERO_VALUE,
    Above,
    Conditional,
    Expression,
    Greatest,
    KernelPoints,
    Logarithm,
    Nearest,
    NumberValue,
    PointSum,
    Quotient,
    SumOf,
    name_value,
    subtract,
    weighted_sum,
)
from mercer.export.families import finite
from mercer.export.formula import ModelOutput, plain_labels
from mercer.export.links import inverse
from mercer.kernel_approximation.function import KernelFunction
from mercer.kernels import RBF, Kernel, Linear, Polynomial
from mercer.svm.one_against_one import pairs_with_signs


def expansion(
    model: Any, kernel: Any, rows: Any, alpha: Array, intercept: Array, inputs: Sequence[Expression]
) -> list[Expression]:
    """Return Σ αᵢ k(x, xᵢ) + b for each column of α."""
    points = np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=float)
    used = alpha.any(axis=1)
    points, alpha = points[used], alpha[used]
    if isinstance(kernel, Linear):
        return [
            name_value(weighted_sum(row, inputs, b))
            for row, b in zip((alpha.T @ points).tolist(), intercept.tolist(), strict=True)
        ]
    if not len(points):  # an empty sum would be unknown; a point of weight 0 adds nothing
        points, alpha = np.zeros((1, len(inputs))), np.zeros((1, alpha.shape[1]))
    compared = _compare_points(model, kernel, tuple(name_value(x) for x in inputs), points)
    return [
        name_value(SumOf(((1.0, name_value(PointSum(compared, column))),), b))
        for column, b in zip(alpha.T, intercept.tolist(), strict=True)
    ]


def _compare_points(model: Any, kernel: Any, inputs: tuple[Expression, ...], points: Array) -> KernelPoints:
    columns = points.shape[1]
    match kernel:
        case RBF():
            return KernelPoints(inputs, points, "rbf", kernel.slope(columns))
        case Polynomial():
            gamma = 1 / columns if kernel.gamma is None else kernel.gamma
            return KernelPoints(inputs, points, "polynomial", gamma, kernel.constant, kernel.degree)
    raise ExportError(_of_other_kernel(model, kernel))


def _of_other_kernel(model: Any, kernel: Any) -> str:
    name = repr(kernel) if isinstance(kernel, Kernel) else "a kernel that is a function or a matrix"
    return (
        f"{type(model).__name__} with {name} cannot be exported; the kernels linear, polynomial and rbf can be. Fit "
        "with one of these, or keep the model in a file with mercer.save."
    )


def of_function(model: Any, function: Any, inputs: Sequence[Expression]) -> list[Expression]:
    """Return the function of a kernel model as an expression of its inputs."""
    if not isinstance(function, KernelFunction):
        raise ExportError(
            f"{type(model).__name__} with random Fourier features cannot be exported. Fit it with "
            "approximate=None or approximate='nystroem'."
        )
    return expansion(model, function.kernel, function.rows, function.alpha, function.intercept, inputs)


def kernel_ridge(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    if model.kernel_ is None:
        raise ExportError(_of_other_kernel(model, None))
    if model._function is not None:
        return ModelOutput(predictions=of_function(model, model._function, inputs))
    alpha = np.asarray(model.dual_coef_).reshape(len(model.dual_coef_), -1)
    none = np.zeros(alpha.shape[1])
    return ModelOutput(predictions=expansion(model, model.kernel_, model.X_fit_, alpha, none, inputs))


def kernelized(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the formula of ridge, logistic and other regressions with a kernel."""
    values = of_function(model, model._function, inputs)
    if hasattr(model, "classes_"):
        return ModelOutput.of_scores(plain_labels(model), [ZERO_VALUE, *values] if len(values) == 1 else values)
    response = model._kind.response
    return ModelOutput(
        predictions=[SumOf(((float(response.whole), inverse(response.link, value)),)) for value in values]
    )


def kernel_perceptron(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return scores without probabilities."""
    scores = of_function(model, model._function, inputs)
    if len(scores) == 1:
        scores = [name_value(SumOf(((-1.0, scores[0]),))), *scores]
    return ModelOutput(classes=plain_labels(model), scores=scores)


def _decisions(model: Any, inputs: Sequence[Expression]) -> list[Expression]:
    """Return the expansion of each machine of `SVC` or `SVR`."""
    comparison = model._comparison
    if not isinstance(comparison, ByKernel):
        raise ExportError(
            f"{type(model).__name__} with a kernel that is a function or a matrix, or with features in its place, "
            "cannot be exported. Fit it with one of the kernels linear, polynomial and rbf, and approximate=None."
        )
    columns, intercept = model._columns(), np.ravel(model._intercept_)
    return expansion(model, comparison.kernel, comparison.support, columns, intercept, inputs)


def svr(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    return ModelOutput(predictions=_decisions(model, inputs))


def svc(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the softmax of τ times each class's smallest margin; the class with most votes is predicted."""
    labels, decisions = plain_labels(model), _decisions(model, inputs)
    scale = model._scale()
    if len(labels) == 2:
        (first,) = decisions
        scores = [SumOf(((sign * scale, first),)) for sign in (1.0, -1.0)]
        return replace(ModelOutput.of_scores(labels, scores), second_wins=True)
    if model.break_ties:
        raise ExportError("SVC(break_ties=True) of several classes cannot be exported. Fit with break_ties=False.")
    own, signs = pairs_with_signs(len(labels))
    margins, votes = [], []
    for k, (pairs, of_class) in enumerate(zip(own.tolist(), signs.tolist(), strict=True)):
        against = [SumOf(((-sign, decisions[p]),)) for p, sign in zip(pairs, of_class, strict=True)]
        margins.append(name_value(SumOf(((-1.0, Greatest(tuple(against))),))))
        wins = [
            Conditional(
                Above(decisions[p], ZERO_VALUE),
                ONE_VALUE if sign > 0 else ZERO_VALUE,
                ZERO_VALUE if sign > 0 else ONE_VALUE,
            )
            for p, sign in zip(pairs, of_class, strict=True)
        ]
        # an unknown decision does not vote; the first of several classes with equal votes is predicted
        unknown = tuple((0.0, decisions[p]) for p in pairs)
        votes.append(name_value(SumOf((*((1.0, win) for win in wins), *unknown), -k / (2 * len(labels)))))
    # if votes are cyclic, no class beats all others, and the predicted class is as probable as any
    top, most = name_value(Greatest(tuple(margins))), name_value(Greatest(tuple(votes)))
    scores = [
        SumOf(((scale, Conditional(Above(most, vote), margin, top)),))
        for vote, margin in zip(votes, margins, strict=True)
    ]
    return replace(ModelOutput.of_scores(labels, scores), votes=votes)


def kernel_bayes(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the posterior from a sum of Gaussians around the rows of each class."""
    known = [x for x, is_used in zip(inputs, model.informative_.tolist(), strict=True) if is_used]
    prior = finite(model._log_prior()).tolist()
    joint: list[Expression] = []
    for windows, log_prior in zip(model.windows_, prior, strict=True):
        if windows is None:
            joint.append(NumberValue(IMPOSSIBLE))
            continue
        _check_smoother(model, windows.kernel, windows.factors)
        near = _in_bandwidths(windows.bandwidth, known, windows.points, windows.origin)
        share = np.ones(len(windows.points)) if windows.share is None else windows.share
        constant = log_prior + windows.log_scale - math.log(windows.total_share)
        joint.append(
            SumOf(((1.0, name_value(Nearest(near))), (1.0, Logarithm(name_value(PointSum(near, share))))), constant)
        )
    return ModelOutput.of_joint(plain_labels(model), joint, prior)


def nadaraya_watson(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the mean of the targets of the fit, or the shares of its classes, weighted by Gaussians."""
    fit = model._fit
    if model._columns.categories:
        raise ExportError(
            f"{type(model).__name__} of categories cannot be exported. Fit it to columns of numbers only."
        )
    _check_smoother(model, fit.kernel, fit._sums.factors)
    near = _in_bandwidths(fit.bandwidth, inputs, fit.numbers(), fit.centre)
    weight = fit.weight / fit.weight.max()
    total = name_value(PointSum(near, weight))
    means = [
        name_value(SumOf(((1.0, Quotient(name_value(PointSum(near, weight * (values - origin))), total)),), origin))
        for values, origin in zip(fit.values.T, fit.origin.tolist(), strict=True)
    ]
    if hasattr(model, "classes_"):
        return ModelOutput(classes=plain_labels(model), probabilities=means)
    return ModelOutput(predictions=means)


def local_linear(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    raise ExportError(
        "LocalLinear cannot be exported: it solves a system of equations for each row. NadarayaWatson can be; or keep "
        "this one in a file with mercer.save and serve it."
    )


def _check_smoother(model: Any, kernel: Any, factors: Any) -> None:
    if not isinstance(kernel, Gaussian) or factors is not None:
        raise ExportError(
            f"{type(model).__name__} cannot be exported with another kernel than the Gaussian, or with bandwidths that "
            "differ between rows. Fit with kernel='gaussian' and a bandwidth that is the same everywhere."
        )


def _in_bandwidths(bandwidth: Any, inputs: Sequence[Expression], rows: Array, centre: Array) -> KernelPoints:
    """Return rows and inputs relative to a centre, in units of the bandwidth."""
    root = np.asarray(bandwidth.root, dtype=float)
    scale = np.linalg.inv(root) if root.ndim == 2 else np.diag(1 / np.broadcast_to(root, len(inputs)))
    centred = [name_value(subtract(x, c)) for x, c in zip(inputs, centre.tolist(), strict=True)]
    whitened = tuple(
        name_value(SumOf(tuple((factor, x) for factor, x in zip(row, centred, strict=True) if factor)))
        for row in scale.tolist()
    )
    return KernelPoints(whitened, (rows - centre) @ scale.T, "nearest", 0.5)
