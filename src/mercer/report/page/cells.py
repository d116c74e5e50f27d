"""SVG of heat maps: named cells with their numbers in them, or fine cells as areas of a few shades."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.report.markup import Markup, fmt, join_markup, tag
from mercer.report.page.marks import Drawn
from mercer.report.page.numbers import write_number
from mercer.report.page.plot import Plot, text_width
from mercer.report.page.scales import AxisScale
from mercer.report.records import Heat

#: number of shades, few enough to be distinguishable
N_SHADES = 8


def draw_cells(heat: Heat, plot: Plot, series: dict[str, int]) -> Drawn:
    x, y = _edges(heat.columns, plot.x), _edges(heat.rows, plot.y)
    shade = _shades(heat)
    areas: dict[tuple[str, int], list[str]] = defaultdict(list)
    for i, row in enumerate(heat.values):
        for begin, end in _runs([(_colour(heat, value, series), shade[i][j]) for j, value in enumerate(row)]):
            key = (_colour(heat, row[begin], series), shade[i][begin])
            areas[key].append(_area(x[begin], x[end], y[i], y[i + 1]))
    shapes = [
        tag("path", d="".join(area), class_=f"cell {colour} l{level}")
        for (colour, level), area in sorted(areas.items())
        if level >= 0
    ]
    return Drawn(tag("g", *shapes, _numbers(heat, x, y), class_="cells"), _script_values(heat, plot, x, y))


def legend_of_shades(heat: Heat) -> Markup:
    """Return the least and the greatest value, with the shades between them."""
    low, high = _range(heat)
    if heat.classes or heat.shades is not None or not low < high:
        return Markup()
    swatches = join_markup(tag("i", class_=f"shade l{level}") for level in range(N_SHADES))
    ends = [tag("span", write_number(value, heat.form)) for value in (low, high)]
    label = tag("span", heat.name, class_="what") if heat.name else Markup()
    return tag("p", label, ends[0], tag("span", swatches, class_="shades", aria_hidden="true"), ends[1], class_="scale")


def _edges(side: Any, scale: AxisScale) -> list[float]:
    if len(side) and not isinstance(side[0], str):
        return scale.place_all(side)
    return scale.place_all(np.arange(len(side) + 1) - 0.5)


def _range(heat: Heat) -> tuple[float, float]:
    """Return the range of the shades, which begins at 0 if no value is negative."""
    values = [value for row in heat.values for value in row if math.isfinite(value)]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    return (min(low, 0.0) if low >= 0 else low), high


def _shades(heat: Heat) -> list[list[int]]:
    """Return a level from 0 to N_SHADES − 1 for each cell; −1 for a missing value."""
    low, high = (0.0, 1.0) if heat.shades is not None else _range(heat)
    shades = heat.shades if heat.shades is not None else heat.values
    if heat.classes and heat.shades is None:
        return [[N_SHADES - 3 if math.isfinite(value) else -1 for value in row] for row in heat.values]
    return [
        [_level(shade, low, high) if math.isfinite(value) else -1 for shade, value in zip(*pair, strict=True)]
        for pair in zip(shades, heat.values, strict=True)
    ]


def _level(value: float, low: float, high: float) -> int:
    if not math.isfinite(value):
        return -1
    share = (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.0
    return min(max(int(share * N_SHADES), 0), N_SHADES - 1)


def _colour(heat: Heat, value: float, series: dict[str, int]) -> str:
    if not heat.classes or not math.isfinite(value):
        return "heat"
    place = round(value)
    return f"c{series[heat.classes[place]] % 8}" if 0 <= place < len(heat.classes) else "quiet"


def _runs(keys: Sequence[object]) -> list[tuple[int, int]]:
    """Return the begin and end of each run of equal neighbours, which is drawn as one area."""
    begins = [j for j in range(len(keys)) if j == 0 or keys[j] != keys[j - 1]]
    return list(zip(begins, [*begins[1:], len(keys)], strict=True))


def _area(left: float, right: float, top: float, bottom: float) -> str:
    return f"M{fmt(left)} {fmt(top)}H{fmt(right)}V{fmt(bottom)}H{fmt(left)}z"


def _numbers(heat: Heat, x: list[float], y: list[float]) -> Markup:
    """Return the numbers in named cells, if they fit in all of them."""
    if not (heat.n_rows and heat.n_columns and isinstance(heat.rows[0], str) and isinstance(heat.columns[0], str)):
        return Markup()
    texts = [[_text(heat, value) for value in row] for row in heat.values]
    if max(text_width(text) for row in texts for text in row) > abs(x[1] - x[0]) - 4 or abs(y[1] - y[0]) < 15:
        return Markup()
    return join_markup(
        tag("text", text, x=(x[j] + x[j + 1]) / 2, y=(y[i] + y[i + 1]) / 2 + 4.5, class_="inside middle")
        for i, row in enumerate(texts)
        for j, text in enumerate(row)
    )


def _text(heat: Heat, value: float) -> str:
    if heat.classes and math.isfinite(value) and 0 <= round(value) < len(heat.classes):
        return heat.classes[round(value)]
    return write_number(value, heat.form)


def _script_values(heat: Heat, plot: Plot, x: list[float], y: list[float]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "kind": "cells",
        "name": heat.name,
        "px": [round(edge, 1) for edge in x],
        "py": [round(edge, 1) for edge in y],
        "x": _names(heat.columns, plot.x),
        "y": _names(heat.rows, plot.y),
    }
    if heat.classes:
        values["classes"] = list(heat.classes)
        values["v"] = [[round(v) if math.isfinite(v) else -1 for v in row] for row in heat.values]
        if heat.shades is not None:
            values["shades"] = [[round(v, 2) if math.isfinite(v) else None for v in row] for row in heat.shades]
    else:
        values["v"] = [[write_number(v, heat.form) for v in row] for row in heat.values]
    return values


def _names(side: Any, scale: AxisScale) -> list[str]:
    if len(side) and isinstance(side[0], str):
        return list(side)
    return [write_number((a + b) / 2, scale.axis.form) for a, b in pairwise(side)]
