"""Horizontal bars with intervals, drawn."""

from __future__ import annotations

import math
from typing import Any

from mercer.report.markup import short, tag
from mercer.report.page.marks import Drawn, colour
from mercer.report.page.numbers import written
from mercer.report.page.plot import Plot
from mercer.report.records import Bars


def draw_bars(bars: Bars, plot: Plot, series: int | None, lane: tuple[int, int]) -> Drawn:
    """Bars in lane (which, of how many) of each line of the chart."""
    height, offset = _lane(lane)
    origin = plot.x.place(min(max(0.0, plot.x.low), plot.x.high))
    ends = plot.x.places(bars.values)
    middles = [plot.y.place(i) + offset for i in range(len(bars.names))]
    there = [i for i, end in enumerate(ends) if not math.isnan(end)]
    shapes = "".join(_bar(origin, ends[i], middles[i], height) for i in there)
    parts = [tag("path", d=shapes, class_="bar")]
    if bars.low is not None and bars.high is not None:
        intervals = (_interval(plot, bars.low[i], bars.high[i], middles[i]) for i in there)
        parts.append(tag("path", d="".join(intervals), class_="whisker"))
    if lane[1] == 1:
        parts += [tag("text", _value(bars, i, plot), x=plot.right + 6, y=middles[i] + 4, class_="tick") for i in there]
    svg = tag("g", *parts, class_=f"series {colour(series)}", data_series=series)
    return Drawn(svg, _told(bars, plot, series, there, ends, middles))


def _lane(lane: tuple[int, int]) -> tuple[float, float]:
    """How high a bar is, and how far its middle is below that of its line."""
    which, count = lane
    return (13.0, 0.0) if count == 1 else (9.0, 11.0 * (which - (count - 1) / 2))


def _bar(origin: float, end: float, middle: float, height: float) -> str:
    return f"M{short(origin)} {short(middle - height / 2)}H{short(end)}v{short(height)}H{short(origin)}z"


def _interval(plot: Plot, low: float, high: float, middle: float) -> str:
    left, right = plot.x.places([low, high])
    if math.isnan(left + right):
        return ""
    tops = (f"M{short(x)} {short(middle - 3.5)}v7" for x in (left, right))
    return f"M{short(left)} {short(middle)}H{short(right)}{''.join(tops)}"


def _value(bars: Bars, i: int, plot: Plot) -> str:
    return written(bars.values[i], plot.x.axis.form)


def _told(
    bars: Bars, plot: Plot, series: int | None, there: list[int], ends: list[float], middles: list[float]
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": "bars",
        "name": bars.name,
        "series": series,
        "px": [round(ends[i], 1) for i in there],
        "py": [round(middles[i], 1) for i in there],
        "x": [_value(bars, i, plot) for i in there],
        "y": [bars.names[i] for i in there],
    }
    if bars.low is not None and bars.high is not None:
        form = plot.x.axis.form
        told["between"] = [f"{written(bars.low[i], form)} to {written(bars.high[i], form)}" for i in there]
    return told
