"""The first screen of the page: the verdict, the score, the drivers, problems, and the next steps."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping

import numpy as np

from mercer.comparison._entry import Entry, unwrap_search
from mercer.comparison._leaderboard import VERDICT_ROUNDING, heading_of
from mercer.comparison._verdict import Verdict, format_score
from mercer.comparison._view import View
from mercer.comparison.checks import ASSUMPTION_CHECKS
from mercer.comparison.next_steps import steps_to_compare_again
from mercer.comparison.sections.findings import NOTE_LEVELS
from mercer.explanation.column_drivers import Driver, common_output
from mercer.export import obstacle
from mercer.export.sql import least_dialect
from mercer.report import Axis, Bars, Chart, FirstScreen, Influence, NextStep, Note, Section
from mercer.report.wording import format_count, join_words

#: drivers of the first screen
MAX_FIRST_DRIVERS = 3
#: problems of the first screen
MAX_FIRST_PROBLEMS = 3
#: checks that the line about further warnings names
MAX_NAMED_CHECKS = 4
#: file name for a model that is not saved yet
MODEL_FILE = "best.mercer"


def answer(view: View, made: Mapping[str, Section | None]) -> FirstScreen:
    """Return the first screen; `made` are the other sections, by name."""
    verdict = view.comparison.verdict()
    best = verdict.best
    serious = sum(problem.severity == "error" for problem in verdict.problems)
    if best is None:
        headline = "No model is recommended"
    elif serious:
        headline = f"First rule out the problem{'s' if serious > 1 else ''} above, then use {best.name}"
    else:
        headline = f"Use {best.name}"
    repeated = "No model is recommended: " if best is None else f"Use {best.name}: "
    facts = [_capitalize(sentence.removeprefix(repeated)) for sentence in verdict.sentences]
    shown = best or verdict.top
    influences, how = ((), "") if shown is None else _find_influences(view, shown)
    if influences and best is None:
        how = f"{how} None of the models beats the baseline beyond chance, so these effects may be chance, too."
    return FirstScreen(
        headline=headline,
        summary=_summary(view, verdict),
        facts=tuple(facts),
        chart=_chart(view, verdict),
        influences=influences,
        about_influences=how,
        problems=_problems(verdict),
        more=_warnings(verdict, made.get("findings")),
        more_in="checks",
        steps=_next_steps(view, verdict),
    )


def title(view: View) -> str:
    """Return the question that the page answers."""
    comparison = view.comparison
    target = f"`{comparison.target}`" if comparison.target else "the target"
    return f"Which model predicts {target}{f' in {comparison.source}' if comparison.source else ''}?"


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _summary(view: View, verdict: Verdict) -> str:
    """Return the accuracy of the model in terms of the target, and that of a prediction without the columns."""
    entry, comparison = verdict.best or verdict.top, view.comparison
    if entry is None or entry.failed:
        return ""
    name = "It" if verdict.best is not None else entry.name
    if view.classification:
        right = entry.mean("accuracy")
        if math.isnan(right):
            return ""
        counts = np.bincount(comparison.task.truth)
        label = view.labels[int(counts.argmax())]
        near = entry.mean("within_one") if comparison.task.name == "ordered" else math.nan
        within_one = within_one_of_guess = ""
        if not math.isnan(near):
            within_one = f", and is at most one class off for {near:.1%}"
            around = counts[max(0, counts.argmax() - 1) : counts.argmax() + 2].sum() / counts.sum()
            within_one_of_guess = f", and at most one class off for {around:.1%}"
        return (
            f"{name} predicts the right class for {right:.1%} of rows that it was not fitted to{within_one}. Always "
            f"answering “{label}” is right for {counts.max() / counts.sum():.1%}{within_one_of_guess}."
        )
    measures = {metric.name for metric in comparison.task.metrics}
    if "mae" not in measures or math.isnan(entry.mean("mae")):
        return ""
    sentence = f"{name} is off by {_amount(view, entry)} on average for rows that it was not fitted to"
    if verdict.baseline is not None and math.isfinite(verdict.baseline.mean("mae")):
        return f"{sentence}. Predicting the same value for every row is off by {_amount(view, verdict.baseline)}."
    return f"{sentence}."


def _amount(view: View, entry: Entry) -> str:
    """Format the mean absolute error of a model with the unit of the target."""
    return format_score(view.comparison, view.comparison.metric("mae"), entry.mean("mae"))


def _chart(view: View, verdict: Verdict) -> Chart | None:
    """Draw the scores of the recommended model, the best, the baseline and the reference."""
    metric = verdict.metric
    roles: list[tuple[str, Entry | None]] = [
        ("recommended", verdict.best),
        ("best score", verdict.top if verdict.top is not verdict.best else None),
        ("baseline", verdict.baseline),
        ("reference", verdict.reference),
    ]
    shown = [
        (role, entry)
        for role, entry in roles
        if entry is not None and not entry.failed and np.isfinite(entry.scores[metric.name]).all()
    ]
    if len(shown) < 2:
        return None
    intervals = [view.comparison.interval(entry.name, metric.name) for _, entry in shown]
    mean, low, high = np.where(np.abs(intervals) < VERDICT_ROUNDING * np.nanmax(np.abs(intervals)), 0.0, intervals).T
    bars = Bars(metric.heading, [role for role, _ in shown], mean, low=low, high=high)
    better = "Higher is better" if metric.larger_is_better else "Lower is better"
    who = "; ".join(f"{role}: {entry.name}" for role, entry in shown)
    meaning = f"{metric.meaning}. " if metric.meaning else ""
    caption = f"{meaning}{better}; the lines are 95% intervals. {_capitalize(who)}."
    axis = Axis(heading_of(view.comparison, metric), form="#.3g" if np.nanmax(np.abs(mean)) < 1000 else ".3g")
    return Chart(f"{_capitalize(metric.heading)} on held-out rows", axis, Axis(""), (bars,), caption)


def _find_influences(view: View, entry: Entry) -> tuple[tuple[Influence, ...], str]:
    """Return the columns with the largest effects on the predictions of a model, and the method."""
    if not (drivers := view.drivers_in_time(entry)[:MAX_FIRST_DRIVERS]):
        return (), ""
    moved = common_output(drivers)
    how = f"By how far each column moves the {moved} from row to row, in {entry.name} fitted to all rows."
    return tuple(Influence(each.column, _describe_direction(view, each), each.size) for each in drivers), how


def _describe_direction(view: View, driver: Driver) -> str:
    """Return the direction as a sentence, with the name of the target before the class."""
    label, target = driver.of.partition(" of ")[2], view.comparison.target
    words = driver.direction
    if view.classification and target and label in view.labels:
        words = re.sub(rf"\b(makes?) {re.escape(label)} ", lambda match: f"{match[1]} {target} = {label} ", words)
    return f"{_capitalize(words)}."


def _problems(verdict: Verdict) -> tuple[Note, ...]:
    """List the problems that may make the scores worthless; those with the same remedy are one note."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for each in verdict.problems[:MAX_FIRST_PROBLEMS]:
        alike.setdefault((each.severity, each.code, each.remedy), []).append(each.sentence)
    notes = [
        Note(" ".join(sentences), NOTE_LEVELS[severity], code, _address_each(remedy) if len(sentences) > 1 else remedy)  # type: ignore[arg-type]
        for (severity, code, remedy), sentences in alike.items()
    ]
    if len(verdict.problems) > MAX_FIRST_PROBLEMS:
        notes.append(
            Note(f"There are {len(verdict.problems) - MAX_FIRST_PROBLEMS} more problems: see the checks below.")
        )
    return tuple(notes)


