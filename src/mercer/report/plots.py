"""Plots of densities, bandwidths, outliers and regressions, from numbers computed elsewhere.

Each function draws into `ax`, or into a new figure, and returns the Axes; none shows or saves the figure. They need
matplotlib: pip install 'mercer[plot]'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.report.axes import (
    MAX_PLOTTED_POINTS,
    MAX_TICKS,
    MUTED_COLOUR,
    OUTLINE_COLOUR,
    add_legend,
    draw_cloud,
    extend_box,
    import_matplotlib,
    prepare_axes,
    replace_infinities,
    set_log_axis,
    set_score_axis,
    thin_for_log_axis,
    zoom_to_minimum,
)
from mercer.report.thinning import even_indices

#: colour of outliers and of chosen values
ACCENT_COLOUR = "#c8401e"
#: colour map of a density in the plane
COLOUR_MAP = "Blues"
#: number of outliers labelled with their row
MAX_LABELLED = 5
#: number of bins up to which each has an outline
MAX_OUTLINED = 80


def density_curve(
    x: Array, density: Array, rug: Array | None = None, ax: Any = None, label: str | None = None, *, name: str = "x"
) -> Any:
    """Draw a density on the line, with the points of the fit as a rug of ticks below it.

    Parameters
    ----------
    x, density : array of shape (n,)
        Increasing positions, and the density there.
    rug : array, default=None
        The points of the fit. If there are very many, an evenly spaced selection is drawn.
    ax : matplotlib Axes, default=None
        The Axes to draw into; a new figure if not given.
    label : str, default=None
        Name of the curve in a legend.
    name : str, default="x"
        Label of the horizontal axis.

    Returns
    -------
    matplotlib Axes
    """
    ax = prepare_axes(ax, name, "density")
    (line,) = ax.plot(x, density, label=label, linewidth=1.8, zorder=3)
    ax.fill_between(x, density, color=line.get_color(), alpha=0.18, linewidth=0)
    if rug is not None:
        # in fractions of the height, so that the ticks stay unchanged when another curve is drawn above them
        points = np.sort(np.ravel(rug))
        ticks = points[even_indices(len(points), MAX_TICKS)]
        faint = max(0.12, min(0.7, 60 / max(len(ticks), 1)))
        ax.vlines(
            ticks, 0, 0.035, transform=ax.get_xaxis_transform(), color=line.get_color(), alpha=faint, linewidth=0.9,
            zorder=2,
        )  # fmt: skip
    line.sticky_edges.y.append(0.0)  # the axis begins at 0 and still grows with other curves
    add_legend(ax, label)
    return ax


def histogram_bars(edges: Array, density: Array, ax: Any = None, label: str | None = None, *, name: str = "x") -> Any:
    """Draw a density that is constant on each bin, as bars whose areas sum to one.

    Parameters
    ----------
    edges : array of shape (bins + 1,)
        Increasing edges of the bins.
    density : array of shape (bins,)
        The density in each bin.
    ax, label, name
        See `density_curve`.

    Returns
    -------
    matplotlib Axes
    """
    ax = prepare_axes(ax, name, "density")
    outline = ax.stairs(density, edges, linewidth=1.4, label=label, zorder=3)
    colour = outline.get_edgecolor()
    ax.stairs(density, edges, fill=True, color=colour, alpha=0.3, linewidth=0)
    if len(density) <= MAX_OUTLINED:
        lower_neighbour = np.minimum(density[:-1], density[1:])
        ax.vlines(edges[1:-1], 0, lower_neighbour, color=colour, alpha=0.45, linewidth=0.7)
    outline.sticky_edges.y.append(0.0)
    add_legend(ax, label)
    return ax


def histogram_cells(
    x_edges: Array, y_edges: Array, density: Array, ax: Any = None, *, names: Sequence[str] = ("x", "y")
) -> Any:
    """Draw a density that is constant on each cell of a grid in the plane; empty cells stay white.

    Parameters
    ----------
    x_edges, y_edges : array of shape (bins + 1,)
        Increasing edges of the cells.
    density : array of shape (bins of x, bins of y)
        The density in each cell, in the layout of `numpy.histogram2d`.
    ax : matplotlib Axes, default=None
        The Axes to draw into; a new figure if not given.
    names : two strings
        Labels of the axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = prepare_axes(ax, *names)
    filled = np.ma.masked_where(density.T <= 0, density.T)
    cells = ax.pcolormesh(
        x_edges, y_edges, filled, cmap=COLOUR_MAP, vmin=0, rasterized=filled.size > MAX_PLOTTED_POINTS
    )
    bar = ax.figure.colorbar(cells, ax=ax, label="density")
    bar.outline.set_visible(False)
    return ax


