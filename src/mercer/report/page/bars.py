"""SVG of horizontal bars with intervals."""

from __future__ import annotations

import math
from typing import Any

from mercer.report.markup import fmt, tag
from mercer.report.page.marks import Drawn, colour
from mercer.report.page.numbers import write_number
from mercer.report.page.plot import Plot
from mercer.report.records import Bars


def draw_bars(bars: Bars, plot: Plot, series: int | None, lane: tuple[int, int]) -> Drawn:
    """Draw bars in one lane of each category of the chart; `lane` is its index and the number of lanes."""
    height, offset = _lane(lane)
    origin = plot.x.place(min(max(0.0, plot.x.low), plot.x.high))
    ends = plot.x.place_all(bars.values)
    middles = [plot.y.place(i) + offset for i in range(len(bars.names))]
    shown = [i for i, end in enumerate(ends) if not math.isnan(end)]
    shapes = "".join(_bar(origin, ends[i], middles[i], height) for i in shown)
    parts = [tag("path", d=shapes, class_="bar")]
    if bars.low is not None and bars.high is not None:
        intervals = (_interval(plot, bars.low[i], bars.high[i], middles[i]) for i in shown)
        parts.append(tag("path", d="".join(intervals), class_="whisker"))
    if lane[1] == 1:
        parts += [tag("text", _value(bars, i, plot), x=plot.right + 6, y=middles[i] + 4, class_="tick") for i in shown]
    svg = tag("g", *parts, class_=f"series {colour(series)}", data_series=series)
    return Drawn(svg, _script_values(bars, plot, series, shown, ends, middles))


def _lane(lane: tuple[int, int]) -> tuple[float, float]:
    """Return the height of a bar, and the distance of its middle below that of its category."""
    which, count = lane
    return (13.0, 0.0) if count == 1 else (9.0, 11.0 * (which - (count - 1) / 2))


def _bar(origin: float, end: float, middle: float, height: float) -> str:
    return f"M{fmt(origin)} {fmt(middle - height / 2)}H{fmt(end)}v{fmt(height)}H{fmt(origin)}z"


def _interval(plot: Plot, low: float, high: float, middle: float) -> str:
    left, right = plot.x.place_all([low, high])
    if math.isnan(left + right):
        return ""
    tops = (f"M{fmt(x)} {fmt(middle - 3.5)}v7" for x in (left, right))
    return f"M{fmt(left)} {fmt(middle)}H{fmt(right)}{''.join(tops)}"


def _value(bars: Bars, i: int, plot: Plot) -> str:
    return write_number(bars.values[i], plot.x.axis.form)


def _script_values(
    bars: Bars, plot: Plot, series: int | None, shown: list[int], ends: list[float], middles: list[float]
) -> dict[str, Any]:
    values: dict[str, Any] = {
        "kind": "bars",
        "name": bars.name,
        "series": series,
        "px": [round(ends[i], 1) for i in shown],
        "py": [round(middles[i], 1) for i in shown],
        "x": [_value(bars, i, plot) for i in shown],
        "y": [bars.names[i] for i in shown],
    }
    if bars.low is not None and bars.high is not None:
        form = plot.x.axis.form
        values["between"] = [f"{write_number(bars.low[i], form)} to {write_number(bars.high[i], form)}" for i in shown]
    return values
