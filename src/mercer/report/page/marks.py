"""SVG of lines with bands and points with error bars, and their values for the script of the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mercer.report.markup import Markup, fmt, tag
from mercer.report.page.limits import PageLimits
from mercer.report.page.numbers import write_number
from mercer.report.page.plot import Plot
from mercer.report.page.scales import AxisScale
from mercer.report.records import Line, PointCloud
from mercer.report.thinning import even_indices, select_items

Position = tuple[float, float]

#: shapes of points, so that series do not differ in colour only
_SHAPES = (
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0",
    "m-3.2-3.2h6.4v6.4h-6.4z",
    "m0-4.2l4 7h-8z",
    "m0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",
    "m-4-2.8h8l-4 7z",
    "m-1.4-4h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z",
)
#: lines up to this many points have a mark at each point
_MAX_MARKED = 16


class Drawn(NamedTuple):
    """The SVG of a mark, and its values for the script of the page."""

    svg: Markup
    values: dict[str, Any]


def draw_line(line: Line, plot: Plot, series: int | None, limits: PageLimits) -> Drawn:
    kept = even_indices(len(line.x), limits.line)
    x, y = select_items(line.x, kept), select_items(line.y, kept)
    runs = list(_runs(_positions(plot, x, y)))
    parts = []
    if line.low is not None and line.high is not None:
        low, high = (_positions(plot, x, select_items(side, kept)) for side in (line.low, line.high))
        parts.append(tag("path", d=_band(low, high), class_="band"))
    parts.append(tag("path", d="".join(map(_stroke, runs)), class_="line dashed" if line.dashed else "line"))
    if series is not None and len(x) <= _MAX_MARKED and not line.dashed:
        parts.append(_dots([place for run in runs for place in run], series))
    return Drawn(_group(parts, series), _script_values("line", line, plot, series, kept))


def draw_points(points: PointCloud, plot: Plot, series: int | None, limits: PageLimits) -> Drawn:
    kept = even_indices(len(points.x), limits.cloud)
    x, y = select_items(points.x, kept), select_items(points.y, kept)
    parts = []
    if points.low is not None and points.high is not None:
        ends = [plot.y.place_all(select_items(side, kept)) for side in (points.low, points.high)]
        bars = map(_error_bar, plot.x.place_all(x), *ends)
        parts.append(tag("path", d="".join(bars), class_="error"))
    parts.append(_dots([place for place in _positions(plot, x, y) if _is_finite(place)], series or 0))
    return Drawn(_group(parts, series), _script_values("points", points, plot, series, kept))


def colour(series: int | None) -> str:
    return "quiet" if series is None else f"c{series % 8}"


def _group(parts: list[Markup], series: int | None) -> Markup:
    again = " again" if series is not None and series >= 8 else ""
    return tag("g", *parts, class_=f"series {colour(series)}{again}", data_series=series)


def _dots(places: Sequence[Position], series: int) -> Markup:
    shape = _SHAPES[series % len(_SHAPES)]
    return tag("path", d="".join(f"M{fmt(x)} {fmt(y)}{shape}" for x, y in places), class_="dots")


def _positions(plot: Plot, x: Sequence[float], y: Sequence[float]) -> list[Position]:
    return list(zip(plot.x.place_all(x), plot.y.place_all(y), strict=True))


def _is_finite(place: Position) -> bool:
    return not (math.isnan(place[0]) or math.isnan(place[1]))


def _is_inside(plot: Plot, place: Position) -> bool:
    return plot.left - 5 <= place[0] <= plot.right + 5 and plot.top - 5 <= place[1] <= plot.bottom + 5


def _runs(places: Sequence[Position]) -> Iterator[list[Position]]:
    """Yield runs of points without a gap."""
    run: list[Position] = []
    for at in [*places, (math.nan, math.nan)]:
        if _is_finite(at):
            run.append(at)
        elif run:
            yield run
            run = []


def _stroke(run: Sequence[Position]) -> str:
    steps = "L".join(f"{fmt(x)} {fmt(y)}" for x, y in run)
    return f"M{steps}" if len(run) > 1 else f"M{steps}h0"


def _band(low: Sequence[Position], high: Sequence[Position]) -> str:
    both = [(a[0], a[1] + b[1]) for a, b in zip(low, high, strict=True)]  # NaN where either is missing
    begin, areas = 0, []
    for run in _runs(both):
        while not _is_finite(both[begin]):
            begin += 1
        end = begin + len(run)
        areas.append(_stroke([*low[begin:end], *reversed(high[begin:end])]) + "z")
        begin = end
    return "".join(areas)


def _error_bar(at: float, bottom: float, top: float) -> str:
    if math.isnan(at + bottom + top):
        return ""
    return f"M{fmt(at)} {fmt(bottom)}V{fmt(top)}M{fmt(at - 4)} {fmt(top)}h8M{fmt(at - 4)} {fmt(bottom)}h8"


def _script_values(kind: str, mark: Line | PointCloud, plot: Plot, series: int | None, kept: Any) -> dict[str, Any]:
    x, y = select_items(mark.x, kept), select_items(mark.y, kept)
    places = _positions(plot, x, y)
    shown = [i for i, at in enumerate(places) if _is_inside(plot, at)]
    values: dict[str, Any] = {
        "kind": kind,
        "name": mark.name,
        "series": series,
        "px": [round(places[i][0], 1) for i in shown],
        "py": [round(places[i][1], 1) for i in shown],
        "x": [format_at(plot.x, x[i]) for i in shown],
        "y": [format_at(plot.y, y[i]) for i in shown],
    }
    if isinstance(mark, Line) and mark.dashed:
        values["dashed"] = True
    if mark.low is not None and mark.high is not None:
        low, high = select_items(mark.low, kept), select_items(mark.high, kept)
        values["between"] = [f"{format_at(plot.y, low[i])} to {format_at(plot.y, high[i])}" for i in shown]
    if isinstance(mark, PointCloud) and mark.labels is not None:
        labels = select_items(mark.labels, kept)
        values["labels"] = [labels[i][:200] for i in shown]
    return values


def format_at(scale: AxisScale, value: float) -> str:
    names = scale.axis.names
    if scale.axis.scale == "category" and math.isfinite(value) and 0 <= round(value) < len(names):
        return names[round(value)]
    return write_number(value, scale.axis.form)
