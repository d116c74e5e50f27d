"""Lines with bands and points with error bars, drawn; and what is told to those who point at them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mercer.report.markup import Markup, short, tag
from mercer.report.page.limits import PageLimits
from mercer.report.page.numbers import written
from mercer.report.page.plot import Plot
from mercer.report.page.scales import AxisScale
from mercer.report.records import Line, PointCloud
from mercer.report.thinning import chosen, evenly

Place = tuple[float, float]

#: outlines around a point, so that colours are not all that tells marks apart
_SHAPES = (
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0",
    "m-3.2-3.2h6.4v6.4h-6.4z",
    "m0-4.2l4 7h-8z",
    "m0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",
    "m-4-2.8h8l-4 7z",
    "m-1.4-4h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z",
)
#: more points than this make a line that needs no marks on it
_MARKED = 16


class Drawn(NamedTuple):
    """A mark on paper, and what a script needs to tell its values."""

    svg: Markup
    told: dict[str, Any]


def draw_line(line: Line, plot: Plot, series: int | None, limits: PageLimits) -> Drawn:
    kept = evenly(len(line.x), limits.line)
    x, y = chosen(line.x, kept), chosen(line.y, kept)
    ways = list(_ways(_places(plot, x, y)))
    parts = []
    if line.low is not None and line.high is not None:
        low, high = (_places(plot, x, chosen(side, kept)) for side in (line.low, line.high))
        parts.append(tag("path", d=_band(low, high), class_="band"))
    parts.append(tag("path", d="".join(map(_stroke, ways)), class_="line dashed" if line.dashed else "line"))
    if series is not None and len(x) <= _MARKED and not line.dashed:
        parts.append(_dots([place for way in ways for place in way], series))
    return Drawn(_group(parts, series), _told("line", line, plot, series, kept))


def draw_points(points: PointCloud, plot: Plot, series: int | None, limits: PageLimits) -> Drawn:
    kept = evenly(len(points.x), limits.cloud)
    x, y = chosen(points.x, kept), chosen(points.y, kept)
    parts = []
    if points.low is not None and points.high is not None:
        ends = [plot.y.places(chosen(side, kept)) for side in (points.low, points.high)]
        bars = map(_error_bar, plot.x.places(x), *ends)
        parts.append(tag("path", d="".join(bars), class_="error"))
    parts.append(_dots([place for place in _places(plot, x, y) if _there(place)], series or 0))
    return Drawn(_group(parts, series), _told("points", points, plot, series, kept))


def colour(series: int | None) -> str:
    return "quiet" if series is None else f"c{series % 8}"


def _group(parts: list[Markup], series: int | None) -> Markup:
    again = " again" if series is not None and series >= 8 else ""
    return tag("g", *parts, class_=f"series {colour(series)}{again}", data_series=series)


def _dots(places: Sequence[Place], series: int) -> Markup:
    shape = _SHAPES[series % len(_SHAPES)]
    return tag("path", d="".join(f"M{short(x)} {short(y)}{shape}" for x, y in places), class_="dots")


def _places(plot: Plot, x: Sequence[float], y: Sequence[float]) -> list[Place]:
    return list(zip(plot.x.places(x), plot.y.places(y), strict=True))


def _there(place: Place) -> bool:
    return not (math.isnan(place[0]) or math.isnan(place[1]))


def _on_paper(plot: Plot, place: Place) -> bool:
    return plot.left - 5 <= place[0] <= plot.right + 5 and plot.top - 5 <= place[1] <= plot.bottom + 5


def _ways(places: Sequence[Place]) -> Iterator[list[Place]]:
    """Stretches without a gap."""
    way: list[Place] = []
    for at in [*places, (math.nan, math.nan)]:
        if _there(at):
            way.append(at)
        elif way:
            yield way
            way = []


def _stroke(way: Sequence[Place]) -> str:
    steps = "L".join(f"{short(x)} {short(y)}" for x, y in way)
    return f"M{steps}" if len(way) > 1 else f"M{steps}h0"


def _band(low: Sequence[Place], high: Sequence[Place]) -> str:
    both = [(a[0], a[1] + b[1]) for a, b in zip(low, high, strict=True)]  # NaN where either is missing
    begin, areas = 0, []
    for way in _ways(both):
        while not _there(both[begin]):
            begin += 1
        end = begin + len(way)
        areas.append(_stroke([*low[begin:end], *reversed(high[begin:end])]) + "z")
        begin = end
    return "".join(areas)


def _error_bar(at: float, bottom: float, top: float) -> str:
    if math.isnan(at + bottom + top):
        return ""
    return f"M{short(at)} {short(bottom)}V{short(top)}M{short(at - 4)} {short(top)}h8M{short(at - 4)} {short(bottom)}h8"


def _told(kind: str, mark: Line | PointCloud, plot: Plot, series: int | None, kept: Any) -> dict[str, Any]:
    x, y = chosen(mark.x, kept), chosen(mark.y, kept)
    places = _places(plot, x, y)
    there = [i for i, at in enumerate(places) if _on_paper(plot, at)]
    told: dict[str, Any] = {
        "kind": kind,
        "name": mark.name,
        "series": series,
        "px": [round(places[i][0], 1) for i in there],
        "py": [round(places[i][1], 1) for i in there],
        "x": [told_value(plot.x, x[i]) for i in there],
        "y": [told_value(plot.y, y[i]) for i in there],
    }
    if isinstance(mark, Line) and mark.dashed:
        told["dashed"] = True
    if mark.low is not None and mark.high is not None:
        low, high = chosen(mark.low, kept), chosen(mark.high, kept)
        told["between"] = [f"{told_value(plot.y, low[i])} to {told_value(plot.y, high[i])}" for i in there]
    if isinstance(mark, PointCloud) and mark.labels is not None:
        labels = chosen(mark.labels, kept)
        told["labels"] = [labels[i][:200] for i in there]
    return told


def told_value(scale: AxisScale, value: float) -> str:
    names = scale.axis.names
    if scale.axis.scale == "category" and math.isfinite(value) and 0 <= round(value) < len(names):
        return names[round(value)]
    return written(value, scale.axis.form)
