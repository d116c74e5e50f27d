"""Elements that several plots share: labelled axes, scales, clouds of points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._optional import require
from mercer._typing import Array
from mercer.report.thinning import even_indices

#: colour of points in the background; it, `OUTLINE_COLOUR` and `plots.ACCENT_COLOUR` are distinguishable in print and
#: with colour blindness
MUTED_COLOUR = "#5f6b76"
#: colour of outlines
OUTLINE_COLOUR = "#0b3a66"
#: ticks of a rug; with more, a plot is slower to draw and no clearer
MAX_TICKS = 4000
#: points of a cloud; with more, a plot is slower to draw and no clearer
MAX_PLOTTED_POINTS = 20_000
#: an axis is compressed if the lowest row lies more than this many times further below the best than the 10 % quantile
OUTLIER_DEPTH = 6


def import_matplotlib(part: str) -> Any:
    """Return a module of matplotlib, or raise an error that says how to install it."""
    return require(f"matplotlib.{part}", purpose="A plot", extra="plot")


def prepare_axes(ax: Any, horizontal: str, vertical: str) -> Any:
    """Return `ax`, or the Axes of a new figure, with labels for axes that have none."""
    if ax is None:
        ax = import_matplotlib("pyplot").figure(layout="constrained").add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    if not ax.get_xlabel():
        ax.set_xlabel(horizontal)
    if not ax.get_ylabel():
        ax.set_ylabel(vertical)
    return ax


def draw_cloud(ax: Any, points: Any) -> None:
    """Draw points; the more of them, the more transparent."""
    x, y = points if isinstance(points, tuple) else np.asarray(points).T
    x, y = np.ravel(x), np.ravel(y)
    kept = even_indices(len(x), MAX_PLOTTED_POINTS)
    x, y = x[kept], y[kept]
    faint = max(0.1, min(0.6, 300 / max(len(x), 1)))
    ax.scatter(x, y, s=10, color=MUTED_COLOUR, alpha=faint, linewidths=0, zorder=1, rasterized=len(x) > MAX_TICKS)


def thin_for_log_axis(places: Array) -> Array:
    """Return at most `MAX_PLOTTED_POINTS` of the positions, evenly spaced on a logarithmic axis."""
    if len(places) <= MAX_PLOTTED_POINTS:
        return places
    return np.asarray(places[np.unique(np.geomspace(1, len(places), MAX_PLOTTED_POINTS).round().astype(int)) - 1])


def extend_box(box: Any, lower: Array, upper: Array) -> Any:
    """Return the box extended to hold a band, on each side by at most half the height of the box."""
    bottom = np.nanmin(lower, initial=box.y0, where=np.isfinite(lower))
    top = np.nanmax(upper, initial=box.y1, where=np.isfinite(upper))
    if box.height > 0:
        bottom, top = max(bottom, box.y0 - box.height / 2), min(top, box.y1 + box.height / 2)
    return type(box).from_extents(box.x0, bottom, box.x1, top)


def add_legend(ax: Any, label: str | None) -> None:
    """Add a legend, if there is a label."""
    if label is not None:
        ax.legend(frameon=False)


def replace_infinities(heights: Array) -> Array:
    """Return heights with −inf placed a little below, and +inf a little above, all finite heights."""
    finite = heights[np.isfinite(heights)]
    if finite.size == heights.size:
        return heights
    if not finite.size:
        return np.sign(heights)
    margin = 0.06 * (finite.max() - finite.min() or 1.0)
    return np.clip(heights, finite.min() - margin, finite.max() + margin)


def zoom_to_minimum(ax: Any, values: Array) -> None:
    """Limit the vertical axis to values near the minimum, because criteria rise steeply for narrow kernels."""
    if values.size < 3:
        return
    least, middle = float(values.min()), float(np.quantile(values, 0.8))
    if middle > least and values.max() - least > 4 * (middle - least):
        ax.set_ylim(least - 0.1 * (middle - least), middle + 1.5 * (middle - least))


def set_score_axis(ax: Any, heights: Array) -> None:
    """Set up the vertical axis of ranked scores, with space for labels below.

    If extreme outliers would hide all differences between the other scores, the axis is logarithmic in the distance
    from the best score.
    """
    heights = heights[np.isfinite(heights)]
    if not heights.size:
        return
    top, depth = float(heights.max()), float(np.ptp(heights))
    unit = top - float(np.quantile(heights, 0.1))
    if not 0 < OUTLIER_DEPTH * unit < depth:
        ax.set_ylim(top - 1.2 * (depth or 1.0), top + 0.05 * (depth or 1.0))
        return

    def shrunk(height: Array) -> Array:
        return np.asarray(np.sign(height - top) * np.log1p(np.abs(height - top) / unit))

    def stretched(place: Array) -> Array:
        return np.asarray(top + unit * np.sign(place) * np.expm1(np.abs(place)))

    lowest = float(shrunk(np.array(top - depth)))
    powers = 10.0 ** np.arange(math.ceil(math.log10(depth / unit)) + 1)
    distances = [unit * far for far in np.outer(powers, [1, 3]).ravel() if unit * far < 2 * depth]
    ax.set_yscale("function", functions=(shrunk, stretched))
    ax.set_yticks([_to_one_digit(top, unit), *(_to_one_digit(top - distance, distance) for distance in distances)])
    ax.yaxis.set_major_formatter(import_matplotlib("ticker").FuncFormatter(lambda number, _: f"{number:g}"))
    ax.set_ylim(*stretched(np.array([1.2 * lowest, -0.05 * lowest])))


def _to_one_digit(value: float, distance: float) -> float:
    """Round a value to the leading digit of a distance."""
    return round(value, -math.floor(math.log10(distance)))


def set_log_axis(ax: Any, values: Array) -> None:
    """Make the horizontal axis logarithmic, with plain numbers on it; an axis with a range below 4 stays linear."""
    if not values.size or values.max() < 4 * values.min():
        return
    ticker = import_matplotlib("ticker")
    between = (1.0, 2.0, 5.0) if values.max() < 1000 * values.min() else (1.0,)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=between))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda number, _: f"{number:g}"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
