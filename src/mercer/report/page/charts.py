"""A chart as a figure: title, drawing, legend and caption."""

from __future__ import annotations

import math
from typing import NamedTuple

from mercer.report.markup import Markup, data, inline, joined, short, tag
from mercer.report.page.bars import draw_bars
from mercer.report.page.cells import draw_cells, legend_of_shades
from mercer.report.page.limits import PageLimits
from mercer.report.page.marks import Drawn, colour, draw_line, draw_points
from mercer.report.page.numbers import written
from mercer.report.page.plot import Plot, axes_svg, laid_out
from mercer.report.records import Bars, Chart, Heat, Line, Mark


class _Canvas(NamedTuple):
    plot: Plot
    series: dict[str, int]
    limits: PageLimits


def chart_html(chart: Chart, key: str, limits: PageLimits) -> Markup:
    """`key` tells the ids of this chart from those of others."""
    title = tag("h3", chart.title) if chart.title else Markup()
    caption = tag("figcaption", inline(chart.caption)) if chart.caption else Markup()
    if not any(map(_visible, chart.marks)):
        nothing = tag("p", "There is nothing to draw: no value is finite.", class_="nothing")
        return tag("figure", title, nothing, caption, class_="chart")
    canvas = _Canvas(laid_out(chart), series_of(chart), limits)
    drawn = _drawn(chart, canvas)
    drawing = _svg(chart, canvas.plot, key, joined(part.svg for part in drawn))
    told = {"x": chart.x.label, "y": chart.y.label, "marks": [part.told for part in drawn]}
    box = tag("div", drawing, class_="drawing")
    return tag(
        "figure", title, box, _legend(chart, canvas.series), caption, data(told, class_="values"), class_="chart"
    )


def series_of(chart: Chart) -> dict[str, int]:
    """Names in the order they come; marks of the same name, and classes, share a colour."""
    names = [name for mark in chart.marks if isinstance(mark, Heat) for name in mark.classes]
    names += [mark.name for mark in chart.marks if not isinstance(mark, Heat) and mark.name]
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _drawn(chart: Chart, canvas: _Canvas) -> list[Drawn]:
    """What lies below comes first: cells, then the others as they were given."""
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
    room = 5.0  # a point on the edge is seen as a whole
    window = tag(
        "rect",
        x=plot.left - room,
        y=plot.top - room,
        width=max(plot.width - plot.left + room, plot.right - plot.left + 2 * room),
        height=plot.bottom - plot.top + 2 * room,
    )
    return tag(
        "svg",
        tag("title", chart.title or "Chart", id=f"{key}-title"),
        tag("desc", described(chart), id=f"{key}-desc"),
        tag("clipPath", window, id=f"{key}-clip"),
        axes_svg(plot),
        tag("g", marks, clip_path=f"url(#{key}-clip)"),
        viewBox=f"0 0 {short(plot.width)} {short(plot.height)}",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
        data_box=" ".join(map(short, (plot.left, plot.top, plot.right, plot.bottom))),
    )


def _legend(chart: Chart, series: dict[str, int]) -> Markup:
    shades = joined(legend_of_shades(mark) for mark in chart.marks if isinstance(mark, Heat))
    if len(series) < 2:
        return shades
    dashed = {mark.name for mark in chart.marks if isinstance(mark, Line) and mark.dashed}
    keys = (
        tag("li", tag("i", class_=f"swatch {colour(i)}{' dashed' if name in dashed else ''}"), name, data_series=i)
        for name, i in series.items()
    )
    return joined((tag("ul", *keys, class_="legend"), shades))


def described(chart: Chart) -> str:
    """What a drawing shows, for those who do not see it."""
    axes = " and ".join(filter(None, (chart.x.label, chart.y.label)))
    parts = [_described(mark, chart) for mark in chart.marks[:12]]
    return " ".join(filter(None, (f"Axes: {axes}." if axes else "", *parts)))


def _described(mark: Mark, chart: Chart) -> str:
    name = mark.name or "A line"
    if isinstance(mark, Heat):
        return f"{name}: {mark.n_rows} by {mark.n_columns} cells."
    if isinstance(mark, Bars):
        told = (f"{n} {written(v, chart.x.form)}" for n, v in zip(mark.names[:20], mark.values, strict=False))
        return f"{name}: {', '.join(told)}."
    values = [value for value in mark.y if math.isfinite(value)]
    if not values:
        return f"{name}: no values."
    ends = " to ".join(written(value, chart.y.form) for value in (min(values), max(values)))
    return f"{name}: {len(values)} points, {ends}."


def _visible(mark: Mark) -> bool:
    if isinstance(mark, Heat):
        return any(math.isfinite(value) for row in mark.values for value in row)
    if isinstance(mark, Bars):
        return any(map(math.isfinite, mark.values))
    return any(math.isfinite(x) and math.isfinite(y) for x, y in zip(mark.x, mark.y, strict=True))
