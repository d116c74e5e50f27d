"""The section on the distribution of each column within the classes."""

from __future__ import annotations

import numpy as np

from mercer._errors import MercerError
from mercer._typing import Array
from mercer.comparison._view import View, sample_rows
from mercer.comparison.sections.useful import sort_by_usefulness
from mercer.report import Axis, Chart, Line, Section

#: columns with a chart
MAX_DENSITY_COLUMNS = 8
#: classes in a chart, the most frequent ones
MAX_DENSITY_CLASSES = 6
#: rows of a density, which bounds time
MAX_DENSITY_ROWS = 1_000
#: points of a curve
N_DENSITY_POINTS = 120


def densities(view: View) -> Section | None:
    """Return a density of each numeric column for each class, the columns that separate classes best first."""
    if not view.classification or not view.amounts:
        return None
    charts = [chart for j in sort_by_usefulness(view)[:MAX_DENSITY_COLUMNS] if (chart := _chart(view, j)) is not None]
    if not charts:
        return None
    return Section(
        "densities",
        "Which columns tell the classes apart",
        tuple(charts),
        "Where the curves of two classes lie apart, the column tells them apart by itself. The columns that do so best "
        "come first. Each curve is a kernel density with an area of 1.",
    )


def _chart(view: View, j: int) -> Chart | None:
    values, name = view.numbers[:, j], view.amounts[j]
    known = np.isfinite(values)
    if not known.any():
        return None
    low, high = np.quantile(values[known], [0.005, 0.995])
    margin = 0.1 * (high - low) or 1.0
    x = np.linspace(low - margin, high + margin, N_DENSITY_POINTS)
    counts = np.bincount(view.target[known], minlength=len(view.labels))
    lines = []
    for k in np.sort(np.argsort(-counts, kind="stable")[:MAX_DENSITY_CLASSES]).tolist():
        y = _density(values[known & (view.target == k)], x)
        if y is not None:
            lines.append(Line(view.labels[k], x, y))
    return Chart(name, Axis(name), Axis("density", low=0), tuple(lines), small=True) if lines else None


def _density(values: Array, x: Array) -> Array | None:
    from mercer.density import KernelDensity

    values = values[sample_rows(len(values), MAX_DENSITY_ROWS)]
    if len(values) < 5 or (values == values[0]).all():
        return None
    try:
        model = KernelDensity(bandwidth="silverman-scaled").fit(values[:, None])
    except MercerError:
        return None
    return np.asarray(np.exp(model.log_density(x[:, None])))
