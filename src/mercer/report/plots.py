"""Pictures of densities, bandwidths, outliers and regressions, from numbers that somebody else has computed.

Each function draws into `ax`, or into a figure of its own, and returns the Axes; none shows or saves anything.
They need matplotlib: pip install 'mercer[plot]'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.report.axes import (
    MOST_POINTS,
    MOST_TICKS,
    OUTLINE,
    QUIET,
    close_to_the_minimum,
    cloud,
    heights_of_ranks,
    legend,
    logarithmic,
    matplotlib,
    named_axes,
    on_paper,
    reaching,
    spread,
)
from mercer.report.thinning import evenly

#: what stands out (an outlier, a choice), and the shades of a density in the plane
STRIKING, SHADES = "#c8401e", "Blues"
#: outliers that are named, bins that have an outline each
MOST_NAMED, MOST_OUTLINED = 5, 80


def density_curve(
    x: Array, density: Array, rug: Array | None = None, ax: Any = None, label: str | None = None, *, name: str = "x"
) -> Any:
    """A density on the line, with the points it was estimated from as a rug of ticks below it.

    Parameters
    ----------
    x, density : array of shape (n,)
        Where, increasing, and how dense.
    rug : array, default=None
        The points. Of very many, evenly spaced ones in their order are drawn.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if not given.
    label : str, default=None
        What the curve is called in a legend, where several are drawn into one picture.
    name : str, default="x"
        Of the axis.

    Returns
    -------
    matplotlib Axes
    """
    ax = named_axes(ax, name, "density")
    (line,) = ax.plot(x, density, label=label, linewidth=1.8, zorder=3)
    ax.fill_between(x, density, color=line.get_color(), alpha=0.18, linewidth=0)
    if rug is not None:
        # in shares of the height, so that the ticks stay what they are when another curve is drawn above them
        points = np.sort(np.ravel(rug))
        ticks = points[evenly(len(points), MOST_TICKS)]
        faint = max(0.12, min(0.7, 60 / max(len(ticks), 1)))
        ax.vlines(
            ticks, 0, 0.035, transform=ax.get_xaxis_transform(), color=line.get_color(), alpha=faint, linewidth=0.9,
            zorder=2,
        )  # fmt: skip
    line.sticky_edges.y.append(0.0)  # a density stands on 0; a limit would stop the axes from growing with other curves
    legend(ax, label)
    return ax


def histogram_bars(edges: Array, density: Array, ax: Any = None, label: str | None = None, *, name: str = "x") -> Any:
    """A density that is constant on each bin, as bars whose areas sum to one.

    Parameters
    ----------
    edges : array of shape (bins + 1,)
        Of the bins, increasing.
    density : array of shape (bins,)
        In each.
    ax, label, name
        See `density_curve`.

    Returns
    -------
    matplotlib Axes
    """
    ax = named_axes(ax, name, "density")
    outline = ax.stairs(density, edges, linewidth=1.4, label=label, zorder=3)
    colour = outline.get_edgecolor()
    ax.stairs(density, edges, fill=True, color=colour, alpha=0.3, linewidth=0)
    if len(density) <= MOST_OUTLINED:
        lower_neighbour = np.minimum(density[:-1], density[1:])
        ax.vlines(edges[1:-1], 0, lower_neighbour, color=colour, alpha=0.45, linewidth=0.7)
    outline.sticky_edges.y.append(0.0)
    legend(ax, label)
    return ax


def histogram_cells(
    x_edges: Array, y_edges: Array, density: Array, ax: Any = None, *, names: Sequence[str] = ("x", "y")
) -> Any:
    """A density that is constant on each cell of a grid in the plane; cells without anything stay white.

    Parameters
    ----------
    x_edges, y_edges : array of shape (bins + 1,)
        Of the cells, increasing.
    density : array of shape (bins of x, bins of y)
        In each, as `numpy.histogram2d` has it.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if not given.
    names : two strings
        Of the axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = named_axes(ax, *names)
    filled = np.ma.masked_where(density.T <= 0, density.T)
    cells = ax.pcolormesh(x_edges, y_edges, filled, cmap=SHADES, vmin=0, rasterized=filled.size > MOST_POINTS)
    bar = ax.figure.colorbar(cells, ax=ax, label="density")
    bar.outline.set_visible(False)
    return ax


def bandwidth_curve(widths: Array, values: Array, chosen: float | None, name: str, ax: Any = None) -> Any:
    """A criterion that bandwidths were chosen by, and the choice.

    Parameters
    ----------
    widths : array of shape (n,)
        Bandwidths, increasing; drawn on a logarithmic axis.
    values : array of shape (n,)
        Of the criterion, which is minimised; infinite ones are left out.
    chosen : float or None
        The bandwidth that was chosen.
    name : str
        Of the criterion.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes
    """
    ax = named_axes(ax, "bandwidth", name)
    widths, values = np.asarray(widths, dtype=float), np.asarray(values, dtype=float)
    kept = np.isfinite(values)
    ax.plot(widths[kept], values[kept], linewidth=1.8, marker="o", markersize=2.5)
    logarithmic(ax, widths)
    close_to_the_minimum(ax, values[kept])
    if chosen is not None:
        ax.axvline(chosen, color=STRIKING, linewidth=1.2, linestyle="--", label=f"chosen: {chosen:.3g}")
        ax.legend(frameon=False)
    return ax


