"""The page at /, opened in a browser."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import mercer as m
from mercer.application.model_cards import make_card
from mercer.data import Table
from mercer.serve.page import PAGE_HEADERS, PAGE_HTML
from tests.serve._server import served

NASTY = "<img src=x onerror=alert(1)>\"'&"
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {NASTY: RNG.normal(size=40), "city": RNG.choice(["Ulm", NASTY], 40), "smokes": RNG.random(40) < 0.5}
)
LABELS = np.where(FRAME[NASTY] > 0, "<script>alert(2)</script>", "no")
MODEL = make_pipeline(m.TableFeatures(), m.LogisticRegression()).fit(FRAME, LABELS)


def test_the_page_makes_no_other_requests() -> None:
    text = PAGE_HTML.decode()
    assert not re.search(r"https?://", text)
    assert "innerHTML" not in text
    policy = PAGE_HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def opened(browser: Any, url: str, **options: Any) -> tuple[Any, list[str]]:
    """Page with its console messages, except for the browser's own message about status 401."""
    page = browser.new_page(**options)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
    page.goto(url)
    return page, complaints


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
def test_a_completed_form_is_predicted(browser: Any, width: int, scheme: str) -> None:
    with served(MODEL) as client:
        page, complaints = opened(
            browser, str(client.base_url), viewport={"width": width, "height": 800}, color_scheme=scheme
        )
        page.get_by_label(NASTY).fill("2.5")
        page.get_by_label("city").select_option(label=NASTY)
        page.get_by_label("smokes").select_option(label="true")
        page.get_by_role("button", name="Predict").click()
        page.wait_for_selector("#answer")
        row = pd.DataFrame({NASTY: [2.5], "city": [NASTY], "smokes": [True]})
        assert page.inner_text("#answer") == MODEL.predict(row)[0]
        assert f"{100 * MODEL.predict_proba(row).max():.1f}%" in page.inner_text("#result")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 30)"
        assert dark == (scheme == "dark")
        assert complaints == []


def test_the_page_asks_for_the_token(browser: Any) -> None:
    with served(MODEL, token="secret") as client:
        page, complaints = opened(browser, str(client.base_url))
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Open").click()
        page.get_by_text("That token is not the right one.").wait_for()
        page.get_by_label("Token").fill("secret")
        page.get_by_role("button", name="Open").click()
        page.get_by_role("button", name="Predict").click()
        page.wait_for_selector("#answer")
        assert all("401" in complaint for complaint in complaints)


def test_the_page_names_the_question_and_begins_with_a_typical_row(browser: Any) -> None:
    card = make_card(MODEL, Table.of(FRAME), LABELS, task="classification", target=NASTY)
    with served(MODEL, card=card) as client:
        page, complaints = opened(browser, str(client.base_url), viewport={"width": 375, "height": 812})
        page.wait_for_selector(".weight.sum")
        assert page.inner_text("h1") == card.question.replace("`", "")
        typical = card.typical()
        assert float(page.get_by_label(NASTY).input_value()) == pytest.approx(typical[NASTY], rel=1e-6)
        row = pd.DataFrame({name: [value] for name, value in typical.items()})
        label = MODEL.predict(row)[0]
        assert page.inner_text("#answer") == label
        words = f"{NASTY} is predicted to be {label}, with probability {100 * MODEL.predict_proba(row).max():.1f}%."
        assert page.inner_text(".words") == words
        assert page.locator("#why .weight").count() >= 3  # a bar for each column that adds something, and the sum
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert complaints == []


def test_numbers_of_a_typical_row_have_no_digits_of_rounding(browser: Any) -> None:
    rate = np.float32(np.arange(60) % 9 / 10 + 3.1).astype(float)
    species = np.repeat(["ash", "elm", "oak"], 20)
    frame = pd.DataFrame({"rate": rate, "size": np.arange(60.0) / 7})
    model = make_pipeline(m.TableFeatures(), m.LogisticRegression()).fit(frame, species)
    card = make_card(model, Table.of(frame), species, task="classification", target="tree")
    with served(model, card=card) as client:
        page, complaints = opened(browser, str(client.base_url))
        page.wait_for_selector(".weight.sum")
        shown = [page.get_by_label("size").input_value(), *page.locator(".weight small").all_inner_texts()]
        assert max(map(len, shown)) <= 9
        assert re.fullmatch(r"Why: .* log odds of \w+ against the average class", page.inner_text("#why h2"))
        assert page.inner_text("h1") == "Predict tree: ash, elm or oak"
        assert complaints == []
