"""What decisions cost: computed here for the costs the page begins with, and by its script for all others."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.report.grid import Cell, Field, Grid
from mercer.report.markup import Markup, data, joined, tag
from mercer.report.page.limits import PageLimits
from mercer.report.page.tables import AROUND, LETTER, PHONE, scrolling, table_html
from mercer.report.records import CostTable
from mercer.report.thinning import evenly

#: probabilities travel as whole numbers of this many parts, two bytes each
PARTS = 65535
#: pixels of an input on a phone
_INPUT = 60


class Judged(NamedTuple):
    """What decisions by least expected cost do, on rows with a known truth."""

    cost: float
    error: float  # standard error of the cost
    expected: float  # by the model itself
    likeliest: float  # the cost of deciding for the most probable class
    confusion: Array  # truth × decision


def judged(probabilities: Array, truth: Array, costs: Array) -> Judged:
    """The sums are taken in the order in which the script takes them: ties fall alike."""
    expected = np.zeros((len(truth), costs.shape[1]))
    for k in range(costs.shape[0]):
        expected += probabilities[:, [k]] * costs[k]
    decided = expected.argmin(axis=1)
    paid = costs[truth, decided]
    n = max(len(truth), 1)
    confusion = np.zeros(costs.shape, dtype=int)
    np.add.at(confusion, (truth, decided), 1)
    spread = math.sqrt(((paid - paid.sum() / n) ** 2).sum() / (n - 1) / n) if n > 1 else 0.0
    plain = costs[truth, probabilities.argmax(axis=1)]
    return Judged(paid.sum() / n, spread, expected.min(axis=1).sum() / n, plain.sum() / n, confusion)


def quantised(costs: CostTable, limits: PageLimits) -> dict[str, tuple[Array, Array]]:
    """For each model (whole parts, truth), rows without probabilities left out and not more than a page can hold."""
    most = min(2000, limits.costs // max(len(costs.models) * len(costs.classes), 1))
    return {name: _quantised(*model, max(most, 20)) for name, model in costs.models.items()}


def _quantised(given: Any, codes: Any, most: int) -> tuple[Array, Array]:
    probabilities, truth = np.asarray(given, dtype=float), np.asarray(codes, dtype=int)
    known = np.flatnonzero(np.isfinite(probabilities).all(axis=1)) if len(truth) else np.zeros(0, dtype=int)
    kept = known[evenly(len(known), most)]
    return (probabilities[kept].clip(0, 1) * PARTS).round().astype("<u2"), truth[kept]


def threshold_sentence(classes: Any, costs: Array) -> str:
    """In words, when to decide for the second of two classes."""
    if len(classes) != 2:
        return "Each row gets the decision whose expected cost is least."
    wrong, missed = costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]
    name = f"“{classes[1]}”"
    if wrong + missed <= 0:
        return "With these costs mistakes are cheaper than right decisions."
    threshold = wrong / (wrong + missed)
    if threshold <= 0:
        return f"With these costs {name} is always the cheaper decision."
    if threshold >= 1:
        return f"With these costs {name} is never the cheaper decision."
    return f"Decide {name} when its probability is above {threshold:.3f}."


def costs_html(costs: CostTable, limits: PageLimits) -> Markup:
    models = {name: model for name, model in quantised(costs, limits).items() if len(model[1])}
    if not models or not costs.classes:
        return tag("p", "There are no held-out probabilities to decide by.", class_="nothing")
    size = len(costs.classes)
    matrix = 1.0 - np.eye(size) if costs.costs is None else np.asarray(costs.costs)
    judgements = {name: judged(parts / PARTS, truth, matrix) for name, (parts, truth) in models.items()}
    return tag(
        "div",
        _matrix(costs, matrix),
        tag("p", threshold_sentence(costs.classes, matrix), class_="threshold", aria_live="polite"),
        tag("div", table_html(_table(judgements, models, matrix, costs.classes), limits), class_="outcome"),
        _confusion(costs, judgements),
        data(_told(costs, models, matrix), class_="values"),
        class_="costs",
    )


def _table(judgements: dict[str, Judged], models: Any, matrix: Array, classes: Any) -> Grid:
    rows: list[tuple[Cell, ...]] = [(name, j.cost, j.error, j.expected, j.likeliest) for name, j in judgements.items()]
    truth = next(iter(models.values()))[1]
    always = matrix[truth].sum(axis=0) / len(truth)
    best = int(always.argmin())
    rows.append((f"no model: always “{classes[best]}”", float(always[best]), None, None, None))
    fields = (
        Field("model"),
        Field("cost per row", ".4f"),
        Field("standard error", ".4f"),
        Field("model expects", ".4f"),
        Field("if likeliest class", ".4f"),
    )
    counts = sorted({len(truth) for _, truth in models.values()})
    among = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    note = f"On {among} held-out rows. The last column ignores costs when it decides."
    return Grid("Expected cost of each model", fields, tuple(rows), (note,))


def _matrix(costs: CostTable, matrix: Array) -> Markup:
    """Inputs, which the script turns on; without it they show the costs that were used."""
    head = tag("tr", tag("td", "truth \\ decision"), *(tag("th", name, scope="col") for name in costs.classes))
    listed = _is_listed(costs.classes)
    rows = (
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(
                tag("td", _input(costs, k, d, matrix[k, d]), data_label=decision if listed else None)
                for d, decision in enumerate(costs.classes)
            ),
        )
        for k, name in enumerate(costs.classes)
    )
    table = tag(
        "table",
        tag("caption", tag("span", "What a decision costs")),
        tag("thead", head),
        tag("tbody", *rows),
        class_="matrix listed" if listed else "matrix",
    )
    reset = tag("button", "Reset", type="button", class_="reset", hidden=True)
    return joined((scrolling(table, "Cost matrix"), reset))


def _is_listed(classes: Sequence[str]) -> bool:
    """Whether the inputs are wider than a phone beside each other, where they are a list for each class."""
    longest = max(map(len, classes))
    return longest * LETTER + sum(max(len(name) * LETTER, _INPUT) + AROUND for name in classes) > PHONE


def _input(costs: CostTable, k: int, d: int, value: float) -> Markup:
    label = f"Cost of deciding {costs.classes[d]} when the truth is {costs.classes[k]}"
    return tag(
        "input",
        type="number",
        step="any",
        value=f"{value:g}",
        aria_label=label,
        data_cost=f"{k} {d}",
        disabled=True,
        inputmode="decimal",
    )


def _confusion(costs: CostTable, judgements: dict[str, Judged]) -> Markup:
    """Decisions of the first model against the truth; the script lets one choose another."""
    name, first = next(iter(judgements.items()))
    options = (tag("option", name, value=str(i)) for i, name in enumerate(judgements))
    choice = tag("label", "Decisions of ", tag("select", *options), class_="choice", hidden=True)
    fields = (Field("truth \\ decision"), *(Field(c, "d") for c in costs.classes))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (c, *map(int, row)) for c, row in zip(costs.classes, first.confusion, strict=True)
    )
    table = table_html(Grid(f"Decisions of {name}", fields, rows), PageLimits())
    return tag("div", choice, table, class_="confusion")


def _told(costs: CostTable, models: dict[str, tuple[Array, Array]], matrix: Array) -> dict[str, Any]:
    truths: list[list[int]] = []
    told = []
    for name, (parts, truth) in models.items():
        codes = truth.tolist()
        if codes not in truths:
            truths.append(codes)
        packed = base64.b64encode(parts.tobytes()).decode()
        told.append({"name": name, "truth": truths.index(codes), "parts": packed})
    return {"classes": list(costs.classes), "costs": matrix.tolist(), "truths": truths, "models": told}
