"""What pictures have in common: axes with names, scales, clouds of points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._optional import require
from mercer._typing import Array
from mercer.report.thinning import evenly

#: of what stands back (points, rows that are no outliers), and of an outline; these and `plots.STRIKING` can be told
#: apart by eyes of every kind, and in print
QUIET, OUTLINE = "#5f6b76", "#0b3a66"
#: ticks of a rug, and points of a cloud, beyond which a picture becomes slow to draw and no clearer
MOST_TICKS, MOST_POINTS = 4000, 20_000
#: how many times further below the best than nine tenths of the rows the worst lies, if an axis is to move it closer
FAR = 6


def matplotlib(part: str) -> Any:
    """A module of matplotlib, or a sentence that says how to install it."""
    return require(f"matplotlib.{part}", purpose="A plot", extra="plot")


def named_axes(ax: Any, horizontal: str, vertical: str) -> Any:
    """`ax`, or that of a new figure, with names for those of its axes that have none."""
    if ax is None:
        ax = matplotlib("pyplot").figure(layout="constrained").add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    if not ax.get_xlabel():
        ax.set_xlabel(horizontal)
    if not ax.get_ylabel():
        ax.set_ylabel(vertical)
    return ax


def cloud(ax: Any, points: Any) -> None:
    """Points, the fainter the more there are of them."""
    x, y = points if isinstance(points, tuple) else np.asarray(points).T
    x, y = np.ravel(x), np.ravel(y)
    kept = evenly(len(x), MOST_POINTS)
    x, y = x[kept], y[kept]
    faint = max(0.1, min(0.6, 300 / max(len(x), 1)))
    ax.scatter(x, y, s=10, color=QUIET, alpha=faint, linewidths=0, zorder=1, rasterized=len(x) > MOST_TICKS)


def spread(places: Array) -> Array:
    """At most so many places as can be told apart on a logarithmic axis."""
    if len(places) <= MOST_POINTS:
        return places
    return np.asarray(places[np.unique(np.geomspace(1, len(places), MOST_POINTS).round().astype(int)) - 1])


def reaching(box: Any, lower: Array, upper: Array) -> Any:
    """The box of what is drawn, grown to hold a band, but on each side by no more than half its height."""
    bottom = np.nanmin(lower, initial=box.y0, where=np.isfinite(lower))
    top = np.nanmax(upper, initial=box.y1, where=np.isfinite(upper))
    if box.height > 0:
        bottom, top = max(bottom, box.y0 - box.height / 2), min(top, box.y1 + box.height / 2)
    return type(box).from_extents(box.x0, bottom, box.x1, top)


def legend(ax: Any, label: str | None) -> None:
    if label is not None:
        ax.legend(frameon=False)


def on_paper(heights: Array) -> Array:
    """Heights with −inf put a little below, and +inf above, all that are finite."""
    finite = heights[np.isfinite(heights)]
    if finite.size == heights.size:
        return heights
    if not finite.size:
        return np.sign(heights)
    margin = 0.06 * (finite.max() - finite.min() or 1.0)
    return np.clip(heights, finite.min() - margin, finite.max() + margin)


def close_to_the_minimum(ax: Any, values: Array) -> None:
    """Criteria rise steeply for narrow kernels: what lies far above everything of interest is cut off."""
    if values.size < 3:
        return
    least, middle = float(values.min()), float(np.quantile(values, 0.8))
    if middle > least and values.max() - least > 4 * (middle - least):
        ax.set_ylim(least - 0.1 * (middle - least), middle + 1.5 * (middle - least))


def heights_of_ranks(ax: Any, heights: Array) -> None:
    """A vertical axis with room for names below; far outliers are moved closer, which would hide all differences."""
    heights = heights[np.isfinite(heights)]
    if not heights.size:
        return
    top, depth = float(heights.max()), float(np.ptp(heights))
    unit = top - float(np.quantile(heights, 0.1))
    if not 0 < FAR * unit < depth:
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
    ax.yaxis.set_major_formatter(matplotlib("ticker").FuncFormatter(lambda number, _: f"{number:g}"))
    ax.set_ylim(*stretched(np.array([1.2 * lowest, -0.05 * lowest])))


def _to_one_digit(value: float, distance: float) -> float:
    """A value rounded to the leading digit of some distance."""
    return round(value, -math.floor(math.log10(distance)))


def logarithmic(ax: Any, values: Array) -> None:
    """A logarithmic horizontal axis with plain numbers on it; a range too short to have any stays linear."""
    if not values.size or values.max() < 4 * values.min():
        return
    ticker = matplotlib("ticker")
    between = (1.0, 2.0, 5.0) if values.max() < 1000 * values.min() else (1.0,)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=between))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda number, _: f"{number:g}"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
