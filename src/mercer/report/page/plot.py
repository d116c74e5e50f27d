"""Layout of a drawing: its scales, the space for labels, and the axes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.report.markup import Markup, fmt, join_markup, tag
from mercer.report.page.numbers import write_number
from mercer.report.page.scales import AxisScale, Tick, make_scale
from mercer.report.records import Axis, Bars, Chart, Heat, Mark

#: width of a drawing in its own units, which are pixels if a column of the page is as wide
CHART_WIDTH = 480.0
#: width of a small drawing
SMALL_CHART_WIDTH = 320.0
#: size of letters, which is right for a phone
FONT_SIZE = 14.0
#: characters in a line of a label
_MAX_CHARACTERS = 28
#: points where labels may be broken, the preferred ones first
_BREAKS = re.compile(r" +"), re.compile(r"[(\[]"), re.compile(r"[_=:/,-]|(?<=[a-z])(?=[A-Z])")
#: lines of a label
_MAX_LINES = 4
#: height of a line of a label
_LINE_HEIGHT = 13.0
#: approximate width of a letter, because the font is unknown here
_LETTER_WIDTH = 0.56 * FONT_SIZE


class Plot(NamedTuple):
    x: AxisScale
    y: AxisScale
    width: float
    height: float
    slanted: bool  # whether names below the axis are too long to be side by side

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


def lay_out(chart: Chart) -> Plot:
    """Return scales that contain all marks of a chart, with space for labels around them."""
    x_axis, y_axis = _with_names(chart, chart.x, "x"), _with_names(chart, chart.y, "y")
    top = 30.0 if y_axis.label else 14.0
    inner = _inner_height(chart, y_axis)
    upside_down = y_axis.scale == "category"
    ends = (top, top + inner) if upside_down else (top + inner, top)
    y = make_scale(_with_edges(chart, y_axis, "y"), collect_values(chart.marks, "y"), *ends)
    left = 14.0 + max((text_width(line) for tick in y.ticks(6) for line in wrap_label(tick.label)), default=0.0)
    width = SMALL_CHART_WIDTH if chart.small else CHART_WIDTH
    right = width - (_value_label_width(chart) if _has_single_bars(chart) else 16.0)
    x = make_scale(_with_edges(chart, x_axis, "x"), collect_values(chart.marks, "x"), min(left, 0.45 * width), right)
    slanted = _needs_slanted_names(x)
    below = (12.0 + 0.6 * max((text_width(name) for name in x_axis.names), default=0.0)) if slanted else 20.0
    return Plot(x, y, width, top + inner + below + (22.0 if x_axis.label else 6.0), slanted)


def _value_label_width(chart: Chart) -> float:
    """Return the width of the numbers to the right of bars."""
    values = [value for mark in chart.marks if isinstance(mark, Bars) for value in mark.values]
    return max(58.0, *(14.0 + text_width(write_number(value, chart.x.form)) for value in values), 0.0)


def collect_values(marks: Iterable[Mark], side: str) -> NDArray[Any]:
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
    """Return the axis, with the names of bars or cells if it has none."""
    for mark in chart.marks:
        if isinstance(mark, Bars) and side == "y":
            return axis._replace(scale="category", names=tuple(mark.names))
        if isinstance(mark, Heat):
            names = mark.columns if side == "x" else mark.rows
            if len(names) and isinstance(names[0], str):
                return axis._replace(scale="category", names=axis.names or tuple(map(str, names)))
    return axis


def _with_edges(chart: Chart, axis: Axis, side: str) -> Axis:
    """Return the axis with its limits at the outer edges of cells, which have no margin."""
    edges = collect_values([mark for mark in chart.marks if isinstance(mark, Heat)], side)
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
    return 7.0 + _LINE_HEIGHT * max((len(wrap_label(name)) for name in y.names), default=1)


def _has_single_bars(chart: Chart) -> bool:
    """Return whether there is one bar per category, so that its value can be written at its end."""
    return sum(isinstance(mark, Bars) for mark in chart.marks) == 1 == len(chart.marks)


def _needs_slanted_names(x: AxisScale) -> bool:
    names = x.axis.names if x.axis.scale == "category" else ()
    width = (x.stop - x.start) / max(len(names), 1)
    return any(text_width(name) > width - 6 for name in names)


def text_width(words: str) -> float:
    """Return the approximate width of a label, which is truncated if long."""
    return _LETTER_WIDTH * len(truncate(words))


def truncate(words: str, most: int = _MAX_CHARACTERS) -> str:
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def wrap_label(words: str) -> list[str]:
    """Return a label in up to four lines; the last one is truncated if necessary.

    Examples
    --------
    >>> wrap_label("kernelize(LogisticRegression(C=10), RBF(gamma=0.17))")
    ['kernelize(', 'LogisticRegression(C=10),', 'RBF(gamma=0.17))']
    >>> wrap_label("GLM(family='gamma', kernel=RBF(gamma=0.053), link='log', penalty=L2(0.1))")
    ["GLM(family='gamma',", 'kernel=RBF(gamma=0.053),', "link='log', penalty=L2(0.1))"]
    """
    lines: list[str] = []
    while len(words) > _MAX_CHARACTERS and len(lines) < _MAX_LINES - 1:
        ends = ([found.end() for found in rule.finditer(words, 0, _MAX_CHARACTERS + 1)] for rule in _BREAKS)
        places = [[end for end in each if len(words[:end].rstrip()) <= _MAX_CHARACTERS] for each in ends]
        place = next((each[-1] for each in places if each and each[-1] > _MAX_CHARACTERS // 4), _MAX_CHARACTERS)
        lines.append(words[:place].rstrip())
        words = words[place:]
    return [*lines, truncate(words)]


def axes_svg(plot: Plot) -> Markup:
    return tag("g", *_x_axis(plot), *_y_axis(plot), class_="axes")


def _x_axis(plot: Plot) -> list[Markup]:
    ticks = _fitting_ticks(plot.x)
    lines = _grid(plot, "x", [tick.value for tick in ticks], plot.x.minor_ticks())
    labels = [_x_tick_label(plot, tick) for tick in ticks]
    label = truncate(plot.x.axis.label, int(plot.width / _LETTER_WIDTH) - 1)
    half = _LETTER_WIDTH * len(label) / 2  # below the middle of the axis, but not beyond the edges of the drawing
    middle = min(max((plot.left + plot.right) / 2, half), plot.width - half)
    words = _text_with_title(plot.x.axis.label, label)
    return [
        lines,
        *labels,
        *([tag("text", *words, x=middle, y=plot.height - 6, class_="label middle")] if label else []),
    ]


def _fitting_ticks(x: AxisScale) -> list[Tick]:
    """Return as many ticks as fit with their labels side by side."""
    width = x.stop - x.start
    choices = (x.ticks(most) for most in range(8, 1, -1))
    fitting = (ticks for ticks in choices if sum(text_width(tick.label) + 12 for tick in ticks) <= width)
    return next(fitting, x.ticks(2))


def _x_tick_label(plot: Plot, tick: Tick) -> Markup:
    x, y = plot.x.place(tick.value), plot.bottom + 17
    if plot.slanted:
        turn = f"rotate(-35 {fmt(x)} {fmt(y - 4)})"
        return tag(
            "text", *_text_with_title(tick.label, truncate(tick.label)), x=x, y=y - 4, class_="tick end", transform=turn
        )
    return tag("text", *_text_with_title(tick.label, truncate(tick.label)), x=x, y=y, class_="tick middle")


def _y_axis(plot: Plot) -> list[Markup]:
    ticks = plot.y.ticks(max(2, round((plot.bottom - plot.top) / 48)))
    lines = _grid(plot, "y", [tick.value for tick in ticks], plot.y.minor_ticks())
    labels = [_y_tick_label(plot, tick) for tick in ticks]
    label = truncate(plot.y.axis.label, int(plot.width / _LETTER_WIDTH) - 1)
    words = _text_with_title(plot.y.axis.label, label)
    return [lines, *labels, *([tag("text", *words, x=2.0, y=14.0, class_="label")] if label else [])]


def _y_tick_label(plot: Plot, tick: Tick) -> Markup:
    lines, x, y = wrap_label(tick.label), plot.left - 8, plot.y.place(tick.value) + 4
    if len(lines) == 1:
        return tag("text", lines[0], x=x, y=y, class_="tick end")
    first = y - _LINE_HEIGHT * (len(lines) - 1) / 2
    words = (tag("tspan", line, x=x, y=first + i * _LINE_HEIGHT) for i, line in enumerate(lines))
    return tag("text", tag("title", tick.label), *words, class_="tick end")


def _text_with_title(label: str, shown: str) -> tuple[object, ...]:
    """Return a label, preceded by a title with the whole text if it is truncated."""
    return (shown,) if shown == label else (tag("title", label), shown)


def _grid(plot: Plot, side: str, major: list[float], minor: list[float]) -> Markup:
    scale = plot.x if side == "x" else plot.y
    if scale.axis.scale == "category":
        return Markup()
    fine = [value for value in minor if value not in major]
    return join_markup(
        tag("path", d=" ".join(_grid_line(plot, side, scale.place(value)) for value in values), class_=kind)
        for values, kind in ((fine, "grid fine"), (major, "grid"))
        if values
    )


def _grid_line(plot: Plot, side: str, place: float) -> str:
    if side == "x":
        return f"M{fmt(place)} {fmt(plot.top)}V{fmt(plot.bottom)}"
    return f"M{fmt(plot.left)} {fmt(place)}H{fmt(plot.right)}"
