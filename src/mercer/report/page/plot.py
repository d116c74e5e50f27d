"""Where the parts of a drawing are: its scales, the room for their labels, and the axes themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.report.markup import Markup, joined, short, tag
from mercer.report.page.numbers import written
from mercer.report.page.scales import AxisScale, Tick, scale_of
from mercer.report.records import Axis, Bars, Chart, Heat, Mark

#: a drawing is this wide in its own units, which become pixels when a column of the page is as wide; letters have
#: the size that they have on a phone
WIDTH, SMALL_WIDTH, LETTER = 480.0, 320.0, 14.0
_LONGEST = 26
#: where a name may go on in the next line, best places first, how many lines there are at most, and their height
_BREAKS = re.compile(r"[(\[]| +"), re.compile(r"[_=:/,-]|(?<=[a-z])(?=[A-Z])")
_MOST_LINES, _LINE = 3, 13.0
#: about how wide a letter is: nobody can ask a font here
_EACH = 0.56 * LETTER


class Plot(NamedTuple):
    x: AxisScale
    y: AxisScale
    width: float
    height: float
    slanted: bool  # names below the axis are too long to stand side by side

    @property
    def left(self) -> float:
        return self.x.start

    @property
    def right(self) -> float:
        return self.x.stop

    @property
    def top(self) -> float:
        return min(self.y.start, self.y.stop)

    @property
    def bottom(self) -> float:
        return max(self.y.start, self.y.stop)


def laid_out(chart: Chart) -> Plot:
    """Scales that hold all marks of a chart, with room for what is written around them."""
    x_axis, y_axis = _with_names(chart, chart.x, "x"), _with_names(chart, chart.y, "y")
    top = 30.0 if y_axis.label else 14.0
    inner = _inner_height(chart, y_axis)
    upside_down = y_axis.scale == "category"
    ends = (top, top + inner) if upside_down else (top + inner, top)
    y = scale_of(_with_edges(chart, y_axis, "y"), values_along(chart.marks, "y"), *ends)
    left = 14.0 + max((width_of(line) for tick in y.ticks(6) for line in in_lines(tick.label)), default=0.0)
    width = SMALL_WIDTH if chart.small else WIDTH
    right = width - (_room_for_values(chart) if _bars_alone(chart) else 16.0)
    x = scale_of(_with_edges(chart, x_axis, "x"), values_along(chart.marks, "x"), min(left, 0.45 * width), right)
    slanted = _slanted(x)
    below = (12.0 + 0.6 * max((width_of(name) for name in x_axis.names), default=0.0)) if slanted else 20.0
    return Plot(x, y, width, top + inner + below + (22.0 if x_axis.label else 6.0), slanted)


def _room_for_values(chart: Chart) -> float:
    """Width of the numbers that stand to the right of bars."""
    values = [value for mark in chart.marks if isinstance(mark, Bars) for value in mark.values]
    return max(58.0, *(14.0 + width_of(written(value, chart.x.form)) for value in values), 0.0)


def values_along(marks: Iterable[Mark], side: str) -> NDArray[Any]:
    parts = [part for mark in marks for part in _values(mark, side) if part is not None]
    return np.concatenate([np.zeros(0), *(np.asarray(part, dtype=float) for part in parts)])


def _values(mark: Mark, side: str) -> tuple[Any, ...]:
    if isinstance(mark, Heat):
        edges = mark.columns if side == "x" else mark.rows
        return () if len(edges) and isinstance(edges[0], str) else (edges,)
    if isinstance(mark, Bars):
        return ([0.0], mark.values, mark.low, mark.high) if side == "x" else ()
    return (mark.x,) if side == "x" else (mark.y, mark.low, mark.high)


def _with_names(chart: Chart, axis: Axis, side: str) -> Axis:
    """The axis, with the names of bars or cells if it has none of its own."""
    for mark in chart.marks:
        if isinstance(mark, Bars) and side == "y":
            return axis._replace(scale="category", names=tuple(mark.names))
        if isinstance(mark, Heat):
            names = mark.columns if side == "x" else mark.rows
            if len(names) and isinstance(names[0], str):
                return axis._replace(scale="category", names=axis.names or tuple(map(str, names)))
    return axis


def _with_edges(chart: Chart, axis: Axis, side: str) -> Axis:
    """Cells between edges fill the paper: there is no room around them."""
    edges = values_along([mark for mark in chart.marks if isinstance(mark, Heat)], side)
    if not edges.size or axis.scale == "category":
        return axis
    low = float(edges.min()) if axis.low is None else axis.low
    return axis._replace(low=low, high=float(edges.max()) if axis.high is None else axis.high)


def _inner_height(chart: Chart, y: Axis) -> float:
    groups = sum(isinstance(mark, Bars) for mark in chart.marks)
    if groups:
        each = max(24.0 if groups == 1 else 10.0 + 11.0 * groups, _height_of_names(y))
        return max(len(y.names) * each, 40.0)
    if any(isinstance(mark, Heat) for mark in chart.marks):
        return min(max(len(y.names) * 34.0, 110.0), 380.0) if y.scale == "category" else 330.0
    if y.scale == "category":
        return max(len(y.names) * max(24.0, _height_of_names(y)), 60.0)
    return 150.0 if chart.small else 250.0


def _height_of_names(y: Axis) -> float:
    return 7.0 + _LINE * max((len(in_lines(name)) for name in y.names), default=1)


def _bars_alone(chart: Chart) -> bool:
    """Whether there is one value on each line, which can then be written at its end."""
    return sum(isinstance(mark, Bars) for mark in chart.marks) == 1 == len(chart.marks)


def _slanted(x: AxisScale) -> bool:
    names = x.axis.names if x.axis.scale == "category" else ()
    room = (x.stop - x.start) / max(len(names), 1)
    return any(width_of(name) > room - 6 for name in names)


def width_of(words: str) -> float:
    """About how wide words are on an axis, where long ones are cut."""
    return _EACH * len(cut(words))


def cut(words: str, most: int = _LONGEST) -> str:
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def in_lines(words: str) -> list[str]:
    """Words beside an axis, in up to three lines where they are long; what is left over is cut.

    Examples
    --------
    >>> in_lines("kernelize(LogisticRegression(C=10), RBF(gamma=0.17))")
    ['kernelize(', 'LogisticRegression(C=10),', 'RBF(gamma=0.17))']
    """
    lines: list[str] = []
    while len(words) > _LONGEST and len(lines) < _MOST_LINES - 1:
        places = [[found.end() for found in rule.finditer(words, 0, _LONGEST + 1)] for rule in _BREAKS]
        place = next((each[-1] for each in places if each and each[-1] > _LONGEST // 4), _LONGEST)
        lines.append(words[:place].rstrip())
        words = words[place:]
    return [*lines, cut(words)]


def axes_svg(plot: Plot) -> Markup:
    return tag("g", *_x_axis(plot), *_y_axis(plot), class_="axes")


def _x_axis(plot: Plot) -> list[Markup]:
    ticks = _that_fit(plot.x)
    lines = _grid(plot, "x", [tick.value for tick in ticks], plot.x.minor())
    labels = [_below(plot, tick) for tick in ticks]
    label = cut(plot.x.axis.label, int(plot.width / _EACH) - 1)
    half = _EACH * len(label) / 2  # below the middle of the axis, but not beyond the edges of the drawing
    middle = min(max((plot.left + plot.right) / 2, half), plot.width - half)
    words = _whole(plot.x.axis.label, label)
    return [
        lines,
        *labels,
        *([tag("text", *words, x=middle, y=plot.height - 6, class_="label middle")] if label else []),
    ]


def _that_fit(x: AxisScale) -> list[Tick]:
    """As many ticks as have room for their labels side by side."""
    room = x.stop - x.start
    choices = (x.ticks(most) for most in range(8, 1, -1))
    fitting = (ticks for ticks in choices if sum(width_of(tick.label) + 12 for tick in ticks) <= room)
    return next(fitting, x.ticks(2))


def _below(plot: Plot, tick: Tick) -> Markup:
    x, y = plot.x.place(tick.value), plot.bottom + 17
    if plot.slanted:
        turn = f"rotate(-35 {short(x)} {short(y - 4)})"
        return tag("text", *_whole(tick.label, cut(tick.label)), x=x, y=y - 4, class_="tick end", transform=turn)
    return tag("text", *_whole(tick.label, cut(tick.label)), x=x, y=y, class_="tick middle")


def _y_axis(plot: Plot) -> list[Markup]:
    ticks = plot.y.ticks(max(2, round((plot.bottom - plot.top) / 48)))
    lines = _grid(plot, "y", [tick.value for tick in ticks], plot.y.minor())
    labels = [_beside(plot, tick) for tick in ticks]
    label = cut(plot.y.axis.label, int(plot.width / _EACH) - 1)
    words = _whole(plot.y.axis.label, label)
    return [lines, *labels, *([tag("text", *words, x=2.0, y=14.0, class_="label")] if label else [])]


def _beside(plot: Plot, tick: Tick) -> Markup:
    lines, x, y = in_lines(tick.label), plot.left - 8, plot.y.place(tick.value) + 4
    if len(lines) == 1:
        return tag("text", lines[0], x=x, y=y, class_="tick end")
    first = y - _LINE * (len(lines) - 1) / 2
    words = (tag("tspan", line, x=x, y=first + i * _LINE) for i, line in enumerate(lines))
    return tag("text", tag("title", tick.label), *words, class_="tick end")


def _whole(label: str, shown: str) -> tuple[object, ...]:
    """Words that are cut are there as a whole for those who point at them."""
    return (shown,) if shown == label else (tag("title", label), shown)


def _grid(plot: Plot, side: str, major: list[float], minor: list[float]) -> Markup:
    scale = plot.x if side == "x" else plot.y
    if scale.axis.scale == "category":
        return Markup()
    fine = [value for value in minor if value not in major]
    return joined(
        tag("path", d=" ".join(_across(plot, side, scale.place(value)) for value in values), class_=kind)
        for values, kind in ((fine, "grid fine"), (major, "grid"))
        if values
    )


def _across(plot: Plot, side: str, place: float) -> str:
    if side == "x":
        return f"M{short(place)} {short(plot.top)}V{short(plot.bottom)}"
    return f"M{short(plot.left)} {short(place)}H{short(plot.right)}"
