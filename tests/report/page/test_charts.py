"""Tests of charts by their elements, not by pixels."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from mercer.report import Axis, Bars, Chart, Heat, Line, Mark, PointCloud
from mercer.report.page.charts import chart_html
from mercer.report.page.limits import PageLimits

X, Y = Axis("x"), Axis("y")


def drawn(*marks: Mark, x: Axis = X, y: Axis = Y, limits: PageLimits | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(chart_html(Chart("title", x, y, marks, "caption"), "k", limits or PageLimits()))


def of_class(figure: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [element for element in figure.iter() if name in element.get("class", "").split()]


def marks_of(figure: ElementTree.Element) -> list[dict[str, Any]]:
    (script,) = of_class(figure, "values")
    marks: list[dict[str, Any]] = json.loads(script.text or "")["marks"]
    return marks


def test_a_drawing_has_a_title_a_description_and_a_caption() -> None:
    figure = drawn(Line("a", [0, 1], [2, 3]))
    assert figure.findtext("h3") == "title"
    assert figure.findtext("figcaption") == "caption"
    assert figure.findtext(".//desc") == "Axes: x and y. a: 2 points, 2 to 3."


def test_gaps_break_a_line_and_a_point_between_two_gaps_is_drawn() -> None:
    figure = drawn(Line("a", range(7), [1, 2, math.nan, 3, math.inf, 4, 5]))
    (line,) = of_class(figure, "line")
    assert line.get("d", "").count("M") == 3
    assert "h0" in line.get("d", "")
    assert marks_of(figure)[0]["y"] == ["1", "2", "3", "4", "5"]


def test_a_band_ends_with_either_of_its_sides() -> None:
    y = np.arange(6.0)
    low, high = y - 1, y + 1
    low[2] = np.nan
    (band,) = of_class(drawn(Line("a", y, y, low, high)), "band")
    areas = band.get("d", "").split("z")[:-1]
    assert [area.count("L") + 1 for area in areas] == [4, 6]


def test_higher_values_are_drawn_higher_and_names_start_at_the_top() -> None:
    first, second = marks_of(drawn(PointCloud("a", [0, 1], [5, 9])))[0]["py"]
    assert first > second
    first, second = marks_of(drawn(Bars("a", ("p", "q"), [5, 9])))[0]["py"]
    assert first < second


def test_bars_begin_at_0_and_go_both_ways() -> None:
    figure = drawn(Bars("a", ("p", "q"), [-1, 2]), x=Axis("v", low=-2, high=2))
    (bar,) = of_class(figure, "bar")
    (begin, left), (again, right) = re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", bar.get("d", ""))
    assert begin == again
    assert float(left) < float(begin) < float(right)
    assert float(begin) - float(left) == pytest.approx((float(right) - float(begin)) / 2, abs=0.2)


def test_bars_of_several_kinds_do_not_overlap() -> None:
    figure = drawn(*(Bars(name, ("p", "q"), [1, 2]) for name in "abc"))
    places = sorted(place for mark in marks_of(figure) for place in mark["py"])
    assert min(b - a for a, b in pairwise(places)) >= 9


def test_values_are_drawn_with_their_intervals_and_labels() -> None:
    mark = marks_of(drawn(PointCloud("a", [1], [0.5], ["row 7"], [0.25], [0.75])))[0]
    assert (mark["between"], mark["labels"]) == (["0.25 to 0.75"], ["row 7"])


def test_cells_show_their_numbers_and_are_empty_without_a_value() -> None:
    figure = drawn(Heat("n", ("a", "b"), ("c", "d"), [[1, 2], [math.nan, 4]], ".0f"))
    assert [cell.text for cell in of_class(figure, "inside")] == ["1", "2", "–", "4"]
    assert marks_of(figure)[0]["v"] == [["1", "2"], ["–", "4"]]


def test_cells_with_counts_can_have_their_own_shades() -> None:
    figure = drawn(Heat("rows", ("a", "b"), ("c",), [[100], [1]], ".0f", shades=[[0.0], [1.0]]))
    assert [cell.get("class") for cell in of_class(figure, "cell")] == ["cell heat l0", "cell heat l7"]
    assert [cell.text for cell in of_class(figure, "inside")] == ["100", "1"]
    assert not of_class(figure, "scale")  # which would be one of counts


def test_neighbouring_cells_of_one_shade_are_one_area() -> None:
    edges = np.linspace(0, 1, 101)
    figure = drawn(Heat("n", edges, edges, np.ones((100, 100)) * (edges[1:] > 0.5), classes=("p", "q")))
    cells = of_class(figure, "cell")
    assert len(cells) == 2
    assert sum(cell.get("d", "").count("M") for cell in cells) == 200


def test_classes_and_points_of_the_same_name_have_the_same_colour() -> None:
    heat = Heat("decision", [0, 1], [0, 1, 2], [[1, 0]], classes=("no", "yes"))
    figure = drawn(heat, PointCloud("yes", [0.5], [0.5]), PointCloud("no", [1.5], [0.5]))
    series = {mark["name"]: mark["series"] for mark in marks_of(figure) if mark["kind"] == "points"}
    assert series == {"yes": 1, "no": 0}
    assert [item.get("data-series") for item in figure.iter("li")] == ["0", "1"]


def test_one_series_has_no_legend_and_lines_without_a_name_are_not_listed() -> None:
    assert not list(drawn(Line("a", [0, 1], [0, 1]), Line("", [0, 1], [0, 1])).iter("li"))


def test_many_points_are_thinned_and_the_ends_are_kept() -> None:
    figure = drawn(Line("a", np.arange(10_001), np.arange(10_001)), limits=PageLimits(line=50))
    shown = marks_of(figure)[0]["x"]
    assert len(shown) == 50
    assert (shown[0], shown[-1]) == ("0", "10,000")


@pytest.mark.parametrize(
    "mark",
    [Line("a", [], []), PointCloud("a", [math.nan], [1]), Bars("a", ["x"], [math.inf]),
     Heat("h", ["a"], ["b"], [[math.nan]]), Heat("h", (), (), ())],
)  # fmt: skip
def test_an_empty_chart_has_a_message(mark: Mark) -> None:
    figure = drawn(mark)
    assert figure.find(".//svg") is None
    assert figure.findtext("p") == "There is nothing to draw: no value is finite."


def test_long_names_at_an_axis_wrap() -> None:
    name = "a very long name of a column that is not readable"
    figure = drawn(Bars("a", (name, "b"), [1, 2]))
    (tick,) = [tick for tick in of_class(figure, "tick") if tick.find("title") is not None]
    assert tick.findtext("title") == name
    assert " ".join(each.text or "" for each in tick.iter() if each.tag.endswith("tspan")) == name


def test_names_too_long_for_four_lines_are_cut_with_the_full_name_as_tooltip() -> None:
    name = "a_very_long_name_" * 8
    figure = drawn(Bars("a", (name, "b"), [1, 2]))
    (tick,) = [tick for tick in of_class(figure, "tick") if tick.find("title") is not None]
    assert tick.findtext("title") == name
    assert "".join(tick.itertext()).endswith("…")


def test_bars_are_further_apart_if_names_have_several_lines() -> None:
    heights = [
        float(drawn(Bars("a", (name, "b"), [1, 2])).find(".//{*}svg").get("viewBox").split()[-1])
        for name in ("short", "kernelize(LogisticRegression(C=10), RBF(gamma=0.17))")
    ]
    assert heights[1] > heights[0] + 30


def test_a_long_label_of_an_axis_stays_on_the_drawing() -> None:
    figure = drawn(
        Bars("a", ("a long name of a column", "b"), [1, 2]), x=Axis("adds to the log odds of virginica against others")
    )
    (label,) = of_class(figure, "label")[:1]
    width = 0.56 * 14 * len("".join(label.itertext()))
    assert width / 2 <= float(label.get("x", "0")) <= 480 - width / 2
