"""The page as text: whole, small, the same every time, and whatever names say is text."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.report import (  # fmt: skip
    Axis,
    Bars,
    Chart,
    CostTable,
    EvidenceRecord,
    Field,
    Grid,
    Heat,
    Line,
    Note,
    Page,
    PointCloud,
    RowTable,
    Section,
)
from mercer.report.page import page_html
from tests.report import _demo

VOID = {"meta", "link", "input", "br", "wbr"}


class Reader(HTMLParser):
    """Elements, attributes and text; every element that is opened has to be closed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not (self.open and self.open[-1] in ("script", "style")):
            self.words.append(data)


def small_page(name: str) -> Page:
    """Every kind of block, with one name wherever a name can be."""
    x = Axis(name, names=(name,), scale="category")
    charts = (
        Chart(name, Axis(name), Axis(name), (Line(name, [0, 1], [0, 1]), PointCloud(name, [0], [1], [name])), name),
        Chart(name, Axis(name), Axis(name), (Bars(name, (name, "b"), [1, 2]),)),
        Chart(name, x, x, (Heat(name, (name,), (name,), [[0]], classes=(name,)),)),
    )
    evidence = EvidenceRecord(name, name, 0.0, [[1.0]], [name], [name], [name], [[1.0]])
    blocks = (
        name, Note(name, "bad", name, name), Grid(name, (Field(name),), ((name,),), (name,)), *charts,
        CostTable((name, "b"), {name: ([[0.4, 0.6]], [0])}), RowTable((name,), [[name]], (evidence,), (name,), (name,)),
    )  # fmt: skip
    return Page(name, name, (Section("a", name, blocks, name),), (name,))


PLAIN = Reader(page_html(small_page("plain")))


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=30) | st.sampled_from(
    ["<script>alert(1)</script>", '"onload=', "'><img src=x onerror=alert(1)>", "</script><script>", "<!--", "]]>",
     "&lt;", "\u2028", "\x00", "\ud800", "`<b>`", "{}", "%s", "</style>", "</title>"]
))  # fmt: skip
def test_names_are_escaped_everywhere(name: str) -> None:
    if not name.strip():
        return
    html = page_html(small_page(name))
    html.encode()
    reader = Reader(html)
    # paragraphs and code are what prose may have, names that are cut or in lines have a title, long ones places to
    # break, and an interval is set apart from its number
    extra = {"p", "code", "title", "wbr", "span", "tspan"}
    assert [tag for tag in reader.tags if tag not in extra] == [tag for tag in PLAIN.tags if tag not in extra]
    assert {key for key, _ in reader.attributes} <= {key for key, _ in PLAIN.attributes} | {"transform", "class"}


def test_a_name_with_markup_is_shown_literally() -> None:
    rude = "<script>alert(1)</script>"
    assert Reader(page_html(small_page(rude))).words.count(rude) > 15
    assert rude not in page_html(small_page(rude)).replace("&lt;", "")


def test_nothing_is_fetched_and_the_policy_forbids_it() -> None:
    html = page_html(_demo.page())
    reader = Reader(html)
    assert any(str(value).startswith("default-src 'none'; ") for _, value in reader.attributes)
    own = files("mercer.report.page")
    scripts = own.joinpath("page.js").read_text(encoding="utf-8") + own.joinpath("page.css").read_text(encoding="utf-8")
    assert not any(word in scripts for word in ("fetch(", "XMLHttpRequest", "innerHTML", "@import", "url(", "eval("))
    links = [value for key, value in reader.attributes if key in ("href", "src", "action", "data", "srcset")]
    assert [link for link in links if not str(link).startswith(("#", "data:"))] == []


def test_pages_are_reproducible() -> None:
    page = _demo.page()
    assert page_html(page) == page_html(page)