def _address_each(remedy: str) -> str:
    return f"For each of them, {remedy[:1].lower()}{remedy[1:]}" if remedy else ""


def _warnings(verdict: Verdict, checks: Section | None) -> str:
    """Summarise the findings of the other checks in a line."""
    if checks is None:
        return ""
    shown = {problem.code for problem in verdict.problems}
    codes = [block.code for block in checks.blocks if isinstance(block, Note) and block.level in ("warning", "bad")]
    names = {check.code: check.name for check in ASSUMPTION_CHECKS}
    others = list(dict.fromkeys(names[code] for code in codes if code in names and code not in shown))
    if others:
        return f"The checks have {format_count(len(others), 'warning')}: {join_words(others, MAX_NAMED_CHECKS)}."
    return "" if shown else "The checks of the data and of the models found no problem."


def _next_steps(view: View, verdict: Verdict) -> tuple[NextStep, ...]:
    """Return commands if the comparison was a command, otherwise Python code."""
    best, again = verdict.best, steps_to_compare_again(view.comparison, verdict)
    if best is None:
        return again
    command = view.comparison.settings.get("command")
    dialect = _dialect(view, best)
    return _command_steps(str(command), dialect, again) if command else _python_steps(dialect, again)


def _dialect(view: View, best: Entry) -> str | None:
    """Return the SQL dialect for the model; None if it cannot be exported."""
    if best.obstacle is not None:
        return None
    model = view.fitted(best)
    if model is None:
        return "standard"
    model = unwrap_search(model)
    # for a long export, only the class of the model was checked
    return None if best.long_export and obstacle(model) else least_dialect(model)


def _command_steps(command: str, dialect: str | None, again: tuple[NextStep, ...]) -> tuple[NextStep, ...]:
    words = shlex.split(command)
    saved = next((words[place + 1] for place, word in enumerate(words[:-1]) if word == "--save"), None)
    model = shlex.quote(saved or MODEL_FILE)
    steps = [*again]
    if not saved:
        steps.append(NextStep("Save the model, fitted to all rows", f"{command} --save {model}"))
    steps += [
        NextStep("Predict new rows", f"mercer predict {model} new.csv -o predicted.csv"),
        NextStep("Explain a prediction", f"mercer explain {model} 0 --data new.csv"),
    ]
    if again:  # the model should not be passed on yet
        return tuple(steps)
    steps += [
        NextStep("Read the model card", f"mercer describe {model}"),
    ]
    if dialect is not None:
        option = "" if dialect == "standard" else f" --dialect {dialect}"
        export = f"mercer export {model} --to sql{option} -o model.sql"
        steps.append(NextStep("Export it to SQL (or ONNX, Python)", export))
    steps.append(NextStep("Try it in a browser", f"mercer serve {model}"))
    return tuple(steps)


def _python_steps(dialect: str | None, again: tuple[NextStep, ...]) -> tuple[NextStep, ...]:
    steps = [
        *again,
        NextStep("Save the model, fitted to all rows, with its card", f'mercer.save(comparison, "{MODEL_FILE}")'),
        NextStep("Predict new rows", "comparison.best_.predict(X_new)"),
        NextStep("Explain predictions", "mercer.explain_rows(comparison.best_, X_new)"),
    ]
    if dialect is not None:
        option = "" if dialect == "standard" else f', dialect="{dialect}"'
        steps.append(NextStep("Export it to SQL (or ONNX, Python)", f"mercer.export.to_sql(comparison.best_{option})"))
    return tuple(steps)
