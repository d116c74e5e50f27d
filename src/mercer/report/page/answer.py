"""The first screen: the answer, its score, the main influences on predictions, problems, and next steps."""

from __future__ import annotations

from mercer.report.markup import Markup, escape_text, inline, join_markup, keep_options_whole, paragraphs, tag
from mercer.report.page.charts import chart_html
from mercer.report.page.limits import PageLimits
from mercer.report.page.notes import note_html
from mercer.report.page.tables import add_break_points
from mercer.report.records import FirstScreen, Influence, NextStep


def answer_html(answer: FirstScreen, key: str, limits: PageLimits) -> Markup:
    """Return the first screen; `key` makes the ids of its chart unique."""
    problems = [note_html(note) for note in answer.problems]
    words = tag(
        "div",
        tag("h2", add_break_points(inline(answer.headline)), id="answer-title"),  # calls break at options
        paragraphs(answer.summary, class_="summary"),
        tag("ul", *(tag("li", inline(fact)) for fact in answer.facts), class_="facts") if answer.facts else Markup(),
        tag("p", tag("a", answer.more, href=f"#s-{answer.more_in}"), class_="more") if answer.more else Markup(),
        class_="words",
    )
    chart = Markup() if answer.chart is None else chart_html(answer.chart, key, limits)
    return tag(
        "section",
        tag("div", *problems, class_="problems") if problems else Markup(),
        tag("div", words, chart, class_="verdict-and-score" if chart else None),
        tag("div", _influences(answer), _steps(answer.steps), class_="drivers-and-steps"),
        class_="answer",
        id="answer",
        aria_labelledby="answer-title",
    )


def _influences(answer: FirstScreen) -> Markup:
    if not answer.influences:
        return Markup()
    largest = max(each.size for each in answer.influences) or 1.0
    rows = (_influence(each, each.size / largest) for each in answer.influences)
    about = tag("p", answer.about_influences, class_="small") if answer.about_influences else Markup()
    return tag("div", tag("h3", "What moves the predictions most"), tag("ol", *rows, class_="influences"), about)


def _influence(influence: Influence, share: float) -> Markup:
    meter = tag("span", tag("i", style=f"width:{100 * share:.0f}%"), class_="meter", aria_hidden="true")
    return tag("li", tag("div", tag("strong", influence.name), meter), tag("p", influence.direction))


def _steps(steps: tuple[NextStep, ...]) -> Markup:
    if not steps:
        return Markup()
    return tag("div", tag("h3", "What to do next"), tag("dl", join_markup(map(_step, steps)), class_="steps"))


def _step(step: NextStep) -> Markup:
    copy = tag("button", "Copy", type="button", class_="copy", hidden=True)
    return join_markup(
        (tag("dt", step.text), tag("dd", tag("code", keep_options_whole(escape_text(step.command))), copy))
    )