def test_a_page_stays_below_two_megabytes() -> None:
    n, rng = 5_000, np.random.default_rng(0)
    x = np.linspace(0, 1, n)
    lines = tuple(Line(f"model {i}", x, rng.random(n), rng.random(n), rng.random(n)) for i in range(9))
    cloud = PointCloud("rows", rng.random(n), rng.random(n), [f"row {i}" for i in range(n)])
    charts = tuple(Chart(f"chart {i}", Axis("x"), Axis("y"), (*lines, cloud)) for i in range(8))
    table = Grid(
        "all", tuple(Field(f"c{j}", ".3f") for j in range(10)), tuple(map(tuple, rng.random((n, 10)).tolist()))
    )
    p = rng.random((3000, 10))
    costs = CostTable(tuple("abcdefghij"), {f"m{i}": (p, rng.integers(0, 10, 3000)) for i in range(12)})
    names = [f"c{j}" for j in range(40)]
    evidence = tuple(EvidenceRecord(f"m{i}", "log odds", 0, rng.random((500, 40)), ["a"] * 500) for i in range(8))
    rows = RowTable(names, [["some value"] * 40] * 500, evidence)
    html = page_html(Page("big", "", (Section("a", "A", (*charts, table, costs, rows)),)))
    assert len(html.encode()) < 2_000_000
    assert "rows.</p>" in html  # the table says that it was cut


def test_an_empty_page_is_a_page() -> None:
    Reader(page_html(Page("", "", ())))


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize(
    "values",
    [[], [math.nan], [math.inf, -math.inf], [0.0], [5.0, 5.0], [1e-300, 1e300], [-1e308, 1e308], [1e16, 1e16 + 2],
     [0, 5e-324], [-3.0, -1.0], [1.0, math.nan, 2.0]],
    ids=str,
)  # fmt: skip
def test_every_number_can_be_drawn_or_left_out(values: list[float], scale: str) -> None:
    x = Axis("x", scale)  # type: ignore[arg-type]
    marks = (Line("a", values, values, values, values), PointCloud("b", values, values, None, values, values))
    bars = (Bars("c", [f"n{i}" for i in range(len(values))], values, values, values),)
    for chart in (Chart("t", x, x, marks), Chart("t", Axis("v"), Axis(""), bars)):
        html = page_html(Page("p", "", (Section("a", "A", (chart,)),)))
        drawing = html[html.index("<main") : html.index("</main>")]
        assert not any(word in drawing for word in ("nan", "inf ", '"inf', " inf", "Infinity"))
        Reader(html)


def test_prose_has_paragraphs_and_code() -> None:
    html = page_html(Page("t", "", (Section("a", "A", ("One.\n\nTwo `x < 1`.",)),)))
    assert "<p>One.</p><p>Two <code>x &lt; 1</code>.</p>" in html


def test_no_line_ends_within_an_option() -> None:
    html = page_html(Page("t", "", (Section("a", "A", ("Use --task counts; a -- b, x--y, `m --to sql`.",)),)))
    assert '<p>Use <span class="option">--task</span> counts; a -- b, x--y, ' in html
    assert '<code>m <span class="option">--to</span> sql</code>' in html


def test_charts_in_a_row_are_side_by_side_and_others_alone() -> None:
    chart = Chart("t", Axis("x"), Axis("y"), (Line("a", [0, 1], [0, 1]),))
    html = page_html(Page("t", "", (Section("a", "A", (chart, chart, "words", chart)),)))
    assert (html.count('class="charts"'), html.count('class="charts alone"')) == (1, 1)


def test_small_charts_are_separate_from_others_and_have_less_space() -> None:
    chart = Chart("t", Axis("x"), Axis("y"), (Line("a", [0, 1], [0, 1]),))
    small = replace(chart, small=True)
    html = page_html(Page("t", "", (Section("a", "A", (chart, small, small)),)))
    assert (html.count('class="charts alone"'), html.count('class="charts small-charts"')) == (1, 1)
    wide, narrow, _ = (tuple(map(float, box.split())) for box in re.findall(r'viewBox="0 0 ([^"]+)"', html))
    assert narrow[0] < wide[0]
    assert narrow[1] < wide[1]