def bandwidth_curve(widths: Array, values: Array, chosen: float | None, name: str, ax: Any = None) -> Any:
    """Draw the criterion by which a bandwidth was chosen, and the choice.

    Parameters
    ----------
    widths : array of shape (n,)
        Bandwidths, increasing; drawn on a logarithmic axis.
    values : array of shape (n,)
        Values of the criterion, which is minimised; infinite values are left out.
    chosen : float or None
        The chosen bandwidth.
    name : str
        Name of the criterion.
    ax : matplotlib Axes, default=None
        The Axes to draw into; a new figure if not given.

    Returns
    -------
    matplotlib Axes
    """
    ax = prepare_axes(ax, "bandwidth", name)
    widths, values = np.asarray(widths, dtype=float), np.asarray(values, dtype=float)
    kept = np.isfinite(values)
    ax.plot(widths[kept], values[kept], linewidth=1.8, marker="o", markersize=2.5)
    set_log_axis(ax, widths)
    zoom_to_minimum(ax, values[kept])
    if chosen is not None:
        ax.axvline(chosen, color=ACCENT_COLOUR, linewidth=1.2, linestyle="--", label=f"chosen: {chosen:.3g}")
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
    """Draw a density in the plane by contours, each with a label such as the share of a highest-density region.

    Parameters
    ----------
    x, y : array of shape (columns,) and (rows,)
        The grid.
    density : array of shape (rows, columns)
        The density at y of the row and x of the column, in the layout of matplotlib's `contour`.
    levels : array of shape (lines,)
        Heights of the contours, in any order.
    labels : sequence of str
        A label for each contour.
    points : array of shape (n, 2), default=None
        The points of the fit. If there are very many, an evenly spaced selection is drawn.
    ax : matplotlib Axes, default=None
        The Axes to draw into; a new figure if not given.
    names : two strings
        Labels of the axes.
    title : str, default=None
        Title of the legend with the labels.

    Returns
    -------
    matplotlib Axes
    """
    ax = prepare_axes(ax, *names)
    order = np.argsort(levels, kind="stable")
    heights, written = np.asarray(levels, dtype=float)[order], [labels[place] for place in order]
    if points is not None:
        draw_cloud(ax, points)
    shades = import_matplotlib("pyplot").get_cmap(COLOUR_MAP)(np.linspace(0.2, 0.75, len(heights)))
    # a density with few distinct heights, e.g. of a uniform kernel, has equal regions: only the smallest is drawn
    distinct = np.append(np.diff(heights) > 0, True)
    highest = np.nextafter(max(float(np.nanmax(density)), heights[-1]), np.inf)
    ax.contourf(x, y, density, levels=[*heights[distinct], highest], colors=shades[distinct], alpha=0.7, zorder=2)
    ax.contour(x, y, density, levels=heights[distinct], colors=[OUTLINE_COLOUR], linewidths=0.8, zorder=3)
    patch = import_matplotlib("patches").Patch
    # a legend, because labels on short lines overlap
    handles = [patch(facecolor=shade, edgecolor=OUTLINE_COLOUR, alpha=0.7) for shade in shades]
    ax.legend(handles[::-1], written[::-1], title=title, frameon=False)
    return ax


def outlier_ranking(
    scores: Array, flagged: Array, threshold: float | None = None, ax: Any = None, *, name: str = "score"
) -> Any:
    """Draw the scores of all rows from the most to the least unusual, with outliers in another colour.

    The most unusual outliers are labelled with their row numbers.

    Parameters
    ----------
    scores : array of shape (n,)
        Scores of the rows; lower is more unusual, as in scikit-learn. Rows with score −inf are drawn below all others.
    flagged : array of bool of shape (n,)
        Whether a row is an outlier.
    threshold : float, default=None
        Score below which rows are outliers.
    ax : matplotlib Axes, default=None
        The Axes to draw into; a new figure if not given.
    name : str, default="score"
        Label of the vertical axis.

    Returns
    -------
    matplotlib Axes
    """
    ax = prepare_axes(ax, "rank (1 is the most unusual)", name)
    order = np.argsort(scores, kind="stable")
    flagged, ranks = np.asarray(flagged, dtype=bool)[order], np.arange(1, len(order) + 1)
    ranked = np.asarray(scores, dtype=float)[order]
    heights = replace_infinities(ranked)
    for chosen, colour, label, size in (
        (~flagged, MUTED_COLOUR, f"the others ({int((~flagged).sum())})", 9.0),
        (flagged, ACCENT_COLOUR, f"outliers ({int(flagged.sum())})", 22.0),
    ):
        places = thin_for_log_axis(np.flatnonzero(chosen))
        ax.scatter(ranks[places], heights[places], s=size, color=colour, label=label, linewidths=0, zorder=3)
    if threshold is not None and np.isfinite(threshold):
        ax.axhline(threshold, color=ACCENT_COLOUR, linewidth=1.0, linestyle="--", label=f"threshold: {threshold:.3g}")
    for place in np.flatnonzero(flagged | (ranked == -np.inf))[:MAX_LABELLED]:
        text = f"row {order[place]}" + (" (−∞)" if ranked[place] == -np.inf else "")
        # below the point, because the following points lie higher and close to each other
        ax.annotate(
            text, (ranks[place], heights[place]), textcoords="offset points", xytext=(1, -5), fontsize=8, rotation=-65,
            rotation_mode="anchor", va="top",
        )  # fmt: skip
    set_log_axis(ax, ranks)  # more space for the few outliers
    set_score_axis(ax, heights if threshold is None else np.append(heights, threshold))
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
    """Draw a regression on one column with a band around it, over the points; NaN leaves a gap.

    Parameters
    ----------
    x, mean : array of shape (n,)
        Increasing positions, and the predictions there.
    lower, upper : array of shape (n,) or None
        Limits of the band.
    points : array of shape (n, 2) or pair of arrays, default=None
        The points of the fit. If there are very many, an evenly spaced selection is drawn.
    ax, label
        See `density_curve`.
    names : two strings
        Labels of the axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = prepare_axes(ax, *names)
    if points is not None:
        draw_cloud(ax, points)
    (line,) = ax.plot(x, mean, linewidth=2.0, label=label, zorder=4)
    if lower is not None and upper is not None:
        shown = ax.dataLim.frozen()
        ax.fill_between(x, lower, upper, color=line.get_color(), alpha=0.25, linewidth=0, zorder=2)
        # where there are few points, a band can be so wide that the curve would look flat
        ax.dataLim.set(extend_box(shown, lower, upper))
    add_legend(ax, label)
    return ax
