"""Charts as HTML figures with title, drawing, legend and caption."""

from __future__ import annotations

import math
from typing import NamedTuple

from mercer.report.markup import Markup, escape_text, fmt, inline, join_markup, json_script, tag
from mercer.report.page.bars import draw_bars
from mercer.report.page.cells import draw_cells, legend_of_shades
from mercer.report.page.limits import PageLimits
from mercer.report.page.marks import Drawn, colour, draw_line, draw_points
from mercer.report.page.numbers import write_number
from mercer.report.page.plot import Plot, axes_svg, lay_out
from mercer.report.page.tables import add_break_points
from mercer.report.records import Bars, Chart, Heat, Line, Mark


class _Canvas(NamedTuple):
    plot: Plot
    series: dict[str, int]
    limits: PageLimits


def chart_html(chart: Chart, key: str, limits: PageLimits) -> Markup:
    """Return a chart as a figure; `key` makes its ids unique."""
    title = tag("h3", add_break_points(escape_text(chart.title))) if chart.title else Markup()
    caption = tag("figcaption", inline(chart.caption)) if chart.caption else Markup()
    if not any(map(_visible, chart.marks)):
        message = tag("p", "There is nothing to draw: no value is finite.", class_="nothing")
        return tag("figure", title, message, caption, class_="chart")
    canvas = _Canvas(lay_out(chart), number_series(chart), limits)
    drawn = _draw_all(chart, canvas)
    drawing = _svg(chart, canvas.plot, key, join_markup(part.svg for part in drawn))
    values = {"x": chart.x.label, "y": chart.y.label, "marks": [part.values for part in drawn]}
    box = tag("div", drawing, class_="drawing")
    return tag(
        "figure",
        title,
        box,
        _legend(chart, canvas.series),
        caption,
        json_script(values, class_="values"),
        class_="chart",
    )


def number_series(chart: Chart) -> dict[str, int]:
    """Return the number of each series by name; marks and classes of the same name share a colour."""
    names = [name for mark in chart.marks if isinstance(mark, Heat) for name in mark.classes]
    names += [mark.name for mark in chart.marks if not isinstance(mark, Heat) and mark.name]
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _draw_all(chart: Chart, canvas: _Canvas) -> list[Drawn]:
    """Draw the marks, cells first because they lie below the others."""
    bars = [mark for mark in chart.marks if isinstance(mark, Bars)]
    ordered = sorted(chart.marks, key=lambda mark: not isinstance(mark, Heat))
    lanes = iter(range(len(bars)))
    return [_draw(mark, canvas, (next(lanes) if isinstance(mark, Bars) else 0, len(bars))) for mark in ordered]


def _draw(mark: Mark, canvas: _Canvas, lane: tuple[int, int]) -> Drawn:
    if isinstance(mark, Heat):
        return draw_cells(mark, canvas.plot, canvas.series)
    series = canvas.series.get(mark.name)
    if isinstance(mark, Bars):
        return draw_bars(mark, canvas.plot, series, lane)
    draw = draw_line if isinstance(mark, Line) else draw_points
    return draw(mark, canvas.plot, series, canvas.limits)  # type: ignore[arg-type]


def _svg(chart: Chart, plot: Plot, key: str, marks: Markup) -> Markup:
    margin = 5.0  # so that points on the edge are not clipped
    window = tag(
        "rect",
        x=plot.left - margin,
        y=plot.top - margin,
        width=max(plot.width - plot.left + margin, plot.right - plot.left + 2 * margin),
        height=plot.bottom - plot.top + 2 * margin,
    )
    return tag(
        "svg",
        tag("title", chart.title or "Chart", id=f"{key}-title"),
        tag("desc", describe_chart(chart), id=f"{key}-desc"),
        tag("clipPath", window, id=f"{key}-clip"),
        axes_svg(plot),
        tag("g", marks, clip_path=f"url(#{key}-clip)"),
        viewBox=f"0 0 {fmt(plot.width)} {fmt(plot.height)}",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
        data_box=" ".join(map(fmt, (plot.left, plot.top, plot.right, plot.bottom))),
    )


def _legend(chart: Chart, series: dict[str, int]) -> Markup:
    shades = join_markup(legend_of_shades(mark) for mark in chart.marks if isinstance(mark, Heat))
    if len(series) < 2:
        return shades
    dashed = {mark.name for mark in chart.marks if isinstance(mark, Line) and mark.dashed}
    keys = (
        tag("li", tag("i", class_=f"swatch {colour(i)}{' dashed' if name in dashed else ''}"), name, data_series=i)
        for name, i in series.items()
    )
    return join_markup((tag("ul", *keys, class_="legend"), shades))


def describe_chart(chart: Chart) -> str:
    """Return a description of a drawing for screen readers."""
    axes = " and ".join(filter(None, (chart.x.label, chart.y.label)))
    parts = [_describe_mark(mark, chart) for mark in chart.marks[:12]]
    return " ".join(filter(None, (f"Axes: {axes}." if axes else "", *parts)))


def _describe_mark(mark: Mark, chart: Chart) -> str:
    name = mark.name or "A line"
    if isinstance(mark, Heat):
        return f"{name}: {mark.n_rows} by {mark.n_columns} cells."
    if isinstance(mark, Bars):
        pairs = (f"{n} {write_number(v, chart.x.form)}" for n, v in zip(mark.names[:20], mark.values, strict=False))
        return f"{name}: {', '.join(pairs)}."
    values = [value for value in mark.y if math.isfinite(value)]
    if not values:
        return f"{name}: no values."
    ends = " to ".join(write_number(value, chart.y.form) for value in (min(values), max(values)))
    return f"{name}: {len(values)} points, {ends}."


def _visible(mark: Mark) -> bool:
    if isinstance(mark, Heat):
        return any(math.isfinite(value) for row in mark.values for value in row)
    if isinstance(mark, Bars):
        return any(map(math.isfinite, mark.values))
    return any(math.isfinite(x) and math.isfinite(y) for x, y in zip(mark.x, mark.y, strict=True))
