"""The page in a browser, as a person would use it: wide and narrow, light and dark, with and without its script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer.report import (
    Chart,
    CostTable,
    EvidenceRecord,
    Field,
    FirstScreen,
    Grid,
    Influence,
    NextStep,
    Note,
    Page,
    RowTable,
    Section,
)
from mercer.report.page import page_html
from mercer.report.page.costs import PROBABILITY_UNITS, assess_costs, quantize_probabilities
from mercer.report.page.limits import PageLimits
from tests.report import _demo

PAGE = _demo.page()
SIZES = {"desktop": 1280, "tablet": 768, "phone": 360}


def block(kind: type) -> Any:
    return next(block for section in PAGE.sections for block in section.blocks if isinstance(block, kind))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page_html(PAGE), encoding="utf-8")
    return path


class Tab:
    """A page that is open, and what it complained about and asked for."""

    def __init__(self, browser: Any, file: Path, width: int = 1280, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))
        self.page.goto(file.as_uri())


@pytest.fixture
def tab(browser: Any, file: Path) -> Iterator[Tab]:
    opened = Tab(browser, file)
    yield opened
    assert opened.complaints == []
    opened.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES.values(), ids=SIZES)
def test_every_chart_is_drawn_and_nothing_is_wider_than_the_screen(
    browser: Any, file: Path, width: int, scheme: str
) -> None:
    tab = Tab(browser, file, width, color_scheme=scheme)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    charts = tab.page.locator("figure.chart svg").all()
    assert len(charts) == sum(1 for s in PAGE.sections for b in s.blocks if isinstance(b, Chart)) - 1
    for chart in charts:
        box = chart.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 60
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        marks = chart.locator(".series path, .cells path").evaluate_all("all => all.map(mark => mark.getBBox().height)")
        assert max(marks) > 5
    assert tab.page.locator(".nothing").inner_text() == "There is nothing to draw: no value is finite."
    assert tab.complaints == []
    assert [url for url in tab.requests if url != file.as_uri() and not url.startswith("data:")] == []
    tab.context.close()


def test_long_names_and_numbers_of_millions_fit_on_a_screen_of_1280_pixels(browser: Any, tmp_path: Path) -> None:
    """The columns of a table with names and sizes as those of a spectral analysis."""
    numbers = -128_238_449.0, 114_017_375.0, -386_418_228.0, -118_563_758.0
    fields = (
        Field("column"),
        Field("kind"),
        Field("missing", ".1%"),
        Field("distinct", ",d"),
        *(Field(heading, ".4g") for heading in ("mean", "sd", "least", "most")),
        Field("far out", ",d"),
        Field("values"),
    )
    rows = (
        ("mean_delta_delta_log_energy", "number", 0.0, 252, *numbers, 26, ""),
        ("stdDevPeriodPulses", "number", 0.0, 249, 0.0003829, 0.000534, 1.403e-05, 0.002675, 63, ""),
        (
            "rownames",
            "identifier",
            0.0,
            252,
            None,
            None,
            None,
            None,
            None,
            "identifier: numbers the rows in file order",
        ),
    )
    file = tmp_path / "wide.html"
    section = Section("data", "The data", (Grid("Columns", fields, rows),))
    file.write_text(page_html(Page("t", "", (section,))), encoding="utf-8")
    tab = Tab(browser, file, 1280)
    tab.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    wide = "all => all.filter(box => box.scrollWidth > box.clientWidth).map(box => [box.scrollWidth, box.clientWidth])"
    assert tab.page.locator(".box").evaluate_all(wide) == []
    tab.context.close()


def test_no_table_scrolls_sideways_on_a_phone(browser: Any, tmp_path: Path) -> None:
    """Costs of many classes, sums of six digits add_state long names, and directions in words."""
    rng = np.random.default_rng(0)
    blocks: list[Any] = []
    for classes in (("1", "2", "3", "4", "5"), tuple("abcdefg"), ("ExtrmLib", "Liberal", "Moderate"), ("no", "yes")):
        probabilities = rng.dirichlet(np.ones(len(classes)), size=40)
        truth = np.arange(40) % len(classes)
        blocks.append(CostTable(classes, {"LogisticRegressionCV": (probabilities, truth)}))
    evidence = EvidenceRecord("LassoCV", "prediction", 178346.5, ((-1215891.4, 107989.2, -3.25),), ("270,000",))
    columns = ("Gr_Liv_Area", "Year_Remod_Add", "Neighborhood")
    blocks.append(RowTable(columns, (("1097", "1984", "Northridge_Heights"),), (evidence,)))
    drivers = tuple(
        (name, f"higher values {verb} the prediction", 0.5)
        for name, verb in (("agefirstbirth", "lower"), ("year", "raise"))
    )
    blocks.append(
        Grid("Drivers and their direction", (Field("column"), Field("direction"), Field("moves by", ".3g")), drivers)
    )
    file = tmp_path / "phone.html"
    file.write_text(page_html(Page("t", "", (Section("all", "All", tuple(blocks)),))), encoding="utf-8")
    for width in (390, 360):
        tab = Tab(browser, file, width)
        tab.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        wide = "all => all.filter(box => box.scrollWidth > box.clientWidth).map(box => box.innerText)"
        assert tab.page.locator(".box").evaluate_all(wide) == []
        narrow = "all => Math.min(...all.map(each => each.offsetWidth))"
        assert tab.page.locator("input[data-cost]").evaluate_all(narrow) >= 56
        assert tab.page.locator(".evidence .weight").evaluate_all(narrow) >= 40
        assert tab.page.locator(".listed").count() == 2
        assert tab.complaints == []
        tab.context.close()


def test_a_leaderboard_of_nine_columns_fits_a_sheet_of_paper(browser: Any, tmp_path: Path) -> None:
    """Headings go on in the next line, and an interval is below its number; a sheet of A4 has 688 pixels."""
    headings = (
        "RPS",
        "accuracy",
        "within one class",
        "MAE in ranks",
        "calibration error",
        "fit s",
        "predict s",
        "size",
    )
    fields = (Field("model"), *(Field(heading, ".3g") for heading in headings))
    scores = ("0.5174 ± 0.0192", "0.5010 ± 0.0193", "0.7656 ± 0.0164", "0.7691 ± 0.0346", "0.068 (0.049–0.089)")
    names = ("HistGradientBoostingClassifier (reference)", "GaussianDiscriminant(covariance='shared full')", "SVC")
    rows = tuple((name, *scores, "0.682", "0.0767", "3.04 MB") for name in names)
    costs = CostTable(tuple("1234567"), {"SVC": (np.full((7, 7), 1 / 7), np.arange(7))})
    file = tmp_path / "sheet.html"
    section = Section("all", "All", (Grid("Models", fields, rows), costs))
    file.write_text(page_html(Page("t", "", (section,))), encoding="utf-8")
    tab = Tab(browser, file, 688)
    tab.page.emulate_media(media="print")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 688
    tab.context.close()


def test_names_in_the_values_of_a_row_are_broken_at_underscores(browser: Any, tmp_path: Path) -> None:
    names = ("Neighborhood", "a_very_long_name_of_a_column_with_words")
    evidence = EvidenceRecord("LassoCV", "prediction", 1.0, ((-15891.4, 107989.2),), ("2",))
    rows = RowTable(names, (("One_Story_1946_and_Newer_All_Styles", "2"),), (evidence,))
    file = tmp_path / "names.html"
    file.write_text(page_html(Page("t", "", (Section("all", "All", (rows,)),))), encoding="utf-8")
    tab = Tab(browser, file, 390)
    tab.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for name, lines in zip(names, (1, 4), strict=True):
        for cell in tab.page.locator(".live tbody th", has_text=name).all():
            assert cell.inner_text() == name
            assert cell.locator("wbr").count() == name.count("_")
            height = (
                "th => (range => (range.selectNodeContents(th), range.getBoundingClientRect().height))(new Range())"
            )
            assert cell.evaluate(height) <= 21 * lines
    tab.context.close()


def lefts(tab: Tab, selector: str) -> int:
    """Return the number of columns that elements are in."""
    return len({round(each.bounding_box()["x"]) for each in tab.page.locator(selector).all()})


@pytest.mark.parametrize(("width", "columns"), [(1280, 3), (1000, 3), (768, 2), (360, 1)])
def test_small_charts_are_arranged_in_columns(browser: Any, file: Path, width: int, columns: int) -> None:
    tab = Tab(browser, file, width)
    assert lefts(tab, ".small-charts figure") == columns
    tab.context.close()


@pytest.mark.parametrize("width", [1280, 1000])
def test_a_leaderboard_fits_without_scrolling(browser: Any, tmp_path: Path, width: int) -> None:
    """As wide as those of a comparison are: four measures with intervals, times, bytes, and models with options."""
    names = ("log loss", "accuracy", "AUC", "calibration error", "fit s", "predict s", "size")
    model = "GaussianDiscriminant(covariance='shared full', shrinkage=0.1)"
    row = (
        model,
        "0.05950 ± 0.03788",
        "0.9733 ± 0.0272",
        "0.9993 ± 0.0017",
        "0.005 (0.000–0.007)",
        "0.000417",
        "0.000157",
        "10.3 kB",
    )
    grid = Grid("", (Field("model"), *(Field(name, "s") for name in names)), (row,) * 3)
    path = tmp_path / "wide.html"
    path.write_text(page_html(Page("t", "", (Section("a", "A", (grid,)),))), encoding="utf-8")
    tab = Tab(browser, path, width)
    assert tab.page.locator(".box").evaluate("box => box.scrollWidth - box.clientWidth") <= 1
    tab.context.close()


def test_a_table_of_many_columns_is_a_list_on_a_phone(browser: Any, tmp_path: Path) -> None:
    names = ("log loss", "accuracy", "calibration error", "fit s", "size")
    grid = Grid("Models", (Field("model"), *(Field(name, "s") for name in names)), (
        ("kernelize(LogisticRegression(C=10), RBF(gamma=1))", "0.016 ± 0.020", "0.9942 ± 0.0148", None, "0.6", "9 kB"),
        ("SVC", "0.027", "0.9884", "0.007 (0.000–0.010)", "0.3", "8 kB"),
    ))  # fmt: skip
    path = tmp_path / "phone.html"
    path.write_text(page_html(Page("t", "", (Section("a", "A", (grid,)),))), encoding="utf-8")
    tab = Tab(browser, path, 390)
    box = tab.page.locator(".box")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    first, second = (row.inner_text().splitlines() for row in box.locator("tbody tr").all())
    assert "calibration error" not in " ".join(first)  # it has no value
    labels = box.locator("tbody tr").nth(1).locator("td").evaluate_all("cells => cells.map(c => c.dataset.label)")
    assert labels == list(names)
    assert second[0] == "SVC"
    tab.page.get_by_role("button", name="log loss").click()
    tab.page.get_by_role("button", name="log loss").click()
    assert box.locator("tbody tr").first.inner_text().splitlines()[0] == "SVC"
    tab.context.close()


def test_long_names_break_at_underscores_before_a_table_scrolls(browser: Any, tmp_path: Path) -> None:
    fields = (*(Field(name) for name in ("column", "kind")), *(Field(f"m{j}", "s") for j in range(7)), Field("values"))
    row = ("months_since_last_credit_inquiry", "category", *("123,456",) * 7, "Residential_Low_Density 78%, other 16%")
    path = tmp_path / "names.html"
    path.write_text(page_html(Page("t", "", (Section("a", "A", (Grid("", fields, (row,)),)),))), encoding="utf-8")
    tab = Tab(browser, path, 1280)
    assert tab.page.locator(".box").evaluate("box => box.scrollWidth - box.clientWidth") <= 1
    tab.context.close()


def test_the_first_rows_of_a_long_table_are_printed(browser: Any, tmp_path: Path) -> None:
    grid = Grid("", (Field("row"),), tuple((f"name {j}",) for j in range(80)))
    path = tmp_path / "long.html"
    path.write_text(page_html(Page("t", "", (Section("a", "A", (grid,)),))), encoding="utf-8")
    tab = Tab(browser, path, 1280)
    count_visible = "rows => rows.filter(row => row.checkVisibility()).length"
    assert tab.page.locator("tbody tr").evaluate_all(count_visible) == 80
    tab.page.emulate_media(media="print")
    assert tab.page.locator("tbody tr").evaluate_all(count_visible) == 30
    tab.context.close()


#: how far text stands out from what is behind it, of every piece of text that is seen
CONTRASTS = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const worst = [];
  const worded = "h1,h2,h3,p,a,th,td,button,li,code,strong,svg text,summary,label,figcaption,caption";
  for (const element of document.querySelectorAll(worded)) {
    if (!element.checkVisibility() || element.matches(".skip, .anchor, .inside")) continue;
    if (!element.textContent.trim()) continue;
    const style = getComputedStyle(element);
    const ink = channels(element.matches("svg text") ? style.fill : style.color);
    const [a, b] = [luminance(ink), luminance(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) worst.push([ratio, element.outerHTML.slice(0, 80)]);
  }
  return worst;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read_in_both_themes(browser: Any, file: Path, scheme: str) -> None:
    tab = Tab(browser, file, color_scheme=scheme)
    assert tab.page.evaluate(CONTRASTS) == []
    tab.context.close()


def test_the_theme_can_be_chosen(tab: Tab) -> None:
    captions = []
    for _ in range(3):
        tab.page.click("#theme")
        captions.append(tab.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    light, dark, auto = captions
    assert light == auto == "rgb(255, 255, 255)"
    assert dark == "rgb(20, 23, 27)"


def column(tab: Tab, heading: str, table: str = "Leaderboard") -> list[str]:
    rows = tab.page.locator("table", has=tab.page.locator("caption", has_text=table)).locator("tbody tr").all()
    headings = [field.heading for field in _demo.leaderboard().fields]
    return [row.locator("th, td").all()[headings.index(heading)].inner_text() for row in rows]


def test_tables_sort_by_value_both_ways_and_dashes_are_last(tab: Tab) -> None:
    head = tab.page.locator("th", has_text="log loss").first
    button = head.locator("button")
    button.click()
    assert head.get_attribute("aria-sort") == "ascending"
    up = column(tab, "log loss")
    assert up == ["0.398", "0.401", "0.412", "0.431", "0.687", "10.500", "–"]
    button.focus()
    tab.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(tab, "log loss") == [*up[-2::-1], "–"]


def test_sorting_is_stable_and_words_sort_as_words(tab: Tab) -> None:
    tab.page.locator("th button", has_text="AUC").first.click()
    tab.page.locator("th button", has_text="kind").first.click()
    assert tab.page.locator("[aria-sort]").count() == 1
    assert column(tab, "kind") == sorted(column(tab, "kind"))
    generative = [
        float(auc) for auc, kind in zip(column(tab, "AUC"), column(tab, "kind"), strict=True) if kind[0] == "g"
    ]
    assert generative == sorted(generative)


def test_pointing_at_a_chart_shows_its_values(tab: Tab) -> None:
    chart = tab.page.locator("figure", has_text="Error by number of rows").locator("svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.6)
    tip = tab.page.locator("#tip").inner_text()
    assert "NaiveBayes" in tip
    assert "LogisticRegression" in tip
    assert re.search(r"0\.\d+ \(0\.\d+ to 0\.\d+\)", tip)
    tab.page.mouse.move(5, 5)
    assert not tab.page.locator("#tip").is_visible()


def test_arrow_keys_move_through_the_values_of_a_chart(tab: Tab) -> None:
    chart = tab.page.locator("figure", has_text="Coefficients").locator("svg")
    chart.focus()
    tab.page.keyboard.press("Home")
    assert "age" in tab.page.locator("#tip").inner_text()
    assert "1.9" in tab.page.locator("#tip").inner_text()
    tab.page.keyboard.press("ArrowDown")
    assert "chest pain" in tab.page.locator("#tip").inner_text()
    tab.page.keyboard.press("Escape")
    assert not tab.page.locator("#tip").is_visible()


def test_touching_a_cell_shows_its_value(browser: Any, file: Path) -> None:
    tab = Tab(browser, file, 390, has_touch=True)
    chart = tab.page.locator("figure", has_text="Confusion").locator("svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    tab.page.touchscreen.tap(box["x"] + 0.75 * box["width"], box["y"] + 0.55 * box["height"])
    tip = tab.page.locator("#tip")
    assert tip.is_visible()
    assert tip.locator("div").first.inner_text().split() == ["rows", "95"]
    tab.page.locator("h1").tap()
    assert not tip.is_visible()
    tab.context.close()


def test_the_legend_hides_and_shows_a_series(tab: Tab) -> None:
    figure = tab.page.locator("figure", has_text="ROC")
    key = figure.locator(".legend button", has_text="SVC")
    series = figure.locator(f'.series[data-series="{figure.locator(".legend li").count() - 1}"]')
    assert series.is_visible()
    key.click()
    assert key.get_attribute("aria-pressed") == "false"
    assert not series.is_visible()
    key.click()
    assert series.is_visible()


def read_costs(tab: Tab) -> dict[str, list[str]]:
    rows = tab.page.locator(".outcome tbody tr").all()
    return {cells[0]: cells[1:] for row in rows for cells in [row.locator("th, td").all_inner_texts()]}


@pytest.mark.parametrize("matrix", [[[0, 1], [1, 0]], [[0, 1], [5, 0]], [[-1, 2.5], [30, 0.25]]], ids=str)
def test_changed_costs_change_the_numbers_as_in_python(tab: Tab, matrix: list[list[float]]) -> None:
    for k, row in enumerate(matrix):
        for d, cost in enumerate(row):
            tab.page.fill(f'[data-cost="{k} {d}"]', str(cost))
    costs = block(CostTable)
    shown = read_costs(tab)
    for name, (parts, truth) in quantize_probabilities(costs, PageLimits()).items():
        expected = assess_costs(parts / PROBABILITY_UNITS, truth, np.array(matrix, dtype=float))
        assert shown[name] == [f"{value:.4f}".replace("-", "−") for value in expected[:4]]
        tab.page.select_option(".confusion select", label=name)
        counts = tab.page.locator(".confusion tbody td").all_inner_texts()
        assert counts == [str(count) for count in expected.confusion.ravel()]
    wrong, missed = matrix[0][1] - matrix[0][0], matrix[1][0] - matrix[1][1]
    assert f"above {wrong / (wrong + missed):.3f}" in tab.page.locator(".threshold").inner_text()


def test_costs_of_more_than_two_classes(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    models = {name: (rng.dirichlet(np.ones(3), n), rng.integers(0, 3, n)) for name, n in (("a", 400), ("b", 90))}
    costs = CostTable(("x", _demo.RUDE, "z"), models, [[0, 1, 7], [2, 0, 1], [1, 4, 0.5]])
    path = tmp_path / "costs.html"
    path.write_text(page_html(Page("t", "", (Section("c", "C", (costs,)),))), encoding="utf-8")
    without, tab = Tab(browser, path, java_script_enabled=False), Tab(browser, path)
    assert read_costs(tab) == read_costs(without)
    tab.page.fill('[data-cost="2 1"]', "0.1")
    matrix = np.array(costs.costs)
    matrix[2, 1] = 0.1
    for name, (parts, truth) in quantize_probabilities(costs, PageLimits()).items():
        expected = assess_costs(parts / PROBABILITY_UNITS, truth, matrix)
        assert read_costs(tab)[name] == [f"{value:.4f}" for value in expected[:4]]
    assert read_costs(tab) != read_costs(without)
    assert tab.complaints == []
    for opened in (without, tab):
        opened.context.close()


def test_an_invalid_cost_is_reported_and_reset_restores_everything(tab: Tab) -> None:
    before = read_costs(tab)
    tab.page.fill('[data-cost="1 0"]', "")
    assert tab.page.locator(".threshold").inner_text() == "Every cost must be a number."
    assert tab.page.locator('[data-cost="1 0"]').get_attribute("aria-invalid") == "true"
    tab.page.click(".reset")
    assert read_costs(tab) == before


def test_rows_can_be_inspected_one_by_one(tab: Tab) -> None:
    rows = block(RowTable)
    explorer = tab.page.locator(".rows")
    for i in (0, 1):
        total = rows.models[0].base + sum(rows.models[0].contributions[i])
        assert explorer.locator("tfoot td.number").all_inner_texts()[-1] == f"{total:+.2f}".replace("-", "−")
        assert explorer.locator(".verdict").inner_text() == (
            f"NaiveBayes predicts {rows.models[0].predicted[i]}; the truth is {rows.truth[i]}."
        )
        chances = [float(text) for text in explorer.locator(".chances .number").all_inner_texts()]
        assert chances == pytest.approx(rows.models[0].probabilities[i], abs=6e-4)
        explorer.locator("button", has_text="Next").click()
    explorer.locator("select").first.select_option(label="row 5")
    explorer.locator("select").last.select_option(index=1)
    strongest = max(rows.models[1].contributions[4], key=abs)
    assert explorer.locator("tbody td.number").first.inner_text() == f"{strongest:+.2f}".replace("-", "−")
    explorer.locator("summary").click()
    assert explorer.locator("details td").all_inner_texts() == list(rows.rows[4])


def test_without_a_script_all_text_is_readable(browser: Any, file: Path) -> None:
    tab = Tab(browser, file, java_script_enabled=False)
    page = tab.page
    assert page.locator("figure.chart svg").first.is_visible()
    assert page.locator("table", has_text="Leaderboard").locator("tbody tr").count() == 7
    assert page.locator(".outcome table").is_visible()
    assert page.locator(".rows .static tbody tr").count() == 10
    assert page.locator(".legend li").first.inner_text() == "NaiveBayes"
    assert [page.locator(selector).first.is_visible() for selector in ("#theme", ".reset", ".choice", "#tip")] == [
        False
    ] * 4
    assert page.locator("[data-cost]").first.is_disabled()
    tab.context.close()


def test_on_paper_there_are_no_controls_and_tables_are_complete(browser: Any, file: Path) -> None:
    tab = Tab(browser, file, color_scheme="dark")
    tab.page.emulate_media(media="print", color_scheme="dark")
    assert [tab.page.locator(selector).first.is_visible() for selector in ("nav", "#theme", ".picker")] == [False] * 3
    assert tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.page.set_viewport_size({"width": 680, "height": 900})  # A4 less its margins
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 680
    assert tab.page.locator(".box.tall").evaluate("box => box.scrollHeight - box.clientHeight") <= 1
    tab.context.close()


def test_headings_and_landmarks_guide_screen_readers(tab: Tab) -> None:
    assert [tab.page.locator(name).count() for name in ("header", "nav", "main", "footer", "h1")] == [1] * 5
    links = tab.page.locator("nav a").evaluate_all("all => all.map(link => link.getAttribute('href'))")
    assert len(links) == len(PAGE.sections)
    assert all(tab.page.locator(link).count() == 1 for link in links)
    ids = tab.page.locator("[id]").evaluate_all("all => all.map(element => element.id)")
    assert len(set(ids)) == len(ids)
    unnamed = "all => all.filter(e => !e.labels?.length && !e.ariaLabel && !e.textContent.trim()).length"
    assert tab.page.locator("button, input, select, svg").evaluate_all(unnamed) == 0


def test_evidence_fits_on_a_phone(browser: Any, file: Path) -> None:
    """The contribution of a column is visible without scrolling sideways."""
    tab = Tab(browser, file, 390)
    box = tab.page.locator(".rows .box:has(table.evidence)").first
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    place = tab.page.locator("table.evidence tbody td.number").first.bounding_box()
    assert place is not None
    assert 0 <= place["x"] <= place["x"] + place["width"] <= 390
    assert tab.complaints == []
    tab.context.close()


FOLDED = Page(
    "Which model predicts `y`?",
    "two sections",
    (
        Section("one", "The first", ("Words of the first.",), "A lead."),
        Section("two", "The second", (Grid("", (Field("a"),), (("cell of the second",),)),)),
    ),
    answer=FirstScreen(
        "Use Ridge",
        "It is off by 594 on average.",
        ("A fact.",),
        influences=(Influence("age", "Higher values raise the prediction.", 2.0),),
        problems=(Note("A column gives the target away.", "bad", "MRC103"),),
        more="The checks have 1 warning.",
        more_in="two",
        steps=(NextStep("Predict new rows", "mercer predict best.mercer new.csv"),),
    ),
)


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("folded") / "report.html"
    path.write_text(page_html(FOLDED), encoding="utf-8")
    return path


def test_the_answer_is_visible_at_once_and_details_are_folded(browser: Any, folded: Path) -> None:
    tab = Tab(browser, folded, 375)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 375
    for words in ("Use Ridge", "A fact.", "Higher values raise", "A column gives the target away.", "mercer predict"):
        assert tab.page.get_by_text(words).first.is_visible()
    inside = tab.page.get_by_text("Words of the first.")
    assert not inside.is_visible()
    assert tab.page.get_by_role("heading", name="The first").is_visible()
    tab.page.get_by_role("heading", name="The first").click()
    assert inside.is_visible()
    assert not tab.page.get_by_text("cell of the second").is_visible()
    tab.page.get_by_role("link", name="The checks have 1 warning.").click()
    assert tab.page.get_by_text("cell of the second").is_visible()
    tab.page.get_by_role("button", name="Close all sections").click()
    assert not inside.is_visible()
    assert tab.complaints == []
    tab.context.close()


def test_on_paper_all_sections_are_open(browser: Any, folded: Path) -> None:
    for script in (True, False):
        tab = Tab(browser, folded, java_script_enabled=script)
        tab.page.emulate_media(media="print")
        if script:
            tab.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
            assert tab.page.get_by_text("Words of the first.").is_visible()
            tab.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
            tab.page.emulate_media(media="screen")
            assert not tab.page.get_by_text("Words of the first.").is_visible()
        else:
            assert tab.page.get_by_text("Words of the first.").bounding_box()["height"] > 5
        tab.context.close()