def density_contours(
    x: Array,
    y: Array,
    density: Array,
    levels: Array,
    labels: Sequence[str],
    points: Array | None = None,
    ax: Any = None,
    *,
    names: Sequence[str] = ("x", "y"),
    title: str | None = None,
) -> Any:
    """A density in the plane by lines of equal height, each with a label: the share of a highest-density region, say.

    Parameters
    ----------
    x, y : array of shape (columns,) and (rows,)
        The grid.
    density : array of shape (rows, columns)
        At y of the row and x of the column, as matplotlib's `contour` has it.
    levels : array of shape (lines,)
        Heights, in any order.
    labels : sequence of str
        What lies within each line.
    points : array of shape (n, 2), default=None
        What the density was estimated from. Of very many, evenly spaced ones in their order are drawn.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if not given.
    names : two strings
        Of the axes.
    title : str, default=None
        Of the legend that has the labels.

    Returns
    -------
    matplotlib Axes
    """
    ax = named_axes(ax, *names)
    order = np.argsort(levels, kind="stable")
    heights, written = np.asarray(levels, dtype=float)[order], [labels[place] for place in order]
    if points is not None:
        cloud(ax, points)
    shades = matplotlib("pyplot").get_cmap(SHADES)(np.linspace(0.2, 0.75, len(heights)))
    # a density of few heights, that of a uniform kernel say, has regions with the same boundary: the smallest is seen
    seen = np.append(np.diff(heights) > 0, True)
    highest = np.nextafter(max(float(np.nanmax(density)), heights[-1]), np.inf)
    ax.contourf(x, y, density, levels=[*heights[seen], highest], colors=shades[seen], alpha=0.7, zorder=2)
    ax.contour(x, y, density, levels=heights[seen], colors=[OUTLINE], linewidths=0.8, zorder=3)
    patch = matplotlib("patches").Patch
    # a legend, because labels on the lines run into each other where lines are short
    handles = [patch(facecolor=shade, edgecolor=OUTLINE, alpha=0.7) for shade in shades]
    ax.legend(handles[::-1], written[::-1], title=title, frameon=False)
    return ax


def outlier_ranking(
    scores: Array, flagged: Array, threshold: float | None = None, ax: Any = None, *, name: str = "score"
) -> Any:
    """All rows from the most to the least unusual, those that are flagged in another colour, the worst by their number.

    Parameters
    ----------
    scores : array of shape (n,)
        Of the rows; the lower, the more unusual, as in scikit-learn. Rows of score −inf are drawn below all others.
    flagged : array of bool of shape (n,)
        Which rows are called outliers.
    threshold : float, default=None
        Below which they are.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if not given.
    name : str, default="score"
        Of the scores.

    Returns
    -------
    matplotlib Axes
    """
    ax = named_axes(ax, "rank (1 is the most unusual)", name)
    order = np.argsort(scores, kind="stable")
    flagged, ranks = np.asarray(flagged, dtype=bool)[order], np.arange(1, len(order) + 1)
    ranked = np.asarray(scores, dtype=float)[order]
    heights = on_paper(ranked)
    for chosen, colour, label, size in (
        (~flagged, QUIET, f"the others ({int((~flagged).sum())})", 9.0),
        (flagged, STRIKING, f"outliers ({int(flagged.sum())})", 22.0),
    ):
        places = spread(np.flatnonzero(chosen))
        ax.scatter(ranks[places], heights[places], s=size, color=colour, label=label, linewidths=0, zorder=3)
    if threshold is not None and np.isfinite(threshold):
        ax.axhline(threshold, color=STRIKING, linewidth=1.0, linestyle="--", label=f"threshold: {threshold:.3g}")
    for place in np.flatnonzero(flagged | (ranked == -np.inf))[:MOST_NAMED]:
        text = f"row {order[place]}" + (" (−∞)" if ranked[place] == -np.inf else "")
        # away from the points to come, which lie higher and close to each other
        ax.annotate(
            text, (ranks[place], heights[place]), textcoords="offset points", xytext=(1, -5), fontsize=8, rotation=-65,
            rotation_mode="anchor", va="top",
        )  # fmt: skip
    logarithmic(ax, ranks)  # room for the few that matter
    heights_of_ranks(ax, heights if threshold is None else np.append(heights, threshold))
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return ax


def regression_curve(
    x: Array,
    mean: Array,
    lower: Array | None,
    upper: Array | None,
    points: Any = None,
    ax: Any = None,
    label: str | None = None,
    *,
    names: Sequence[str] = ("x", "y"),
) -> Any:
    """A regression on one column with a band around it, over the points; where there is no answer (NaN) is a gap.

    Parameters
    ----------
    x, mean : array of shape (n,)
        Where, increasing, and what is predicted.
    lower, upper : array of shape (n,) or None
        The band.
    points : array of shape (n, 2) or pair of arrays, default=None
        What was learnt from. Of very many, evenly spaced ones in their order are drawn.
    ax, label
        See `density_curve`.
    names : two strings
        Of the axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = named_axes(ax, *names)
    if points is not None:
        cloud(ax, points)
    (line,) = ax.plot(x, mean, linewidth=2.0, label=label, zorder=4)
    if lower is not None and upper is not None:
        shown = ax.dataLim.frozen()
        ax.fill_between(x, lower, upper, color=line.get_color(), alpha=0.25, linewidth=0, zorder=2)
        # where there are hardly any points a band can be so wide that nothing else would be seen
        ax.dataLim.set(reaching(shown, lower, upper))
    legend(ax, label)
    return ax
