"""The HTML document: head, contents, sections and footer, with embedded style and script."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import count, groupby

from mercer.report.grid import Grid
from mercer.report.markup import Markup, inline, join_markup, paragraphs, tag
from mercer.report.page.answer import answer_html
from mercer.report.page.charts import chart_html
from mercer.report.page.costs import costs_html
from mercer.report.page.limits import PageLimits
from mercer.report.page.notes import note_html
from mercer.report.page.rows import rows_html
from mercer.report.page.tables import add_break_points, table_html
from mercer.report.records import Block, Chart, CostTable, Note, Page, RowTable, Section

#: a longer page is made again with halved limits, so that it stays below 2 MB
MAX_BYTES = 1_990_000
#: forbids the page to fetch, send or frame anything, even if a name in the data could be run as code
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def page_html(page: Page) -> str:
    """Return a page as one self-contained HTML file, with style, charts and script.

    Parameters
    ----------
    page : Page

    Returns
    -------
    str
        At most two megabytes, unless the prose is longer: points, rows and cells are thinned out if necessary.

    Examples
    --------
    >>> from mercer.report import Page, Section
    >>> html = page_html(Page("Fruit & co", "apples and pears", (Section("all", "All of it", ("Two kinds.",)),)))
    >>> html.startswith("<!DOCTYPE html>"), "<h1>Fruit &amp; co</h1>" in html
    (True, True)
    """
    limits = PageLimits()
    html = _document(page, limits)
    while len(html.encode()) > MAX_BYTES and limits != limits.halved():
        limits = limits.halved()
        html = _document(page, limits)
    return html


def _document(page: Page, limits: PageLimits) -> str:
    keys = (f"chart{i}" for i in count(1))
    answer = Markup() if page.answer is None else answer_html(page.answer, next(keys), limits)
    folded = page.answer is not None
    sections = join_markup(_section(section, keys, limits, folded) for section in page.sections)
    unfold = tag("button", "Open all sections", type="button", id="unfold", hidden=True) if folded else Markup()
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        _header(page),
        tag("main", answer, tag("div", _contents(page), tag("div", unfold, sections), class_="columns"), id="content"),
        _footer(page),
        tag("div", id="tip", role="status", hidden=True),
        tag("script", _read_resource("page.js")),
    )
    return f"<!DOCTYPE html>\n{tag('html', _head(page), body, lang='en')}\n"


def _head(page: Page) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", page.title.replace("`", "")),
        tag("style", _read_resource("page.css")),
    )


@cache
def _read_resource(name: str) -> Markup:
    """Return the style or the script, the only text that enters the page unescaped."""
    return Markup(files("mercer.report.page").joinpath(name).read_text(encoding="utf-8"))


def _header(page: Page) -> Markup:
    theme = tag("button", "◐", type="button", id="theme", hidden=True)
    return tag(
        "header",
        tag("div", tag("h1", add_break_points(inline(page.title))), paragraphs(page.subtitle, class_="subtitle")),
        theme,
    )


def _contents(page: Page) -> Markup:
    links = (tag("li", tag("a", section.title, href=f"#{_id(section)}")) for section in page.sections)
    return tag("nav", tag("ol", *links), aria_label="Contents") if page.sections else Markup()


def _id(section: Section) -> str:
    return f"s-{section.id}"


def _section(section: Section, keys: Iterator[str], limits: PageLimits, folded: bool) -> Markup:
    name = _id(section)
    anchor = tag("a", "#", href=f"#{name}", class_="anchor", aria_label=f"Link to {section.title}")
    title = tag("h2", section.title, anchor, id=f"{name}-title")
    lead = paragraphs(section.lead, class_="lead")
    blocks = _blocks(section.blocks, keys, limits)
    if folded:
        inside = tag("details", tag("summary", title, lead), tag("div", blocks, class_="inside"), class_="fold")
        return tag("section", inside, id=name, aria_labelledby=f"{name}-title", class_="folded")
    return tag("section", title, lead, blocks, id=name, aria_labelledby=f"{name}-title")


def _blocks(blocks: tuple[Block, ...], keys: Iterator[str], limits: PageLimits) -> Markup:
    """Return blocks in sequence; consecutive charts are placed side by side if they fit, small ones closer together."""
    parts = []
    for kind, group in groupby(blocks, key=_kind_of_chart):
        made = [_block(block, keys, limits) for block in group]
        alone = " alone" if len(made) == 1 else ""
        parts.append(tag("div", *made, class_=f"{kind}{alone}") if kind else join_markup(made))
    return join_markup(parts)


def _kind_of_chart(block: Block) -> str:
    if not isinstance(block, Chart):
        return ""
    return "charts small-charts" if block.small else "charts"


def _block(block: Block, keys: Iterator[str], limits: PageLimits) -> Markup:
    match block:
        case Note():
            return note_html(block)
        case Grid():
            return table_html(block, limits)
        case Chart():
            return chart_html(block, next(keys), limits)
        case CostTable():
            return costs_html(block, limits)
        case RowTable():
            return rows_html(block, limits)
    return paragraphs(block)


def _footer(page: Page) -> Markup:
    lines = (tag("p", inline(line)) for line in page.footer)
    return tag("footer", tag("h2", "How to reproduce this page"), *lines) if page.footer else Markup()
